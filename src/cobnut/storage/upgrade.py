"""Which format version does each part of a crawl have, and how does it come to this program's?

A *part* is what bears a version of its own: a table (the manifest of its current generation), the merged index (the
same), a segment with all its tables (`state.json`), a segment's index (its manifest). A *step* takes one sort of part
from one version to the next by making a new folder out of the old one; the old one is never changed. A table or the
merged index then gets a new generation, so that `cobnut rollback` undoes it. A segment or its index changes its folder
by two renames, which a killed run's successor finishes.

Each part is published by itself and bears its version: an upgrade that was killed goes on where it stopped. Nothing is
changed when any part is newer than this program.

Not here: what the formats are (`records.catalogue`, `index.schema`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from cobnut.errors import DataError
from cobnut.records.catalogue import FORMAT_VERSION, TABLES
from cobnut.storage.files import (
    TEMPORARY_PREFIX,
    fsync_folder,
    fsync_tree,
    io_errors,
    read_json,
    remove_tree,
    temporary_name,
    write_json,
)
from cobnut.storage.generations import MANIFEST, GenerationStore, version_of
from cobnut.storage.layout import STATE_FILE, CrawlFolder

Sort = Literal["table", "segment", "segment index", "index"]

_NEW, _OLD, _DRAFT = ".upgraded-", ".outdated-", "upgrade"
_OF_PUBLISH = ("generation", "parent", "format_version", "written_by", "created_at")


class Step(msgspec.Struct, frozen=True):
    """From version `since` to the next, for one table by its name, or for every `segment`, `segment index` or `index`.

    `change` fills the fresh folder (second) from the old one (first) and its manifest, and gives the new manifest.
    Files that stay the same are best linked. It is given no more than that, so that a step works for ever.
    """

    what: str
    since: int
    change: Callable[[Path, Path, dict[str, Any]], dict[str, Any]]


STEPS: tuple[Step, ...] = ()
"""Every step there is, of every version. Version 1 is the first: there is nothing to come from yet."""


class Part(msgspec.Struct, frozen=True):
    """One part as it stands. `version` is None where there is nothing yet."""

    what: str
    sort: Sort
    path: Path
    version: int | None

    def state(self, target: int) -> str:
        """current, older, newer or absent, seen from the version `target`."""
        if self.version is None:
            return "absent"
        return "current" if self.version == target else "older" if self.version < target else "newer"


def survey(crawl: CrawlFolder) -> list[Part]:
    """All parts of a crawl with their versions. A `DataError` names a manifest that cannot be read."""
    for table in TABLES:
        if table.scope == "crawl" and crawl.table(table).generations.current_number() is None:
            crawl.table(table).check_lost()
    parts = [
        _generation(crawl.table(t).generations, "table", t.name, crawl.table(t).path)
        for t in TABLES
        if t.scope == "crawl"
    ]
    for segment in crawl.segments():
        parts.append(Part(f"segment {segment.name}", "segment", segment.path, _version(segment.path / STATE_FILE)))
        own = segment.index_path / MANIFEST
        if own.exists():
            parts.append(Part(f"index of segment {segment.name}", "segment index", segment.index_path, _version(own)))
    parts.append(_generation(crawl.index_generations(), "index", "index", crawl.index_path))
    return parts


def survey_published(path: Path) -> list[Part]:
    """The one part of a published index. It is never upgraded where it lies, but published once more."""
    return [_generation(GenerationStore(path, "index"), "index", "published index", path)]


def _generation(store: GenerationStore, sort: Sort, what: str, path: Path) -> Part:
    number = store.current_number()
    version = None if number is None else _version(path / f"g{number:06d}" / MANIFEST)
    return Part(what, sort, path, version)


def _version(path: Path) -> int:
    return version_of(read_json(path), path)


def refuse_newer(parts: Iterable[Part], target: int = FORMAT_VERSION) -> None:
    """A `DataError` when a part is newer than this program knows."""
    newer = [part for part in parts if part.state(target) == "newer"]
    if newer:
        more = f" (and {len(newer) - 1} more)" if len(newer) > 1 else ""
        raise DataError(
            f"{newer[0].what}{more} has format version {newer[0].version}, this program knows up to {target}",
            where=str(newer[0].path), remedy="use a newer Cobnut; nothing was changed",
        )  # fmt: skip


def upgrade(
    crawl: CrawlFolder,
    *,
    steps: Sequence[Step] = STEPS,
    target: int = FORMAT_VERSION,
    on_part: Callable[[Part], None] = lambda part: None,
) -> list[Part]:
    """Brings every part to `target`; those that were changed, as they stood. `on_part` is told of each before it.

    Nothing is changed when a part is newer, or when a step is missing for one. The crawl's lock is held throughout.
    """
    with crawl.lock():
        finish_renames(crawl)
        parts = survey(crawl)
        refuse_newer(parts, target)
        older = [part for part in parts if part.state(target) == "older"]
        ways = [(part, _way(part, steps, target)) for part in older]
        for part, way in ways:
            on_part(part)
            if part.sort in ("table", "index"):
                _upgrade_generation(crawl, part, way)
            else:
                _upgrade_folder(part, way, target)
    return older


def _way(part: Part, steps: Sequence[Step], target: int) -> list[Step]:
    """The steps from a part's version to `target`."""
    name = part.what if part.sort == "table" else part.sort
    known = {step.since: step for step in steps if step.what == name}
    way = [known.get(version) for version in range(part.version or 0, target)]
    missing = [version for version, step in enumerate(way, part.version or 0) if step is None]
    if missing:
        raise DataError(
            f"{part.what} has format version {part.version}, and no step leads from {missing[0]} to {missing[0] + 1}",
            where=str(part.path), remedy="it was made by no released Cobnut; crawl again",
        )  # fmt: skip
    return [step for step in way if step is not None]


def _change(source: Path, target: Path, manifest: dict[str, Any], way: Sequence[Step], scratch: Path) -> dict[str, Any]:
    """Runs the steps one after the other; only the last writes into `target`."""
    made: list[Path] = []
    try:
        for place, step in enumerate(way, 1):
            folder = target
            if place < len(way):
                folder = scratch / temporary_name(_DRAFT)
                folder.mkdir()
                made.append(folder)
            manifest = step.change(source, folder, dict(manifest))
            source = folder
    finally:
        for folder in made:
            remove_tree(folder)
    return manifest


def _upgrade_generation(crawl: CrawlFolder, part: Part, way: Sequence[Step]) -> None:
    """A new generation of a table or of the merged index."""
    store = GenerationStore(part.path, part.what, lock_wait_s=crawl.lock_wait_s, grace_s=crawl.grace_s)
    with store.begin() as draft, io_errors(part.path, "upgrade"):
        generation = store.current()
        if generation is None:
            return
        with generation:
            manifest = _change(generation.path, draft.path, generation.manifest, way, part.path)
            draft.publish({name: value for name, value in manifest.items() if name not in _OF_PUBLISH})


def _upgrade_folder(part: Part, way: Sequence[Step], target: int) -> None:
    """A new folder for a segment or its index, whole before it takes the old one's place."""
    name = STATE_FILE if part.sort == "segment" else MANIFEST
    parent, fresh = part.path.parent, part.path.parent / temporary_name(_DRAFT)
    with io_errors(part.path, "upgrade"):
        fresh.mkdir()
        try:
            manifest = _change(part.path, fresh, read_json(part.path / name), way, parent)
            write_json(fresh / name, {**manifest, "format_version": target})
            fsync_tree(fresh)
            os.rename(fresh, parent / f"{_NEW}{part.path.name}")
        except BaseException:
            remove_tree(fresh)
            raise
        fsync_folder(parent)
        _take_place(parent, part.path.name)


def _take_place(parent: Path, name: str) -> None:
    """The complete new folder takes the old one's place; may be called again wherever a killed run stopped."""
    new, old, place = parent / f"{_NEW}{name}", parent / f"{_OLD}{name}", parent / name
    if new.exists():
        if place.exists():
            remove_tree(old)
            os.rename(place, old)
            fsync_folder(parent)
        os.rename(new, place)
        fsync_folder(parent)
    remove_tree(old)


def unfinished(crawl: CrawlFolder) -> list[tuple[Path, str]]:
    """Folders whose renames a killed upgrade left half done: parent and name."""
    found = []
    for parent in _parents(crawl):
        names = (e.name.removeprefix(p) for e in parent.iterdir() for p in (_NEW, _OLD) if e.name.startswith(p))
        found += [(parent, name) for name in sorted(set(names))]
    return found


def _parents(crawl: CrawlFolder) -> list[Path]:
    """The folders in which a segment or its index changes its place."""
    top = crawl.segments_path
    return [top, *(entry for entry in top.iterdir() if entry.is_dir())] if top.is_dir() else []


def finish_renames(crawl: CrawlFolder) -> None:
    """Finishes what a killed upgrade left half done, and removes what it left half made; under the crawl's lock."""
    for parent, name in unfinished(crawl):
        with io_errors(parent, "finish an upgrade"):
            _take_place(parent, name)
    for parent in _parents(crawl):
        for beginning in (_DRAFT, _OLD):
            for entry in parent.glob(f"{TEMPORARY_PREFIX}{beginning}*"):
                remove_tree(entry)
