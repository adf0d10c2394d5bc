"""The ten steps, one function each, as the commands and the round driver call them.

Not here: how each relational stage is run (the module of its name beside this one), in which order steps come
(`crawl.driver`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from cobnut.config.sections import Settings
from cobnut.crawl.applied import applied_segments, parsed_segments, pending_segments
from cobnut.crawl.dedup import dedup
from cobnut.crawl.generate import generate
from cobnut.crawl.inject import inject
from cobnut.crawl.linkage import invertlinks, rank, updatesegs
from cobnut.crawl.orphans import orphans
from cobnut.crawl.reports import StepReport, reporting
from cobnut.crawl.updatedb import updatedb
from cobnut.errors import InputError
from cobnut.frontier.scoring import told
from cobnut.observe.clock import Clock, SystemClock
from cobnut.records import catalogue as tables
from cobnut.storage.layout import FETCHED, GENERATED, CrawlFolder, SegmentFolder
from cobnut.urls.resolve import compile_forms

if TYPE_CHECKING:
    from cobnut.fetcher.pool import FetchPool
    from cobnut.parsers.pool import ParsePool

__all__ = [
    "FetchCounts",
    "applied_segments",
    "dedup",
    "failed_seeds",
    "fetch",
    "generate",
    "index",
    "inject",
    "invertlinks",
    "merge",
    "orphans",
    "parse",
    "parsed_segments",
    "pending_segments",
    "rank",
    "segment_to_fetch",
    "segments_to_parse",
    "updatedb",
    "updatesegs",
]


class FetchCounts(msgspec.Struct, frozen=True):
    """How a fetch stands: pages fetched, failures by reason, URLs waiting."""

    pages: int
    reasons: dict[str, int]
    queued: int


def segment_to_fetch(crawl: CrawlFolder) -> SegmentFolder:
    """The newest segment that is not fetched; an `InputError` when there is none."""
    for segment in reversed(crawl.segments()):
        if segment.state() == GENERATED:
            return segment
    raise InputError("no segment waits to be fetched", where=str(crawl.path), remedy="make one with `cobnut generate`")


def segments_to_parse(crawl: CrawlFolder) -> list[SegmentFolder]:
    """Every segment that is fetched and not parsed, oldest first."""
    return [s for s in crawl.segments() if s.state() == FETCHED]


def fetch(
    crawl: CrawlFolder,
    settings: Settings,
    segment: SegmentFolder,
    *,
    pool: FetchPool | None = None,
    part: int | None = None,
    clock: Clock | None = None,
    on_progress: Callable[[FetchCounts], None] = lambda counts: None,
    should_stop: Callable[[], bool] = lambda: False,
    deadline_s: float | None = None,
    max_pages: int | None = None,
) -> StepReport:
    """Fetches a segment, or one part of its fetchlist; starts nothing new after `deadline_s` seconds or `max_pages`.

    Stopped, the segment stays half fetched, and goes on when it is fetched again.
    """
    from cobnut.stages.fetch import FetchProgress, run_fetch

    clock = clock or SystemClock()

    def forward(state: FetchProgress) -> None:
        on_progress(FetchCounts(state.outcomes.get("success", 0), state.reasons, state.queued + state.in_flight))

    with reporting(crawl, "fetch") as report:
        done = run_fetch(
            crawl, segment, settings, pool=pool, part=part, clock=clock.monotonic, on_progress=forward,
            should_stop=should_stop, deadline=None if deadline_s is None else clock.monotonic() + deadline_s,
            max_pages=max_pages,
        )  # fmt: skip
        report.segments = [segment.name]
        report.counts = {
            "pages": done.outcomes.get("success", 0), "listed": done.listed, "rows": done.rows, "hops": done.hops,
            "left": done.left, "requests": done.requests, "robots": done.robots, "body_bytes": done.body_bytes,
            "warc_bytes": done.warc_bytes, "recovered": done.recovered,
            **{name: count for name, count in done.outcomes.items() if name != "success"}, **done.flags,
        }  # fmt: skip
        report.left_out = dict(done.reasons)
        report.details = {
            "left_by": dict(done.left_by), "sealed": done.sealed, "stopped": done.stopped, "flags": dict(done.flags),
        }  # fmt: skip
        report.messages = list(done.notices)
        if pool is not None:  # its processes live on: their time is not yet among the ended children's
            report.cpu_s += done.cpu_s
    return report


def parse(
    crawl: CrawlFolder,
    settings: Settings,
    segment: SegmentFolder,
    *,
    pool: ParsePool | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> StepReport:
    """Parses the pages of a fetched segment."""
    from cobnut.stages.parse import run_parse

    with reporting(crawl, "parse") as report:
        done = run_parse(
            crawl, segment, settings, pool=pool, on_progress=lambda p: on_progress(p.done, p.total),
            should_stop=should_stop,
        )  # fmt: skip
        report.segments = [segment.name]
        report.counts = {
            "pages": done.pages, "already_parsed": done.already_parsed, "links": done.links,
            "links_dropped": done.links_dropped, "embeds": done.embeds, "redirects": done.redirects, **done.statuses,
            **done.flags,
        }  # fmt: skip
        report.left_out = dict(done.reasons)
        report.details = {"flags": dict(done.flags)}
        report.messages = told(done.score_failures, "pages, whose links pass on what they passed without it")
        if pool is not None:  # its processes live on: their time is not yet among the ended children's
            report.cpu_s += done.cpu_ms / 1000
    return report


def index(
    crawl: CrawlFolder,
    settings: Settings,
    segments: list[SegmentFolder] | None = None,
    without_links_from: frozenset[str] = frozenset(),
) -> StepReport:
    """Builds the index inside each parsed segment; those whose inputs have not changed stay.

    Anchors that stand on the pages of `without_links_from` (url_keys) are left out.
    """
    from cobnut.stages.index import run_index

    with reporting(crawl, "index") as report:
        chosen = parsed_segments(crawl) if segments is None else segments
        done = run_index(crawl, settings, clock=SystemClock(), segments=chosen, without_links_from=without_links_from)
        report.segments = [s.segment for s in done.segments]
        report.counts = {
            "documents": done.doc_count,
            "segments": len(done.segments),
            "unchanged": sum(s.unchanged for s in done.segments),
        }
        report.messages = list(done.messages)
        for one in done.segments:
            for reason, count in one.left_out.items():
                report.left_out[reason] = report.left_out.get(reason, 0) + count
    return report


def merge(crawl: CrawlFolder, settings: Settings) -> StepReport:
    """Makes one index for searching out of the segments' indexes."""
    from cobnut.stages.merge import run_merge

    with reporting(crawl, "merge") as report:
        done = run_merge(crawl, settings, clock=SystemClock())
        report.segments = list(done.segments)
        report.counts = {"documents": done.doc_count, "index_segments": done.index_segments, "bytes": done.bytes}
        report.left_out = dict(done.left_out)
        report.messages = list(done.messages)
        report.details = {"generation": done.generation, "unchanged": done.unchanged}
    return report


def failed_seeds(
    crawl: CrawlFolder, settings: Settings, seeds: list[str], report: StepReport | None
) -> list[tuple[str, str]]:
    """Of the seeds named in this run, those that brought no page, with the reason."""
    failed = [(r["url"], f"refused by {r['rule']}") for r in report.details["rejected"]] if report else []
    forms = compile_forms(settings.urls.normalizers)
    named = {f.key: seed.split("\t")[0] for seed in seeds if (f := forms(seed.split("\t")[0])) is not None}
    if named:
        rows = crawl.table(tables.CRAWLDB).read(
            ["url_key", "status", "reason"], filters=[("url_key", "in", list(named))]
        )
        for row in rows.to_pylist():
            if row["status"] in ("gone", "parse_failed") or (row["status"] == "unfetched" and row["reason"]):
                failed.append((named[row["url_key"]], row["reason"] or row["status"]))
    return failed
