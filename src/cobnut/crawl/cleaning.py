"""What does a crawl keep that nobody needs any more?

A segment is *superseded* when the crawldb and the linkdb hold it, and every page in it was fetched in full again in a
later one, is gone, redirects, or is to be forgotten. Beside superseded segments go: generations that nobody reads or
can go back to, what killed runs left, old reports, and what the segments hold of pages that are to be forgotten.

All of it under the crawl's lock. What another process is at work on, or reads, stays and is named.

Not here: how forgotten pages leave a segment (`crawl.purge`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from cobnut.config.sections import Settings
from cobnut.crawl import steps
from cobnut.crawl.purge import purge_linkdb, purge_segment, visits_to_purge
from cobnut.crawl.reports import StepReport, reporting
from cobnut.errors import InputError
from cobnut.frontier.forgotten import forgotten_of, key_test
from cobnut.observe.clock import Clock, SystemClock
from cobnut.records import catalogue as tables
from cobnut.storage.files import TEMPORARY_PREFIX, maker_lives, remove_tree, write_atomic
from cobnut.storage.generations import GenerationStore
from cobnut.storage.layout import PARSED, PURGING, CrawlFolder, SegmentFolder, seconds_of
from cobnut.storage.locks import owner_of
from cobnut.storage.tables import batches_of
from cobnut.urls.filters import NOTHING_FORGOTTEN
from cobnut.urls.keys import key_to_url

REPORTS_S = 30 * 86_400
NAMED = 3


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What may go. Segments younger than `older_than_s` stay, and the newest `keep` whatever their age."""

    segments: tuple[str, ...] = ()  # these and no others
    older_than_s: float = 0.0
    keep: int = 0
    reports_s: float = REPORTS_S
    dry_run: bool = False


class Item(msgspec.Struct, frozen=True):
    """One thing that went, or would go: what it is, where, how many bytes become free, and what else to say."""

    what: str  # segment, generation, temporary, purge, reports
    name: str
    bytes: int = 0
    note: str = ""


class Needs(msgspec.Struct):
    """Why a segment stays; `pages` counts those whose last full answer it holds, and `some` of them are named."""

    state: str | None = None
    pages: int = 0
    some: list[str] = []

    def sentence(self) -> str | None:
        """What depends on the segment; None when nothing does."""
        if self.state is not None:
            return self.state
        if not self.pages:
            return None
        more = ", …" if self.pages > len(self.some) else ""
        pages = f"{self.pages:,} pages have" if self.pages != 1 else "1 page has"
        return f"{pages} their last full answer in it ({', '.join(self.some)}{more})"


def clean(crawl: CrawlFolder, settings: Settings, policy: Policy, clock: Clock | None = None) -> StepReport:
    """Removes what the policy lets go; `details["items"]` lists it, `messages` say what stays and why.

    An `InputError` when a segment that was named is needed: it says by what.
    """
    clock = clock or SystemClock()
    with crawl.lock(), reporting(crawl, "clean") as report:
        items: list[Item] = []
        items += _temporaries(crawl, policy)
        items += _purge(crawl, settings, policy, clock, report)
        items += _segments(crawl, policy, clock, report)
        items += _generations(crawl, policy, report)
        items += _reports(crawl, policy, clock)
        for item in items:
            report.counts[item.what] = report.counts.get(item.what, 0) + 1
        report.counts["bytes"] = sum(item.bytes for item in items)
        report.details = {"items": [msgspec.to_builtins(item) for item in items], "dry_run": policy.dry_run}
    return report


# ---- segments


def needs_of(crawl: CrawlFolder) -> dict[str, Needs]:
    """What depends on each segment on disk."""
    applied, inverted = (set(steps.applied_segments(crawl, t)) for t in (tables.CRAWLDB, tables.LINKDB))
    found: dict[str, Needs] = {}
    for segment in crawl.segments():
        needs = found[segment.name] = Needs()
        state, owner = segment.state(), busy_with(segment)
        if owner is not None:
            needs.state = f"{owner} is at work on it"
        elif state != PARSED:
            needs.state = f"it is only {state}"
        elif segment.name not in applied:
            needs.state = "the crawldb does not hold it yet: `cobnut updatedb`"
        elif segment.name not in inverted:
            needs.state = "the linkdb does not hold it yet: `cobnut invertlinks`"
    version = crawl.table(tables.PAGES).current()
    if version is None:
        return found
    is_forgotten = key_test(forgotten_of(crawl))
    with version:
        for batch in batches_of(tables.PAGES, version.files(), ["url_key", "segment"], 65_536):
            for key, name in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                held = found.get(name)
                if held is not None and not is_forgotten(key):
                    held.pages += 1
                    if len(held.some) < NAMED:
                        held.some.append(key_to_url(key)[:100])
    return found


def busy_with(segment: SegmentFolder) -> str | None:
    """Who fetches, parses or indexes the segment now."""
    locks = [segment.path / ".parse.lock", segment.path / ".index.lock", *segment.path.glob("fetching/*.lock")]
    return next((owner for lock in locks if (owner := owner_of(lock)) is not None), None)


def _segments(crawl: CrawlFolder, policy: Policy, clock: Clock, report: StepReport) -> Iterator[Item]:
    segments, needs = crawl.segments(), needs_of(crawl)
    for name in policy.segments:
        why = needs[crawl.segment(name).name].sentence()
        if why is not None:
            raise InputError(f"segment {name} is still needed: {why}", where=str(crawl.path), remedy="leave it")
    kept = {s.name for s in segments[len(segments) - policy.keep :]} if policy.keep > 0 else set()
    named = {crawl.segment(name).name for name in policy.segments}
    for segment in segments:
        if named and segment.name not in named:
            continue
        age_s = clock.now_ms() / 1000 - seconds_of(segment.name)
        if segment.name in kept or age_s < policy.older_than_s:
            continue
        why = needs[segment.name].sentence()
        if why is not None:
            report.messages.append(f"segment {segment.name} stays: {why}")
            continue
        size = size_of(segment.path)
        if not policy.dry_run:
            remove_tree(segment.path)
        yield Item("segment", segment.name, size, "every page in it is gone, or was fetched again later")


# ---- what is to be forgotten


def _purge(
    crawl: CrawlFolder, settings: Settings, policy: Policy, clock: Clock, report: StepReport
) -> Iterator[Item]:  # fmt: skip
    forgotten = forgotten_of(crawl)
    if forgotten == NOTHING_FORGOTTEN or policy.segments:
        return
    applied, mark = set(steps.applied_segments(crawl)), crawl.path / PURGING
    for segment in crawl.segments():
        visits = sum(map(len, visits_to_purge(segment, forgotten).values()))
        if not visits:
            continue
        if segment.name not in applied or segment.state() != PARSED or busy_with(segment) is not None:
            report.messages.append(f"segment {segment.name} is not purged before the crawldb holds it")
            continue
        if not policy.dry_run:
            write_atomic(mark, b"")
            purge_segment(segment, settings, forgotten, clock.now_ms())
        yield Item("purge", segment.name, 0, f"{visits} visits of pages that are to be forgotten")
    links = 0 if policy.dry_run else purge_linkdb(crawl, lambda: write_atomic(mark, b""))
    if links:
        yield Item("purge", "linkdb", 0, f"{links} links on pages that are to be forgotten")
    if mark.exists() and not policy.dry_run:  # the indexes hold their text until they are made again
        for step in (steps.updatesegs, steps.index, steps.dedup, steps.merge):
            step(crawl, settings)
        mark.unlink()


# ---- the rest


def _temporaries(crawl: CrawlFolder, policy: Policy) -> Iterator[Item]:
    """What killed runs left. What a living process on this machine made stays."""
    if policy.segments:
        return
    idle = [s for s in crawl.segments() if busy_with(s) is None]
    folders = [crawl.path, crawl.segments_path, crawl.reports_path]
    for segment in idle:
        folders += [segment.path, *(p for p in segment.path.iterdir() if p.is_dir() and p.name != "index")]
    for folder in folders:
        for entry in sorted(folder.glob(f"{TEMPORARY_PREFIX}*")) if folder.is_dir() else ():
            if not maker_lives(entry.name):
                size = size_of(entry)
                if not policy.dry_run:
                    _remove(entry)
                yield Item("temporary", str(entry.relative_to(crawl.path)), size)


def _generations(crawl: CrawlFolder, policy: Policy, report: StepReport) -> Iterator[Item]:
    if policy.segments:
        return
    forgets = bool(forgotten_of(crawl))
    stores = [crawl.table(t).generations for t in tables.TABLES if t.scope == "crawl"]
    for store in [*stores, crawl.index_generations()]:
        # a former one would hold what was purged
        keep_previous = not (forgets and store.what in ("index", tables.LINKDB.name))
        wanted = {number: size_of(_folder(store, number)) for number in store.surplus(keep_previous)}
        gone = list(wanted) if policy.dry_run else store.prune(keep_previous)
        for number in gone:
            yield Item("generation", f"{store.what}/{_folder(store, number).name}", wanted.get(number, 0))
        for number in sorted(set(wanted) - set(gone)):
            report.messages.append(f"generation {number} of {store.what} stays: it is being read")


def _folder(store: GenerationStore, number: int) -> Path:
    return store.path / f"g{number:06d}"


def _reports(crawl: CrawlFolder, policy: Policy, clock: Clock) -> Iterator[Item]:
    if policy.segments or not crawl.reports_path.is_dir():
        return
    limit = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock.now_ms() / 1000 - policy.reports_s))
    old = [p for p in sorted(crawl.reports_path.glob("*.json")) if p.name < limit]
    if old:
        size = sum(map(size_of, old))
        if not policy.dry_run:
            for path in old:
                _remove(path)
        yield Item("reports", f"{len(old)} reports", size, f"older than {limit[:8]}")


def _remove(entry: Path) -> None:
    if entry.is_dir():
        remove_tree(entry)
    else:
        with contextlib.suppress(FileNotFoundError):
            entry.unlink()


def size_of(path: Path) -> int:
    """Bytes that become free when a file or folder goes: files that have other names too do not count."""
    entries: Sequence[Path] = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    total = 0
    for entry in entries:
        with contextlib.suppress(OSError):
            status = entry.stat()
            total += status.st_size if status.st_nlink == 1 else 0
    return total
