"""What comes of Nutch's files when something is wrong with them? It is told, and the rest is read all the same."""

import random
import shutil

import pytest
from nutch_imports import NEW, OLD, golden, imported, new_crawl, rows

from cobnut.errors import CobnutError, DataError, InputError
from cobnut.interop.hadoop.sequencefile import SequenceFileReader, SequenceFileWriter
from cobnut.records import catalogue as tables
from cobnut.storage.tables import read_files
from cobnut.testing.tables import key

PART = "part-r-00000"
SEGMENT = "20261130125900"
SITE = "http://127.0.0.1:18099"


@pytest.fixture
def files(tmp_path):
    """A copy of the golden crawl of 1.23, as Nutch has it, to be damaged."""
    folder = tmp_path / "nutch"
    shutil.copytree(NEW / "crawldb-09-recrawl", folder / "crawldb" / "current")
    shutil.copytree(NEW / "linkdb", folder / "linkdb")
    shutil.copytree(NEW / "segments" / SEGMENT, folder / "segments" / SEGMENT)
    for side in folder.rglob(".*.crc"):
        side.unlink()
    return folder


@pytest.fixture
def crawl(tmp_path):
    return new_crawl(tmp_path / "crawl")


def data_of(folder, part="crawldb/current"):
    return folder / part / PART / "data"


def damage(path, change):
    path.write_bytes(change(path.read_bytes()))


def told(report, words):
    return [line for line in report.messages if words in line]


def pages(crawl):
    return len(rows(crawl, tables.CRAWLDB))


def test_a_sound_crawl_tells_nothing_of_damage(files, crawl):
    report = imported(crawl, files)
    assert report.details["damage"] == 0
    assert "unreadable" not in report.left_out
    assert pages(crawl) == 26


def test_a_missing_index_changes_nothing(files, crawl):
    for index in files.rglob("index"):
        index.unlink()
    report = imported(crawl, files)
    assert told(report, "no index")
    assert report.details["damage"] == 0
    assert pages(crawl) == 26
    assert report.counts["success"] == 11


def test_a_job_that_holds_the_crawldb_is_told(files, crawl):
    (files / "crawldb" / ".locked").touch()
    report = imported(crawl, files)
    assert told(report, ".locked")
    assert pages(crawl) == 26


@pytest.mark.parametrize("size", [0, 2, 20, 60])
def test_a_cut_header_costs_its_file_alone(files, crawl, size):
    damage(data_of(files, "linkdb/current"), lambda data: data[:size])
    report = imported(crawl, files)
    assert report.details["damage"]
    assert told(report, "linkdb")
    assert not rows(crawl, tables.LINKDB)
    assert pages(crawl) == 26


def test_a_file_that_ends_early_is_read_up_to_there(files, crawl):
    damage(data_of(files), lambda data: data[: len(data) // 2])
    report = imported(crawl, files)
    assert report.details["damage"] == 1
    assert 5 < pages(crawl) < 26
    assert told(report, "could not be read: ")[0].count(", byte ") == 1


@pytest.mark.parametrize(
    ("part", "name", "words"),
    [
        ("crawldb/current", b"nutch.crawl.CrawlDatum", "not known"),
        ("linkdb/current", b"nutch.crawl.Inlinks", "not known"),
        (f"segments/{SEGMENT}/content", b"nutch.protocol.Content", "not known"),
        (f"segments/{SEGMENT}/content", b"compress.DefaultCodec", "codec"),
    ],
)
def test_an_unknown_class_or_codec_is_named(files, crawl, part, name, words):
    assert name in data_of(files, part).read_bytes()
    damage(data_of(files, part), lambda data: data.replace(name, name[:-2] + b"Xy"))
    report = imported(crawl, files)
    assert report.details["damage"]
    assert any(words in line and name[-5:-2].decode() in line for line in report.messages), report.messages
    assert pages(crawl) == (0 if part.startswith("crawldb") else 26)


def test_keys_out_of_order_are_put_in_order(files, crawl):
    path = data_of(files, f"segments/{SEGMENT}/content")
    with SequenceFileReader(path) as reader:
        records = list(reader.records())
        names = reader.key_class, reader.value_class
    random.Random(3).shuffle(records)
    with SequenceFileWriter(path, *names, compression="record") as writer:
        for record in records:
            writer.append(record.key, record.value)
    report = imported(crawl, files)
    assert told(report, "not in order")
    assert report.details["damage"] == 0
    segment = crawl.crawl.segment(SEGMENT)
    fetched = read_files(tables.FETCHED, segment.part_files(tables.FETCHED)).to_pylist()
    assert sum(row["warc_file"] is not None for row in fetched if row["outcome"] == "success") == 11


def test_a_segment_that_was_only_generated_is_left_out(files, crawl):
    for part in (files / "segments" / SEGMENT).iterdir():
        if part.name != "crawl_generate":
            shutil.rmtree(part)
    report = imported(crawl, files)
    assert report.left_out["not_fetched"] == 1
    assert told(report, "generated and not fetched")
    assert not crawl.crawl.segments()


def test_a_segment_without_parse_waits_for_parse(files, crawl):
    for name in ("parse_data", "parse_text", "crawl_parse"):
        shutil.rmtree(files / "segments" / SEGMENT / name)
    report = imported(crawl, files)
    assert report.details["waiting"] == [SEGMENT]
    assert crawl.crawl.segment(SEGMENT).state() == "fetched"
    assert report.counts["success"] == 11


def test_a_segment_without_content_is_searchable_all_the_same(files, crawl):
    from cobnut.crawl import steps

    shutil.rmtree(files / "segments" / SEGMENT / "content")
    report = imported(crawl, files)
    assert report.left_out["no_content"] == 2  # gz and text: Nutch had not parsed them
    assert crawl.crawl.segment(SEGMENT).state() == "parsed"
    steps.invertlinks(crawl.crawl, crawl.settings)
    steps.updatesegs(crawl.crawl, crawl.settings)
    done = steps.index(crawl.crawl, crawl.settings)
    assert done.counts["documents"] == 8  # nine, and one says noindex
    assert steps.merge(crawl.crawl, crawl.settings).counts["documents"] == 8


def test_content_alone_is_enough(files, crawl):
    for name in ("crawl_fetch", "crawl_generate", "parse_data", "parse_text", "crawl_parse"):
        shutil.rmtree(files / "segments" / SEGMENT / name)
    report = imported(crawl, files)
    assert report.counts["success"] > 10
    segment = crawl.crawl.segment(SEGMENT)
    fetched = {r["url_key"]: r for r in read_files(tables.FETCHED, segment.part_files(tables.FETCHED)).to_pylist()}
    meta = {r["key"]: r["value"]["metadata"] for r in golden("1.23", f"segments~{SEGMENT}~content~part-r-00000~data")}
    url = f"{SITE}/zh.html"
    assert fetched[key(url)]["fetched_at"] == int(meta[url]["nutch.fetch.time"][0])


def test_files_of_two_layouts_in_one_folder_are_both_read(files, crawl):
    for part in (OLD / "segments" / "20261130130137").iterdir():
        target = files / "segments" / SEGMENT / part.name
        if target.exists():  # content and so on: a second file beside that of 1.x
            shutil.copytree(part, target / "part-00007")
        else:
            shutil.copytree(part, target)
    report = imported(crawl, files)
    assert told(report, "different")
    assert report.counts["success"] >= 11
    assert pages(crawl) == 26


def test_a_crawldb_of_a_newer_version_is_told_by_record(files, crawl):
    with SequenceFileReader(data_of(files)) as reader:
        records, names = list(reader.records()), (reader.key_class, reader.value_class)
    with SequenceFileWriter(data_of(files), *names) as writer:
        for number, record in enumerate(records):
            writer.append(record.key, (b"\x08" if number == 3 else b"") + record.value[number == 3 :])
    report = imported(crawl, files)
    assert report.left_out["unreadable"] == 1
    assert told(report, "version 8")
    assert pages(crawl) == 25


def test_an_unfinished_web_database_is_read_from_the_former_one(tmp_path, crawl):
    shutil.copytree(OLD / "webdb-2-round3", tmp_path / "db" / "webdb.old")
    report = imported(crawl, tmp_path / "db")
    assert told(report, "interrupted")
    assert pages(crawl) == 25


def test_a_database_of_a_newer_hadoop_is_damage_and_not_a_wrong_path(files, crawl):
    damage(data_of(files), lambda raw: b"SEQ\x09" + raw[4:])
    moved = (files / "crawldb").rename(files / "of_mine")
    with pytest.raises(DataError, match=r"a SequenceFile of version 9.*of_mine/current"):
        imported(crawl, moved)
    report = imported(crawl, moved, files / "segments")
    assert report.details["damage"] == 1
    assert report.counts["success"] == 11


def test_records_of_an_unknown_class_are_named_by_it(files, crawl):
    damage(data_of(files), lambda raw: raw.replace(b"crawl.CrawlDatum", b"crawl.CrawlDatuX"))
    with pytest.raises(InputError, match="records of the class CrawlDatuX"):
        imported(crawl, (files / "crawldb").rename(files / "of_mine"))


def test_paths_without_anything_to_import_are_refused_before_anything_is_done(files, crawl, tmp_path):
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "nowhere", NEW / "webgraphdb", data_of(files).with_name("index")):
        with pytest.raises(InputError):
            imported(crawl, files, path)
    assert pages(crawl) == 0
    assert not crawl.crawl.segments()


@pytest.mark.parametrize("seed", range(6))
def test_damaged_bytes_never_end_an_import_otherwise_than_with_an_error_of_ours(files, crawl, seed):
    rng = random.Random(seed)
    for path in sorted(p for p in files.rglob("*") if p.name in ("data", PART) and p.is_file()):
        data = bytearray(path.read_bytes())
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(len(data))
            data[place : place + 4] = rng.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", rng.randbytes(4), b""))
        path.write_bytes(data)
    try:
        report = imported(crawl, files)
    except CobnutError:
        return
    assert report.details["damage"]
    assert len(rows(crawl, tables.CRAWLDB)) <= 26 + 1
