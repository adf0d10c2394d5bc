"""What did killed runs leave, and who is at work?

Not here: doing away with it (`repair`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from cobnut.inspect.doctor.finding import Mend, counted
from cobnut.inspect.doctor.remedies import cobnut
from cobnut.inspect.doctor.visit import Visit
from cobnut.records import catalogue
from cobnut.storage.files import TEMPORARY_PREFIX, maker_lives
from cobnut.storage.generations import LOCK
from cobnut.storage.layout import CRAWL_LOCK, PURGING, CrawlFolder, SegmentFolder
from cobnut.storage.locks import owner_of
from cobnut.storage.upgrade import unfinished


def at_work(crawl: CrawlFolder) -> str | None:
    """Who changes the crawl now."""
    return owner_of(crawl.path / CRAWL_LOCK)


def busy_with(segment: SegmentFolder) -> str | None:
    """Who fetches, parses or indexes a segment now."""
    return next((owner for lock in _locks_of(segment) if (owner := owner_of(lock)) is not None), None)


def _locks_of(segment: SegmentFolder) -> list[Path]:
    return [segment.path / ".parse.lock", segment.path / ".index.lock", *segment.path.glob("fetching/*.lock")]


def check_temporaries(visit: Visit) -> None:
    """Unfinished work whose maker is gone."""
    found = sorted(_temporaries(visit.crawl))
    if not found:
        return
    size = sum(_size(path) for path in found)
    visit.note(
        "leftover", f"{counted(len(found), 'leaving')} of killed runs, {size:,} bytes ({found[0].name})",
        found[0].parent, "none but the space", f"{cobnut('clean', visit.crawl.path)} removes them",
        Mend("remove", str(found[0]), more=tuple(map(str, found[1:]))),
    )  # fmt: skip


def _temporaries(crawl: CrawlFolder) -> Iterator[Path]:
    folders = [crawl.path, crawl.segments_path, crawl.reports_path, crawl.index_path]
    folders += [crawl.path / table.name for table in catalogue.TABLES if table.scope == "crawl"]
    for segment in crawl.segments_path.iterdir() if crawl.segments_path.is_dir() else ():
        if segment.is_dir() and not segment.name.startswith("."):
            folders += [segment, *(p for p in segment.iterdir() if p.is_dir() and p.name != "index")]
    for folder in folders:
        for entry in folder.glob(f"{TEMPORARY_PREFIX}*") if folder.is_dir() else ():
            if not maker_lives(entry.name):
                yield entry


def check_locks(visit: Visit) -> None:
    """Locks whose owner died: whoever takes them next says so."""
    locks = [visit.crawl.path / CRAWL_LOCK, visit.crawl.index_path / LOCK]
    locks += [visit.crawl.path / table.name / LOCK for table in catalogue.TABLES if table.scope == "crawl"]
    for segment in visit.crawl.segments_path.iterdir() if visit.crawl.segments_path.is_dir() else ():
        locks += [segment / ".parse.lock", segment / ".index.lock"]
    for lock in locks:
        try:
            text = lock.read_bytes()[:4096]
        except OSError:
            continue
        if text.strip() and owner_of(lock) is None:
            visit.note(
                "lock", f"a lock whose owner is gone ({_who(text)})", lock, "none: the next writer takes it over",
                "none is needed", Mend("unlock", str(lock)),
            )  # fmt: skip


def _who(text: bytes) -> str:
    try:
        value = json.loads(text)
        return f"process {int(value['pid'])}, {str(value['command'])[:80]}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return "unknown"


def check_unfinished(visit: Visit) -> None:
    """Work in several steps that a killed run did not come to the end of."""
    mark = visit.crawl.path / PURGING
    if mark.exists():
        visit.note(
            "purging", "a purge of forgotten pages was not finished", mark,
            "the indexes may still hold their text", cobnut("clean", visit.crawl.path),
        )  # fmt: skip
    for parent, name in unfinished(visit.crawl):
        visit.find(
            "upgrade", f"an upgrade of {name} was not finished", parent, "it cannot be read until it is",
            cobnut("upgrade", visit.crawl.path),
        )  # fmt: skip


def _size(path: Path) -> int:
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
    if not path.is_dir():
        try:
            total += path.lstat().st_size
        except OSError:
            return total
    return total
