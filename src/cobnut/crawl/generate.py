"""How is a segment with its fetchlist made?

Not here: which pages are chosen (`stages.generate`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cobnut.config.sections import Settings
from cobnut.crawl.applied import applied_segments
from cobnut.crawl.reports import StepReport, reporting
from cobnut.engines.local import LocalEngine, Run, Session
from cobnut.frontier.admission import refusal
from cobnut.frontier.forgotten import key_test, taken_back
from cobnut.observe.clock import Clock, SystemClock
from cobnut.records import catalogue as tables
from cobnut.stages import generate as generate_stage
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.parts import PartWriter, part_name
from cobnut.storage.tables import read_files

if TYPE_CHECKING:
    import pyarrow as pa

MICRO = 1_000_000


def generate(
    crawl: CrawlFolder,
    settings: Settings,
    *,
    top_n: int | None = None,
    max_per_host: int | None = None,
    num_fetchers: int | None = None,
    begun_ms: int | None = None,
    refresh: bool = False,
    clock: Clock | None = None,
) -> tuple[SegmentFolder | None, StepReport]:
    """A new segment with its fetchlist, or None when nothing is due; `left_out` says why, by reason.

    `begun_ms` is when the run began that this round belongs to: what was not tried since may come a little early, or
    with `refresh` whenever it is due.
    """
    clock = clock or SystemClock()
    now = clock.now_ms()
    limit = settings.generate.top_n if top_n is None else top_n
    per_host = settings.generate.max_per_host if max_per_host is None else max_per_host
    parts = settings.generate.num_fetchers if num_fetchers is None else num_fetchers
    screened: dict[str, int] = {}

    def count_rules(session: Session, partition: int, of: int) -> None:
        query = "SELECT rule, count(*) FROM screened WHERE rule IS NOT NULL GROUP BY rule"
        for rule, count in session.connection.execute(query).fetchall():
            name = rule if rule == "max_depth" else f"filtered_by:{rule}"
            screened[name] = screened.get(name, 0) + count

    with reporting(crawl, "generate") as report:
        outcome = LocalEngine(settings).run(
            Run(
                crawl,
                generate_stage.STAGE,
                given={"waiting": _waiting(crawl)},
                params={
                    "now_ms": now,
                    "begun_ms": 0 if begun_ms is None else begun_ms,
                    "refresh": refresh,
                    "early_permille": generate_stage.EARLY_PERMILLE,
                    "farthest_ms": 1000 * _farthest_s(settings),
                    "min_score": round(settings.generate.min_score * MICRO),
                    "max_per_host": per_host if per_host >= 0 else generate_stage.NO_LIMIT,
                    "top_n": limit if limit >= 0 else generate_stage.NO_LIMIT,
                },
                context=generate_stage.GenerateContext(refusal(crawl, settings), settings.crawl.depth),
                on_partition=count_rules,
                on_whole=lambda session: _keep(report, session),
            )
        )
        top: pa.Table = _asked_in_full(crawl, report.details.pop("top"))
        report.left_out = dict(screened)
        ready: list[int] = []
        for row in outcome.collected["held"].to_pylist():
            report.left_out[row["held"]] = report.left_out.get(row["held"], 0) + row["pages"]
            if row["held"] in ("not_due", "host_backoff"):
                ready.append(row["ready_at"])
            if row["held"] == "host_backoff":
                report.details["host_ready_at"] = min(row["ready_at"], report.details.get("host_ready_at", 2**62))
        if ready:
            report.details["next_due_at"] = min(ready)
        report.counts = {"selected": top.num_rows}
        if top.num_rows == 0:
            return None, report
        hosts = len(set(top.column("host").to_pylist()))
        if parts <= 0:  # a host is in one part: more parts than hosts would only start idle workers
            parts = min(settings.fetcher.workers or _cores(), hosts)
        segment = crawl.new_segment(clock.now_ms, clock.sleep, lambda s: _write_fetchlist(s, top, parts))
        report.segments = [segment.name]
        report.counts["hosts"] = hosts
    return segment, report


def _keep(report: StepReport, session: Session) -> None:
    rows = session.table("top", generate_stage.BEST)
    report.details["top"] = rows.sort_by([("score", "descending"), ("depth", "ascending"), ("url_key", "ascending")])


def _asked_in_full(crawl: CrawlFolder, top: pa.Table) -> pa.Table:
    """The fetchlist without validators of pages that were forgotten, and not fetched since that was taken back.

    What was stored of them may be purged: "not modified" would leave the crawl without a copy for ever.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    entries, since_ms = taken_back(crawl)
    is_meant = key_test(entries)
    keys = [key for key in top.column("url_key").to_pylist() if is_meant(key)]
    if not keys:
        return top
    known = crawl.table(tables.CRAWLDB).read(
        ["url_key"], filters=(pc.field("url_key").isin(keys)) & (pc.field("fetched_at") > since_ms)
    )
    in_full = set(keys) - set(known.column("url_key").to_pylist())
    asked = pa.array([key not in in_full for key in top.column("url_key").to_pylist()], pa.bool_())
    for name in ("etag", "last_modified"):
        place = top.schema.get_field_index(name)
        top = top.set_column(place, top.schema.field(name), pc.if_else(asked, top.column(name), None))
    return top


def _farthest_s(settings: Settings) -> int:
    """The longest time that any rule puts a visit off; a seed's fixed interval may be longer."""
    from cobnut.config.schedules import parse_host_schedule

    db = settings.db
    of_hosts = (parse_host_schedule(text).max_interval_s or 0 for text in db.host_schedules)
    return max(db.max_interval_s, db.retry_delay_s, *of_hosts)


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _waiting(crawl: CrawlFolder) -> pa.Table:
    """Keys in the fetchlists of segments that the crawldb has not taken in."""
    import pyarrow as pa

    applied = set(applied_segments(crawl))
    pieces = [
        read_files(tables.FETCHLIST, s.part_files(tables.FETCHLIST), ["url_key"])
        for s in crawl.segments()
        if s.name not in applied
    ]
    empty = pa.table({"url_key": pa.array([], pa.string())})
    return pa.concat_tables([p.cast(empty.schema) for p in pieces]) if pieces else empty


def _write_fetchlist(segment: SegmentFolder, top: pa.Table, parts: int) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    by_host = generate_stage.parts_by_host(top.column("host").to_pylist(), parts)
    part = pa.array([by_host[h] for h in top.column("host").to_pylist()], pa.int32())
    rows = top.append_column("part", part).append_column("fetch", pa.array([True] * top.num_rows))
    for number in range(max(1, parts)):
        mine = rows.filter(pc.equal(rows["part"], number))
        with PartWriter(segment.folder(tables.FETCHLIST), tables.FETCHLIST, part_name(number)) as writer:
            writer.write(mine.select(tables.FETCHLIST.schema().names))
