"""`cobnut read nutch`: what it shows, of one URL and in numbers, and what it says of damaged and half-written files."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cobnut.cli.main import main
from cobnut.interop import nutch1
from cobnut.interop.found import short_class
from cobnut.interop.hadoop import DataOutput
from cobnut.interop.hadoop.mapfile import MapFileWriter
from cobnut.interop.hadoop.sequencefile import SequenceFileReader, SequenceFileWriter
from cobnut.interop.listing import Listed, Listing
from cobnut.interop.listing_url import records_of_url
from cobnut.interop.recognize import recognize

NUTCH = Path(__file__).parents[2] / "formats" / "nutch"
OLD, NEW = NUTCH / "0.7.2" / "data", NUTCH / "1.23" / "data"
SITE = "http://127.0.0.1:18099/"
SEGMENT = NEW / "segments" / "20261130130216"
TEXT, DATUM = "org.apache.hadoop.io.Text", "org.apache.nutch.crawl.CrawlDatum"
UNKNOWN_CODEC = "com.hadoop.compression.lzo.LzoCodec"


class Asked:
    """Runs `cobnut read nutch` in this process; how it ended, and what it said on standard error."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys, self.code, self.error = capsys, 0, ""

    def __call__(self, path: Path, *options: str) -> str:
        self.code = main(["read", "nutch", str(path), *options])
        output = self.capsys.readouterr()
        self.error = output.err
        return output.out

    def objects(self, path: Path, *options: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self(path, "--json", *options).splitlines()]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Asked:
    return Asked(capsys)


def text(value: str) -> bytes:
    out = DataOutput()
    out.write_text(value)
    return out.getvalue()


def datum(score: float = 1.0) -> bytes:
    return nutch1.CrawlDatum(status=2, fetch_time=1_796_043_503_220, fetch_interval=86_400, score=score).to_bytes()


def crawldb(folder: Path, urls: list[str], **options: Any) -> Path:
    """A crawldb with these URLs, in this order."""
    part = folder / "current" / "part-r-00000"
    part.mkdir(parents=True)
    with SequenceFileWriter(part / "data", TEXT, DATUM, **options) as data:
        for url in urls:
            data.append(text(url), datum())
    return folder


def keys(objects: list[dict[str, Any]]) -> list[Any]:
    return [one["key"] for one in objects]


# What is shown


def test_every_record_as_an_object_with_file_key_and_value(ask: Asked) -> None:
    objects = ask.objects(SEGMENT)
    assert ask.code == 0
    assert ask.error == ""
    assert {tuple(one) for one in objects} == {("file", "key", "value")}
    assert len(objects) == 23 + 25 + 19 + 46 + 15 + 15
    assert objects[0]["file"] == "crawl_generate/part-r-00000"
    assert objects[-1]["file"] == "parse_text/part-r-00000/data"
    whole = ask.objects(OLD)
    assert len(whole) == 25 * 4 + 24 + 2 * 101 + 228
    assert whole[0]["file"] == "segments/20261130130137/fetchlist/data"
    assert ask.objects(OLD / "webdb-3-analyze" / "pagesByURL" / "data")[0]["file"] == "data"


def test_a_crawldb_for_a_person(ask: Asked) -> None:
    lines = ask(NEW / "crawldb-10-linkrank", "--limit", "1").splitlines()
    assert lines[0] == "# part-r-00000/data (crawldb)"
    assert lines[1] == SITE
    assert lines[2].startswith("  db_notmodified (6), due 2026-12-01T13:02:36Z, every day, score 1.1147499, ")
    assert "    _pst_ = success (1)" in lines
    assert "    userType = open_source" in lines


@pytest.mark.parametrize(
    ("path", "url", "shown"),
    [
        (NEW / "linkdb", "a.html", '  from http://127.0.0.1:18099/b.html, anchor "to a"'),
        (NEW / "webgraphdb" / "outlinks", "b.html", '  to http://127.0.0.2:18099/ext.html, anchor "ext again", '),
        (NEW / "webgraphdb" / "nodes", "", "  numInlinks 1"),
        (NEW / "hostdb", "", "  connectionFailures 3"),
        (SEGMENT, "zh.html", '  parse status success (1/0), title "纳奇 搜索引擎"'),
        (SEGMENT, "latin1.html", "  text/html, "),
        (OLD / "segments", "private/x.html", "  fetched 2026-11-30T13:01:52Z, protocol status exception (16): "),
        (OLD / "webdb-3-analyze", "gone.html", "never, every 30 days, score 0.23789771"),
        (OLD / "webdb-3-analyze", "zh.html", '  anchor "中文 链接", domain -781244460614962903'),
    ],
)
def test_each_kind_for_a_person(ask: Asked, path: Path, url: str, shown: str) -> None:
    assert shown in ask(path, "--url", SITE + url)
    assert ask.code == 0


def test_bodies_and_texts_are_cut_unless_one_url_is_asked_for(ask: Asked) -> None:
    assert "only nf</a>" not in ask(SEGMENT / "content", "--limit", "1")
    assert "only nf</a>" in ask(SEGMENT / "content", "--url", SITE)


def test_what_strangers_wrote_cannot_move_the_cursor(ask: Asked, tmp_path: Path) -> None:
    url = "http://a.test/\x1b[2J\x07‮\nx"
    folder = crawldb(tmp_path / "bad\x1b[31mname", [url])
    shown = ask(tmp_path)
    assert not set(shown) & {"\x1b", "\x07", "‮"}
    assert "http://a.test/\\x1b[2J\\x07\\u202e x" in shown.splitlines()
    assert "\x1b" not in ask.error
    line = ask(folder, "--json")
    assert "\x1b" not in line
    assert json.loads(line)["key"] == url


def test_numbers(ask: Asked) -> None:
    (counts,) = ask.objects(NEW / "crawldb-10-linkrank", "--stats")
    assert counts["records"] == 26
    assert counts["status"] == {
        "db_notmodified": 16, "db_gone": 3, "db_unfetched": 3, "db_fetched": 2, "db_redir_perm": 1, "db_redir_temp": 1,
    }  # fmt: skip
    assert counts["score"] == {"min": 0.0, "avg": 0.090375, "max": 1.11475}
    (webdb,) = ask.objects(OLD / "webdb-3-analyze", "--stats")
    assert webdb["stats"] == {"pages": 25, "links": 30}
    assert (webdb["pagesByMD5"]["records"], webdb["linksByMD5"]["records"]) == (25, 30)
    segments = ask.objects(OLD / "segments", "--stats")
    assert [one["file"] for one in segments] == ["20261130130137", "20261130130149", "20261130130157"]
    assert segments[1]["fetcher"]["status"] == {"success": 15, "exception": 6}
    assert "db_notmodified  16" in ask(NEW / "crawldb-10-linkrank", "--stats")
    assert ask.code == 0


# Of one URL


def every_url() -> set[str]:
    found: set[str] = set()
    for one in [*Listing(recognize(OLD)), *Listing(recognize(NEW))]:
        for value in (one.key, one.value):
            if isinstance(value, str):
                found.add(value)
            elif isinstance(value, dict) and isinstance(value.get("url"), str):
                found.add(value["url"])
    return found


def test_seeking_finds_what_reading_everything_finds() -> None:
    """In all tables of 1.23 and in those of 0.7 that are sorted by URL."""
    tables = [*NEW.glob("crawldb-*"), NEW / "linkdb", NEW / "webgraphdb", *NEW.glob("segments/*"),
              *(table / "pagesByURL" for table in OLD.glob("webdb-*"))]  # fmt: skip
    urls = every_url()
    assert len(urls) > 25
    compared = 0
    for table in tables:
        everything = list(Listing(recognize(table)))
        for url in urls:
            expected = [one for one in everything if one.key == url]
            assert list(records_of_url(Listing(recognize(table)), url)) == expected
            compared += len(expected)
    assert compared > 500


def test_a_webdb_tells_the_page_the_links_to_it_and_the_links_on_it() -> None:
    folder = OLD / "webdb-3-analyze"
    everything = list(Listing(recognize(folder)))
    for url in every_url():
        found = list(records_of_url(Listing(recognize(folder)), url))
        md5s = {one.value["md5"] for one in everything if one.kind == "pagesByURL" and one.key == url}

        def belongs(one: Listed, url: str = url, md5s: set[str] = md5s) -> bool:
            if one.kind == "linksByMD5" and md5s:
                return one.key["fromID"] in md5s
            return url in (one.key, one.key["url"] if isinstance(one.key, dict) else None)

        assert found == [one for one in everything if belongs(one)]


def test_a_segment_of_07_is_searched_by_the_numbers_of_its_fetcher(ask: Asked) -> None:
    objects = ask.objects(OLD / "segments" / "20261130130149", "--url", SITE + "zh.html")
    assert [(one["file"], one["key"]) for one in objects] == [
        ("fetchlist/data", 1), ("fetcher/data", 3), ("content/data", 3), ("parse_data/data", 3), ("parse_text/data", 3),
    ]  # fmt: skip
    assert "搜索引擎" in objects[-1]["value"]["text"]
    assert ask(OLD / "segments" / "20261130130149" / "parse_text", "--url", SITE) == ""
    assert "name the whole segment" in ask.error


def test_a_url_that_is_not_there(ask: Asked) -> None:
    assert ask(NEW / "linkdb", "--url", "http://nowhere.test/") == ""
    assert ask.code == 1
    assert ask.error == "not in these files: http://nowhere.test/\n"
    ask(NEW / "linkdb", "--url", SITE, "--stats")
    assert ask.code == 2


def test_the_index_is_used(ask: Asked, tmp_path: Path) -> None:
    """All that lies before and behind is destroyed, and is not even seen."""
    folder = tmp_path / "crawldb" / "current" / "part-r-00000"
    urls = [f"http://a.test/{number:05}" for number in range(2000)]
    with MapFileWriter(folder, TEXT, DATUM, crc=False, sync_interval=2000) as table:
        for url in urls:
            table.append(text(url), datum())
    with SequenceFileReader(folder / "data") as reader:
        positions = [record.position for record in reader.records()]
    data = bytearray((folder / "data").read_bytes())
    data[positions[1] : positions[1000]] = b"\xee" * (positions[1000] - positions[1])
    data[positions[1400] :] = b"\xee" * (len(data) - positions[1400])
    (folder / "data").write_bytes(data)
    assert keys(ask.objects(tmp_path / "crawldb", "--url", urls[1200])) == [urls[1200]]
    assert (ask.code, ask.error) == (0, "")
    everything = keys(ask.objects(tmp_path / "crawldb"))
    assert ask.code == 3
    assert 300 < len(everything) < 410
    assert everything[-1] == urls[1399]


# Bad input


def test_a_missing_index(ask: Asked, tmp_path: Path) -> None:
    folder = crawldb(tmp_path / "crawldb", [f"http://a.test/{number}" for number in range(5)])
    assert len(ask.objects(folder)) == 5
    assert ask.code == 0
    assert ask.error == "note: current/part-r-00000: no index: read from the start\n"
    assert keys(ask.objects(folder, "--url", "http://a.test/3")) == ["http://a.test/3"]


def test_keys_that_do_not_ascend(ask: Asked, tmp_path: Path) -> None:
    urls = [f"http://a.test/{number}" for number in (5, 6, 7, 1, 2, 3, 2)]
    folder = crawldb(tmp_path / "crawldb", urls)
    part = folder / "current" / "part-r-00000"
    with (
        SequenceFileReader(part / "data") as reader,
        SequenceFileWriter(part / "index", TEXT, "org.apache.hadoop.io.LongWritable", compression="block") as index,
    ):
        for record in reader.records():
            index.append(record.key, record.position.to_bytes(8, "big"))
    assert keys(ask.objects(folder)) == urls
    assert ask.code == 0
    assert "keys do not ascend" in ask.error
    assert ask.error.startswith("note: current/part-r-00000/data: byte ")
    assert keys(ask.objects(folder, "--url", "http://a.test/2")) == ["http://a.test/2"] * 2


def test_a_key_out_of_order_that_the_index_does_not_show(ask: Asked, tmp_path: Path) -> None:
    """The index has one entry for all of them."""
    urls = [f"http://a.test/{number}" for number in (1, 9, 3, 4)]
    folder = crawldb(tmp_path / "crawldb", urls)
    part = folder / "current" / "part-r-00000"
    with SequenceFileReader(part / "data") as reader:
        first = next(reader.records())
    with SequenceFileWriter(part / "index", TEXT, "org.apache.hadoop.io.LongWritable", compression="block") as index:
        index.append(first.key, first.position.to_bytes(8, "big"))
    for url in urls:
        assert keys(ask.objects(folder, "--url", url)) == [url]
        assert ask.code == 0
    assert ask(folder, "--url", "http://a.test/5") == ""
    assert "keys do not ascend" in ask.error


def test_an_unknown_class_is_shown_as_bytes(ask: Asked, tmp_path: Path) -> None:
    with SequenceFileWriter(tmp_path / "part-r-00000", TEXT, "org.apache.nutch.tools.Mystery") as data:
        data.append(text("http://a.test/"), b"\x01\x02")
    (only,) = ask.objects(tmp_path / "part-r-00000")
    assert only["value"] == {"type": "org.apache.nutch.tools.Mystery", "length": 2, "hex": "0102"}
    assert ask.code == 3
    assert "the class org.apache.nutch.tools.Mystery is not known here" in ask.error
    assert "hex 0102" in ask(tmp_path / "part-r-00000")


def test_an_unknown_codec_hides_one_file_and_not_the_next(ask: Asked, tmp_path: Path) -> None:
    folder = crawldb(tmp_path / "crawldb", ["http://a.test/"])
    shutil.copytree(NEW / "crawldb-00-inject" / "part-r-00000", folder / "current" / "part-r-00001")
    hidden = folder / "current" / "part-r-00000" / "data"
    value = b"\x01\x00" + text(UNKNOWN_CODEC) + bytes(4) + bytes(16)
    hidden.write_bytes(b"SEQ\x06" + text(TEXT) + text(DATUM) + value)
    assert len(ask.objects(folder)) == 4
    assert ask.code == 3
    assert "left out: current/part-r-00000/data: cannot be read: " in ask.error
    assert UNKNOWN_CODEC in ask.error


def test_a_cut_header(ask: Asked, tmp_path: Path) -> None:
    file = tmp_path / "crawldb" / "current" / "part-r-00000" / "data"
    shutil.copytree(NEW / "crawldb-00-inject" / "part-r-00000", tmp_path / "crawldb" / "current" / "part-r-00001")
    file.parent.mkdir()
    whole = (NEW / "crawldb-10-linkrank" / "part-r-00000" / "data").read_bytes()
    for length in (0, 2, 3, 10, 50, 70, 80):
        file.write_bytes(whole[:length])
        assert len(ask.objects(tmp_path / "crawldb")) == 4
        assert ask.code == 3
        assert "left out: current/part-r-00000/data" in ask.error
        assert ask(file) == ""
        assert ask.code == 3
        assert "data" in ask.error


def test_a_file_that_is_cut_within_a_record(ask: Asked, tmp_path: Path) -> None:
    whole = (NEW / "crawldb-10-linkrank" / "part-r-00000" / "data").read_bytes()
    (tmp_path / "data").write_bytes(whole[:-3])
    assert len(ask.objects(tmp_path / "data")) == 25
    assert ask.code == 3
    assert f" to {len(whole) - 3}: a record of " in ask.error


def test_mixed_versions_in_one_folder(ask: Asked, tmp_path: Path) -> None:
    """Records of 0.8, days and old statuses, beside today's."""
    shutil.copytree(NEW / "crawldb-00-inject" / "part-r-00000", tmp_path / "crawldb" / "current" / "part-r-00000")
    old = tmp_path / "crawldb" / "current" / "part-00000"
    value = bytes([4, 5]) + (1000).to_bytes(8, "big") + b"\0" + bytes.fromhex("41f000003f800000") + bytes(8 + 1 + 1)
    with MapFileWriter(old, "org.apache.hadoop.io.UTF8", DATUM, version=3) as table:
        table.append(b"\0\x0ehttp://a.test/", value)
    objects = ask.objects(tmp_path / "crawldb")
    assert ask.code == 0
    assert "files of different versions in one folder: SequenceFile 3 and 6" in ask.error
    assert objects[0]["key"] == "http://a.test/"
    assert objects[0]["value"]["statusName"] == "fetch_success"
    assert objects[0]["value"]["fetchInterval"] == 30 * 86_400
    assert len(objects) == 5


def test_records_of_different_versions_in_one_folder(ask: Asked, tmp_path: Path) -> None:
    """Written by 0.9 and by 1.x: the container is the same."""
    shutil.copytree(NEW / "crawldb-00-inject" / "part-r-00000", tmp_path / "crawldb" / "current" / "part-r-00000")
    value = bytes([5, 1]) + (1000).to_bytes(8, "big") + b"\0" + bytes.fromhex("3f8000003f800000") + bytes(8 + 1 + 1)
    with MapFileWriter(tmp_path / "crawldb" / "current" / "part-00000", TEXT, DATUM) as table:
        table.append(text("http://a.test/"), value)
    assert len(ask.objects(tmp_path / "crawldb")) == 5
    assert ask.code == 0
    assert ask.error == (
        "note: current/part-r-00000/data: its records are of version 7, "
        "those of current/part-00000/data of version 5: both are read\n"
    )


def test_a_record_of_a_newer_version_is_left_out(ask: Asked, tmp_path: Path) -> None:
    with SequenceFileWriter(tmp_path / "part-r-00000", TEXT, DATUM) as data:
        position = data.position
        data.append(text("http://a.test/"), b"\x09" + datum()[1:])
        data.append(text("http://b.test/"), datum())
    assert keys(ask.objects(tmp_path / "part-r-00000")) == ["http://b.test/"]
    assert ask.code == 3
    expected = f"byte {position}: a record that cannot be read: a CrawlDatum of version 9, and 7 is the newest known"
    assert expected in ask.error


def test_a_lock_and_a_half_written_segment_are_told(ask: Asked, tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    shutil.copytree(NEW / "linkdb", crawl / "linkdb")
    (crawl / "linkdb" / ".locked").touch()
    shutil.copytree(SEGMENT / "crawl_generate", crawl / "segments" / "20261130130216" / "crawl_generate")
    assert len(ask.objects(crawl)) == 23 + 23
    assert ask.code == 0
    assert ask.error.splitlines() == [
        "note: linkdb: `.locked` is present: a job is writing, or was interrupted",
        "note: segments/20261130130216: half-written: generated and not fetched",
    ]


def test_damage_in_the_middle_is_passed_over_and_told(ask: Asked, tmp_path: Path) -> None:
    urls = [f"http://a.test/{number:05}" for number in range(3000)]
    folder = crawldb(tmp_path / "crawldb", urls, sync_interval=2000, crc=True)
    file = folder / "current" / "part-r-00000" / "data"
    data = bytearray(file.read_bytes())
    data[40_000:41_000] = b"\xff" * 1000
    file.write_bytes(data)
    found = keys(ask.objects(folder))
    assert 2900 < len(found) < 3000
    assert found[-1] == urls[-1]
    assert ask.code == 3
    assert "left out: current/part-r-00000/data, bytes " in ask.error
    assert "could not be read; everything else was" in ask.error.splitlines()[-1]


def test_many_problems_are_counted(ask: Asked, tmp_path: Path) -> None:
    with SequenceFileWriter(tmp_path / "part-r-00000", TEXT, DATUM) as data:
        for number in range(100):
            data.append(text(f"http://a.test/{number}"), b"")
    assert ask.objects(tmp_path / "part-r-00000") == []
    assert ask.code == 3
    lines = ask.error.splitlines()
    assert len(lines) == 22
    assert lines[20] == "and 80 more"
    assert "100 places could not be read" in lines[21]


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may read everything")
def test_what_may_not_be_read(tmp_path: Path) -> None:
    shutil.copytree(NEW / "crawldb-00-inject" / "part-r-00000", tmp_path / "current" / "part-r-00000")
    shutil.copytree(NEW / "crawldb-00-inject" / "part-r-00000", tmp_path / "current" / "part-r-00001")
    powers = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []

    def ask(path: Path) -> tuple[int, str, int]:
        command = [*powers, sys.executable, "-m", "cobnut", "read", "nutch", str(path), "--json"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stderr, ended.stdout.count("\n")

    (tmp_path / "current" / "part-r-00000").chmod(0)
    try:
        code, error, count = ask(tmp_path)
        assert (code, count) == (3, 4)
        assert error.startswith(
            "left out: current/part-r-00000: cannot be opened (Permission denied)\ncobnut: one place"
        )
        code, error, count = ask(tmp_path / "current" / "part-r-00000")
        assert (code, count) == (4, 0)
        assert error.startswith("cobnut: it may not be read: ")
    finally:
        (tmp_path / "current" / "part-r-00000").chmod(0o755)


def test_a_wrong_path(ask: Asked, tmp_path: Path) -> None:
    ask(tmp_path / "nothing")
    assert ask.code == 2
    assert ask.error.count("\n") == 1
    ask(tmp_path)
    assert ask.code == 2
    assert "no files of Nutch" in ask.error


def test_spoilt_bytes_end_in_words_and_not_in_a_fault(ask: Asked, tmp_path: Path) -> None:
    dice = random.Random(7)
    files = [
        file for root in (OLD, NEW) for file in sorted(root.rglob("*"))
        if file.is_file() and not file.name.endswith(".crc") and file.name != "stats"
    ]  # fmt: skip
    spoilt = tmp_path / "spoilt"
    for number, file in enumerate(files):
        data = bytearray(file.read_bytes())
        if not data:
            continue
        kind = number % 4
        if kind == 0:
            del data[dice.randrange(len(data)) :]
        for _ in range(dice.randrange(1, 9) if data else 0):
            at = dice.randrange(len(data))
            if kind == 1:
                data[at : at + 4] = b"\x7f\xff\xff\xff"
            elif kind == 2:
                data[at : at + 4] = b"\xff\xff\xff\xff"
            else:
                data[at] = dice.randrange(256)
        spoilt.write_bytes(data)
        ask(spoilt, *dice.choice([(), ("--json",), ("--stats",), ("--url", SITE)]))
        assert ask.code in (0, 1, 2, 3), (file, ask.error)


def test_short_names() -> None:
    assert short_class("org.apache.nutch.crawl.CrawlDatum") == short_class("CrawlDatum") == "CrawlDatum"
