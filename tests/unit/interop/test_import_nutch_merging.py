"""What becomes of a crawl that has pages already, of one that has not been updated, and of an import that is killed?"""

import re
import shutil
import struct
import zlib
from pathlib import Path

import pytest
from nutch_imports import LATER_MS, NEW, golden, imported, new_crawl, rows

from cobnut.crawl import steps
from cobnut.crawl.adopt import Adopted, adopt
from cobnut.crawl.reports import StepReport
from cobnut.interop.hadoop.data import DataOutput
from cobnut.interop.hadoop.mapfile import MapFileWriter
from cobnut.interop.nutch1 import (
    CrawlDatum,
    Inlink,
    Inlinks,
    MapWritable,
    Outlink,
    ParseData,
    ParseStatus,
    ParseText,
    ProtocolStatus,
)  # fmt: skip
from cobnut.interop.nutch_import import NutchImport, look, losses
from cobnut.interop.nutch_import.losses import Losses
from cobnut.interop.nutch_import.pages import COLUMNS, PageRows
from cobnut.interop.nutch_import.reasons import outcome_of, reason_of
from cobnut.interop.nutch_import.segment import SegmentDraft
from cobnut.interop.nutch_import.staging import Staged
from cobnut.records import catalogue as tables
from cobnut.stages.adopt import ADOPTED
from cobnut.storage.tables import read_files
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import key, page, write_table
from cobnut.urls.resolve import forms

DAY_MS = 86_400_000
TEXT, DATUM = "org.apache.hadoop.io.Text", "org.apache.nutch.crawl.CrawlDatum"
INLINKS = "org.apache.nutch.crawl.Inlinks"
SITE = "http://127.0.0.1:18099"


@pytest.fixture
def crawl(tmp_path):
    return new_crawl(tmp_path / "crawl")


def table_of(folder, value_class, records):
    """A table of Nutch's: URL to record."""
    with MapFileWriter(folder / "current" / "part-r-00000", TEXT, value_class) as writer:
        for url, record in sorted(records.items(), key=lambda item: item[0].encode()):
            out = DataOutput()
            out.write_text(url)
            writer.append(out.getvalue(), record.to_bytes())
    return folder


def datum(status=2, **more):
    return CrawlDatum(**{"status": status, "fetch_time": LATER_MS, "fetch_interval": 86_400, "score": 1.0, **more})


def crawldb(tmp_path, name="crawldb", **records):
    return table_of(tmp_path / name, DATUM, records)


def hot(crawl):
    return {k[0]: row for k, row in rows(crawl, tables.CRAWLDB).items()}


def cold(crawl):
    return {k[0]: row for k, row in rows(crawl, tables.PAGES).items()}


def test_every_state_has_its_name(tmp_path, crawl):
    names = ["unfetched", "fetched", "gone", "redirect_temp", "redirect_perm", "not_modified", "fetched", "orphan",
             "parse_failed"]  # fmt: skip
    records = {f"http://a.example/{code}": datum(code) for code in range(1, 10)}
    report = imported(crawl, crawldb(tmp_path, **records, **{"http://a.example/x": datum(0x43)}))
    assert [hot(crawl)[key(f"http://a.example/{code}")]["status"] for code in range(1, 10)] == names
    assert report.left_out["duplicate_mark"] == report.left_out["not_a_db_status"] == 1


@pytest.mark.parametrize(
    ("url", "reason"),
    [("ftp://a.example/", "not_http"), ("http://a b/", "not_a_url"), ("", "not_http"), ("http:///", "not_a_url")],
)
def test_what_is_no_url_is_left_out_by_reason(tmp_path, crawl, url, reason):
    report = imported(crawl, crawldb(tmp_path, **{url: datum(), "http://a.example/": datum()}))
    assert report.left_out == {reason: 1}
    assert len(hot(crawl)) == 1


def test_urls_that_are_one_here_are_merged_to_the_one_visited_last(tmp_path, crawl):
    records = {
        "http://A.example/": datum(3, fetch_time=LATER_MS - 5 * DAY_MS),
        "http://a.example": datum(2, fetch_time=LATER_MS),
        "http://a.example/#top": datum(1, fetch_time=LATER_MS + DAY_MS),
    }
    report = imported(crawl, crawldb(tmp_path, **records))
    assert report.left_out["same_key"] == 2
    assert [row["status"] for row in hot(crawl).values()] == ["fetched"]


def test_numbers_that_make_no_sense_do_no_harm(tmp_path, crawl):
    nan = struct.unpack(">f", b"\x7f\xc0\x00\x00")[0]
    wild = {
        "http://a.example/nan": datum(score=nan),
        "http://a.example/inf": datum(score=float("inf")),
        "http://a.example/time": datum(fetch_time=2**63 - 1, modified_time=-(2**63)),
        "http://a.example/past": datum(fetch_time=-(2**63), fetch_interval=2**31 - 1),
        "http://a.example/none": datum(fetch_interval=0, retries=-5),
        "http://a.example/short": datum(signature=b"\x01\x02"),
    }
    report = imported(crawl, crawldb(tmp_path, **wild))
    found = {k.rpartition("/")[2]: row for k, row in hot(crawl).items()}
    assert found["nan"]["score"] == 0
    assert found["inf"]["score"] == 10**15
    assert found["time"]["due_at"] == 253_402_300_799_000
    assert found["past"]["due_at"] == 0
    assert found["none"]["interval_s"] == crawl.settings.db.interval_s
    assert found["none"]["retries"] == 0
    assert found["short"]["signature"] is None
    assert report.left_out == {"score": 1, "signature": 1}


def test_notes_of_nutch_become_columns_and_metadata(tmp_path, crawl):
    notes = MapWritable()
    notes.put("_depth_", "org.apache.hadoop.io.IntWritable", 4)
    notes.put("fixedInterval", "org.apache.hadoop.io.FloatWritable", 3600.0)
    notes.put("_pst_", "org.apache.nutch.protocol.ProtocolStatus", ProtocolStatus(12, 0, ["http://b.example/new"]))
    notes.put("theme", TEXT, "nuts")
    notes.put("count", "org.apache.hadoop.io.LongWritable", 7)
    imported(crawl, crawldb(tmp_path, **{"http://a.example/": datum(5, metadata=notes)}))
    row, more = hot(crawl)[key("http://a.example/")], cold(crawl)[key("http://a.example/")]
    assert (row["depth"], row["fixed_interval_s"], row["reason"]) == (3, 3600, None)
    assert more["redirect_key"] == key("http://b.example/new")
    assert dict(more["metadata"]) == {"theme": "nuts", "count": "7"}


def test_the_state_visited_last_stays(tmp_path, crawl):
    urls = {name: f"http://a.example/{name}" for name in ("older", "newer", "same", "never")}
    present = {"older": LATER_MS - 9 * DAY_MS, "newer": LATER_MS, "same": LATER_MS - DAY_MS, "never": None}
    write_table(
        crawl.crawl, tables.CRAWLDB,
        [
            {k: v for k, v in page(url, status="gone", fetched_at=present[n], score=7, depth=0).items() if k != "url"}
            for n, url in urls.items()
        ],
    )  # fmt: skip
    write_table(
        crawl.crawl, tables.PAGES,
        [
            {k: v for k, v in page(url, discovered_at=5, discovered_via="seed").items() if k != "url"}
            for url in urls.values()
        ],
    )  # fmt: skip
    source = crawldb(tmp_path, **{url: datum() for url in urls.values()})  # all fetched at LATER_MS - a day
    report = imported(crawl, source)
    states = {k.rpartition("/")[2]: row["status"] for k, row in hot(crawl).items()}
    assert states == {"older": "fetched", "newer": "gone", "same": "gone", "never": "fetched"}
    assert (report.counts["new"], report.counts["kept"]) == (0, 2)
    assert {row["depth"] for row in hot(crawl).values()} == {0}  # never deeper than it was
    assert {(r["discovered_at"], r["discovered_via"]) for r in cold(crawl).values()} == {(5, "seed")}
    imported(crawl, source, overwrite=True)
    assert {row["status"] for row in hot(crawl).values()} == {"fetched"}


def test_hosts_with_pages_get_a_seed_but_not_private_ones(tmp_path, crawl):
    records = {
        "http://a.example/deep/page": datum(), "http://a.example/b": datum(), "http://b.example/": datum(1),
        "http://10.0.0.1/": datum(), "http://localhost:81/": datum(), "http://[::1]/": datum(),
        "http://8.8.8.8/": datum(), "http://2130706433/": datum(),
    }  # fmt: skip
    report = imported(crawl, crawldb(tmp_path, **records))
    seeds = {row["url"] for row in rows(crawl, tables.SEEDS).values()}
    assert seeds == {"http://a.example/b", "http://8.8.8.8/"}
    assert set(report.details["addresses"]) == {"10.0.0.1", "localhost", "[::1]", "127.0.0.1"}


def test_no_seeds_leaves_the_scope(tmp_path, crawl):
    imported(crawl, crawldb(tmp_path, **{"http://a.example/": datum()}), with_seeds=False)
    assert not rows(crawl, tables.SEEDS)


def test_what_is_forgotten_stays_out(tmp_path, crawl):
    from cobnut.crawl.forgetting import entry_of, forget

    forget(crawl.crawl, crawl.settings, [entry_of("host", "a.example", crawl.settings)], None)
    report = imported(crawl, crawldb(tmp_path, **{"http://a.example/": datum(), "http://b.example/": datum()}))
    assert list(hot(crawl)) == [key("http://b.example/")]
    assert report.left_out["forgotten"] == 1


def test_links_of_a_page_that_was_parsed_here_stay_as_they_are(tmp_path, crawl):
    here = {"from_score": 1, "kind": "link", "nofollow": False, "segment": "20260101000000"}
    a, b = page("http://a.example/"), page("http://b.example/")
    write_table(
        crawl.crawl, tables.LINKDB,
        [{
            "to_key": b["url_key"], "from_key": a["url_key"], "to_host": b["host"], "to_bucket": b["bucket"],
            "from_host": a["host"], "anchor": "here", **here,
        }],
    )  # fmt: skip
    links = table_of(
        tmp_path / "linkdb", INLINKS,
        {
            "http://b.example/": Inlinks([
                Inlink("http://a.example/", "there"), Inlink("http://c.example/", "other"),
                Inlink("http://c.example/", ""),
            ]),
            "http://d.example/": Inlinks([Inlink("http://a.example/", "there too"), Inlink("mailto:x@y", "bad")]),
        },
    )  # fmt: skip
    report = imported(crawl, links)
    found = {k: row["anchor"] for k, row in rows(crawl, tables.LINKDB).items()}
    c = page("http://c.example/")["url_key"]
    assert found == {(b["url_key"], a["url_key"]): "here", (b["url_key"], c): "other"}
    assert report.left_out == {"bad_link": 1, "same_two_pages": 1}


def test_a_segment_that_the_crawldb_does_not_show_waits_for_updatedb(crawl):
    """Nutch fetched, and its crawldb was not updated: what it knows is what round 1 left."""
    report = imported(
        crawl, NEW / "crawldb-01-update", NEW / "segments" / "20261130125809", NEW / "segments" / "20261130125900"
    )
    assert steps.applied_segments(crawl.crawl) == ["20261130125809"]
    assert any("20261130125900" in line and "updatedb" in line for line in report.messages)
    steps.parse(crawl.crawl, crawl.settings, crawl.crawl.segment("20261130125900"))
    done = steps.updatedb(crawl.crawl, crawl.settings)
    assert done.segments == ["20261130125900"]
    found = hot(crawl)
    assert found[key(f"{SITE}/zh.html")]["status"] == "fetched"
    assert found[key(f"{SITE}/gone.html")]["status"] == "gone"


def test_segments_without_a_crawldb_are_applied_by_updatedb(crawl):
    imported(crawl, NEW / "segments")
    assert steps.applied_segments(crawl.crawl) == []
    for segment in steps.segments_to_parse(crawl.crawl):
        steps.parse(crawl.crawl, crawl.settings, segment)
    done = steps.updatedb(crawl.crawl, crawl.settings)
    assert len(done.segments) == 4
    states = {k: row["status"] for k, row in hot(crawl).items()}
    assert states[key(f"{SITE}/zh.html")] == "not_modified"
    assert states[key(f"{SITE}/moved")] == "redirect_perm"
    # the crawldb that comes later finds its segments applied, and changes nothing it does not know better
    again = imported(crawl, NEW / "crawldb-09-recrawl", NEW / "segments")
    assert again.counts["segments"] == 0
    assert len(steps.applied_segments(crawl.crawl)) == 4


def test_segments_keep_their_names_where_these_are_free_and_past(tmp_path, crawl):
    early = VirtualClock(1_700_000_000_000)  # 2023: the names lie in the future
    report = imported(crawl, NEW / "crawldb-09-recrawl", NEW / "segments", clock=early)
    assert len(report.segments) == 4
    assert all(name.startswith("2023") for name in report.segments)
    other = new_crawl(tmp_path / "other")
    copy = tmp_path / "20261130125809"
    shutil.copytree(NEW / "segments" / "20261130125900", copy)
    report = imported(other, NEW / "crawldb-09-recrawl", copy, NEW / "segments" / "20261130125809")
    assert sorted(report.segments) == ["20261130125809", "20261130125810"]


def without_places(found):
    """Records have random ids, so that their packed sizes differ from one import to the next."""
    return {k: {name: value for name, value in row.items() if name != "warc_offset"} for k, row in found.items()}


def test_killed_before_any_table_is_published_it_can_be_run_again(tmp_path, crawl):
    class Killed(BaseException):
        pass

    whole = new_crawl(tmp_path / "whole")
    paths = (NEW / "crawldb-09-recrawl", NEW / "linkdb", NEW / "hostdb", NEW / "segments")
    imported(whole, *paths)
    checked = (tables.CRAWLDB, tables.PAGES, tables.LINKDB, tables.HOSTDB)
    wanted = {table.name: without_places(rows(whole, table)) for table in checked}

    for name in ("seeds", "hostdb", "pages", "crawldb", "linkdb"):
        one = new_crawl(tmp_path / f"killed-{name}")

        def kill(table, name=name):
            if table == name:
                raise Killed

        with one.crawl.lock(), NutchImport(one.crawl, one.settings, clock=VirtualClock(LATER_MS)) as source:
            taken = source.take(look(paths))
            adopted = Adopted(taken.pages, taken.hosts, taken.links, taken.segments)
            with pytest.raises(Killed):
                adopt(one.crawl, one.settings, adopted, StepReport("x"), clock=VirtualClock(LATER_MS), on_publish=kill)
        again = imported(one, *paths)
        assert again.counts["segments"] == 0
        for table in checked:
            assert without_places(rows(one, table)) == wanted[table.name], (name, table.name)
        assert len(steps.applied_segments(one.crawl)) == 4
        assert not list(one.crawl.path.glob(".tmp-import-*"))


def test_nothing_is_kept_of_a_segment_that_could_not_be_finished(crawl, monkeypatch):
    """The disk is full while the second segment is written: the first is there, nothing is of the second."""

    class Full(Exception):
        pass

    with crawl.crawl.lock(), NutchImport(crawl.crawl, crawl.settings, clock=VirtualClock(LATER_MS)) as source:
        found = look([NEW / "segments"])
        taken_pages = 0

        def add(self, answer, original=SegmentDraft.add):
            nonlocal taken_pages
            taken_pages += 1
            if taken_pages == 10:
                raise Full
            original(self, answer)

        monkeypatch.setattr(SegmentDraft, "add", add)
        with pytest.raises(Full):
            source.take(found)
    monkeypatch.undo()
    assert [s.name for s in crawl.crawl.segments()] == ["20261130125809"]
    assert [p.name for p in crawl.crawl.segments_path.iterdir()] == ["20261130125809"]
    assert imported(crawl, NEW / "segments").counts["segments"] == 3


def test_reparse_leaves_pages_to_parse(crawl):
    report = imported(crawl, NEW / "crawldb-09-recrawl", NEW / "segments", reparse=True)
    assert len(report.details["waiting"]) >= 3
    name = "20261130125900"
    done = steps.parse(crawl.crawl, crawl.settings, crawl.crawl.segment(name))
    content = golden("1.23", f"segments~{name}~content~part-r-00000~data")
    assert done.counts["already_parsed"] == 0
    assert 10 < done.counts["pages"] <= len(content)


@pytest.mark.parametrize(
    ("code", "args", "http", "reason", "outcome"),
    [
        (1, None, 200, None, "success"), (14, ["http://a/"], None, "http_404", "gone"),
        (16, ["Http code=503, url=http://a/"], 503, "http_503", "retry"), (18, None, None, "robots_denied", "denied"),
        (16, ["x.ResourceGone: Blocked by robots.txt"], None, "robots_denied", "denied"),
        (16, ["java.net.UnknownHostException: a"], None, "dns_failed", "retry"),
        (16, ["java.net.SocketTimeoutException: Read timed out"], None, "timeout", "retry"),
        (16, None, None, None, "retry"), (12, ["http://b/"], None, None, "redirect_perm"),
        (21, None, 304, None, "not_modified"), (11, None, 410, "http_410", "gone"), (99, None, None, None, "retry"),
    ],
)  # fmt: skip
def test_what_a_protocol_status_means(code, args, http, reason, outcome):
    assert reason_of(code, http, args) == reason
    assert outcome_of(code, http, reason) == outcome


def test_rows_have_the_columns_of_the_table(tmp_path):
    made = PageRows(forms, lambda url: False, Losses(), interval_s=1, now_ms=LATER_MS)
    row = made.of_datum("http://a.example/", datum())
    assert len(row) == len(COLUMNS) == len(ADOPTED.columns)
    named = dict(zip(COLUMNS, row, strict=True))
    assert (named["host"], named["status"], named["requested"]) == ("a.example", "fetched", "http://a.example/")
    with Staged(tmp_path, ADOPTED) as staged:
        staged.add(row)
        assert len(staged.close()) == 1


def utf8(text):
    """A string as Nutch 0.8 has it."""
    return struct.pack(">H", len(text.encode())) + text.encode()


def old_file(folder, value_class, records):
    """A data file of version 3, without an index."""
    path = folder / "part-00000" / "data"
    path.parent.mkdir(parents=True)
    data = b"SEQ\x03" + utf8("UTF8") + utf8(value_class) + b"\x00" + bytes(range(16))
    for url, value in records.items():
        data += struct.pack(">ii", len(utf8(url)) + len(value), len(utf8(url))) + utf8(url) + value
    path.write_bytes(data)


def test_a_crawl_of_0_8_comes_in(tmp_path, crawl):
    """Keys are UTF8, intervals floats of days, statuses have other numbers, content is packed (written by hand)."""

    def record(status, days):
        return (
            struct.pack(">bbqbffqb", 4, status, LATER_MS, 1, days, 2.5, 0, 16) + bytes(range(16)) + b"\x00"
        )  # version, status, fetch time, retries, days, score, modified, signature; no metadata

    url = "http://a.example/page"
    old_file(tmp_path / "db" / "current", DATUM, {"http://a.example/other": record(1, 7.0), url: record(2, 30.0)})
    plain = (
        b"\x01" + utf8(url) + utf8(url) + struct.pack(">i", 19) + b"<title>Nuts</title>" + utf8("text/html")
        + struct.pack(">i", 0)
    )  # fmt: skip
    packed = zlib.compress(plain)
    segment = tmp_path / "segments" / "20060801000000"
    for name, value_class, value in (
        ("content", "org.apache.nutch.protocol.Content", struct.pack(">i", len(packed)) + packed),
        ("crawl_fetch", DATUM, struct.pack(">bbqbffqbb", 4, 5, LATER_MS - 30 * DAY_MS, 0, 30.0, 1.0, 0, 0, 0)),
    ):
        old_file(segment / name, value_class, {url: value})
    report = imported(crawl, tmp_path / "db", tmp_path / "segments")
    assert report.details["damage"] == 0, report.messages
    found = {k.rpartition("/")[2]: row for k, row in hot(crawl).items()}
    assert (found["page"]["status"], found["other"]["status"]) == ("fetched", "unfetched")
    assert (found["page"]["interval_s"], found["other"]["interval_s"]) == (30 * 86_400, 7 * 86_400)
    assert found["page"]["fetched_at"] == LATER_MS - 30 * DAY_MS
    assert found["page"]["signature"] == bytes(range(16))
    assert found["page"]["score"] == 2_500_000
    done = steps.parse(crawl.crawl, crawl.settings, crawl.crawl.segment("20060801000000"))
    assert done.counts["ok"] == 1
    assert steps.applied_segments(crawl.crawl) == ["20060801000000"]


def test_every_reason_has_its_sentence():
    package = Path(losses.__file__).parent
    text = "".join(path.read_text() for path in package.glob("*.py"))
    used = set(re.findall(r'leave_out\("(\w+)"', text)) | {"not_http", "not_a_url", "same_key", "unreadable"}
    assert used <= set(losses.REASONS)
    assert {r for r in losses.REASONS if f'"{r}"' not in text.replace(f'"{r}":', "")} <= {"same_key", "head_too_large"}


def test_what_is_endless_is_cut_as_the_parser_cuts_it(tmp_path, crawl):
    url = "http://a.example/"
    segment = tmp_path / "20260801000000"
    links = [Outlink(f"http://a.example/{n}", "word " * 60) for n in range(12_000)]
    answers = {
        "crawl_fetch": (DATUM, datum(0x21)),
        "parse_data": ("org.apache.nutch.parse.ParseData", ParseData(ParseStatus(1), "T" * 50_000, links)),
        "parse_text": ("org.apache.nutch.parse.ParseText", ParseText("text " * 400_000)),
    }
    for name, (value_class, record) in answers.items():
        with MapFileWriter(segment / name / "part-r-00000", TEXT, value_class) as writer:
            out = DataOutput()
            out.write_text(url)
            writer.append(out.getvalue(), record.to_bytes())
    report = imported(crawl, segment)
    assert report.details["damage"] == 0, report.messages
    made = crawl.crawl.segment("20260801000000")
    (row,) = read_files(tables.PARSED, made.part_files(tables.PARSED)).to_pylist()
    found = read_files(tables.LINKS, made.part_files(tables.LINKS))
    limits = crawl.settings.parser
    assert (row["outlink_count"], row["links_dropped"]) == (limits.max_links, 2_000)
    assert found.num_rows == limits.max_links
    assert max(map(len, found.column("anchor").to_pylist())) <= limits.max_anchor_chars
    assert (len(row["title"]), len(row["text"]), row["truncated"]) == (1_000, limits.max_text_chars, True)
