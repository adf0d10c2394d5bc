"""What runs next, and when is a crawl done?

Steps 3 to 5 (generate, fetch, parse, updatedb) make a round; rounds repeat until nothing is due, a limit is reached or
the user stops; then steps 7 to 10 make what was fetched searchable. A run begins by finishing what an earlier one left
unfinished, so that killing and running again comes to the same.

Not here: what each step does (`crawl.steps`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from cobnut.config.sections import Settings
from cobnut.crawl import steps
from cobnut.crawl.applied import rows_in
from cobnut.crawl.reports import StepReport, cpu_seconds
from cobnut.crawl.workers import Workers
from cobnut.observe.clock import Clock, SystemClock
from cobnut.observe.progress import ProgressState
from cobnut.records import catalogue as tables
from cobnut.storage.layout import FETCHED, GENERATED, PARSED, CrawlFolder, SegmentFolder

LONGEST_WAIT_MS = 60_000
"""A crawl waits this long for a host that asked for a pause; hosts that rest longer are left to the next run."""

HELD = ("host_backoff", "max_depth", "min_score", "in_segment")
"""Why generate holds pages back that a user may wonder about; that they are not due yet is no wonder."""

FRUITLESS_ROUNDS = 3

LEAST_REACH = 200
"""URLs in a fetchlist of a run with a page limit, at first; it doubles while a round leaves the limit unreached."""


class Summary(msgspec.Struct):
    """What one run of a crawl came to."""

    rounds: int = 0
    pages: int = 0  # answers with a page, in this run
    ended: str = "done"  # done, max_pages, max_time, fruitless, interrupted
    crawldb: dict[str, int] = {}  # URLs by status
    reasons: dict[str, int] = {}  # URLs by reason, as the crawldb says
    left_out: dict[str, int] = {}  # URLs that did not enter, by rule; in each round that links to one it counts
    held: dict[str, int] = {}  # URLs that wait although nothing more is fetched now, by reason
    duplicates: dict[str, int] = {}
    flags: dict[str, int] = {}  # pages of this run that are no pages to be read, by what they are
    refusals: dict[str, int] = {}  # answers of this run that refused a page and say to whom, by what they are
    documents: int = 0
    next_due_at: int | None = None
    messages: list[str] = []
    seeds: StepReport | None = None
    failed_seeds: list[tuple[str, str]] = []  # (URL, why)
    cpu_s: float = 0.0
    wall_s: float = 0.0
    stage_cpu_s: dict[str, float] = {}


class Watch:
    """What a run is to obey and to tell. `interrupted` is asked often; `show` is given the progress."""

    def __init__(
        self,
        interrupted: Callable[[], bool] = lambda: False,
        show: Callable[[ProgressState], None] = lambda state: None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.interrupted, self.show, self.say = interrupted, show, say


def run_crawl(
    crawl: CrawlFolder,
    settings: Settings,
    seeds: Iterable[str] = (),
    *,
    refresh: bool = False,
    watch: Watch | None = None,
    clock: Clock | None = None,
) -> Summary:
    """Crawls from the seeds given and those there are, until done; then makes everything searchable.

    `refresh`: whatever was ever tried is visited once in this run, due or not; hosts that asked for a pause get it.
    """
    run = _Run(crawl, settings, watch or Watch(), clock or SystemClock(), refresh)
    with crawl.lock() as lock, Workers(settings) as workers:
        if lock.taken_over_from:
            run.message(f"the last run ({lock.taken_over_from}) did not end by itself: going on where it stopped")
        run.workers = workers
        workers.begin()
        crawl.sweep_segments()
        return run.all(list(seeds))


class _Run:
    """The state of one run."""

    workers: Workers

    def __init__(self, crawl: CrawlFolder, settings: Settings, watch: Watch, clock: Clock, refresh: bool) -> None:
        self.crawl, self.settings, self.watch, self.clock, self.refresh = crawl, settings, watch, clock, refresh
        self.begun_ms = clock.now_ms()
        self.summary = Summary()
        self.started = clock.monotonic()
        self.cpu_started = cpu_seconds()
        self.reasons: dict[str, int] = {}
        self.queue = 0
        self.reach = LEAST_REACH
        self.stopped = False

    def message(self, line: str) -> None:
        """Tells the user something now, and again in the summary."""
        if line not in self.summary.messages:
            self.summary.messages.append(line)
            self.watch.say(line)

    # ---- limits

    def interrupted(self) -> bool:
        """The user asked to stop."""
        if not self.stopped and self.watch.interrupted():
            self.stopped = True
        return self.stopped

    def time_left(self) -> float | None:
        """Seconds until `crawl.max_time_s`; None without a limit."""
        limit = self.settings.crawl.max_time_s
        return None if limit <= 0 else limit - (self.clock.monotonic() - self.started)

    def pages_left(self) -> int | None:
        """Pages until `crawl.max_pages`; None without a limit."""
        limit = self.settings.crawl.max_pages
        return None if limit <= 0 else max(0, limit - self.summary.pages)

    def over(self) -> bool:
        """A limit is reached or the user stopped; the summary says which."""
        left = self.time_left()
        if self.interrupted():
            self.summary.ended = "interrupted"
        elif left is not None and left <= 0:
            self.summary.ended = "max_time"
        elif self.pages_left() == 0:
            self.summary.ended = "max_pages"
        else:
            return False
        return True

    # ---- the run

    def all(self, seeds: list[str]) -> Summary:
        """Seeds, what was left unfinished, rounds, and the steps to a searchable index."""
        if seeds:
            self.summary.seeds = self.took(steps.inject(self.crawl, self.settings, seeds, clock=self.clock))
        self.finish_segments()
        self.rounds()
        self.make_searchable()
        self.sum_up(seeds)
        return self.summary

    def finish_segments(self) -> None:
        """Takes segments that an earlier run began to their end, in name order."""
        applied = set(steps.applied_segments(self.crawl))
        for segment in self.crawl.segments():
            if segment.name not in applied:
                self.one_segment(segment)
            elif segment.state() == FETCHED:  # imported, with pages that were not parsed there
                self.parse(segment)

    def rounds(self) -> None:
        """Rounds, until nothing is due or a limit is reached."""
        fruitless = 0
        while not self.over():
            top_n = self.settings.crawl.round_pages
            left = self.pages_left()
            if left is not None:  # many URLs bring no page: the workers hold the limit, not the fetchlist
                top_n = min(top_n, max(self.reach, 2 * left))
                self.reach *= 2
            if self.settings.generate.top_n >= 0:
                top_n = min(top_n, self.settings.generate.top_n)
            segment, report = steps.generate(
                self.crawl, self.settings, top_n=top_n, begun_ms=self.begun_ms, refresh=self.refresh, clock=self.clock
            )
            self.took(report)
            if segment is None:
                if self.wait_for_host(report):
                    continue
                self.summary.next_due_at = report.details.get("next_due_at")
                self.summary.held |= {n: c for n, c in report.left_out.items() if n in HELD and c}
                return
            self.queue = report.counts["selected"]
            answered = self.one_segment(segment)
            self.summary.rounds += 1
            fruitless = 0 if answered else fruitless + 1
            if fruitless >= FRUITLESS_ROUNDS and not self.over():
                self.summary.ended = "fruitless"
                return

    def wait_for_host(self, report: StepReport) -> bool:
        """Waits for the first host that asked for a short pause; False when there is none."""
        ready = report.details.get("host_ready_at")
        if ready is None or ready - self.clock.now_ms() > LONGEST_WAIT_MS:
            return False
        while self.clock.now_ms() < ready:
            if self.over():
                return False
            self.show("waiting for a host that asked for a pause")
            self.clock.sleep(0.1)
        return True

    def one_segment(self, segment: SegmentFolder) -> int:
        """Fetches, parses and applies one segment, from wherever it stands; requests answered or failed in it."""
        if segment.state() == GENERATED:
            self.fetch(segment)
        if segment.state() == FETCHED:
            self.parse(segment)
        if segment.state() == PARSED:
            self.show(f"updatedb {segment.name}")
            self.took(steps.updatedb(self.crawl, self.settings, [segment.name], clock=self.clock))
        return sum(rows_in(path) for path in segment.part_files(tables.FETCHED))

    def parse(self, segment: SegmentFolder) -> None:
        """Parses the pages of one segment that are not parsed."""
        self.show(f"parse {segment.name}")
        self.took(steps.parse(self.crawl, self.settings, segment, pool=self.workers.parse))

    def fetch(self, segment: SegmentFolder) -> None:
        """Fetches one segment, within what is left of time and pages."""
        before, reasons = self.summary.pages, dict(self.reasons)
        budget = float(self.settings.crawl.round_s) if self.settings.crawl.round_s > 0 else None
        left = self.time_left()
        if left is not None:
            budget = max(0.0, left) if budget is None else min(budget, max(0.0, left))

        listed = self.queue

        def progress(counts: Any) -> None:
            self.summary.pages = before + counts.pages
            self.reasons = _sum(reasons, counts.reasons)
            # the workers tell their queues a moment after they have begun
            self.queue = counts.queued or max(0, listed - counts.pages - sum(counts.reasons.values()))
            self.show(f"round {self.summary.rounds + 1}")

        report = steps.fetch(
            self.crawl, self.settings, segment, pool=self.workers.fetch, clock=self.clock, on_progress=progress,
            should_stop=self.interrupted, deadline_s=budget, max_pages=self.pages_left(),
        )  # fmt: skip
        self.took(report)
        self.summary.pages = before + report.counts.get("pages", 0)
        if segment.state() == GENERATED and (self.interrupted() or self.pages_left() == 0):
            # what came until now is made searchable; the rest is in the next fetchlist
            segment.set_state(FETCHED, sealed_by="interrupt" if self.stopped else "max_pages")
        self.reasons = _sum(reasons, report.left_out)
        self.queue = 0

    def make_searchable(self) -> None:
        """Steps 7 to 10."""
        self.workers.close()  # their memory is the engine's now
        if not steps.parsed_segments(self.crawl):
            if self.crawl.index_generations().current_number() is None:
                self.message("nothing was fetched yet: there is nothing to index")
            else:  # the segments were removed; the index needs none of them
                report = self.took(steps.merge(self.crawl, self.settings))
                self.summary.documents = report.counts.get("documents", 0)
            return
        for name, step in (
            ("invertlinks", steps.invertlinks),
            ("orphans", steps.orphans),
            ("rank", steps.rank),
            ("updatesegs", steps.updatesegs),
            ("index", steps.index),
            ("dedup", steps.dedup),
            ("merge", steps.merge),
        ):
            self.show(name)
            report = self.took(step(self.crawl, self.settings))
            if name == "dedup":
                self.summary.duplicates = report.left_out
            if name == "merge":
                self.summary.documents = report.counts.get("documents", 0)

    # ---- telling

    def took(self, report: StepReport) -> StepReport:
        """Adds a step's report to the summary."""
        cpu = self.summary.stage_cpu_s
        cpu[report.stage] = round(cpu.get(report.stage, 0.0) + report.cpu_s, 4)
        for line in report.messages:
            if report.stage not in ("invertlinks", "rank"):  # their "nothing new" is no news here
                self.message(line)
        if report.stage == "parse":
            self.summary.flags = _sum(self.summary.flags, report.details["flags"])
        if report.stage == "fetch":
            self.summary.refusals = _sum(self.summary.refusals, report.details["flags"])
        refused = {name: count for name, count in report.left_out.items() if name.startswith("filtered_by:")}
        if report.stage == "updatedb":
            self.summary.left_out = _sum(self.summary.left_out, refused)
        if report.stage == "generate":  # known pages, the same ones in every round
            self.summary.held = refused
        return report

    def show(self, doing: str) -> None:
        """Shows the progress."""
        limit = self.settings.crawl.max_pages
        time_limit = self.settings.crawl.max_time_s
        self.watch.show(
            ProgressState(
                pages=self.summary.pages,
                queue=self.queue,
                page_limit=limit if limit > 0 else None,
                time_limit_s=float(time_limit) if time_limit > 0 else None,
                reasons=self.reasons,
                doing=doing,
            )
        )

    def sum_up(self, seeds: list[str]) -> None:
        """Counts what the crawldb holds now, and names the seeds that brought nothing."""
        rows = self.crawl.table(tables.CRAWLDB).read(["url_key", "status", "reason"])
        self.summary.crawldb = _counts(rows.column("status").to_pylist())
        self.summary.reasons = _counts(r for r in rows.column("reason").to_pylist() if r is not None)
        self.summary.failed_seeds = steps.failed_seeds(self.crawl, self.settings, seeds, self.summary.seeds)
        self.summary.cpu_s = round(cpu_seconds() - self.cpu_started, 3)
        self.summary.wall_s = round(self.clock.monotonic() - self.started, 3)


def _counts(values: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for value in values:
        found[value] = found.get(value, 0) + 1
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _sum(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {k: first.get(k, 0) + second.get(k, 0) for k in {*first, *second}}


def utc(at_ms: int) -> str:
    """A time as people read it."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at_ms / 1000))
