"""What do the pages of a segment say, and what do they link to?

Reads `fetched` and the WARC files, writes `parsed` (one row a page fetched with success) and `links`. The work
is done in killable processes (`parsers.pool`); this is the list of what is to do, resumed where a killed run
stopped.

A part of `parsed` is written after the part of `links` with the same name: pages in a part of `parsed` are
done, and a part of `links` without its partner is from a killed run and goes away.

A redirect is a link too: from its source to its target, with the whole score, so that the crawldb learns of the
target. What other links pass on is said by the scoring rules (`frontier.scoring`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.config.sections import Settings
from cobnut.errors import DataError
from cobnut.records.catalogue import FETCHED, LINKS, PARSED
from cobnut.records.steps import Job, Stage

if TYPE_CHECKING:
    from cobnut.parsers.pool import ParsePool
    from cobnut.parsers.tasks import Batch, PageTask
    from cobnut.storage.layout import CrawlFolder, SegmentFolder

STAGE = Stage(
    "parse",
    "Reads title, text, links and directives off every fetched page, in killable workers.",
    inputs=(),
    steps=(Job("parse"),),
    reads=("fetched",),
    writes=("parsed", "links"),
)

BATCH_PAGES = 200
REDIRECTS_PART = "redirects"
_ROWS = 4_096
_COLUMNS = [
    "url_key", "url", "host", "bucket", "fetched_at", "score", "depth", "truncated", "digest", "warc_file",
    "warc_offset",
]  # fmt: skip


class ParseReport(msgspec.Struct, frozen=True):
    """What one run did: pages by status, reason and flag, links and embeds, and whether the segment is done."""

    segment: str
    pages: int
    already_parsed: int
    statuses: dict[str, int]
    reasons: dict[str, int]
    links: int
    links_dropped: int
    redirects: int
    complete: bool
    cpu_ms: int
    elapsed_ms: int
    embeds: int = 0
    flags: dict[str, int] = {}
    score_failures: dict[str, int] = {}


class ParseProgress(msgspec.Struct, frozen=True):
    """How far a run has come."""

    done: int
    total: int
    reasons: dict[str, int]


def run_parse(
    crawl: CrawlFolder,
    segment: SegmentFolder,
    settings: Settings,
    *,
    pool: ParsePool | None = None,
    clock: Callable[[], float] = time.monotonic,
    on_progress: Callable[[ParseProgress], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> ParseReport:
    """Parses what is fetched and not yet parsed; the segment is then `parsed`, if all was done.

    May be called while the segment is still being fetched: complete parts are parsed, and its state is left alone.
    `crawl` is not written to. `pool` is reused when given, and left running.
    """
    from cobnut.storage.locks import WriterLock

    lock = WriterLock(
        segment.path / ".parse.lock", f"the parsed pages of segment {segment.name}", settings.storage.lock_wait_s
    )
    with lock:
        return _run(segment, settings, pool, clock, on_progress, should_stop)


def _run(
    segment: SegmentFolder,
    settings: Settings,
    pool: ParsePool | None,
    clock: Callable[[], float],
    on_progress: Callable[[ParseProgress], None] | None,
    should_stop: Callable[[], bool],
) -> ParseReport:
    from cobnut.parsers.pool import ParsePool
    from cobnut.storage.files import sweep

    started = clock()
    state = segment.state()
    for table in (PARSED, LINKS):
        sweep(segment.folder(table))
    done_keys = _parsed_keys(segment)
    _drop_widowed_links(segment)
    total = _count_pages(segment)
    statuses, reasons, flags, failures = (Counter[str]() for _ in range(4))
    pages = links = embeds = dropped = cpu_ms = 0
    own = ParsePool(settings, clock=clock) if pool is None else None
    try:
        for done in (pool or own).run(_batches(segment, done_keys), should_stop):  # type: ignore[union-attr] # one is set
            pages += done.pages
            links += done.links
            embeds += done.embeds
            dropped += done.dropped
            cpu_ms += done.cpu_ms
            statuses.update(done.statuses)
            reasons.update(done.reasons)
            flags.update(done.flags)
            failures.update(done.score_failures)
            if on_progress is not None:
                on_progress(ParseProgress(len(done_keys) + pages, total, dict(reasons)))
    finally:
        if own is not None:
            own.close()
    redirects = write_redirect_links(segment)
    complete = len(done_keys) + pages == total
    if complete and state != "generated":
        if state == "fetched":
            segment.set_state("parsed")
    elif not complete and not should_stop():
        raise DataError(
            f"{total - len(done_keys) - pages} fetched pages have no parsed row",
            where=str(segment.path),
            remedy="run `cobnut parse` on this segment again",
        )
    return ParseReport(
        segment=segment.name, pages=pages, already_parsed=len(done_keys),
        statuses=dict(statuses), reasons=dict(reasons), links=links, links_dropped=dropped,
        redirects=redirects, complete=complete, cpu_ms=cpu_ms,
        elapsed_ms=int((clock() - started) * 1000), embeds=embeds, flags=dict(flags), score_failures=dict(failures),
    )  # fmt: skip


def _parsed_keys(segment: SegmentFolder) -> set[str]:
    """Pages that have a durable row."""
    from cobnut.storage.tables import read_files

    return set(read_files(PARSED, segment.part_files(PARSED), ["url_key"]).column("url_key").to_pylist())


def _drop_widowed_links(segment: SegmentFolder) -> None:
    """Removes parts of `links` whose pages are not in `parsed`: their batch is run again."""
    partners = {path.name for path in segment.part_files(PARSED)} | {f"{REDIRECTS_PART}.parquet"}
    for path in segment.part_files(LINKS):
        if path.name not in partners:
            path.unlink()


def _successes(segment: SegmentFolder, columns: list[str]) -> Iterator[Any]:
    """Record batches of the rows fetched with success, part by part."""
    import pyarrow.compute as pc

    from cobnut.storage.tables import batches_of

    for batch in batches_of(FETCHED, segment.part_files(FETCHED), [*columns, "outcome"], _ROWS):
        yield batch.filter(pc.equal(batch.column("outcome"), "success")).select(columns)


def _count_pages(segment: SegmentFolder) -> int:
    return len({key for batch in _successes(segment, ["url_key"]) for key in batch.column(0).to_pylist()})


def _batches(segment: SegmentFolder, done: set[str]) -> Iterator[Batch]:
    """Pages without a row, in the order they were fetched, so many at a time; a URL fetched twice counts once."""
    from cobnut.parsers.tasks import PageTask

    tasks: list[PageTask] = []
    given: set[str] = set()
    for batch in _successes(segment, _COLUMNS):
        for row in zip(*(batch.column(name).to_pylist() for name in _COLUMNS), strict=True):
            if row[0] in done or row[0] in given:
                continue
            given.add(row[0])
            tasks.append(PageTask(**dict(zip(_COLUMNS, row, strict=True))))
            if len(tasks) == BATCH_PAGES:
                yield _batch(segment, tasks)
                tasks = []
    if tasks:
        yield _batch(segment, tasks)


def _batch(segment: SegmentFolder, tasks: list[PageTask]) -> Batch:
    """A batch whose name says which pages are in it, so that running it again replaces the same files."""
    from xxhash import xxh3_64_hexdigest

    from cobnut.parsers.tasks import Batch

    name = "pages-" + xxh3_64_hexdigest("\n".join(task.url_key for task in tasks).encode())
    return Batch(str(segment.path), name, tasks)


def write_redirect_links(segment: SegmentFolder) -> int:
    """Writes one link per redirect of the segment, from source to target; how many there are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from cobnut.storage.parts import write_part
    from cobnut.storage.tables import read_files
    from cobnut.urls.resolve import forms, stored_url

    columns = ["url_key", "host", "score", "depth", "redirect_url", "redirect_key"]
    rows: dict[str, dict[str, Any]] = {}
    for path in segment.part_files(FETCHED):
        table = read_files(FETCHED, [path], [*columns, "outcome"])
        moved = pc.and_(pc.starts_with(table.column("outcome"), "redirect_"), pc.is_valid(table.column("redirect_key")))
        for source in table.filter(moved).select(columns).to_pylist():
            target = forms(source["redirect_url"]) if source["redirect_url"] else None
            if target is None or source["redirect_key"] == source["url_key"]:
                continue
            rows[source["url_key"]] = {
                "from_key": source["url_key"], "position": 0, "from_host": source["host"],
                "from_score": source["score"], "from_depth": source["depth"], "contribution": source["score"],
                "to_url": stored_url(target.url, target.normalized), "to_key": source["redirect_key"],
                "to_host": target.host, "to_bucket": target.bucket, "anchor": None, "nofollow": False,
                "kind": "redirect",
            }  # fmt: skip
    if not rows:
        return 0
    ordered = sorted(rows.values(), key=lambda row: (row["to_bucket"], row["from_key"]))
    table = pa.Table.from_pylist(ordered, schema=LINKS.schema())
    write_part(segment.folder(LINKS), LINKS, REDIRECTS_PART, [table])
    return len(rows)
