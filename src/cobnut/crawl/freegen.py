"""How does a list of URLs become a segment, whatever the crawldb says?

Every URL of the list is to be fetched now: due times, scores, limits and states are not asked. From the fetchlist on
the segment is one like any other: fetched politely, parsed, applied by updatedb, which brings its pages into the
crawldb.

Of lines that name one page the first that gives the highest score counts, or else the first. A page that is known
keeps its score and depth in the fetchlist, unless the line gives a score. One that is not has the score of a seed and
depth 1, as if a seed linked to it: it does not widen the scope, as a seed would. No validators are sent: the answer
comes in full.

Left out, by reason: what is no URL or refused by a filter (`scope` is asked only when wanted, since who lists a URL
means it); what is to be forgotten, always; what waits in a segment that is not applied yet; what is beyond a limit per
host.

Not here: seeds (`crawl.inject`), the choice of what is due (`crawl.generate`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.config.sections import Settings
from cobnut.crawl.applied import applied_segments
from cobnut.crawl.fetchlists import parts_by_host
from cobnut.crawl.reports import StepReport, reporting
from cobnut.frontier.admission import scope_of
from cobnut.frontier.forgotten import forgotten_of
from cobnut.frontier.scoring import InjectedScore, told
from cobnut.observe.clock import Clock, SystemClock
from cobnut.records import catalogue as tables
from cobnut.stages.inject import MOST_SHOWN, NOT_UTF8, parse_line, why_no_url
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.parts import PartWriter, part_name
from cobnut.storage.tables import batches_of
from cobnut.urls.filters import Scope, compile_filter
from cobnut.urls.resolve import compile_forms

if TYPE_CHECKING:
    import pyarrow as pa

MICRO = 1_000_000
NEW_DEPTH = 1
SLICE_ROWS = 16_384
MOST_LISTED = 1_000


class Listed(msgspec.Struct):
    """A page of the list."""

    url: str
    key: str
    host: str
    bucket: int
    score: int
    given: bool  # the line gave the score
    metadata: dict[str, str]
    depth: int = NEW_DEPTH
    signature: bytes | None = None
    fetched_before: bool = False


def freegen(
    crawl: CrawlFolder,
    settings: Settings,
    lines: Iterable[str],
    *,
    filters: bool | None = None,
    num_fetchers: int | None = None,
    max_per_host: int | None = None,
    clock: Clock | None = None,
) -> tuple[SegmentFolder | None, StepReport]:
    """A segment that fetches these URLs, one a line as in a seed file; None when none is left, `left_out` says why.

    `filters`: True asks all URL filters, False none, None all but `scope`.
    """
    clock = clock or SystemClock()
    with reporting(crawl, "freegen") as report:
        pages = _read(crawl, settings, lines, filters, report)
        _leave_out_waiting(crawl, pages, report)
        _look_up(crawl, pages)
        chosen = _chosen(pages, max_per_host, report)
        report.counts["selected"] = len(chosen)
        if not chosen:
            return None, report
        sizes: dict[str, int] = {}
        for page in chosen:
            sizes[page.host] = sizes.get(page.host, 0) + 1
        report.counts["hosts"] = len(sizes)
        count = settings.generate.num_fetchers if num_fetchers is None else num_fetchers
        if count <= 0:  # a host is in one part: more parts than hosts would only start idle workers
            count = min(settings.fetcher.workers or _cores(), len(sizes))
        parts = parts_by_host(sizes, count)
        segment = crawl.new_segment(clock.now_ms, clock.sleep, lambda draft: _write(draft, chosen, parts, count))
        report.segments.append(segment.name)
    return segment, report


def _read(
    crawl: CrawlFolder, settings: Settings, lines: Iterable[str], filters: bool | None, report: StepReport
) -> dict[str, Listed]:
    """The pages of the list by key, in the order of the list; the report counts what is left out."""
    forms, score_of = compile_forms(settings.urls.normalizers), InjectedScore(settings.scoring)
    names = () if filters is False else settings.urls.filters
    if not filters:
        names = tuple(name for name in names if name != "scope")
    scope = scope_of(crawl, settings) if filters else Scope("web", forgotten=forgotten_of(crawl))
    refuses = compile_filter(msgspec.structs.replace(settings.urls, filters=names), scope)
    default = round(settings.scoring.injected_score * MICRO)
    pages: dict[str, Listed] = {}
    report.counts = {"lines": 0}
    rejected: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        seed = parse_line(line)
        if seed is None:
            continue
        report.counts["lines"] += 1
        if seed.note and len(notes) < MOST_LISTED:
            notes.append({"line": number, "note": seed.note})
        found = None if NOT_UTF8 in seed.url else forms(seed.url)
        rule = why_no_url(seed.url) if found is None else None
        rule = refuses(found.normalized) if found is not None else rule
        if found is None or rule is not None:
            _count(report, str(rule))
            if len(rejected) < MOST_LISTED:
                rejected.append({"line": number, "url": seed.url[:MOST_SHOWN], "rule": rule})
            continue
        score = score_of(found.normalized, default if seed.score is None else seed.score, seed.metadata)
        page = Listed(
            found.url, found.key, found.host, found.bucket, score, seed.score is not None, seed.metadata
        )  # fmt: skip
        known = pages.get(found.key)
        if known is not None:
            _count(report, "duplicate")
        if known is None or (page.given, page.score) > (known.given, known.score):
            pages[found.key] = page
    report.details |= {"rejected": rejected, "notes": notes}
    report.messages += told(score_of.failures, "URLs, which keep their score")
    return pages


def _count(report: StepReport, reason: str, count: int = 1) -> None:
    report.left_out[reason] = report.left_out.get(reason, 0) + count


def _leave_out_waiting(crawl: CrawlFolder, pages: dict[str, Listed], report: StepReport) -> None:
    """Takes out what is in the fetchlist of a segment that is not applied: it is fetched already, or will be."""
    applied = set(applied_segments(crawl))
    for segment in crawl.segments():
        if segment.name in applied or not pages:
            continue
        for batch in batches_of(tables.FETCHLIST, segment.part_files(tables.FETCHLIST), ["url_key"], SLICE_ROWS):
            for key in batch.column(0).to_pylist():
                if pages.pop(key, None) is not None:
                    _count(report, "in_segment")


def _look_up(crawl: CrawlFolder, pages: dict[str, Listed]) -> None:
    """Tells each page what the crawldb knows of it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    version = crawl.table(tables.CRAWLDB).current()
    if version is None or not pages:
        return
    keys = pa.array(list(pages), pa.string())
    columns = ["url_key", "score", "depth", "signature", "fetched_at"]
    with version:
        for batch in batches_of(tables.CRAWLDB, version.files(), columns, SLICE_ROWS):
            for row in batch.filter(pc.is_in(batch.column("url_key"), value_set=keys)).to_pylist():
                page = pages[row["url_key"]]
                page.depth, page.signature = row["depth"], row["signature"]
                page.fetched_before = row["fetched_at"] is not None
                if not page.given:
                    page.score = row["score"]


def _chosen(pages: dict[str, Listed], max_per_host: int | None, report: StepReport) -> list[Listed]:
    """The pages, best score first, then as they stand in the list; of a host no more than the limit."""
    ordered = sorted(pages.values(), key=lambda page: -page.score)
    if max_per_host is None or max_per_host < 0:
        return ordered
    chosen, taken = [], dict[str, int]()
    for page in ordered:
        taken[page.host] = taken.get(page.host, 0) + 1
        if taken[page.host] <= max_per_host:
            chosen.append(page)
    if len(chosen) < len(ordered):
        _count(report, "max_per_host", len(ordered) - len(chosen))
    return chosen


def _write(segment: SegmentFolder, pages: list[Listed], parts: dict[str, int], count: int) -> None:
    for part in range(count):
        mine = [page for page in pages if parts[page.host] == part]
        with PartWriter(segment.folder(tables.FETCHLIST), tables.FETCHLIST, part_name(part)) as writer:
            for start in range(0, len(mine), SLICE_ROWS):
                writer.write(_rows(mine[start : start + SLICE_ROWS], part))


def _rows(pages: list[Listed], part: int) -> pa.Table:
    import pyarrow as pa

    rows = [
        {
            "url_key": page.key, "url": page.url, "host": page.host, "bucket": page.bucket, "part": part, "fetch": True,
            "score": page.score, "depth": page.depth, "signature": page.signature,
            "fetched_before": page.fetched_before, "metadata": list(page.metadata.items()) or None,
        }
        for page in pages
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=tables.FETCHLIST.schema())


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
