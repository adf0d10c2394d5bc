"""How is a segment with its fetchlist made?

Not here: which pages are chosen (`stages.generate`), which `--where` means (`crawl.condition`), how they are dealt out
(`crawl.fetchlists`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import msgspec

from cobnut.config.sections import Settings
from cobnut.crawl.applied import applied_segments
from cobnut.crawl.condition import STEP, Narrowed, narrowed
from cobnut.crawl.fetchlists import Chosen, Gathered
from cobnut.crawl.reports import StepReport, reporting
from cobnut.crawl.scored import ordered
from cobnut.engines import conserve
from cobnut.engines.local import LocalEngine, Run
from cobnut.engines.session import Session
from cobnut.errors import InputError, MachineError
from cobnut.frontier.admission import scope_of
from cobnut.frontier.forgotten import key_test, taken_back
from cobnut.frontier.scoring import SortValue, told
from cobnut.frontier.turn import NO_LIMIT, limits_of
from cobnut.observe.clock import Clock, SystemClock
from cobnut.records import catalogue as tables
from cobnut.records.outcomes import STATUSES
from cobnut.stages import generate as generate_stage
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.urls.filters import compile_filter
from cobnut.urls.nearest import unknown_name
from cobnut.urls.screening import surely_passing

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

MOST_SEGMENTS = 1_000
MOST_AHEAD_S = 1_000_000_000
"""No visit is due so late; what is asked beyond it would not fit a column."""


def generate(
    crawl: CrawlFolder,
    settings: Settings,
    *,
    top_n: int | None = None,
    max_per_host: int | None = None,
    num_fetchers: int | None = None,
    segments: int = 1,
    where: str | None = None,
    statuses: Collection[str] = (),
    ahead_s: float = 0.0,
    begun_ms: int | None = None,
    refresh: bool = False,
    clock: Clock | None = None,
) -> tuple[SegmentFolder | None, StepReport]:
    """A new segment with its fetchlist, or None when nothing is due; `left_out` says why, by reason.

    With `segments` up to as many are made, each within the limits, and the first is returned; the report names all.
    `where` and `statuses` narrow down what is taken; what is due within `ahead_s` is taken, too. `begun_ms` is when the
    run began that this round belongs to: what was not tried since may come a little early, or with `refresh` whenever
    it is due.
    """
    clock = clock or SystemClock()
    limits = settings.generate
    if not 1 <= segments <= MOST_SEGMENTS:
        raise InputError(f"{segments} is not between 1 and {MOST_SEGMENTS} segments")
    for status in statuses:
        if status not in STATUSES:
            raise unknown_name("status", status, set(STATUSES))
    meant = narrowed(where) if where is not None else None
    per_domain = _limit(limits.max_per_domain, segments)
    params = {
        **msgspec.structs.asdict(limits_of(settings, clock.now_ms())),
        "ahead_ms": round(1000 * min(ahead_s, MOST_AHEAD_S)),
        "begun_ms": 0 if begun_ms is None else begun_ms,
        "refresh": refresh,
        "early_permille": generate_stage.EARLY_PERMILLE,
        "some_statuses": bool(statuses),
        "some_pages": meant is not None,
        "by_domain": segments > 1 or per_domain < NO_LIMIT,
    }
    gathered = Gathered(
        top_n=_limit(limits.top_n if top_n is None else top_n, segments),
        max_per_host=_limit(limits.max_per_host if max_per_host is None else max_per_host, segments),
        max_per_domain=per_domain,
    )
    with reporting(crawl, "generate") as report:
        chosen = _choose(crawl, settings, params, meant, statuses, report, gathered)
        report.counts = {"selected": len(chosen)}
        if not len(chosen):
            return None, report
        report.counts["hosts"] = chosen.hosts(chosen.order)
        in_full = _asked_in_full(crawl)
        parts = limits.num_fetchers if num_fetchers is None else num_fetchers
        made = []
        for numbers in chosen.dealt(segments):
            # a host is in one part: more parts than hosts would only start idle workers
            count = parts if parts > 0 else min(settings.fetcher.workers or _cores(), chosen.hosts(numbers))
            made.append(crawl.new_segment(clock.now_ms, clock.sleep, chosen.writer(numbers, count, in_full)))
            report.segments.append(made[-1].name)
        if segments > 1:
            report.counts["segments"] = len(made)
    return made[0], report


def _limit(value: int, segments: int) -> int:
    return value * segments if value >= 0 else NO_LIMIT


def _choose(
    crawl: CrawlFolder,
    settings: Settings,
    params: dict[str, int],
    meant: Narrowed | None,
    statuses: Collection[str],
    report: StepReport,
    gathered: Gathered,
) -> Chosen:
    """Runs the stage; the report tells what is left out."""
    import pyarrow as pa

    refused: dict[str, int] = {}

    def take_again() -> None:
        refused.clear()
        sort_value.failures.clear()
        gathered.begin()

    def take(session: Session, partition: int, of: int) -> None:
        rules = "SELECT rule, count(*) FROM refused GROUP BY rule"
        for rule, pages in session.connection.execute(rules).fetchall():
            refused[f"filtered_by:{rule}"] = refused.get(f"filtered_by:{rule}", 0) + pages
        conserve.check_chosen(session, "candidates", tables.CRAWLDB, crawl.path / tables.CRAWLDB.name)
        session.drop("due")  # the rows would be there twice
        gathered.add(session.batches("candidates"))
        session.drop("candidates")

    scope = scope_of(crawl, settings)
    sort_value = SortValue(settings.scoring, settings.crawl.depth)
    given = {
        "statuses": pa.table({"status": pa.array(list(statuses), pa.string())}),
        "matching": pa.table({"url_key": pa.array([], pa.string())}),
    }
    try:
        outcome = LocalEngine(settings).run(
            Run(
                crawl,
                ordered(generate_stage.STAGE if meant is None else meant.stage, sort_value),
                given=given if meant is None else given | meant.typed,
                files={"waiting": _waiting(crawl)},
                params=params,
                context=generate_stage.GenerateContext(
                    compile_filter(settings.urls, scope), surely_passing(settings.urls, scope)
                ),
                on_partition=take,
                on_again=take_again,
            )
        )
    except MachineError as error:
        raise _unfit(error) or error from error
    for rule, pages in refused.items():
        _count(report, rule, pages)
    report.messages += told(sort_value.failures, "pages, which keep their place in the order")
    _tell_held(report, outcome.collected.pop("held"))
    chosen = gathered.chosen()
    for limit, pages in gathered.beyond.items():
        _count(report, limit, pages)
    return chosen


def _unfit(error: MachineError) -> InputError | None:
    """The error of a condition that the engine cannot compute, such as a number that becomes too large."""
    import duckdb

    cause = error.__cause__
    unfit = (
        duckdb.ConversionException,
        duckdb.OutOfRangeException,
        duckdb.BinderException,
        duckdb.InvalidInputException,
    )
    if not isinstance(cause, unfit) or not error.what.startswith(f"{STEP} failed"):
        return None
    said = str(cause).splitlines()[0].partition(". Use ")[0]  # what could be written in SQL instead is of no use here
    return InputError(f"--where cannot be computed ({said[:200]})")


def _count(report: StepReport, name: str, pages: int) -> None:
    if pages:
        report.left_out[name] = report.left_out.get(name, 0) + pages


def _tell_held(report: StepReport, held: pa.Table) -> None:
    """Adds what is held back by reason, and when the first of it is ready."""
    ready: dict[str, int] = {}
    for row in held.to_pylist():
        _count(report, row["held"], row["pages"])
        if row["held"] in ("not_due", "host_backoff"):
            ready[row["held"]] = min(row["ready_at"], ready.get(row["held"], 2**62))
    if "host_backoff" in ready:
        report.details["host_ready_at"] = ready["host_backoff"]
    if ready:
        report.details["ready_at"] = ready
        report.details["next_due_at"] = min(ready.values())


def _asked_in_full(crawl: CrawlFolder) -> Callable[[str], bool] | None:
    """Of which pages no validators are sent: those that were forgotten, and not fetched since that was taken back.

    What was stored of them may be purged: "not modified" would leave the crawl without a copy for ever.
    """
    import pyarrow.compute as pc

    entries, since_ms = taken_back(crawl)
    if not entries:
        return None
    is_meant = key_test(entries)
    fetched = crawl.table(tables.CRAWLDB).read(["url_key"], filters=pc.field("fetched_at") > since_ms)
    known = {key for key in fetched.column("url_key").to_pylist() if is_meant(key)}
    return lambda key: is_meant(key) and key not in known


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _waiting(crawl: CrawlFolder) -> list[Path]:
    """The fetchlists of segments that the crawldb has not taken in."""
    applied = set(applied_segments(crawl))
    return [path for s in crawl.segments() if s.name not in applied for path in s.part_files(tables.FETCHLIST)]
