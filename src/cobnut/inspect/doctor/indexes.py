"""Do the indexes open, and hold what they say?

Not here: which generation of the merged index is current is told like that of a table (`generations`).
"""

from __future__ import annotations

from pathlib import Path

from cobnut.errors import CobnutError, MachineError
from cobnut.index.damage import damaged_file
from cobnut.index.manifest import NAME as MANIFEST
from cobnut.index.manifest import read_manifest
from cobnut.inspect.doctor.finding import Mend
from cobnut.inspect.doctor.probe import Broken
from cobnut.inspect.doctor.remedies import cobnut, folder_of
from cobnut.inspect.doctor.segments import Looked
from cobnut.inspect.doctor.visit import Visit
from cobnut.records import catalogue
from cobnut.storage.generations import CURRENT, GenerationStore
from cobnut.storage.layout import SegmentFolder

CHECKED_BYTES = 4 << 30
"""Checksums of an index up to this size are always looked at, those of a larger one with --deep."""


def fault_of(visit: Visit, folder: Path) -> tuple[str, Path] | None:
    """What is wrong with an index folder, and in which file."""
    visit.say(f"index {folder}")
    visit.checked.indexes += 1
    try:
        read_manifest(folder)
        broken = damaged_file(folder, None if visit.deep else CHECKED_BYTES)
    except MachineError:
        raise
    except CobnutError as error:
        return error.what, folder / MANIFEST
    except OSError as error:
        return f"it cannot be read ({error.strerror or error})", folder
    if broken is not None:
        return "its checksum differs", broken
    try:
        found = visit.probe.ask("index", folder=str(folder))
    except Broken as error:
        return str(error), folder
    if found["documents"] != found["announced"]:
        return f"{found['documents']:,} documents where the manifest has {found['announced']:,}", folder
    return None


def check_segment_index(visit: Visit, segment: SegmentFolder) -> None:
    """The index of one segment's pages."""
    folder = segment.index_path
    if not (folder / MANIFEST).exists():
        if folder.is_dir():
            _tell(visit, segment, "it has no manifest", folder)
        return
    fault = fault_of(visit, folder)
    if fault is not None and folder.exists():
        _tell(visit, segment, *fault)


def _tell(visit: Visit, segment: SegmentFolder, what: str, where: Path) -> None:
    crawl = visit.crawl.path
    visit.find(
        "index", f"the index of segment {segment.name} is damaged: {what}", where,
        "the merged index cannot be made anew", f"{cobnut('index', crawl)}, then {cobnut('merge', crawl)}",
        Mend("remove", str(segment.index_path)),
    )  # fmt: skip


def check_merged(visit: Visit, looked: list[Looked]) -> None:
    """The index that is searched."""
    store = visit.crawl.index_generations()
    if not store.path.is_dir() or not (store.numbers() or (store.path / CURRENT).exists()):
        return
    try:
        number = store.current_number()
    except CobnutError as error:
        _tell_merged(visit, store, None, looked, error.what, store.path / CURRENT)
        return
    if number is None:
        return
    folder = folder_of(store, number)
    if not folder.is_dir():
        what = f"CURRENT names {folder.name}, which is missing"
        _tell_merged(visit, store, number, looked, what, store.path / CURRENT)
        return
    fault = fault_of(visit, folder)
    if fault is not None:
        _tell_merged(visit, store, number, looked, *fault)


def _tell_merged(
    visit: Visit, store: GenerationStore, number: int | None, looked: list[Looked], what: str, where: Path
) -> None:
    crawl = visit.crawl.path
    mends: tuple[Mend, ...] = ()
    former = _former(visit, store, number)
    alone = _alone(visit, store, number, looked)
    if not alone:
        text = f"{cobnut('merge', crawl)}, which makes it anew from the segments' indexes"
        if where.name == CURRENT:
            text = f"remove {store.path}, then {cobnut('index', crawl)} and {cobnut('merge', crawl)}"
        mends = (Mend("remove", str(store.path)),)
    elif former is not None:
        text = f"{cobnut('rollback', crawl, 'index')}, then {cobnut('merge', crawl)}"
        if where.name == CURRENT:
            text = f"`echo {folder_of(store, former).name} > {where}`, then {cobnut('merge', crawl)}"
        mends = (Mend("current", str(store.path), folder_of(store, former).name),)
    else:
        text = (
            f"restore it; or do without the pages of segments that are not on disk ({', '.join(alone[:3])}): remove "
            f"{store.path}, then {cobnut('index', crawl)} and {cobnut('merge', crawl)}"
        )
    visit.find("index", f"the index is damaged: {what}", where, "it cannot be searched", text, *mends)


def _former(visit: Visit, store: GenerationStore, number: int | None) -> int | None:
    """Another generation of the index that is whole, the newest first."""
    for other in reversed(store.numbers()):
        if other != number and (number is None or other < number):
            checked = visit.checked.indexes
            is_whole = fault_of(visit, folder_of(store, other)) is None
            visit.checked.indexes = checked
            if is_whole:
                return other
    return None


def _alone(visit: Visit, store: GenerationStore, number: int | None, looked: list[Looked]) -> list[str]:
    """Segments whose pages may be in the merged index only."""
    held = set(visit.applied(catalogue.CRAWLDB.name))
    for one in [number] if number is not None else store.numbers():
        try:
            held |= set(read_manifest(folder_of(store, one)).segments)
        except CobnutError:
            continue
    return sorted(held - {one.segment.name for one in looked})


def check_published(visit: Visit, path: Path) -> None:
    """A folder that an index was published to."""
    store = GenerationStore(path, "index")
    again = "publish it here once more (`cobnut publish CRAWL " + str(path) + "`)"
    try:
        number = store.current_number()
    except CobnutError as error:
        visit.find("index", error.what, path / CURRENT, "it cannot be searched", again)
        return
    folder = folder_of(store, number or 0)
    fault: tuple[str, Path] | None = (f"CURRENT names {folder.name}, which is missing", path / CURRENT)
    if folder.is_dir():
        fault = fault_of(visit, folder)
    if fault is not None:
        former = _former(visit, store, number)
        text = again if former is None else f"{cobnut('rollback', path, 'index')}, or {again}"
        visit.find("index", f"the index is damaged: {fault[0]}", fault[1], "it cannot be searched", text)
