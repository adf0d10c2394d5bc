"""Every kind of damage done by hand to a real crawl: is it found and named, and does the advice help?"""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doctored import (
    biggest,
    column_set,
    current,
    cut,
    flip,
    follow,
    goes_on,
    looked_at,
    make,
    rewritten,
    rot,
    site,
)

from cobnut.cli.main import main
from cobnut.inspect.doctor import archives
from cobnut.inspect.doctor.archives import members
from cobnut.inspect.doctor.manifests import Fault, TableManifest, is_whole, read_manifest
from cobnut.testing.fakeweb import FakeWeb

Harm = Callable[[Path], Any]


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with site() as running:
        yield running


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, web: FakeWeb) -> Path:
    path = make(tmp_path_factory.mktemp("doctor") / "crawl", web)
    found = looked_at(path, deep=True)
    assert found.findings == []
    names = {p.name for p in current(path, "crawldb").iterdir()}
    assert {"part-00000.parquet", "delta-00001.parquet"} <= names, "the crawl to harm has bases and deltas"
    return path


@pytest.fixture
def crawl(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "c"))


def names_of(found: Any) -> list[tuple[str, str]]:
    return [(f.check, f.what) for f in found.problems]


# ---- what --repair puts right


def lose(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def fill(path: Path, data: bytes) -> None:
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def of(crawl: Path, number: int, table: str, pattern: str = "*.parquet") -> Path:
    """The largest file of a folder of the segment of that number."""
    return biggest(sorted((crawl / "segments").iterdir())[number] / table, pattern)


def state(crawl: Path, number: int) -> Path:
    return sorted((crawl / "segments").iterdir())[number] / "state.json"


def manifest(crawl: Path, table: str) -> Path:
    return current(crawl, table) / "manifest.json"


REPAIRED: dict[str, dict[str, tuple[Harm, str, str]]] = {
    "CURRENT and states": {
        "missing": (lambda c: lose(c / "crawldb/CURRENT"), "current", "crawldb/CURRENT"),
        "garbage": (lambda c: fill(c / "pages/CURRENT", b"\xff\x00g1"), "current", "pages/CURRENT"),
        "empty": (lambda c: fill(c / "linkdb/CURRENT", b""), "current", "linkdb/CURRENT"),
        "names nothing": (lambda c: fill(c / "hostdb/CURRENT", b"g000099\n"), "current", "hostdb/CURRENT"),
        "of the index": (lambda c: fill(c / "index/CURRENT", b"?"), "index", "index/CURRENT"),
        "no state": (lambda c: lose(state(c, 0)), "state", "state.json"),
        "garbage for a state": (lambda c: fill(state(c, 1), b"\x00\xff"), "state", "state.json"),
        "no such state": (lambda c: fill(state(c, 2), b'{"format_version": 1, "state": "?"}'), "state", "state.json"),
    },
    "what is made again": {
        "ranks are damaged": (lambda c: flip(biggest(current(c, "ranks"))), "file", "ranks/"),
        "duplicates are cut": (lambda c: cut(biggest(current(c, "duplicates"))), "file", "duplicates/"),
        "robots are gone": (lambda c: lose(biggest(current(c, "robots"))), "file", "robots/"),
        "parsed is cut": (lambda c: cut(of(c, 0, "parsed")), "part", "/parsed/"),
        "links is empty": (lambda c: fill(of(c, 1, "links"), b""), "part", "/links/"),
        "a part of parsed is gone": (lambda c: lose(of(c, 2, "parsed")), "segment", "segments/"),
        "linked is cut": (lambda c: cut(of(c, 3, "linked")), "part", "/linked/"),
        "an index is damaged": (lambda c: flip(of(c, 0, "index", "*.store")), "index", ".store"),
        "an index has no list": (lambda c: fill(of(c, 1, "index", "meta.json"), b"[" * 100_000), "index", "index"),
        "the index is cut": (lambda c: cut(biggest(current(c, "index"), "*.idx")), "index", ".idx"),
    },
    "what can still be read": {
        "a part of links is gone": (lambda c: lose(of(c, 3, "links", "pages-*")), "segment", "segments/"),
        "in parsed": (lambda c: rot(of(c, 0, "parsed")), "part", "/parsed/"),
        "in links": (lambda c: rot(of(c, 1, "links")), "part", "/links/"),
        "in linked": (lambda c: rot(of(c, 2, "linked")), "part", "/linked/"),
        "in ranks": (lambda c: rot(biggest(current(c, "ranks"))), "file", "ranks/"),
    },
    "generations": {
        "the generation is gone": (lambda c: lose(current(c, "crawldb")), "current", "crawldb/CURRENT"),
        "the manifest is garbage": (lambda c: fill(manifest(c, "hostdb"), b"{"), "file", "hostdb/"),
        "the index is of no version": (
            lambda c: fill(manifest(c, "index"), b'{"format_version": 0}'), "index", "manifest.json",
        ),
    },
    "a manifest": {"is a list": (lambda c: fill(manifest(c, "crawldb"), b"[]"), "file", "manifest.json")},
}  # fmt: skip


@pytest.mark.parametrize("group", REPAIRED)
def test_repair_puts_it_right(crawl: Path, group: str) -> None:
    for harm, _, _ in reversed(REPAIRED[group].values()):
        harm(crawl)
    found = looked_at(crawl)
    for name, (_, check, where) in REPAIRED[group].items():
        assert [f for f in found.problems if f.check == check and where in f.where], (name, names_of(found))
    assert all(f.consequence and f.remedy for f in found.findings)
    assert main(["doctor", str(crawl), "--repair"]) == 0
    goes_on(crawl)
    last = looked_at(crawl, deep=True)
    assert last.findings == [], names_of(last)


# ---- what a named command puts right


def repeated_row(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows.slice(0, 2), rows.slice(1)])


def turned_round(rows: pa.Table) -> pa.Table:
    return rows.take(list(reversed(range(rows.num_rows))))


def without_column(rows: pa.Table) -> pa.Table:
    return rows.drop_columns(["depth"])


def other_type(rows: pa.Table) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index("score"), "score", rows.column("score").cast(pa.string()))


def said_otherwise(crawl: Path) -> None:
    path = current(crawl, "pages") / "manifest.json"
    manifest = json.loads(path.read_text())
    entry = next(e for e in manifest["files"] if e.get("replaced"))
    entry["replaced"] -= 1
    manifest["rows"] += 1
    path.write_text(json.dumps(manifest))


def spoiled(rows: pa.Table) -> pa.Table:
    for name, value in (("bucket", 77), ("host", "evil.test"), ("status", "lost"), ("reason", "whim"), ("due_at", -1)):
        rows = column_set(rows, name, value)
    return repeated_row(rows)


NAMED: dict[str, dict[str, tuple[Harm, str, str]]] = {
    "files": {
        "the linkdb is damaged": (lambda c: flip(biggest(current(c, "linkdb"))), "file", "checksum differs"),
        "the hostdb is damaged": (lambda c: flip(biggest(current(c, "hostdb"))), "file", "checksum differs"),
        "fetched is garbage": (lambda c: fill(of(c, 0, "fetched"), b"PAR1" * 9), "part", "be read"),
        "the fetchlist is cut": (lambda c: cut(of(c, 1, "fetchlist")), "part", "be read"),
        "hosts are cut": (lambda c: cut(of(c, 2, "hosts")), "part", "be read"),
        "a fetchlist is gone": (lambda c: lose(of(c, 3, "fetchlist")), "segment", "has no fetchlist"),
    },
    "what can still be read": {
        "in the fetchlist": (lambda c: rot(of(c, 0, "fetchlist")), "part", "fetchlist of segment"),
        "in fetched": (lambda c: rot(of(c, 1, "fetched")), "part", "its checksum differs"),
        "in hosts": (lambda c: rot(of(c, 2, "hosts")), "part", "hosts of segment"),
        "in the linkdb": (lambda c: rot(biggest(current(c, "linkdb"))), "file", "checksum differs"),
    },
    "archives": {
        "the crawldb is cut": (lambda c: cut(biggest(current(c, "crawldb"))), "file", "bytes and should have"),
        "an archive is cut": (lambda c: cut(of(c, 0, "warc", "*.gz"), 0.3), "archive", "ends before"),
        "an archive is gone": (lambda c: lose(of(c, 1, "warc", "*.gz")), "archive", "missing"),
        "an archive is damaged": (lambda c: flip(of(c, 2, "warc", "*.gz"), 0.8), "archive", "damaged"),
    },
    "rows": {
        "a key stands there twice": (lambda c: rewritten(c, "crawldb", spoiled), "rows", "key of the row before"),
        "a bucket is not the host's": (lambda c: None, "rows", "hash of their host"),
        "a host is another's": (lambda c: None, "rows", "their row's host"),
        "a status is unknown": (lambda c: None, "rows", "1 of status: values are none of the known"),
        "a reason is unknown": (lambda c: None, "rows", "1 of reason: values are none of the known"),
        "a time is below zero": (lambda c: None, "rows", "1 of due_at: times and numbers are below zero"),
        "a partition is another's": (lambda c: None, "rows", "a partition that is not theirs"),
    },
    "order": {
        "rows are out of order": (lambda c: rewritten(c, "crawldb", turned_round), "rows", "order of their keys"),
        "a byte of pages turned over": (lambda c: flip(biggest(current(c, "pages"))), "file", "checksum differs"),
    },
    "columns": {
        "one is missing": (lambda c: rewritten(c, "crawldb", without_column), "rows", "no column depth"),
        "a delta is gone": (lambda c: lose(biggest(current(c, "pages"), "delta*")), "file", "missing"),
    },
    "types": {"another type": (lambda c: rewritten(c, "crawldb", other_type), "rows", "score is string")},
    "keys": {"a URL is lost": (lambda c: rewritten(c, "pages", lambda r: r.slice(1)), "", "pages")},
    "deltas": {
        "one replaces more": (said_otherwise, "replaced", "by the manifest"),
        "the index is damaged": (lambda c: flip(biggest(current(c, "index"), "*.term")), "index", "checksum differs"),
    },
}  # fmt: skip


@pytest.mark.parametrize("group", NAMED)
def test_the_named_command_helps(crawl: Path, group: str) -> None:
    for harm, _, _ in NAMED[group].values():
        harm(crawl)
    found = looked_at(crawl)
    for name, (_, check, words) in NAMED[group].items():
        assert [f for f in found.problems if check in f.check and words in f.what], (name, names_of(found))
    for _ in range(3):
        if not found.problems:
            break
        for remedy in dict.fromkeys(f.remedy for f in found.problems):
            follow(remedy)
        found = looked_at(crawl)
    goes_on(crawl)
    last = looked_at(crawl, deep=True)
    assert last.problems == [], names_of(last)


def test_what_nothing_helps_is_told_as_such(crawl: Path) -> None:
    shutil.rmtree(crawl / "crawldb")
    (lost,) = (f for f in looked_at(crawl, repair=True).problems if f.check == "lost")
    assert "restore it from a backup" in lost.remedy
    path = current(crawl, "pages") / "manifest.json"
    path.write_text(path.read_text().replace('"format_version": 1', '"format_version": 9'))
    newer = [f for f in looked_at(crawl).problems if f.check == "version"]
    assert [f.remedy for f in newer] == ["use a newer Cobnut"]


def test_a_table_without_a_whole_generation(crawl: Path) -> None:
    for path in (crawl / "crawldb").glob("g*/part-00000.parquet"):
        flip(path)
    (crawl / "crawldb/CURRENT").unlink()
    problems = looked_at(crawl, repair=True).problems
    assert any(f.check == "current" and "restore it from a backup" in f.remedy for f in problems)


def test_parts_without_a_checksum_are_no_fault(crawl: Path) -> None:
    segment = sorted((crawl / "segments").iterdir())[1]
    for path in segment.glob("*/*.parquet"):
        pq.write_table(pq.read_table(path, partitioning=None), path, compression="zstd")
    found = looked_at(crawl, deep=True)
    assert found.problems == []
    (note,) = found.notes
    assert note.check == "checksum"
    assert note.where == str(segment)
    assert main(["doctor", str(crawl)]) == 0
    goes_on(crawl)


# ---- bytes of an archive


def test_every_byte_of_an_archive_counts(crawl: Path, tmp_path: Path) -> None:
    """A bit turned over anywhere in it is found, and told by the byte at which its record begins."""
    chance = random.Random(5)
    whole = of(crawl, 0, "warc", "*.gz").read_bytes()
    spoilt = tmp_path / "spoilt.warc.gz"
    spoilt.write_bytes(whole)
    with open(spoilt, "rb") as file:
        sound = list(members(file, []))
    assert [m.fault for m in sound] == [None] * len(sound)
    assert len(sound) > 2
    assert sound[-1].end == len(whole)
    starts = [m.start for m in sound]
    unseen = 0
    for _ in range(200):
        place = chance.randrange(len(whole))
        data = bytearray(whole)
        data[place] ^= 1 << chance.randrange(8)
        spoilt.write_bytes(data)
        with open(spoilt, "rb") as file:
            found = list(members(file, starts))
        faults = [m.start for m in found if m.fault is not None]
        unseen += not faults
        assert set(faults) <= {max(s for s in starts if s <= place)}
        assert [m.start for m in found] == starts
    assert unseen <= 10, "only bytes of a gzip header that say nothing (time, system) may go unseen"


def test_an_archive_that_inflates_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_INFLATED", 10 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(20 << 20)))
    with open(path, "rb") as file:
        assert [m.fault for m in members(file, [])] == ["it is no WARC record"]
    path.write_bytes(gzip.compress(b"WARC/1.1\r\nContent-Length: 20000000\r\n\r\n" + bytes(20_000_004)))
    with open(path, "rb") as file:
        assert [m.fault for m in members(file, [])] == ["it inflates without end"]


def test_an_answer_of_another_url(crawl: Path) -> None:
    shutil.copy(of(crawl, 2, "warc", "*.gz"), of(crawl, 1, "warc", "*.gz"))
    problems = looked_at(crawl, deep=True).problems
    assert any(f.check == "archive" and str(of(crawl, 1, "warc", "*.gz")) in f.where for f in problems), problems


# ---- whatever the bytes are


@pytest.mark.parametrize("seed", range(4))
def test_random_damage_is_told_and_never_ends_the_doctor(crawl: Path, seed: int) -> None:
    chance = random.Random(seed)
    files = sorted(p for p in crawl.rglob("*") if p.is_file() and "reports" not in p.parts and p.name != "cobnut.toml")
    for path in chance.sample(files, 12):
        data = bytearray(path.read_bytes())
        kind = chance.choice(["flip", "cut", "zeros", "noise", "json", "folder"])
        path.unlink()
        if kind == "folder":
            path.mkdir()
            continue
        if kind == "flip" and data:
            for _ in range(chance.randrange(1, 20)):
                data[chance.randrange(len(data))] = chance.randrange(256)
        elif kind == "cut":
            data = data[: chance.randrange(len(data) + 1)]
        elif kind == "zeros":
            data = bytearray(len(data))
        elif kind == "noise":
            data = bytearray(chance.randbytes(chance.randrange(4_000)))
        elif kind == "json":
            data = bytearray(chance.choice([b"[" * 50_000, b'{"files": 7}', b"1e999", b'{"rows": -1}', b"null"]))
        path.write_bytes(data)
    found = looked_at(crawl, deep=True)
    assert found.problems
    assert all(f.what and f.where and f.consequence and f.remedy for f in found.findings)
    after = looked_at(crawl, deep=True, repair=True)
    assert not [f for f in (*found.findings, *after.findings) if f.check == "unexpected"]


NONSENSE: list[dict[str, Any]] = [
    {"partitions": 3}, {"partitions": 0}, {"partitions": 2**40}, {"rows": -5}, {"rows": "many"}, {"files": {}},
    {"files": [{"name": "../../cobnut.toml", "partition": 0, "rows": 1, "bytes": 1, "xxh3": ""}]},
    {"files": [7]}, {"applied": [{"segment": 4}]}, {"applied": "x"}, {"format_version": True},
    {"format_version": 10**30}, {"rows": 10**30}, {"created_at": 5},
]  # fmt: skip


@pytest.mark.parametrize("field", NONSENSE, ids=str)
def test_a_manifest_that_says_nonsense(kept: Path, tmp_path: Path, field: dict[str, Any]) -> None:
    folder = Path(shutil.copytree(current(kept, "crawldb"), tmp_path / "g"))
    assert isinstance(read_manifest(folder), TableManifest)
    assert is_whole(folder)
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **field}))
    fault = read_manifest(folder)
    assert isinstance(fault, Fault)
    assert fault.where == path
    assert not is_whole(folder)


@pytest.mark.parametrize(
    "field", [f for f in NONSENSE if {"files", "applied", "partitions"} & set(f) and f != {"partitions": 3}], ids=str
)
def test_every_command_refuses_it_in_one_line(
    kept: Path, tmp_path: Path, field: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(kept / "crawldb", tmp_path / "c" / "crawldb")
    shutil.copy(kept / "cobnut.toml", tmp_path / "c")
    path = current(tmp_path / "c", "crawldb") / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **field}))
    capsys.readouterr()
    assert main(["read", "crawldb", str(tmp_path / "c"), "--stats"]) == 3
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert str(path) in line
    assert "cobnut rollback" in line
