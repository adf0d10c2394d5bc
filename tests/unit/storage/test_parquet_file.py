"""Which columns of a Parquet file have a dictionary?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from cobnut.records import catalogue as tables
from cobnut.records.columns import Table
from cobnut.storage.parts import ParquetFile
from cobnut.testing.tables import inlink, link, page, rows_of

URLS = [f"http://h{n % 3}.example/{n}" for n in range(40)]


def without_dictionary(path: Path, table: Table, rows: list[dict[str, Any]]) -> set[str]:
    file = ParquetFile(path, table)
    file.write(rows_of(table, [{n: v for n, v in row.items() if n in table.column_names} for row in rows]))
    file.close()
    group = pq.read_metadata(path).row_group(0)
    columns = [group.column(n) for n in range(group.num_columns)]
    assert pq.read_table(path, partitioning=None).num_rows == len(rows)
    texts = [c for c in columns if c.physical_type == "BYTE_ARRAY" and c.statistics and c.statistics.has_min_max]
    return {c.path_in_schema for c in texts if "RLE_DICTIONARY" not in c.encodings}


@pytest.mark.parametrize(
    ("table", "rows", "plain"),
    [
        (tables.CRAWLDB, [page(u, status="unfetched") for u in URLS], {"url_key"}),
        (tables.PAGES, [page(u, metadata=[("topic", "nuts")]) for u in URLS], {"url_key"}),
        (tables.LINKDB, [inlink(URLS[0], u, anchor="words") for u in URLS], {"to_key", "from_key"}),
        (tables.FETCHED, [page(u, outcome="success", headers=[("a", "b")]) for u in URLS], {"url_key"}),
        (tables.LINKS, [link(URLS[0], u, n, anchor="words") for n, u in enumerate(URLS)], set()),
    ],
    ids=lambda value: value.name if isinstance(value, Table) else "",
)
def test_keys_that_come_once_have_none(
    tmp_path: Path, table: Table, rows: list[dict[str, Any]], plain: set[str]
) -> None:
    assert without_dictionary(tmp_path / "x.parquet", table, rows) == plain
