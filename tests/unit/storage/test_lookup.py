"""Does a look-up give the rows that reading the whole table gives?"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_crawl import arrow, row

from cobnut.errors import DataError
from cobnut.records import catalogue as tables
from cobnut.storage import lookup
from cobnut.storage.lookup import find
from cobnut.storage.parts import write_part
from cobnut.storage.tables import Layers, read_files

P = tables.PAGES


def page(number: int, **values: object) -> dict[str, object]:
    return row(P, f"http://h{number % 3}.test/{number}", discovered_at=1, **values)


def pages(folder: Path, name: str, rows: list[dict[str, object]], at_once: int = 7) -> Path:
    """A file whose row groups have seven rows each."""
    ordered = arrow(P, sorted(rows, key=lambda r: str(r["url_key"])))
    write_part(folder, P, name, [pa.Table.from_batches([b]) for b in ordered.to_batches(at_once)])
    return folder / f"{name}.parquet"


@given(
    base=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=40),
    delta=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=20),
)
@settings(max_examples=40, deadline=None)
def test_it_finds_what_a_full_read_finds(
    tmp_path_factory: pytest.TempPathFactory, base: list[tuple[int, int]], delta: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("t")
    layers = [dict(base), dict(delta)]  # each key once in each
    paths = [
        pages(folder, name, [page(n, http_status=s, redirect_key=f"to{s}" if s else None) for n, s in rows.items()])
        for name, rows in zip(("base", "delta"), layers, strict=True)
    ]
    files = Layers.of(paths[:1], paths[1:], "url_key")
    everything = read_files(P, files).to_pylist()
    for column in ("url_key", "redirect_key", "http_status"):
        for value in {r[column] for r in everything} | {"zz" if column != "http_status" else 99}:
            if value is None:
                continue
            want = sorted(r["url_key"] for r in everything if r[column] == value)
            assert sorted(f.row["url_key"] for f in find(P, files, {column: value})) == want
            some = [f.row for f in find(P, files, {column: value}, ["http_status"])]
            assert len(some) == len(want)
            assert all(set(r) == {"http_status"} for r in some)
    either = {"url_key": page(3)["url_key"], "redirect_key": "to2"}
    want = sorted(r["url_key"] for r in everything if any(r[c] == v for c, v in either.items()))
    assert sorted(f.row["url_key"] for f in find(P, files, {}, either=either)) == want


def test_values_come_as_the_engine_gives_them(tmp_path: Path) -> None:
    path = pages(tmp_path, "a", [page(1, metadata=[("a", "b")], fingerprint=-5), page(2)])
    (found,) = find(P, [path], {"url_key": page(1)["url_key"]})
    assert found.path == path
    assert found.row == page(1, metadata={"a": "b"}, fingerprint=-5)
    assert [f.row["url_key"] for f in find(P, [path], {"fingerprint": -5})] == [page(1)["url_key"]]


def test_no_more_than_asked_for(tmp_path: Path) -> None:
    path = pages(tmp_path, "a", [page(n, http_status=200) for n in range(30)])
    assert len(list(find(P, [path], {"http_status": 200}, limit=5))) == 5
    assert list(find(P, [path], {"http_status": 200}, limit=0)) == []
    assert list(find(P, [], {"http_status": 200})) == []


def test_only_the_row_group_is_read_that_may_hold_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pages(tmp_path, "a", [page(n) for n in range(70)])
    read: list[int] = []
    inner = lookup._hits
    monkeypatch.setattr(lookup, "_hits", lambda file, group, *more: read.append(group) or inner(file, group, *more))
    assert len(list(find(P, [path], {"url_key": page(33)["url_key"]}))) == 1
    assert len(read) == 1
    assert list(find(P, [path], {"redirect_key": "nothing redirects"})) == []
    assert len(read) == 1, "the statistics say that all are NULL"


@pytest.mark.parametrize("damage", ["cut", "foot", "middle", "other"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    path = pages(tmp_path, "a", [page(n) for n in range(30)], at_once=30)
    whole = path.read_bytes()
    if damage == "cut":
        path.write_bytes(whole[:100])
    elif damage == "foot":
        path.write_bytes(whole[:-8] + b"\xff\xff\xff\x7fPAR1")
    elif damage == "middle":
        path.write_bytes(whole[:8] + bytes(len(whole) // 3) + whole[8 + len(whole) // 3 :])
    else:  # no such columns
        write_part(tmp_path, tables.HOSTDB, "a", [arrow(tables.HOSTDB, [row(tables.HOSTDB, host="h")])])
    with pytest.raises(DataError, match=r"pages is damaged.*a\.parquet"):
        list(find(P, [path], {"url_key": page(3)["url_key"]}))
