"""Do all readers of bases, deltas and what is gone give the rows that hold?"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.records import catalogue as tables
from cobnut.storage.layers import batches_of, read_files, relation, rows_held, shape_of
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.lookup import find
from cobnut.testing.tables import inlink, new_crawl, rows_of

LINKDB = tables.LINKDB
PAIRS = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 5)), max_size=25)
Pair = tuple[int, int]


def rows(pairs: set[Pair], segment: str) -> list[dict[str, object]]:
    made = [
        inlink(f"http://f.example/{source}", f"http://t.example/{target}", segment=segment) for target, source in pairs
    ]
    return sorted(made, key=lambda row: (row["to_key"], row["from_key"]))


def whole(crawl: CrawlFolder, pairs: set[Pair]) -> None:
    with crawl.table(LINKDB).begin() as draft:
        draft.write_partition(0, [rows_of(LINKDB, rows(pairs, "base"))])
        draft.publish("test")


def changed(crawl: CrawlFolder, held: set[Pair], delta: set[Pair], touched: set[int]) -> None:
    """Gives the base there is a delta, and names what is gone beside it."""
    version = crawl.table(LINKDB).current()
    assert version is not None
    with version, crawl.table(LINKDB).begin() as draft:
        gone = sorted(touched - {target for target, _ in delta})
        keys = rows_of(LINKDB, rows({(target, 0) for target in gone}, "")).select(["to_key"])
        draft.write_delta(version, 0, [rows_of(LINKDB, rows(delta, "delta"))], len(held), keys.to_batches())
        draft.publish("test")


@given(base=PAIRS, delta=PAIRS, more=st.sets(st.integers(0, 6)))
@settings(max_examples=30, deadline=None)
def test_every_way_to_read_gives_the_rows_that_hold(
    tmp_path_factory: pytest.TempPathFactory, base: set[Pair], delta: set[Pair], more: set[int]
) -> None:
    crawl = new_crawl(tmp_path_factory.mktemp("c") / "crawl")
    whole(crawl, base)
    touched = {target for target, _ in delta} | more
    kept = {pair for pair in base if pair[0] not in touched}
    changed(crawl, kept | delta, delta, touched)
    want = sorted((r["to_key"], r["from_key"], r["segment"]) for r in (*rows(kept, "base"), *rows(delta, "delta")))
    names = ["to_key", "from_key", "segment"]
    with crawl.table(LINKDB).current() as version:
        assert version is not None
        files = version.files()
        assert version.rows == version.shape(0).rows == len(want)
        assert sum(map(rows_held, version.manifest["files"])) == len(want)
        assert bool(files.gone) == (touched > {target for target, _ in delta})
        assert version.shape(0).gone == len(touched - {target for target, _ in delta})
        found = read_files(LINKDB, files, ["segment", "from_key", "to_key"]).select(names).to_pylist()
        assert sorted(tuple(r.values()) for r in found) == want
        for many in (1, 4_096):
            batches = [b.select(names).to_pylist() for b in batches_of(LINKDB, files, names, many)]
            assert sorted(tuple(r.values()) for batch in batches for r in batch) == want
        assert sorted(duckdb.sql(relation(files, names)).fetchall()) == want
        some = sorted(duckdb.sql(relation(files, names, "segment = 'base'")).fetchall())
        assert some == [row for row in want if row[2] == "base"]
        for target in range(7):
            key = str(rows({(target, 0)}, "")[0]["to_key"])
            one = sorted(tuple(f.row.values()) for f in find(LINKDB, files, {"to_key": key}, names))
            assert one == [row for row in want if row[0] == key]
        for source in range(6):
            key = str(rows({(0, source)}, "")[0]["from_key"])
            many_rows = sorted(tuple(f.row.values()) for f in find(LINKDB, files, {"from_key": key}, names))
            assert many_rows == [row for row in want if row[1] == key]


def test_a_file_of_keys_adds_no_rows_and_is_taken_over(tmp_path: Path) -> None:
    crawl = new_crawl(tmp_path / "crawl")
    whole(crawl, {(1, 1), (1, 2), (2, 1)})
    changed(crawl, {(2, 1)}, set(), {1})
    version = crawl.table(LINKDB).current()
    assert version is not None
    with version:
        assert shape_of(version.manifest["files"]) == (3, 0, 2, 1)
        with crawl.table(LINKDB).begin() as draft:
            draft.keep_partition(version, 0)
            draft.publish("test")
    assert crawl.table(LINKDB).read(["from_key"]).num_rows == 1
    with crawl.table(LINKDB).current() as again:
        assert again is not None
        assert [path.name for path in again.files().gone] == ["gone-00000.parquet"]
        assert again.rows == 1
