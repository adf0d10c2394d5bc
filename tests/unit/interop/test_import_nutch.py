"""Is what real Nutch wrote what stands in our tables after an import?"""

import zlib
from collections import Counter

import pytest
from nutch_imports import LATER_MS, NEW, OLD, golden, imported, new_crawl, rows

from cobnut.crawl import steps
from cobnut.frontier.scoring.rules import Opic
from cobnut.records import catalogue as tables
from cobnut.records import outcomes
from cobnut.records.outcomes import STATUSES
from cobnut.storage.tables import read_files
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import key

CRAWLDB = "crawldb-09-recrawl~part-r-00000~data"
DAY_MS = 86_400_000
NEVER = 253_402_300_799_000
CODES = {code: name for name, code in STATUSES.items()}


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    crawl = new_crawl(tmp_path_factory.mktemp("new") / "crawl")
    report = imported(crawl, NEW / "crawldb-09-recrawl", NEW / "linkdb", NEW / "hostdb", NEW / "segments")
    return crawl, report


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    crawl = new_crawl(tmp_path_factory.mktemp("old") / "crawl")
    return crawl, imported(crawl, OLD / "webdb-2-round3", OLD / "segments")


def by_url(crawl, table):
    return {k[0]: row for k, row in rows(crawl, table).items()}


def fetch_times():
    """Of each URL when it was fetched with success or not modified, by the golden segments."""
    times = {}
    for segment in sorted(p.name for p in (NEW / "segments").iterdir()):
        for record in golden("1.23", f"segments~{segment}~crawl_fetch~part-r-00000~data"):
            if record["value"]["statusName"] in ("fetch_success", "fetch_notmodified"):
                times[key(record["key"])] = record["value"]["fetchTime"]
    return times


def test_the_crawldb_of_1_x_comes_in(new):
    crawl, report = new
    found, times = by_url(crawl, tables.CRAWLDB), fetch_times()
    records = golden("1.23", CRAWLDB)
    assert len(found) == len(records) == report.counts["new"] == 26
    for record in records:
        value, row = record["value"], found[key(record["key"])]
        assert row["status"] == CODES[value["status"]]
        assert row["due_at"] == value["fetchTime"]
        assert row["interval_s"] == value["fetchInterval"]
        assert row["retries"] == value["retries"]
        assert row["score"] == round(value["score"] * 1e6)
        assert row["modified_at"] == (value["modifiedTime"] or None)
        assert row["fetched_at"] == times.get(key(record["key"]))
        signature = row["signature"].hex() if row["signature"] else None
        # the MD5 of the URL stands for an empty page there
        assert signature == (None if record["key"].endswith("empty.html") else value["signature"])


def test_reasons_and_cold_columns_of_1_x(new):
    crawl, _ = new
    hot, cold = by_url(crawl, tables.CRAWLDB), by_url(crawl, tables.PAGES)
    site = "http://127.0.0.1:18099"
    reasons = {
        "/gone.html": "http_410", "/missing.html": "http_404", "/error500.html": "http_500",
        "/slow503.html": "http_503", "/forbidden.html": "http_403",
        "/private/x.html": "robots_denied", "/noindex.html": "noindex", "/a.html": None,
    }  # fmt: skip
    for path, reason in reasons.items():
        assert hot[key(site + path)]["reason"] == reason, path
        assert reason is None or reason.split("_")[0] in {"http", "robots", "noindex"}
    assert dict(cold[key(site + "/")]["metadata"]) == {"userType": "open_source"}
    assert dict(cold[key(site + "/target2.html")]["metadata"]) == {"_repr_": site + "/temp"}
    assert hot[key(site + "/lm.html")]["fixed_interval_s"] == 3_600
    assert cold[key(site + "/moved")]["redirect_key"] == key(site + "/target.html")
    assert cold[key(site + "/moved")]["http_status"] == 301
    assert cold[key(site + "/zh.html")]["media_type"] == "text/html"
    newest = cold[key(site + "/zh.html")]
    assert newest["segment"] == "20261130130216"
    assert newest["warc_file"]
    # not modified since: the last full answer lies in the first segment
    assert cold[key(site + "/lm.html")]["segment"] == "20261130125809"
    assert all(row["depth"] == 1 for row in hot.values())


def test_links_and_hosts_of_1_x(new):
    crawl, _ = new
    found = rows(crawl, tables.LINKDB)
    anchors = {}
    for record in golden("1.23", "linkdb~current~part-r-00000~data"):
        for link in record["value"]["inlinks"]:
            anchors.setdefault((key(record["key"]), key(link["fromUrl"])), set()).add(link["anchor"] or None)
    assert found.keys() == anchors.keys()
    scores = {k: row["score"] for k, row in by_url(crawl, tables.CRAWLDB).items()}
    for pair, row in found.items():
        assert row["anchor"] in anchors[pair]
        assert row["segment"] == "imported"
        assert row["from_score"] == scores[pair[1]]
    host = by_url(crawl, tables.HOSTDB)["127.0.0.1"]
    assert (host["request_count"], host["error_count"]) == (2 + 15 + 1 + 1 + 3 + 3, 3)


def test_segments_of_1_x_count_as_applied(new):
    crawl, report = new
    names = [p.name for p in sorted((NEW / "segments").iterdir())]
    assert report.segments == names
    assert steps.applied_segments(crawl.crawl) == names
    assert steps.updatedb(crawl.crawl, crawl.settings).segments == []
    waiting = [s.name for s in crawl.crawl.segments() if s.state() == "fetched"]
    assert waiting == report.details["waiting"] == ["20261130125900", "20261130130216"]  # gz and text, not parsed there


def test_pages_of_1_x_are_as_nutch_parsed_them(new):
    crawl, _ = new
    name = "20261130125900"
    segment = crawl.crawl.segment(name)
    parsed = {r["url_key"]: r for r in read_files(tables.PARSED, segment.part_files(tables.PARSED)).to_pylist()}
    texts = {r["key"]: r["value"]["text"] for r in golden("1.23", f"segments~{name}~parse_text~part-r-00000~data")}
    links = read_files(tables.LINKS, segment.part_files(tables.LINKS)).to_pylist()
    records = golden("1.23", f"segments~{name}~parse_data~part-r-00000~data")
    assert len(parsed) == len(records)
    for record in records:
        row, value = parsed[key(record["key"])], record["value"]
        assert row["title"] == (" ".join(value["title"].split()) or None)
        assert row["text"] == (texts[record["key"]] or None)
        own = [(link["to_key"], link["anchor"]) for link in links if link["from_key"] == row["url_key"]]
        wanted = [(key(o["toUrl"]), o["anchor"] or None) for o in value["outlinks"]]
        assert [pair for pair in own if pair in wanted] == [pair for pair in wanted if pair[0] != row["url_key"]]
        assert row["charset"] == value["parseMeta"]["CharEncodingForConversion"][0]
    assert parsed[key("http://127.0.0.1:18099/noindex.html")]["noindex"]
    assert parsed[key("http://127.0.0.1:18099/refresh.html")]["refresh_url"] == "http://127.0.0.1:18099/target3.html"
    assert [r["to_key"] for r in links if r["kind"] == "refresh"] == [key("http://127.0.0.1:18099/target3.html")]


def stored(crawl, row, name):
    """The record a row points to: WARC header, HTTP head, body."""
    path = crawl.crawl.segment(name).warc_path / row["warc_file"]
    record = zlib.decompressobj(31).decompress(path.read_bytes()[row["warc_offset"] :])
    warc, _, rest = record.partition(b"\r\n\r\n")
    head, _, body = rest.partition(b"\r\n\r\n")
    return warc, head, body.removesuffix(b"\r\n\r\n")


def test_imported_links_pass_on_score_as_opic_shares_it(new):
    crawl, whole = new[0], []
    for segment in crawl.crawl.segments():
        whole += [(segment.name, row) for row in read_files(tables.LINKS, segment.part_files(tables.LINKS)).to_pylist()]
    followed = Counter((name, row["from_key"]) for name, row in whole if not row["nofollow"])
    assert len(followed) > 3
    for name, row in whole:
        inside, outside = Opic(crawl.settings.scoring).shares(row["from_score"], followed[name, row["from_key"]])
        same = row["from_host"] == row["to_host"]
        assert row["contribution"] == (0 if row["nofollow"] else inside if same else outside)
    assert sum(row["contribution"] for _, row in whole) > 0


@pytest.mark.parametrize("which", ["new", "old"])
def test_content_lies_in_the_archive(which, request):
    crawl, _ = request.getfixturevalue(which)
    seen = 0
    for segment in crawl.crawl.segments():
        fetched = read_files(tables.FETCHED, segment.part_files(tables.FETCHED)).to_pylist()
        answers = {row["url_key"]: row for row in fetched if row["warc_file"]}
        if which == "new":
            records = golden("1.23", f"segments~{segment.name}~content~part-r-00000~data")
        else:
            records = golden("0.7.2", f"segments~{segment.name}~content~data")
        for record in records:
            value = record["value"]
            row = answers.get(key(value["url"]))
            if row is None or row["outcome"] != "success":
                continue
            warc, head, body = stored(crawl, row, segment.name)
            assert f"WARC-Target-URI: {value['url']}".encode() in warc
            assert body.hex() == value["contentHex"]
            fields = head.decode().lower()
            assert "content-encoding" not in fields  # it lies decoded
            assert f"content-length: {len(body)}" in fields
            assert "nutch" not in fields
            assert "_fst_" not in fields
            seen += 1
    assert seen == (35 if which == "new" else 18)


def test_the_web_database_of_0_7_comes_in(old):
    crawl, report = old
    found = by_url(crawl, tables.CRAWLDB)
    records = golden("0.7.2", "webdb-2-round3~pagesByURL~data")
    assert len(found) == len(records) == report.counts["new"] == 25
    empty = "d41d8cd98f00b204e9800998ecf8427e"
    for record in records:
        value, row = record["value"], found[key(record["key"])]
        never = value["nextFetch"] == 2**63 - 1
        assert row["status"] == ("gone" if never else "fetched")
        assert row["due_at"] == (NEVER if never else value["nextFetch"])
        assert row["interval_s"] == value["fetchIntervalDays"] * 86_400
        assert row["score"] == round(value["score"] * 1e6)
        assert row["fetched_at"] == (None if never else value["nextFetch"] - 30 * DAY_MS)
        if not never:
            assert (row["signature"].hex() if row["signature"] else empty) == value["md5"]
            assert row["outlink_count"] == value["numOutlinks"]
    site = "http://127.0.0.1:18099"
    told = {"/gone.html": "http_410", "/missing.html": "http_404", "/private/x.html": "robots_denied",
            "/forbidden.html": "http_403", "/error500.html": "http_500"}  # fmt: skip
    assert {path: found[key(site + path)]["reason"] for path in told} == told  # the segments tell


def test_links_of_0_7_stand_on_every_page_with_their_content(old):
    crawl, _ = old
    pages = {}
    for record in golden("0.7.2", "webdb-2-round3~pagesByURL~data"):
        pages.setdefault(record["value"]["md5"], []).append(key(record["key"]))
    wanted = {}
    for record in golden("0.7.2", "webdb-2-round3~linksByURL~data"):
        link = record["key"]
        for source in pages[link["fromID"]]:
            wanted.setdefault((key(link["url"]), source), set()).add(link["anchor"] or None)
    found = rows(crawl, tables.LINKDB)
    assert found.keys() == wanted.keys()
    assert all(row["anchor"] in wanted[pair] for pair, row in found.items())
    assert {row["anchor"] for row in found.values()} >= {"主页", "中文 链接", "second page"}


@pytest.mark.parametrize("which", ["new", "old"])
def test_importing_again_changes_nothing(which, request):
    crawl, _ = request.getfixturevalue(which)
    checked = (tables.CRAWLDB, tables.PAGES, tables.HOSTDB, tables.LINKDB, tables.SEEDS)
    before = [rows(crawl, table) for table in checked]
    paths = [NEW / "crawldb-09-recrawl", NEW / "linkdb", NEW / "hostdb", NEW / "segments"]
    again = imported(
        crawl, *(paths if which == "new" else [OLD / "webdb-2-round3", OLD / "segments"]),
        clock=VirtualClock(LATER_MS + DAY_MS),
    )  # fmt: skip
    assert [rows(crawl, table) for table in checked] == before
    assert again.counts["segments"] == again.counts["new"] == 0
    assert again.left_out["segment_here"] == (4 if which == "new" else 3)


def test_statuses_are_ours(new, old):
    for crawl, _ in (new, old):
        for row in rows(crawl, tables.CRAWLDB).values():
            assert row["status"] in STATUSES
            head = (row["reason"] or "").rstrip("0123456789")
            assert row["reason"] is None or head == "http_" or row["reason"] in outcomes.REASONS
