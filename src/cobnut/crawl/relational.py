"""How are the relational stages run on this crawl?

One function a stage: it says which segments are at hand, what varies, and what is reported. The stages themselves know
neither the engine nor the folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from cobnut.config.sections import Settings
from cobnut.crawl.reports import StepReport, reporting
from cobnut.engines.local import LocalEngine, Run, Session
from cobnut.errors import DataError, InputError
from cobnut.frontier.admission import refusal
from cobnut.frontier.forgotten import forgotten_of, forgotten_rows, key_test
from cobnut.frontier.scoring import InjectedScore
from cobnut.observe.clock import Clock, SystemClock
from cobnut.records import catalogue as tables
from cobnut.records.columns import Table, pa_schema
from cobnut.stages import dedup as dedup_stage
from cobnut.stages import generate as generate_stage
from cobnut.stages import inject as inject_stage
from cobnut.stages import invertlinks as invertlinks_stage
from cobnut.stages import rank as rank_stage
from cobnut.stages import updatedb as updatedb_stage
from cobnut.stages import updatesegs as updatesegs_stage
from cobnut.storage.layout import GENERATED, PARSED, CrawlFolder, SegmentFolder
from cobnut.storage.parts import PartWriter, part_name
from cobnut.storage.tables import checksum, read_files
from cobnut.urls.filters import Scope, compile_filter
from cobnut.urls.resolve import compile_forms

if TYPE_CHECKING:
    import pyarrow as pa

MICRO = 1_000_000
MOST_LISTED = 1_000


def inject(
    crawl: CrawlFolder,
    settings: Settings,
    lines: Iterable[str],
    *,
    overwrite: bool = False,
    update: bool = False,
    filter_existing: bool = False,
    clock: Clock | None = None,
) -> StepReport:
    """Adds seeds, one line each. `details["rejected"]` lists what was left out: line number, text, rule."""
    import pyarrow as pa

    clock = clock or SystemClock()
    schema = pa_schema(inject_stage.LINES)
    numbered = list(enumerate(lines, 1))
    table = pa.table([pa.array([n for n, _ in numbered]), pa.array([t for _, t in numbered])], schema=schema)
    score = InjectedScore(settings.scoring.rules)
    # a seed is in scope by being one: only the other rules are asked
    seed_filters = tuple(name for name in settings.urls.filters if name != "scope")
    context = inject_stage.InjectContext(
        forms=compile_forms(settings.urls.normalizers),
        refuses=compile_filter(_with_filters(settings, seed_filters), Scope("web", forgotten=forgotten_of(crawl))),
        score=score,
        default_score=round(settings.scoring.injected_score * MICRO),
        filter_existing=filter_existing,
    )
    seen: dict[str, Any] = {"merged": 0}

    def look(session: Session) -> None:
        seen["read"] = session.table("read", inject_stage.READ)

    def count_merged(session: Session, partition: int, of: int) -> None:
        query = "SELECT count(*) FROM existing WHERE url_key IN (SELECT url_key FROM found)"
        # all of it: a result that is not read to its end bars the connection
        seen["merged"] += session.connection.execute(query).fetchall()[0][0]

    with reporting(crawl, "inject") as report:
        before = crawl.table(tables.CRAWLDB).manifest()
        outcome = LocalEngine(settings).run(
            Run(
                crawl,
                inject_stage.STAGE,
                given={"lines": table},
                params={
                    "now_ms": clock.now_ms(),
                    "interval_s": settings.db.interval_s,
                    "overwrite": overwrite,
                    "renew": update,
                },
                context=context,
                manifest={"applied": before.get("applied", [])},
                expects={"crawldb": before.get("generation")},
                rows_hint=table.num_rows,
                on_partition=count_merged,
                on_whole=look,
            )
        )
        read = seen["read"].sort_by("line_no").to_pylist()
        rejected = [r for r in read if r["rule"] is not None]
        accepted = {r["url_key"] for r in read if r["rule"] is None}
        report.counts = {
            "lines": len(read),
            "urls": len(accepted),
            "injected": len(accepted) - seen["merged"],
            "merged": seen["merged"],
            "rejected": len(rejected),
            "crawldb": outcome.rows["crawldb"],
        }
        for row in rejected:
            report.left_out[row["rule"]] = report.left_out.get(row["rule"], 0) + 1
        report.details = {
            "rejected": [
                {"line": r["line_no"], "url": r["requested"], "rule": r["rule"]} for r in rejected[:MOST_LISTED]
            ],
            "notes": [{"line": r["line_no"], "note": r["note"]} for r in read if r["note"]][:MOST_LISTED],
        }
        report.messages = outcome.messages
        for name, count in score.failures.items():
            report.messages.append(f"scoring rule {name} failed on {count} seeds, which keep their score")
    return report


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
                    "min_score": round(settings.generate.min_score * MICRO),
                    "max_per_host": per_host if per_host >= 0 else generate_stage.NO_LIMIT,
                    "top_n": limit if limit >= 0 else generate_stage.NO_LIMIT,
                },
                context=generate_stage.GenerateContext(refusal(crawl, settings), settings.crawl.depth),
                on_partition=count_rules,
                on_whole=lambda session: _keep(report, session),
            )
        )
        top: pa.Table = report.details.pop("top")
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


def applied_segments(crawl: CrawlFolder, table: Table = tables.CRAWLDB) -> list[str]:
    """Names of the segments a table holds, in the order in which they were applied."""
    return [entry["segment"] for entry in crawl.table(table).manifest().get("applied", [])]


def pending_segments(crawl: CrawlFolder) -> tuple[list[SegmentFolder], str | None]:
    """Segments the crawldb is to take in next, in name order; and what stands in the way of the others, if anything."""
    applied = set(applied_segments(crawl))
    found: list[SegmentFolder] = []
    for segment in crawl.segments():
        if segment.name in applied:
            continue
        state = segment.state()
        if state != PARSED:
            step = "fetch" if state == GENERATED else "parse"
            return (
                found,
                f"segment {segment.name} is only {state}: run `cobnut {step} {crawl.path}`, or remove it",
            )
        found.append(segment)
    return found, None


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
    refused: dict[str, int] = {}

    def count_rules(session: Session, partition: int, of: int) -> None:
        query = "SELECT rule, count(*) FROM targets WHERE rule IS NOT NULL GROUP BY rule"
        for rule, count in session.connection.execute(query).fetchall():
            name = rule if rule == "max_depth" else f"filtered_by:{rule}"
            refused[name] = refused.get(name, 0) + count

    outputs = [o.table for o in updatedb_stage.STAGE.outputs]
    done = frozenset(t.name for t in outputs if segment.name in applied_segments(crawl, t))
    db = settings.db
    adaptive = db.schedule == "adaptive"
    outcome = LocalEngine(settings).run(
        Run(
            crawl,
            updatedb_stage.STAGE,
            segments=[segment],
            given={"refetched": pa.table({"url_key": pa.array(_refetched(segment), pa.string())})},
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
            },
            context=updatedb_stage.UpdateContext(refusal(crawl, settings, segment), settings.crawl.depth),
            manifest={
                "applied": [
                    *before.get("applied", []),
                    {"segment": segment.name, "digest": digest},
                ]
            },
            expects={"crawldb": before.get("generation")},
            skip_outputs=done,
            on_partition=count_rules,
            on_publish=on_publish,
        )
    )
    report.segments.append(segment.name)
    rows = outcome.rows["crawldb"]
    _add(report.counts, {"new": rows - before.get("rows", 0)})
    report.counts["crawldb"] = rows
    _add(report.left_out, refused)
    report.messages += outcome.messages


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


def segment_digest(segment: SegmentFolder) -> str:
    """xxh3-128 over the names and contents of the parts that updatedb reads."""
    import xxhash

    digest = xxhash.xxh3_128()
    for table in (tables.FETCHED, tables.PARSED, tables.LINKS, tables.HOSTS):
        for path in segment.part_files(table):
            digest.update(f"{table.name}/{path.name}:{checksum(path)}\n".encode())
    return digest.hexdigest()


def invertlinks(crawl: CrawlFolder, settings: Settings) -> StepReport:
    """Takes the links of segments that the crawldb holds and the linkdb does not into the linkdb."""
    with reporting(crawl, "invertlinks") as report:
        linkdb = crawl.table(tables.LINKDB).manifest()
        done = [entry["segment"] for entry in linkdb.get("applied", [])]
        known = set(applied_segments(crawl))
        fresh = [s for s in crawl.segments() if s.name in known and s.name not in set(done)]
        report.segments = [s.name for s in fresh]
        if not fresh:
            report.messages.append("no new segments: the linkdb stays as it is")
            report.counts = {"linkdb": linkdb.get("rows", 0)}
            return report
        hint = sum(_rows(path) for s in fresh for path in s.part_files(tables.LINKS))
        outcome = LocalEngine(settings).run(
            Run(
                crawl,
                invertlinks_stage.STAGE,
                segments=fresh,
                params={
                    "max_inlinks": settings.linkdb.max_inlinks,
                    "ignore_internal": settings.linkdb.ignore_internal,
                },
                manifest={"applied": [*({"segment": n} for n in done), *({"segment": s.name} for s in fresh)]},
                expects={"linkdb": linkdb.get("generation")},
                rows_hint=hint,
            )
        )
        report.counts = {"links": hint, "linkdb": outcome.rows["linkdb"]}
        report.messages = outcome.messages
    return report


def _rows(path: Any) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def parsed_segments(crawl: CrawlFolder) -> list[SegmentFolder]:
    """Segments whose pages are parsed, oldest first."""
    return [s for s in crawl.segments() if s.state() == PARSED]


def rank(crawl: CrawlFolder, settings: Settings) -> StepReport:
    """Computes link ranks from the links of the segments on disk, and for the other pages from the linkdb."""
    with reporting(crawl, "rank") as report:
        segments = parsed_segments(crawl)
        scoring = settings.scoring
        report.counts = rank_stage.run_rank(crawl, segments, scoring.rank_damping, scoring.rank_iterations)
        report.segments = [s.name for s in segments]
    return report


def dedup(crawl: CrawlFolder, settings: Settings) -> StepReport:
    """Decides which stored versions of pages are not shown."""
    with reporting(crawl, "dedup") as report:
        segments = parsed_segments(crawl)
        outcome = LocalEngine(settings).run(
            Run(
                crawl,
                dedup_stage.STAGE,
                segments=segments,
                given={"forgotten_pages": _forgotten_pages(crawl, segments)},
                manifest={"segments": [s.name for s in segments]},
            )
        )
        kinds = crawl.table(tables.DUPLICATES).read(["kind"]).column("kind").to_pylist()
        report.counts = {"duplicates": outcome.rows["duplicates"]}
        report.left_out = {k: kinds.count(k) for k in sorted(set(kinds))}
        report.messages = outcome.messages
    return report


def _forgotten_pages(crawl: CrawlFolder, segments: list[SegmentFolder]) -> pa.Table:
    """The url_keys of parsed pages that are to be forgotten."""
    import pyarrow as pa

    found = pa.table({"url_key": pa.array([], pa.string())})
    if not (forgotten := forgotten_of(crawl)):
        return found
    for segment in segments:
        pages = read_files(tables.PARSED, segment.part_files(tables.PARSED), ["url_key"])
        found = pa.concat_tables([found, pages.filter(forgotten_rows(forgotten, pages)).cast(found.schema)])
    return found


def updatesegs(crawl: CrawlFolder, settings: Settings) -> StepReport:
    """Writes scores and anchors into every parsed segment."""
    with reporting(crawl, "updatesegs") as report:
        segments = parsed_segments(crawl)
        report.segments = [s.name for s in segments]
        if not segments:
            report.messages.append("no parsed segments: nothing to do")
            return report
        is_forgotten = key_test(forgotten_of(crawl))
        writers = {s.name: PartWriter(s.folder(tables.LINKED), tables.LINKED, part_name(0)) for s in segments}
        try:
            LocalEngine(settings).run(
                Run(
                    crawl,
                    updatesegs_stage.STAGE,
                    segments=segments,
                    params={"max_anchors": settings.index.max_anchors},
                    on_partition=lambda session, p, n: _write_linked(session, writers, is_forgotten),
                )
            )
        except BaseException:
            for writer in writers.values():
                writer.abort()
            raise
        report.counts = {"pages": sum(w.rows for w in writers.values()), "segments": len(writers)}
        for writer in writers.values():
            writer.close()
    return report


def _write_linked(session: Session, writers: dict[str, PartWriter], is_forgotten: Callable[[str], bool]) -> None:
    """Joins this partition's rows with their anchors, which no portable SQL gathers into lists.

    The words of pages that are to be forgotten say nothing of others any more.
    """
    import pyarrow as pa

    anchors: dict[str, list[dict[str, str]]] = {}
    for batch in session.batches("anchor_rows", "ORDER BY url_key, place"):
        columns = (batch.column(i).to_pylist() for i in range(3))
        for key, source, words in zip(*columns, strict=True):
            if not is_forgotten(source):
                anchors.setdefault(key, []).append({"from_key": source, "anchor": words})
    schema = tables.LINKED.schema()
    for batch in session.batches("linked_rows", "ORDER BY segment, url_key"):
        lists = [anchors.get(key) for key in batch.column("url_key").to_pylist()]
        rows = pa.Table.from_batches([batch]).append_column("anchors", pa.array(lists, schema.field("anchors").type))
        names = rows.column("segment").to_pylist()
        start = 0
        for end in range(1, len(names) + 1):
            if end == len(names) or names[end] != names[start]:
                writers[names[start]].write(rows.slice(start, end - start).select(schema.names))
                start = end


def _with_filters(settings: Settings, names: tuple[str, ...]) -> Any:
    import msgspec

    return msgspec.structs.replace(settings.urls, filters=names)


def format_time(at_ms: int) -> str:
    """A time as people read it, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at_ms / 1000))
