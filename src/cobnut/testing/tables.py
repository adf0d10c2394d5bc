"""How does a test put rows into a crawl?

`page` makes the columns that every row about a URL has; `rows_of` makes an Arrow table of rows that name only what
matters, with the rest at its plainest; `write_table` and `write_segment` put them where the stages look.

Not here: random rows (`testing.relations`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cobnut.records import catalogue as tables
from cobnut.records.columns import Column, Table, pa_schema
from cobnut.storage.layout import PARSED, CrawlFolder, SegmentFolder
from cobnut.storage.parts import part_name, write_part
from cobnut.storage.tables import partition_of
from cobnut.urls.resolve import forms

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]
MICRO = 1_000_000
DAY_MS = 86_400_000
START_MS = 1_767_225_600_000
"""2026-01-01 00:00:00 UTC: when the time of a test begins, unless it says otherwise."""

PLAIN: dict[str, Any] = {"string": "", "int64": 0, "int32": 0, "double": 0.0, "bool": False, "binary": b""}
CHOSEN: dict[str, Any] = {
    "status": "unfetched", "outcome": "success", "parse_status": "ok", "kind": "link", "event": "traffic",
    "score": MICRO, "due_at": START_MS, "fetched_at": START_MS, "seen_at": START_MS, "discovered_at": START_MS,
    "interval_s": 86_400,
}  # fmt: skip
"""What a column that may not be NULL holds where a row does not say."""


def page(url: str, **more: Any) -> dict[str, Any]:
    """The columns `url_key`, `url` (as requested), `host` and `bucket` of a URL, and what else the row says."""
    found = forms(url)
    if found is None:
        raise ValueError(f"not a URL: {url!r}")
    return {"url_key": found.key, "url": found.url, "host": found.host, "bucket": found.bucket, **more}


def key(url: str) -> str:
    """The `url_key` of a URL."""
    return str(page(url)["url_key"])


def link(source: str, target: str, position: int = 0, **more: Any) -> dict[str, Any]:
    """A row of `links` from one URL to another."""
    a, b = page(source), page(target)
    return {
        "from_key": a["url_key"], "position": position, "from_host": a["host"], "from_score": MICRO, "from_depth": 0,
        "contribution": 0, "to_url": None, "to_key": b["url_key"], "to_host": b["host"], "to_bucket": b["bucket"],
        **more,
    }  # fmt: skip


def inlink(source: str, target: str, **more: Any) -> dict[str, Any]:
    """A row of `linkdb` from one URL to another."""
    made = link(source, target)
    names = tables.LINKDB.column_names
    return {**{n: v for n, v in made.items() if n in names}, "segment": "20260101000000", **more}


def rows_of(columns: Table | Sequence[Column], rows: Iterable[Row]) -> pa.Table:
    """Arrow rows with exactly those columns; a column a row does not name is NULL where it may be, or plain."""
    import pyarrow as pa

    wanted = columns.columns if isinstance(columns, Table) else tuple(columns)
    names = {c.name for c in wanted}
    made = []
    for row in rows:
        if unknown := set(row) - names:
            raise KeyError(f"no such columns: {', '.join(sorted(unknown))}")
        made.append({c.name: row[c.name] if c.name in row else _plain(c) for c in wanted})
    return pa.Table.from_pylist(made, schema=pa_schema(tuple(wanted)))


def _plain(column: Column) -> Any:
    return None if column.nullable else CHOSEN.get(column.name, PLAIN.get(column.type))


def write_table(crawl: CrawlFolder, table: Table, rows: Iterable[Row] | pa.Table, **manifest: Any) -> int:
    """Publishes rows as the table's next generation, in as many partitions as the present one has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    data = rows if isinstance(rows, pa.Table) else rows_of(table, rows)
    store = crawl.table(table)
    partitions = int(store.manifest().get("partitions", 1)) if table.bucket_column else 1
    with store.begin(partitions) as draft:
        for partition in range(partitions):
            mine = data
            if partitions > 1:
                numbers = [partition_of(b, partitions) for b in data.column(table.bucket_column).to_pylist()]
                mine = data.filter(pc.equal(pa.array(numbers, pa.int32()), partition))
            draft.write_partition(partition, [mine])
        return draft.publish("test", **{"applied": store.manifest().get("applied", []), **manifest})


def write_segment(
    crawl: CrawlFolder, name: str, state: str = PARSED, parts: int = 1, **rows: Iterable[Row] | pa.Table
) -> SegmentFolder:
    """A segment, new or there already, with rows of the tables named (`fetched=[…]`, `links=[…]`)."""
    import pyarrow as pa

    segment = SegmentFolder(crawl.segments_path / name)
    segment.path.mkdir(parents=True, exist_ok=True)
    for table_name, given in rows.items():
        table = tables.table(table_name)
        data: pa.Table = rows_of(table, given) if not hasattr(given, "schema") else given
        for part in range(parts):
            write_part(
                segment.folder(table),
                table,
                part_name(part),
                [data.take(pa.array(range(part, data.num_rows, parts), pa.int64()))],
            )
    segment.set_state(state)
    return segment


def new_crawl(path: Path) -> CrawlFolder:
    """An empty crawl with default settings."""
    return CrawlFolder.create(path, "")


def by_key(rows: pa.Table, column: str = "url_key") -> dict[str, dict[str, Any]]:
    """Rows by one column, whose values must differ."""
    found = {row[column]: row for row in rows.to_pylist()}
    if len(found) != rows.num_rows:
        raise ValueError(f"{column} is not unique")
    return found
