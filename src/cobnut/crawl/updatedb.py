"""How is a segment applied to the crawldb, once and in its order?

Not here: what changes in a row (`stages.updatedb`, and `frontier.transition` as a function).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cobnut.config.sections import Settings
from cobnut.crawl.applied import applied_segments, pending_segments, segment_digest
from cobnut.crawl.reports import StepReport, reporting
from cobnut.crawl.scored import rescored
from cobnut.engines.local import LocalEngine, Run
from cobnut.engines.session import Session
from cobnut.errors import DataError, InputError
from cobnut.frontier.admission import refusal
from cobnut.frontier.scoring import UpdatedScore, told
from cobnut.observe.clock import Clock, SystemClock
from cobnut.records import catalogue as tables
from cobnut.records.columns import pa_schema
from cobnut.stages import updatedb as updatedb_stage
from cobnut.storage.layout import PARSED, CrawlFolder, SegmentFolder
from cobnut.storage.tables import read_files

if TYPE_CHECKING:
    import pyarrow as pa


def updatedb(
    crawl: CrawlFolder,
    settings: Settings,
    segments: list[str] | None = None,
    *,
    clock: Clock | None = None,
    on_publish: Callable[[str], None] | None = None,
) -> StepReport:
    """Applies segments to the crawldb, in name order; without names all that are parsed."""
    clock = clock or SystemClock()
    with reporting(crawl, "updatedb") as report:
        if segments:
            chosen = sorted((crawl.segment(name) for name in dict.fromkeys(segments)), key=lambda s: s.name)
        else:
            chosen, obstacle = pending_segments(crawl)
            if obstacle:
                report.messages.append(obstacle)
        for segment in chosen:
            _update_one(crawl, settings, segment, report, clock, on_publish)
    return report


def _update_one(
    crawl: CrawlFolder,
    settings: Settings,
    segment: SegmentFolder,
    report: StepReport,
    clock: Clock,
    on_publish: Callable[[str], None] | None,
) -> None:
    import pyarrow as pa

    before = crawl.table(tables.CRAWLDB).manifest()
    applied = [entry["segment"] for entry in before.get("applied", [])]
    if segment.name in applied:
        report.messages.append(f"segment {segment.name} is in the crawldb already: nothing to do")
        if {"segment": segment.name, "digest": segment_digest(segment)} not in before["applied"]:
            report.messages.append(f"segment {segment.name} has changed since: what has changed is not taken in")
        return
    if segment.state() != PARSED:
        raise InputError(
            f"segment {segment.name} is only {segment.state()}", where=str(segment.path),
            remedy=f"run `cobnut fetch` and `cobnut parse {crawl.path} {segment.name}` first",
        )  # fmt: skip
    if applied and segment.name < max(applied):
        raise DataError(
            f"segment {segment.name} is older than {max(applied)}, which is in the crawldb already",
            where=str(segment.path),
            remedy="segments are applied in name order: remove it, its URLs are fetched again in a later round",
        )
    digest = segment_digest(segment)
    rescore = UpdatedScore(settings.scoring)
    refused: dict[str, int] = {}

    def count_rules(session: Session, partition: int, of: int) -> None:
        query = "SELECT rule, count(*) FROM targets WHERE rule IS NOT NULL GROUP BY rule"
        for rule, count in session.connection.execute(query).fetchall():
            name = f"filtered_by:{rule}"
            refused[name] = refused.get(name, 0) + count

    outputs = [o.table for o in updatedb_stage.STAGE.outputs]
    done = frozenset(t.name for t in outputs if segment.name in applied_segments(crawl, t))
    db = settings.db
    adaptive = db.schedule == "adaptive"

    def count_again() -> None:
        refused.clear()
        rescore.failures.clear()

    outcome = LocalEngine(settings).run(
        Run(
            crawl,
            rescored(updatedb_stage.STAGE, rescore),
            segments=[segment],
            given={
                "refetched": pa.table({"url_key": pa.array(_refetched(segment), pa.string())}),
                "paces": _paces(settings),
            },
            params={
                "now_ms": clock.now_ms(),
                "interval_s": db.interval_s,
                "min_interval_s": db.min_interval_s if adaptive else 0,
                "max_interval_s": db.max_interval_s,
                "grow": 1.0 + db.increase if adaptive else 1.0,
                "shrink": 1.0 - db.decrease if adaptive else 1.0,
                "gone_grow": db.gone_factor,
                "retry_max": db.retry_max,
                "retry_delay_s": db.retry_delay_s,
                "sync": db.sync_delta and adaptive,
                "sync_rate": db.sync_delta_rate,
            },
            context=updatedb_stage.UpdateContext(refusal(crawl, settings, segment)),
            manifest={
                "applied": [
                    *before.get("applied", []),
                    {"segment": segment.name, "digest": digest},
                ]
            },
            expects={"crawldb": before.get("generation")},
            skip_outputs=done,
            on_partition=count_rules,
            on_again=count_again,
            on_publish=on_publish,
        )
    )
    report.segments.append(segment.name)
    rows = outcome.rows["crawldb"]
    _add(report.counts, {"new": rows - before.get("rows", 0)})
    report.counts["crawldb"] = rows
    _add(report.left_out, refused)
    report.messages += outcome.messages
    report.add_keys(outcome.keys)
    report.messages += told(rescore.failures, "pages, which keep their score")


def _paces(settings: Settings) -> pa.Table:
    """What differs for single hosts and media types; of two entries for one name the later holds."""
    import pyarrow as pa

    from cobnut.config.schedules import parse_host_schedule, parse_media_type_schedule

    empty = dict.fromkeys(column.name for column in updatedb_stage.PACES)
    rows: dict[tuple[str, str], dict[str, object]] = {}
    for text in settings.db.host_schedules:
        host = parse_host_schedule(text)
        rows["host", host.host] = {
            **empty, "kind": "host", "name": host.host, "interval_s": host.interval_s,
            "min_interval_s": host.min_interval_s, "max_interval_s": host.max_interval_s,
        }  # fmt: skip
    if settings.db.schedule == "adaptive":
        for text in settings.db.media_type_schedules:
            kind = parse_media_type_schedule(text)
            rows["media_type", kind.media_type] = {
                **empty, "kind": "media_type", "name": kind.media_type,
                "grow": None if kind.increase is None else 1.0 + kind.increase,
                "shrink": None if kind.decrease is None else 1.0 - kind.decrease,
            }  # fmt: skip
    return pa.Table.from_pylist(list(rows.values()), schema=pa_schema(updatedb_stage.PACES))


def _refetched(segment: SegmentFolder) -> list[str]:
    """Pages whose links have passed on their score in an earlier round.

    Those the fetchlist says so of, and what their redirects led to: a hop has the score of the page it began at.
    """
    import pyarrow.compute as pc

    fetchlist = read_files(
        tables.FETCHLIST, segment.part_files(tables.FETCHLIST), ["url_key", "fetched_before"]
    ).to_pydict()
    before = dict(zip(fetchlist["url_key"], fetchlist["fetched_before"], strict=True))
    hops = read_files(
        tables.FETCHED, segment.part_files(tables.FETCHED), ["url_key", "hop_from"], pc.field("hop_from").is_valid()
    ).to_pydict()
    source = dict(zip(hops["url_key"], hops["hop_from"], strict=True))
    found = {key for key, flag in before.items() if flag}
    for key in source:
        if key not in before:
            chain = [key]
            while chain[-1] in source and chain[-1] not in before and source[chain[-1]] not in chain:
                chain.append(source[chain[-1]])
            if before.get(chain[-1]):
                found.update(chain)
    return sorted(found)


def _add(counts: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count
