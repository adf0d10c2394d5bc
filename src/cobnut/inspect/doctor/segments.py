"""Are the segments whole, and do their parts agree?

A segment that somebody is at work on is looked at as far as it is acknowledged: its parts, one by one.

Not here: its WARC files (`archives`) and its index (`indexes`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from cobnut.errors import CobnutError
from cobnut.inspect.doctor.clock import check_segment_names
from cobnut.inspect.doctor.finding import Mend, counted
from cobnut.inspect.doctor.leftovers import busy_with
from cobnut.inspect.doctor.probe import Broken
from cobnut.inspect.doctor.remedies import cobnut, for_segment, remove
from cobnut.inspect.doctor.tables import layered, tell_future, told
from cobnut.inspect.doctor.visit import CLOCK_SLACK_MS, Visit
from cobnut.records import catalogue
from cobnut.storage.layout import FETCHED, GENERATED, PARSED, STATE_FILE, SegmentFolder

TABLES = tuple(table for table in catalogue.TABLES if table.scope == "segment")
STATES = (GENERATED, FETCHED, PARSED)


class Looked(msgspec.Struct):
    """What is known of a segment after its parts were looked at: the sound ones by table, and the state."""

    segment: SegmentFolder
    state: str | None = None
    parts: dict[str, list[str]] = {}
    damaged: set[str] = set()
    warc_files: list[str] = []
    is_busy: bool = False
    unsealed: list[str] = []


def check_segments(visit: Visit) -> list[Looked]:
    """Every segment by itself; what later checks need to know of each."""
    folder = visit.crawl.segments_path
    if not folder.is_dir():
        return []
    paths = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    check_segment_names(visit, [p.name for p in paths])
    _check_late(visit, paths)
    return [looked for path in paths if (looked := _check(visit, SegmentFolder(path))) is not None]


def _check_late(visit: Visit, paths: list[Path]) -> None:
    """Segments that were overtaken: the crawldb takes them in the order of their names."""
    applied = visit.applied("crawldb")
    newest = max(applied, default="")
    for path in paths:
        if path.name < newest and path.name not in applied:
            visit.note(
                "late", f"segment {path.name} is older than {newest}, which is in the crawldb already", path,
                "`cobnut updatedb` refuses it; its URLs are fetched again in a later round", remove(path),
            )  # fmt: skip


def _check(visit: Visit, segment: SegmentFolder) -> Looked | None:
    visit.say(f"segment {segment.name}")
    parts = {table.name: segment.part_files(table) for table in TABLES}
    if not (segment.path / STATE_FILE).exists() and not (parts["fetchlist"] or parts["fetched"]):
        if segment.path.exists():
            visit.note("stranger", "a folder that is no segment", segment.path, "none: nothing reads it",
                       "remove it, if you do not know it")  # fmt: skip
        return None
    looked = Looked(segment, is_busy=busy_with(segment) is not None)
    visit.checked.segments += 1
    for table in TABLES:
        for path in parts[table.name]:
            _check_part(visit, looked, table.name, path)
    _note_unsealed(visit, looked)
    _agree(visit, looked)
    if not segment.path.exists():  # cleaned away meanwhile
        return None
    return looked


def _note_unsealed(visit: Visit, looked: Looked) -> None:
    if looked.unsealed:
        count = counted(len(looked.unsealed), "part has", "parts have")
        first = Path(looked.unsealed[0]).relative_to(looked.segment.path)
        visit.note(
            "checksum", f"segment {looked.segment.name}: {count} no checksum ({first})", looked.segment.path,
            "bytes of them that change and can still be read are not noticed",
            "none is needed: an older program wrote them, and what is written now has one",
        )  # fmt: skip


def _check_part(visit: Visit, looked: Looked, table: str, path: Path) -> None:
    visit.checked.files += 1
    try:
        visit.checked.bytes += path.stat().st_size
        answer = visit.probe.ask(
            "file", path=str(path), table=table, partition=0, partitions=1, is_sorted=False,
            now_ms=visit.now_ms + CLOCK_SLACK_MS, deep=visit.deep,
        )  # fmt: skip
    except OSError as error:
        if not path.is_symlink():
            if isinstance(error, FileNotFoundError):
                return  # cleaned away meanwhile
            raise
        what = f"a link that leads nowhere, {error.strerror}"
        answer = {"rows": 0, "schema": [], "faults": {}, "broken": what}
    except Broken as error:
        if not path.exists():
            return
        answer = {"rows": 0, "schema": [], "faults": {}, "broken": str(error)}
    visit.checked.rows += answer["rows"]
    tell_future(visit, f"{table} of segment {looked.segment.name}", path, answer)
    faults = told(answer, None)
    if "is_sealed" in answer and answer["is_sealed"] is None:
        looked.unsealed.append(str(path))
    if not faults:
        looked.parts.setdefault(table, []).append(str(path))
        return
    looked.damaged.add(table)
    text, consequence, mends = remedy_of_part(visit, looked.segment, table, path)
    for fault, _ in faults:
        visit.find("part", f"{table} of segment {looked.segment.name}: {fault}", path, consequence, text, *mends)


def remedy_of_part(
    visit: Visit, segment: SegmentFolder, table: str, path: Path | None = None
) -> tuple[str, str, tuple[Mend, ...]]:
    """What helps when a table of a segment is damaged: in words, what it means, and what `--repair` may do."""
    crawl = visit.crawl.path
    if table in ("parsed", "links"):
        folders = [segment.path / "parsed", segment.path / "links"]
        text = f"{remove(*folders)}, then {cobnut('parse', crawl, segment.name)}, which makes them again"
        mend = Mend("remove", str(folders[0]), more=(str(folders[1]),))
        state = Mend("state", str(segment.path), FETCHED)
        return text, "the segment cannot be applied, ranked or indexed", (mend, state)
    if table == "linked":
        folder = segment.path / "linked"
        text = f"{remove(folder)}, then {cobnut('updatesegs', crawl)}, which makes it again"
        return text, "the segment cannot be indexed with its scores and anchors", (Mend("remove", str(folder)),)
    if table == "hosts" and path is not None:
        text = f"{remove(path)}: what the round learned of hosts is learned again"
        return text, "the segment cannot be applied", ()
    return for_segment(segment.path), "the segment cannot be applied or parsed again", ()


def _agree(visit: Visit, looked: Looked) -> None:
    """State and relations among the parts."""
    segment = looked.segment
    files = {name: paths for name, paths in looked.parts.items() if name not in looked.damaged}
    answer: dict[str, Any] = {}
    if not looked.is_busy or files.get("fetched"):
        try:
            answer = visit.probe.ask("segment", files=files)
        except Broken as error:
            if all(Path(path).exists() for paths in files.values() for path in paths):
                visit.find("segment", f"the parts of segment {segment.name} cannot be compared ({error})", segment.path,
                           "it is not known whether they agree", for_segment(segment.path))  # fmt: skip
            return
    looked.warc_files = answer.get("warc_files", [])
    _check_state(visit, looked, answer)
    if looked.is_busy:
        return
    if "fetchlist" not in looked.parts and "fetchlist" not in looked.damaged and segment.path.exists():
        text, consequence, mends = remedy_of_part(visit, segment, "fetchlist")
        visit.find("segment", f"segment {segment.name} has no fetchlist", segment.path, consequence, text, *mends)
    for name, what in (
        ("listed_twice", "URLs stand in the fetchlist twice"), ("host_in_parts", "hosts are in more than one part"),
        ("fetched_twice", "URLs were fetched twice"), ("not_listed", "fetched URLs are not in the fetchlist"),
    ):  # fmt: skip
        _tell(visit, looked, "fetched", answer.get(name), what)
    for name, table, what in (
        ("parsed_twice", "parsed", "pages are parsed twice"),
        ("parsed_of_nothing", "parsed", "parsed pages were not fetched"),
        ("links_twice", "links", "links stand there twice"),
        ("links_of_nothing", "links", "links are of pages not fetched"),
        ("linked_of_nothing", "linked", "pages with scores and anchors were not fetched"),
    ):  # fmt: skip
        if not looked.damaged & {"fetched", table}:
            _tell(visit, looked, table, answer.get(name), what)
    if not looked.damaged & {"parsed", "links"}:
        _tell(visit, looked, "links", answer.get("links_lost"), "parsed pages have lost their links")
    if looked.state == PARSED and not looked.damaged & {"fetched", "parsed"}:
        _tell(visit, looked, "parsed", answer.get("not_parsed"), "fetched pages have no parsed row")


def _tell(visit: Visit, looked: Looked, table: str, found: list[Any] | None, what: str) -> None:
    if not found or not found[0]:
        return
    text, consequence, mends = remedy_of_part(visit, looked.segment, table)
    visit.find(
        "segment", f"segment {looked.segment.name}: {found[0]:,} {what} ({', '.join(found[1])})", looked.segment.path,
        consequence, text, *mends,
    )  # fmt: skip


def _check_state(visit: Visit, looked: Looked, answer: dict[str, Any]) -> None:
    """How far the segment has come, as it says; where it does not say, its parts do."""
    path = looked.segment.path / STATE_FILE
    try:
        looked.state = looked.segment.state()
        what = None if looked.state in STATES else f"the state {looked.state[:40]!r} is none"
    except CobnutError as error:
        if "newer" in error.what:
            visit.find("version", error.what, path, "this program cannot read it", "use a newer Cobnut")
            return
        what = f"{STATE_FILE} is damaged or missing ({error.what})"
    except (KeyError, TypeError, ValueError):
        what = f"{STATE_FILE} names no state"
    if what is None or not looked.segment.path.exists():
        return
    looked.state = None
    mends: tuple[Mend, ...] = ()
    text = for_segment(looked.segment.path)
    if not looked.damaged & {"fetchlist", "fetched", "parsed", "links"}:
        state = _state_by_parts(visit, looked, answer)
        mends = (Mend("state", str(looked.segment.path), state),)
        text = f"{cobnut('doctor', visit.crawl.path, '--repair')} writes it anew from the parts: {state}"
    visit.find(
        "state", f"segment {looked.segment.name}: {what}", path, "no command goes on with the crawl", text, *mends
    )


def _state_by_parts(visit: Visit, looked: Looked, answer: dict[str, Any]) -> str:
    """The state that the parts show. An earlier one than it was is no harm: what is there is not made again."""
    fetching = looked.segment.path / "fetching"
    listed = looked.segment.part_files(catalogue.FETCHLIST)
    is_fetched = looked.segment.name in visit.applied("crawldb") or (
        bool(listed) and all((fetching / f"{path.stem}.done").exists() for path in listed)
    )
    if not is_fetched and not looked.parts.get("parsed"):
        return GENERATED
    return FETCHED if answer.get("not_parsed", [0])[0] or not looked.parts.get("parsed") else PARSED


def check_applied(visit: Visit, all_looked: list[Looked]) -> None:
    """Pages whose last answer is said to be in a segment: is it there, at that place?"""
    if "pages" not in visit.sound:
        return
    here = {looked.segment.name: looked for looked in all_looked}
    partitions = visit.sound["pages"][1]["partitions"]
    counts: dict[str, int] = {}
    for partition in range(partitions):
        try:
            found = visit.probe.ask("places", pages=layered(visit, "pages", partition, partitions))
        except Broken:
            return
        for name, count in found.items():
            counts[name] = counts.get(name, 0) + count
    gone = {name: count for name, count in counts.items() if name not in here}
    if gone:
        _note_gone(visit, gone)
    for name in sorted(set(counts) & set(here)):
        if "fetched" not in here[name].damaged and not here[name].is_busy:
            _check_places(visit, here[name])


def _note_gone(visit: Visit, gone: dict[str, int]) -> None:
    names = sorted(gone)
    visit.note(
        "places", f"{counted(sum(gone.values()), 'page has', 'pages have')} their last full answer in "
        f"{counted(len(names), 'segment')} not on disk any more ({', '.join(names[:3])})",
        visit.crawl.segments_path, "they stay in the index; their archived copies are gone",
        f"none is needed: they come again when they are due ({cobnut('crawl', visit.crawl.path, '--refresh')} for now)",
    )  # fmt: skip


def _check_places(visit: Visit, looked: Looked) -> None:
    from cobnut.frontier.forgotten import forgotten_of, key_test

    visit.say(f"segment {looked.segment.name}: pages")
    partitions = visit.sound["pages"][1]["partitions"]
    wrong, some, emptied = 0, list[str](), 0
    is_forgotten = key_test(forgotten_of(visit.crawl)) if "forgotten" in visit.sound else lambda key: False
    for partition in range(partitions):
        try:
            answer = visit.probe.ask(
                "pages", pages=layered(visit, "pages", partition, partitions), fetched=looked.parts.get("fetched", []),
                segment=looked.segment.name,
            )  # fmt: skip
        except Broken:
            return
        kept = [key for key in answer["keys"] if not is_forgotten(key)]
        wrong += answer["wrong"] - (len(answer["keys"]) - len(kept))
        emptied += answer["emptied"]
        some += kept[:3]
    if "forgotten" not in visit.sound:  # only what was purged has a row without a place
        wrong += emptied
    if wrong:
        text = cobnut("crawl", visit.crawl.path, "--refresh")
        visit.find(
            "places", f"{counted(wrong, 'page')} said to be in segment {looked.segment.name} where there is nothing of "
            f"{'it' if wrong == 1 else 'them'} ({', '.join(some[:3])})", looked.segment.path,
            "their archived copies cannot be shown", f"{text} fetches them again",
        )  # fmt: skip
