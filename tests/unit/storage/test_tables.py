"""Do rows come back as they were written, partition by partition, and is damage named?"""

import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest

from cobnut.config.sections import Settings, StorageSettings
from cobnut.crawl import steps
from cobnut.errors import DataError, InputError, MachineError
from cobnut.records.catalogue import CRAWLDB, FETCHED, LINKDB, PAGES
from cobnut.storage.files import read_json, remove_tree, sweep, temporary_name, write_atomic, write_json
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.parts import PartWriter, part_files, part_name, write_part
from cobnut.storage.tables import TableStore, checksum, partition_of, partition_range, partitions_for, read_files
from cobnut.testing.tables import START_MS, inlink, new_crawl, page, rows_of, write_table

URLS = [f"http://h{i}.example/" for i in range(200)]


def crawldb_rows(urls=URLS):
    return rows_of(CRAWLDB, [{**page(u), "url": None, "score": i} for i, u in enumerate(urls)])


@pytest.fixture
def store(tmp_path):
    return TableStore(tmp_path / "crawldb", CRAWLDB, grace_s=0)


def publish(store, rows, partitions):
    with store.begin(partitions) as draft:
        for partition in range(partitions):
            low, high = partition_range(partition, partitions)
            mine = [low <= b < high for b in rows.column("bucket").to_pylist()]
            draft.write_partition(partition, [rows.filter(pa.array(mine))])
        return draft.publish("test", extra=1)


@pytest.mark.parametrize("partitions", [1, 2, 8])
def test_rows_come_back(store, partitions):
    rows = crawldb_rows()
    publish(store, rows, partitions)
    assert store.read().sort_by("url_key") == rows.sort_by("url_key")
    manifest = store.manifest()
    assert (manifest["rows"], manifest["partitions"], manifest["extra"]) == (200, partitions, 1)
    for entry in manifest["files"]:
        assert checksum(store.path / "g000001" / entry["name"]) == entry["xxh3"]
    filtered = store.read(["score"], filters=[("url_key", "in", [page(URLS[3])["url_key"]])])
    assert filtered.to_pylist() == [{"score": 3}]


def test_a_table_never_written_is_empty_with_its_columns(store):
    assert store.read().schema.equals(CRAWLDB.schema())
    assert store.read(["score"]).schema.names == ["score"]
    assert store.manifest() == {}


@pytest.mark.parametrize(("of", "expected"), [(1, 4), (2, 2), (4, 1), (8, 1), (64, 1)])
def test_a_reader_of_a_share_opens_only_files_that_may_hold_it(store, of, expected):
    publish(store, crawldb_rows(), 4)
    with store.current() as version:
        for partition in range(of):
            files = version.files(partition, of)
            assert len(files) == expected
            low, high = partition_range(partition, of)
            wanted = {r["url_key"] for r in crawldb_rows().to_pylist() if low <= r["bucket"] < high}
            assert wanted <= set(read_files(CRAWLDB, files).column("url_key").to_pylist())


def test_every_bucket_lies_in_exactly_one_partition():
    for partitions in (1, 2, 4, 4096):
        for bucket in (0, 1, 32_767, 32_768, 65_535):
            low, high = partition_range(partition_of(bucket, partitions), partitions)
            assert low <= bucket < high
    assert [partitions_for(n, 10) for n in (0, 10, 11, 20, 21, 10**9)] == [1, 1, 2, 2, 4, 4096]


def test_a_partition_is_taken_over_unchanged(store):
    publish(store, crawldb_rows(), 2)
    with store.current() as version, store.begin(2) as draft:
        draft.keep_partition(version, 0)
        draft.write_partition(1, [CRAWLDB.schema().empty_table()])
        kept = draft.rows
        draft.publish("test")
    assert store.manifest()["rows"] == kept == store.read().num_rows
    assert all(b < 32_768 for b in store.read().column("bucket").to_pylist())


def test_null_where_none_may_be_is_refused_and_nothing_is_published(store):
    publish(store, crawldb_rows(), 1)
    place = CRAWLDB.column_names.index("retries")
    bad = crawldb_rows().set_column(place, pa.field("retries", pa.int32()), pa.array([None] * 200, pa.int32()))
    with pytest.raises(ValueError, match="retries"), store.begin(1) as draft:
        draft.write_partition(0, [bad])
    assert store.manifest()["generation"] == 1
    assert publish(store, crawldb_rows(), 1) == 2


DAMAGE = {
    "empty": lambda b: b"",
    "no Parquet": lambda b: b"something else entirely",
    "cut": lambda b: b[: len(b) // 2],
    "no end": lambda b: b[:-8],
    "zeros inside": lambda b: b[:100] + b"\0" * (len(b) - 1000) + b[-900:],
}


@pytest.mark.parametrize("how", DAMAGE)
def test_damaged_parquet_names_file_and_remedy(tmp_path, how):
    crawl = new_crawl(tmp_path / "crawl")
    write_table(crawl, CRAWLDB, crawldb_rows())
    path = crawl.path / "crawldb" / "g000001" / "part-00000.parquet"
    path.write_bytes(DAMAGE[how](path.read_bytes()))
    with pytest.raises(DataError) as caught:
        crawl.table(CRAWLDB).read()
    assert str(path) in caught.value.line()
    assert f"use `cobnut rollback {crawl.path} crawldb`" in caught.value.line()
    with pytest.raises(DataError) as caught:  # the engine reads with another library
        steps.generate(crawl, Settings())
    assert str(path) in caught.value.line()
    assert "rollback" in caught.value.line()


def test_a_missing_file_names_it(tmp_path):
    crawl = new_crawl(tmp_path / "crawl")
    write_table(crawl, CRAWLDB, crawldb_rows())
    path = crawl.path / "crawldb" / "g000001" / "part-00000.parquet"
    path.unlink()
    for read in (crawl.table(CRAWLDB).read, lambda: steps.generate(crawl, Settings())):
        with pytest.raises(DataError, match="a file of crawldb is missing") as caught:
            read()
        assert str(path) in caught.value.line()


def test_a_file_of_other_columns_is_damage(tmp_path):
    path = tmp_path / "part.parquet"
    write_part(tmp_path, PAGES, "part", [rows_of(PAGES, [])])
    with pytest.raises(DataError, match="a file of crawldb is damaged"):
        read_files(CRAWLDB, [path])


def test_a_part_appears_whole_or_not_at_all(tmp_path):
    rows = rows_of(FETCHED, [page(u) for u in URLS])
    writer = PartWriter(tmp_path, FETCHED, part_name(3, 7))
    writer.write(rows.slice(0, 100))
    assert part_files(tmp_path) == []
    writer.write(rows.slice(100).to_batches()[0])
    assert writer.close() == tmp_path / "part-00003-00007.parquet"
    assert read_files(FETCHED, part_files(tmp_path)) == rows
    with pytest.raises(KeyError), PartWriter(tmp_path, FETCHED, part_name(4)) as broken:
        broken.write(rows.select(["url_key"]))
    assert [p.name for p in tmp_path.iterdir()] == ["part-00003-00007.parquet"]


def test_files_are_replaced_whole(tmp_path):
    path = tmp_path / "file"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(MachineError, match=r"cannot write \(No such file"):
        write_atomic(tmp_path / "nowhere" / "file", b"")
    write_json(path, {"ü": 1})
    assert read_json(path) == {"ü": 1}
    path.write_bytes(b"{")
    with pytest.raises(DataError, match="damaged JSON"):
        read_json(path)


def test_removing_and_sweeping(tmp_path):
    folder = tmp_path / "gone"
    (folder / "deep").mkdir(parents=True)
    remove_tree(folder)
    remove_tree(folder)
    (tmp_path / temporary_name("a")).mkdir()
    (tmp_path / temporary_name("b")).write_text("")
    (tmp_path / "kept").write_text("")
    assert len(sweep(tmp_path)) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]
    assert sweep(tmp_path / "nowhere") == []


def test_segments_of_a_newer_format_are_refused(tmp_path):
    crawl = new_crawl(tmp_path / "crawl")
    segment = crawl.new_segment(lambda: 0, lambda s: None, lambda s: None)
    state = segment.path / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "format_version": 99}))
    with pytest.raises(DataError, match="format version 99 is newer"):
        segment.state()


def test_a_crawl_is_made_once_and_only_where_there_is_room(tmp_path):
    crawl = CrawlFolder.create(tmp_path / "crawl", "")
    assert CrawlFolder.open(crawl.path).path == crawl.path
    with pytest.raises(InputError, match="a crawl here already"):
        CrawlFolder.create(crawl.path, "")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    with pytest.raises(InputError, match="not empty"):
        CrawlFolder.create(tmp_path / "other", "")
    with pytest.raises(InputError, match="a file is in the way"):
        CrawlFolder.create(tmp_path / "other" / "file", "")
    with pytest.raises(InputError, match="not a crawl"):
        CrawlFolder.open(tmp_path / "other")
    with pytest.raises(InputError, match="no such folder"):
        CrawlFolder.open(tmp_path / "nowhere")


def test_what_does_not_fit_in_memory_is_not_spilled_where_the_command_was_typed(tmp_path, monkeypatch):
    crawl = new_crawl(tmp_path / "crawl")
    write_table(crawl, CRAWLDB, crawldb_rows())
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    dead = crawl.path / ".tmp-engine-99999999-x"
    dead.mkdir()
    steps.generate(crawl, Settings(storage=StorageSettings(memory_mib=64)))
    assert list(here.iterdir()) == []
    assert [p.name for p in crawl.path.iterdir() if p.name.startswith(".tmp")] == []


def test_a_row_in_the_partition_of_other_hosts_is_refused_and_nothing_is_written(tmp_path):
    store = TableStore(tmp_path / "linkdb", LINKDB)
    link = inlink("http://a.example/", "http://b.example/")
    right = partition_of(link["to_bucket"], 4)
    for partition in range(4):
        with store.begin(4) as draft:
            if partition == right:
                draft.write_partition(partition, [rows_of(LINKDB, [link])])
            else:
                with pytest.raises(DataError, match="linkdb would hold rows of the host buckets"):
                    draft.write_partition(partition, [rows_of(LINKDB, [link])])
    assert store.current() is None


def test_what_a_killed_run_left_of_a_segments_state_goes_with_the_next_and_what_a_living_one_writes_stays(tmp_path):
    segment = new_crawl(tmp_path / "c").new_segment(lambda: START_MS, lambda seconds: None, lambda made: None)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    dead, alive = (segment.path / f".tmp-state.json-{pid}-0a1b2c3d" for pid in (ended.pid, os.getpid()))
    for path in (dead, alive):
        path.write_text("{")
    segment.set_state("fetched")
    assert not dead.exists()
    assert alive.exists()
    assert segment.state() == "fetched"
