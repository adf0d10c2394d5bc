"""How do the databases of several crawls become one?

Of each URL the row that was visited last stays; of rows as old, that of the crawl that was named first, beginning with
the one that is written. Rows that were never visited are the oldest. Metadata comes together, of equal names the value
of the crawl named first stays. Of each host, and of each robots.txt, the row that is newer stays. Seeds come together,
so that the scope is that of all crawls.

What is stored of a page stays where it is: a row from another crawl has no content here, and no validators (a "not
modified" would leave this crawl without a copy for ever), unless its segments come along (`crawl.along`). Where a page
has content here, it keeps that.

Not merged, since they are made from what is: ranks, duplicates, the index. The linkdb has a command of its own. What is
to be forgotten here stays out; what was to be forgotten there is gone there already.

Merging again changes nothing. A killed merge leaves each table as it was or as it is to be; run again, it goes on.

Not here: the merging itself (`stages.adopt`, `stages.adopthosts`, `stages.adoptlinks`), reading the others
(`crawl.others`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from cobnut.config.sections import Settings
from cobnut.crawl.adopt import Adopted, adopt
from cobnut.crawl.along import Along, bring_along, coming_again
from cobnut.crawl.others import Other, check_whole, others_of, staged
from cobnut.crawl.reports import StepReport, reporting
from cobnut.engines.local import LocalEngine, Run
from cobnut.engines.session import Session
from cobnut.frontier.admission import scope_of
from cobnut.frontier.forgotten import forgotten_of
from cobnut.observe.clock import Clock, SystemClock
from cobnut.records import catalogue as tables
from cobnut.records.columns import Table, pa_schema
from cobnut.stages import adopthosts as adopthosts_stage
from cobnut.stages.adopt import ADOPTED
from cobnut.stages.adoptlinks import ADOPTED_LINKS
from cobnut.storage.files import remove_tree, temporary_name
from cobnut.storage.layout import CrawlFolder
from cobnut.urls.filters import Forgotten, Scope, compile_filter, is_forgotten

if TYPE_CHECKING:
    import pyarrow as pa

SCRATCH = "merge"

Refuses = Callable[[str], str | None]


def mergedb(
    crawl: CrawlFolder,
    settings: Settings,
    paths: Sequence[Path],
    *,
    filters: bool = False,
    with_segments: bool = False,
    clock: Clock | None = None,
    on_publish: Callable[[str], None] | None = None,
) -> StepReport:
    """Merges the crawldb, pages, hostdb, robots and seeds of other crawls into this one. The caller holds its lock.

    `filters`: rows are left out that the URL filters refuse now; the scope is that of all crawls together.
    """
    clock = clock or SystemClock()
    wanted = (tables.CRAWLDB, tables.PAGES, tables.HOSTDB, tables.ROBOTS, tables.SEEDS)
    with ExitStack() as stack:
        others = others_of(crawl, paths, wanted, stack)
        check_whole(crawl, coming_again(crawl, others) if with_segments else ())
        scratch = _scratch(crawl, stack)
        refuses = _refusal(crawl, settings, others, filters)
        with reporting(crawl, "mergedb") as report:
            crawl.sweep_segments()
            report.counts = {"crawls": len(others), "read": 0, "new": 0, "replaced": 0, "kept": 0}
            for number, other in enumerate(others):
                folder = scratch / str(number)
                along = bring_along(crawl, other, report, clock) if with_segments else Along()
                _merge_hosts(crawl, settings, other, folder, report, on_publish)
                _merge_pages(crawl, settings, other, along, folder, refuses, report, clock, on_publish)
                report.segments += along.new
            if with_segments:
                report.counts["segments"] = len(report.segments)
                if report.segments:
                    report.messages.append(
                        "run invertlinks, rank, updatesegs, index, dedup and merge to make the new segments searchable"
                    )
    return report


def mergelinkdb(
    crawl: CrawlFolder,
    settings: Settings,
    paths: Sequence[Path],
    *,
    filters: bool = False,
    on_publish: Callable[[str], None] | None = None,
) -> StepReport:
    """Merges the linkdbs of other crawls into this one's. The caller holds its lock.

    Links of pages that were parsed here stay as they are; of the others' links to a page the best stay, as always.
    """
    with ExitStack() as stack:
        others = others_of(crawl, paths, [tables.LINKDB], stack)
        scratch = _scratch(crawl, stack)
        refuses = _refusal(crawl, settings, others, filters)
        with reporting(crawl, "mergelinkdb") as report:
            report.counts = {"crawls": len(others), "read": 0}
            for number, other in enumerate(others):
                files, _ = staged(scratch / str(number), ADOPTED_LINKS, _links(other, refuses, report))
                if files:
                    adopt(crawl, settings, Adopted(links=files), report, on_publish=on_publish)
    return report


def _scratch(crawl: CrawlFolder, stack: ExitStack) -> Path:
    for old in crawl.path.glob(f".tmp-{SCRATCH}-*"):  # of killed merges: the lock says that none is at work
        remove_tree(old)
    scratch = crawl.path / temporary_name(SCRATCH)
    stack.callback(remove_tree, scratch)
    return scratch


def _refusal(crawl: CrawlFolder, settings: Settings, others: list[Other], filters: bool) -> Refuses:
    """What keeps a normalised URL out; without filters only what is to be forgotten."""
    if not filters:
        forgets = is_forgotten(forgotten_of(crawl))
        return lambda url: "forgotten" if forgets(url) else None
    scopes = [scope_of(crawl, settings), *(scope_of(other.crawl, settings) for other in others)]
    seeds = tuple(dict.fromkeys(seed for scope in scopes for seed in scope.seeds))
    return compile_filter(settings.urls, Scope(settings.crawl.scope, seeds, scopes[0].forgotten))


def _merge_hosts(
    crawl: CrawlFolder,
    settings: Settings,
    other: Other,
    folder: Path,
    report: StepReport,
    on_publish: Callable[[str], None] | None,
) -> None:
    forgotten = forgotten_of(crawl)
    files = {
        f"other_{table.name}": staged(folder, table, _unforgotten(other, table, forgotten))[0]
        for table in (tables.HOSTDB, tables.ROBOTS, tables.SEEDS)
    }
    if any(files.values()):
        empty = [name.removeprefix("other_") for name, paths in files.items() if not paths]
        outcome = LocalEngine(settings).run(
            Run(
                crawl, adopthosts_stage.STAGE, files=files, skip_outputs=frozenset(empty), on_publish=on_publish,
                manifest={"applied": crawl.table(tables.CRAWLDB).manifest().get("applied", [])},
            )
        )  # fmt: skip
        report.add_keys(outcome.keys)


def _unforgotten(other: Other, table: Table, forgotten: Forgotten) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    hosts = set(forgotten.hosts)
    forgets = is_forgotten(forgotten)
    for batch in other.rows(table):
        if table is tables.SEEDS:
            from cobnut.urls.keys import key_to_url

            kept = [not forgets(key_to_url(key)) for key in batch.column("url_key").to_pylist()]
        else:
            kept = [host not in hosts for host in batch.column("host").to_pylist()]
        yield batch.filter(pa.array(kept, pa.bool_()))


def _merge_pages(
    crawl: CrawlFolder,
    settings: Settings,
    other: Other,
    along: Along,
    folder: Path,
    refuses: Refuses,
    report: StepReport,
    clock: Clock,
    on_publish: Callable[[str], None] | None,
) -> None:
    files, _ = staged(folder, ADOPTED, _pages(other, settings, along, folder, refuses, report))
    if not files:
        return
    counts, report.counts = report.counts, {}
    adopt(
        crawl, settings, Adopted(pages=files, segments=along.segments), report, with_seeds=False, clock=clock,
        on_publish=on_publish,
    )  # fmt: skip
    found = report.counts
    counts["new"] += found["new"]
    counts["kept"] += found["kept"]
    counts["replaced"] += found["urls"] - found["new"] - found["kept"]
    counts["crawldb"] = found["crawldb"]
    report.counts = counts


def _pages(
    other: Other, settings: Settings, along: Along, folder: Path, refuses: Refuses, report: StepReport
) -> Iterator[pa.RecordBatch]:
    """The rows of the other crawl, crawldb and pages side by side, as they are to be adopted."""
    hot, cold = other.version(tables.CRAWLDB), other.version(tables.PAGES)
    if hot is None or cold is None:
        return
    more = [c.name for c in tables.PAGES.columns if c.name not in tables.CRAWLDB.column_names]
    chosen = ", ".join([*(f"c.{n}" for n in tables.CRAWLDB.column_names), *(f"p.{n}" for n in more)])
    chosen = chosen.replace("p.discovered_at", "COALESCE(p.discovered_at, c.due_at) AS discovered_at")
    query = f"SELECT {chosen} FROM crawldb c LEFT JOIN pages p ON p.url_key = c.url_key"
    session = Session(settings.storage.memory_mib, settings.engine.threads, folder / "engine")
    try:
        for partition in range(hot.partitions):  # one after the other: each fits in memory
            session.bind_layers("crawldb", tables.CRAWLDB.columns, hot.files(partition, hot.partitions), None)
            session.bind_layers("pages", tables.PAGES.columns, cold.files(partition, hot.partitions), None)
            for batch in session.query(query, "merging"):
                report.counts["read"] += batch.num_rows
                kept = _accepted(batch, ("url_key",), refuses, report)
                if kept.num_rows:
                    yield _adopted(kept, along)
    finally:
        session.close()


def _adopted(batch: pa.RecordBatch, along: Along) -> pa.RecordBatch:
    """The batch in the form of `ADOPTED`: content lies only in segments that came along."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count = batch.num_rows
    there = batch.column("segment")
    names = pa.array([along.names.get(name) for name in there.to_pylist()], pa.string())
    has_content = names.is_valid()
    columns = {name: batch.column(name) for name in batch.schema.names}
    columns["segment"] = names
    for name in ("etag", "last_modified", "warc_file", "warc_offset"):
        columns[name] = pc.if_else(has_content, columns[name], pa.scalar(None, columns[name].type))
    columns["requested"] = pc.coalesce(columns["url"], columns["url_key"])
    columns["may_seed"] = pa.repeat(pa.scalar(False), count)
    columns["sequence"] = pa.repeat(pa.scalar(0, pa.int64()), count)
    schema = pa_schema(ADOPTED.columns)
    return pa.RecordBatch.from_arrays([columns[f.name].cast(f.type) for f in schema], schema=schema)


def _links(other: Other, refuses: Refuses, report: StepReport) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    schema = pa_schema(ADOPTED_LINKS.columns)
    for batch in other.rows(tables.LINKDB):
        report.counts["read"] += batch.num_rows
        kept = _accepted(batch, ("to_key", "from_key"), refuses, report)
        if kept.num_rows:
            columns = {name: kept.column(name) for name in kept.schema.names}
            columns["from_signature"] = pa.nulls(kept.num_rows, pa.binary())
            yield pa.RecordBatch.from_arrays([columns[f.name].cast(f.type) for f in schema], schema=schema)


def _accepted(batch: pa.RecordBatch, keys: tuple[str, ...], refuses: Refuses, report: StepReport) -> pa.RecordBatch:
    """The rows all of whose URLs are accepted; the others are counted by rule."""
    import pyarrow as pa

    from cobnut.urls.screening import urls_of_keys

    kept = [True] * batch.num_rows
    for name in keys:
        for place, url in enumerate(urls_of_keys(batch.column(name)).to_pylist()):
            rule = refuses(url) if kept[place] else None
            if rule is not None:
                kept[place] = False
                report.left_out[rule] = report.left_out.get(rule, 0) + 1
    return batch if all(kept) else batch.filter(pa.array(kept, pa.bool_()))
