"""How do the segments of another crawl come along?

A segment that the other crawl has applied is copied under its name, without its index and what else belongs to that
crawl alone; its files get a second name where that is possible, which costs no space. A name that another segment has
here becomes the next second that is free, and the rows of the pages name the segment as it is called here.

Each is known again by the digest of its parts: merging again copies nothing. A killed merge leaves whole segments,
which the next one finds.

Not here: which of the visits count (`crawl.adopt`).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from cobnut.crawl.applied import applied_segments, segment_digest
from cobnut.crawl.others import Other
from cobnut.crawl.reports import StepReport
from cobnut.errors import InputError
from cobnut.observe.clock import Clock
from cobnut.records import catalogue as tables
from cobnut.storage.files import fsync_folder, fsync_tree, io_errors, link_or_copy, remove_tree
from cobnut.storage.layout import PARSED, STATE_FILE, CrawlFolder, SegmentFolder, seconds_of

_TABLES = (tables.FETCHLIST, tables.FETCHED, tables.HOSTS, tables.PARSED, tables.LINKS)


class Along(msgspec.Struct):
    """The segments here that came along, by the name they have there; and which of them are new."""

    names: dict[str, str] = {}
    segments: list[SegmentFolder] = []
    new: list[str] = []


def coming_again(crawl: CrawlFolder, others: list[Other]) -> set[str]:
    """The segments here that are not applied and came from one of these crawls: a merge of them was killed.

    Refuses to bring segments in where others wait here: what is older than one that is applied never can be.
    """
    applied = set(applied_segments(crawl))
    pending = [s for s in crawl.segments() if s.name not in applied]
    coming = {segment_digest(s) for other in others for s in _applied_there(other)} if pending else set()
    again = {s.name for s in pending if s.state() == PARSED and segment_digest(s) in coming}
    waiting = [s.name for s in pending if s.name not in again]
    if waiting:
        raise InputError(
            f"{len(waiting)} segments wait to be applied here, such as {waiting[0]}", where=str(crawl.path),
            remedy="fetch, parse and updatedb them first, or remove them: segments are applied in the order of names",
        )  # fmt: skip
    return again


def bring_along(crawl: CrawlFolder, other: Other, report: StepReport, clock: Clock) -> Along:
    """Copies the segments that the other crawl has applied, as far as they are not here already."""
    here = {segment_digest(s): s for s in crawl.segments() if s.state() == PARSED}
    along, taken = Along(), {s.name for s in crawl.segments()} | {s.name for s in other.crawl.segments()}
    latest = time.strftime("%Y%m%d%H%M%S", time.gmtime(clock.now_ms() / 1000))
    for segment in _applied_there(other):
        digest = segment_digest(segment)
        known = here.get(digest)
        if known is None:
            if seconds_of(segment.name) == 0 or segment.name > latest:
                report.messages.append(f"segment {segment.name} of {other.path} has a name in the future: left out")
                continue
            name = segment.name if not (crawl.segments_path / segment.name).exists() else _free(segment.name, taken)
            taken.add(name)
            known = _copied(crawl, segment, name, digest)
            along.new.append(name)
            if name != segment.name:
                report.messages.append(f"segment {segment.name} of {other.path} is called {name} here")
        along.names[segment.name] = known.name
        along.segments.append(known)
    missing = sum(s.name not in other.applied() for s in other.crawl.segments())
    if missing:
        report.left_out["not_applied_segment"] = report.left_out.get("not_applied_segment", 0) + missing
    return along


def _applied_there(other: Other) -> list[SegmentFolder]:
    applied = other.applied()
    return [s for s in other.crawl.segments() if s.name in applied and s.state() == PARSED]


def _free(name: str, taken: set[str]) -> str:
    at_s = seconds_of(name)
    while True:
        at_s += 1
        found = time.strftime("%Y%m%d%H%M%S", time.gmtime(at_s))
        if found not in taken:
            return found


def _copied(crawl: CrawlFolder, segment: SegmentFolder, name: str, digest: str) -> SegmentFolder:
    draft = crawl.draft_segment()
    target = crawl.segments_path / name
    try:
        with io_errors(target, "copy a segment"):
            folders = [(segment.folder(table), segment.part_files(table), draft.folder(table)) for table in _TABLES]
            for source, files, folder in folders:
                if source.is_dir():
                    folder.mkdir()
                for path in files:
                    link_or_copy(path, folder / path.name)
            _link_tree(segment.warc_path, draft.warc_path)
            details = segment.details()
            draft.set_state(
                details["state"],
                **{k: v for k, v in details.items() if k not in ("state", "imported")},
                imported={"from": "cobnut", "segment": segment.name, "digest": digest},
            )
            fsync_tree(draft.path)
            os.rename(draft.path, target)
            fsync_folder(crawl.segments_path)
    except BaseException:
        remove_tree(draft.path)
        raise
    return SegmentFolder(target)


def _link_tree(source: Path, target: Path) -> None:
    if not source.is_dir():
        return
    target.mkdir()
    for path in sorted(source.iterdir()):
        if path.is_file() and not path.is_symlink() and not path.name.startswith(".") and path.name != STATE_FILE:
            link_or_copy(path, target / path.name)
