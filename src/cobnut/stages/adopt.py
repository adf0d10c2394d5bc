"""What becomes of a crawl when rows of another one come in?

Reads *adopted* rows: what another crawl knows of each URL, crawldb and pages side by side, in the form of our tables
(`ADOPTED`); and the segments that came along (their *visits*). Merges them into the crawldb, pages, hostdb and seeds,
through the same publishing as inject and updatedb.

Of two states of a URL the one that was visited last stays, the present one when both are as old; with `overwrite` the
adopted one always does. Of several adopted rows of a URL the one visited last is taken. The metadata of both come
together; of equal names the value that was here stays. A host that has pages and no
seed gets its shortest fetched URL as seed, so that the crawl goes on there. A host that is known keeps its row.

Adopting the same rows again changes nothing.

Not here: making such rows (`interop`), the links (`stages.adoptlinks`), which segments count as applied
(`crawl.adopt`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cobnut.records import catalogue as tables
from cobnut.records.columns import Column, Table
from cobnut.records.steps import Input, Map, Output, Sql, Stage, column

if TYPE_CHECKING:
    import pyarrow as pa

_COLD = tuple(c for c in tables.PAGES.columns if c.name not in tables.CRAWLDB.column_names)

ADOPTED = Table(
    "adopted", "segment", ("url_key",), "bucket", (),
    "What another crawl knows of a URL: a row of the crawldb and one of pages in one. Never kept in a crawl.",
    (
        *tables.CRAWLDB.columns, *_COLD,
        Column("requested", "string", "The URL as it is requested, never NULL here.", nullable=False),
        Column("may_seed", "bool", "The URL may become the seed of its host.", nullable=False),
        Column("sequence", "int64", "Which row it was, counted through; of equals the last is taken.", nullable=False),
    ),
)  # fmt: skip

ADOPTED_HOSTS = Table(
    "adopted_hosts", "segment", ("host",), "bucket", (),
    "What another crawl knows of a host: rows of the hostdb. Never kept in a crawl.", tables.HOSTDB.columns,
)  # fmt: skip

VISITS = (
    column("url_key", "string"),
    column("outcome", "string"),
    column("reason", "string"),
    column("http_status", "int32"),
    column("checked_at", "int64"),
    column("fetched_at", "int64"),
    column("redirect_key", "string"),
    column("has_answer", "bool"),
    column("segment", "string"),
    column("warc_file", "string"),
    column("warc_offset", "int64"),
    column("etag", "string"),
    column("last_modified", "string"),
    column("page_reason", "string"),
    column("media_type", "string"),
    column("canonical_key", "string"),
    column("fingerprint", "int64"),
    column("outlink_count", "int32"),
)

WIDE_PAGES = (*tables.PAGES.columns, column("new_metadata", "map"))


def merge_adopted_metadata(batches: Iterable[pa.RecordBatch], _context: Any) -> Iterator[pa.RecordBatch]:
    """Adds the adopted metadata to what the page has; of equal names the value that was here stays."""
    import pyarrow as pa

    schema = tables.PAGES.schema()
    for batch in batches:
        table = pa.Table.from_batches([batch])
        if table.column("new_metadata").null_count < table.num_rows:
            old, new = table.column("metadata").to_pylist(), table.column("new_metadata").to_pylist()
            merged = [
                a if not b else list({**dict(b), **dict(a or ())}.items()) for a, b in zip(old, new, strict=True)
            ]  # fmt: skip
            place = table.schema.get_field_index("metadata")
            table = table.set_column(place, "metadata", pa.array(merged, schema.field("metadata").type))
        yield from table.select(schema.names).combine_chunks().to_batches()


CANDIDATES = (column("url_key", "string"), column("url", "string"), column("host", "string"))

STAGE = Stage(
    "adopt",
    "Merges what another crawl knows of pages and hosts into the crawldb.",
    inputs=(
        Input("adopted", ADOPTED, "files"),
        Input("adopted_hosts", ADOPTED_HOSTS, "files"),
        Input("crawldb", tables.CRAWLDB, "current"),
        Input("pages", tables.PAGES, "current"),
        Input("hostdb", tables.HOSTDB, "current"),
        Input("seeds", tables.SEEDS, "current", partitioned=False),
        Input("fetched", tables.FETCHED, "segments"),
        Input("parsed", tables.PARSED, "segments"),
    ),
    steps=(
        Sql("adopt_visits", ("fetched", "parsed"), "visits", VISITS),
        Sql("adopt_rows", ("adopted", "visits"), "newest", ADOPTED.columns),
        Sql("adopt_winners", ("crawldb", "pages", "newest", "params"), "winners", ADOPTED.columns),
        Sql("adopt", ("crawldb", "winners"), "next_crawldb", tables.CRAWLDB.columns),
        Sql("adopt_pages", ("crawldb", "pages", "winners", "newest", "params"), "wide_pages", WIDE_PAGES),
        Map("merge_adopted_metadata", merge_adopted_metadata, "wide_pages", "next_pages", tables.PAGES.columns),
        Sql("adopt_hostdb", ("hostdb", "adopted_hosts"), "next_hostdb", tables.HOSTDB.columns),
        Sql("adopt_candidates", ("newest",), "candidates", CANDIDATES),
    ),
    collected=("candidates",),
    finale=(Sql("adopt_seeds", ("seeds", "candidates", "params"), "next_seeds", tables.SEEDS.columns),),
    outputs=(
        Output("next_seeds", tables.SEEDS, keeps="seeds"),
        Output("next_hostdb", tables.HOSTDB, keeps="hostdb"),
        Output("next_pages", tables.PAGES, keeps="pages"),
        # last: segments count as applied once the crawldb says so
        Output("next_crawldb", tables.CRAWLDB, keeps="crawldb"),
    ),
    params=(column("now_ms", "int64"), column("overwrite", "bool"), column("with_seeds", "bool")),
)
