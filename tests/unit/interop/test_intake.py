"""Do documents that came from elsewhere become segments as the fetcher would have made them?"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
from pathlib import Path

import pytest
from small_crawl import key, row

from cobnut.config.sections import Settings
from cobnut.config.template import settings_text
from cobnut.crawl import steps
from cobnut.fetcher.archive import read_tail, warc_files
from cobnut.interop.intake import Document, IntakeReport, SegmentIntake
from cobnut.records import catalogue as tables
from cobnut.records.columns import Table
from cobnut.stages.forget import Entry, remember
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.tables import read_files
from cobnut.testing.clock import VirtualClock

SETTINGS = Settings()
NOW = 1_780_000_000_000
DAY = 86_400_000
HTML = (("Content-Type", "text/html"),)


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlFolder:
    return CrawlFolder.create(tmp_path / "crawl", settings_text({}))


def clock() -> VirtualClock:
    return VirtualClock(NOW)


def page(url: str, at_ms: int = NOW - DAY, body: bytes = b"<p>hello</p>", **more: object) -> Document:
    return Document(url, at_ms, headers=HTML, body=body, **more)  # type: ignore[arg-type]


def taken_in(crawl: CrawlFolder, *documents: Document, **options: object) -> IntakeReport:
    with SegmentIntake(crawl, SETTINGS, origin="a test", clock=clock(), **options) as intake:  # type: ignore[arg-type]
        for document in documents:
            intake.add(document)
        return intake.finish()


def rows(segment: SegmentFolder, table: Table) -> list[dict]:
    return read_files(table, segment.part_files(table)).to_pylist()


def urls(segment: SegmentFolder) -> set[str]:
    return {r["url"] for r in rows(segment, tables.FETCHED)}


def test_rows_and_records_are_those_of_the_fetcher(crawl: CrawlFolder) -> None:
    packed = gzip.compress(b"<p>packed</p>")
    report = taken_in(
        crawl,
        Document(
            "http://a.test/", NOW - DAY, 200, (*HTML, ("Content-Encoding", "gzip"), ("ETag", '"x"')), packed,
            address="192.0.2.1",
        ),
        Document("http://a.test/old", NOW - DAY, 301, (("Location", "/new"),)),
        Document("http://a.test/no", NOW - DAY, 404, HTML, b"no"),
        Document("http://a.test/broken", NOW - DAY, 503, HTML, b"later"),
        Document("http://a.test/dns", NOW - DAY, None, outcome="retry", reason="dns_failed"),
    )  # fmt: skip
    assert report.outcomes == {"success": 1, "redirect_perm": 1, "gone": 1, "retry": 2}
    [segment] = crawl.segments()
    assert report.segments == [segment.name]
    assert segment.state() == "fetched"
    found = {r["url"]: r for r in rows(segment, tables.FETCHED)}
    home = found["http://a.test/"]
    assert (home["outcome"], home["http_status"], home["depth"], home["fetched_at"]) == ("success", 200, 0, NOW - DAY)
    assert home["digest"] == hashlib.md5(b"<p>packed</p>").digest()
    assert home["etag"] == '"x"'
    assert home["address"] == "192.0.2.1"
    assert dict(home["headers"])["content-encoding"] == "gzip"
    assert found["http://a.test/old"]["redirect_url"] == "http://a.test/new"
    assert found["http://a.test/old"]["redirect_key"] == key("http://a.test/new")
    assert found["http://a.test/old"]["depth"] == 1
    assert found["http://a.test/no"]["reason"] == "http_404"
    assert found["http://a.test/broken"]["reason"] == "http_503"
    assert found["http://a.test/dns"]["warc_file"] is None
    records = {r.place: r.response for f in warc_files(segment.warc_path, 0) for r in read_tail(f, -1)}
    for url, r in found.items():
        if r["warc_file"] is not None:
            kept = records[r["warc_file"], r["warc_offset"]]
            assert kept.url == url
    assert records[home["warc_file"], home["warc_offset"]].body == packed
    assert {r["url_key"] for r in rows(segment, tables.FETCHLIST)} == {r["url_key"] for r in found.values()}
    assert report.seeds == ["http://a.test/"]


def test_refusals_say_whom_they_let_in(crawl: CrawlFolder) -> None:
    """A WARC file of another crawler's tells of challenges and logins as our own fetches do."""
    challenge = b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
    taken_in(
        crawl, Document("http://a.test/c", NOW - DAY, 403, HTML, challenge),
        Document("http://a.test/l", NOW - DAY, 401, (*HTML, ("WWW-Authenticate", "Basic realm=x"))),
        Document("http://a.test/n", NOW - DAY, 403, HTML, b"no"), page("http://a.test/p", body=challenge),
    )  # fmt: skip
    (segment,) = crawl.segments()
    assert {r["url"][-1]: r["flags"] for r in rows(segment, tables.FETCHED)} == {
        "c": ["bot_challenge"], "l": ["login_wall"], "n": None, "p": None,
    }  # fmt: skip


def test_the_newest_answer_wins_and_the_rest_is_counted(crawl: CrawlFolder) -> None:
    report = taken_in(
        crawl,
        page("http://a.test/", NOW - 3 * DAY, b"old"),
        page("http://a.test/", NOW - 2 * DAY, b"new"),
        page("http://a.test/", NOW - 2 * DAY, b"new again"),
        Document("http://a.test/", NOW - DAY, 503),
        Document("http://a.test/", NOW - DAY, 200, (), b"plain text", derived=True),
        page("http://b.test/", NOW - 2 * DAY, b"other"),
    )
    assert report.left_out == {"older_version": 1, "same_version": 1, "passing_failure": 1, "derived": 1}
    [segment] = crawl.segments()
    found = {r["url"]: r for r in rows(segment, tables.FETCHED)}
    assert found.keys() == {"http://a.test/", "http://b.test/"}
    # the records of versions that are left out are gone, and places are right
    kept = [r for f in warc_files(segment.warc_path, 0) for r in read_tail(f, -1)]
    assert sorted(r.response.body for r in kept) == [b"new", b"other"]
    for record in kept:
        assert found[record.response.url]["warc_offset"] == record.place.offset


def test_all_versions_follow_one_another_in_time(crawl: CrawlFolder) -> None:
    documents = [page(f"http://{h}.test/", NOW - d * DAY, f"{h}{d}".encode()) for d in (1, 3, 2) for h in "ab"]
    documents.append(page("http://c.test/", NOW - 5 * DAY, b"c5"))
    report = taken_in(crawl, *documents, all_versions=True)
    assert report.documents == 7
    bodies = []
    for segment in crawl.segments():
        bodies.append(sorted(r.response.body for f in warc_files(segment.warc_path, 0) for r in read_tail(f, -1)))
    assert bodies == [[b"a3", b"b3", b"c5"], [b"a2", b"b2"], [b"a1", b"b1"]]


def test_segments_are_bounded_and_run_again_nothing_comes_twice(crawl: CrawlFolder) -> None:
    documents = [page(f"http://a.test/{i}", body=b"x" * 100) for i in range(25)]
    report = taken_in(crawl, *documents, segment_documents=10)
    assert [len(urls(s)) for s in crawl.segments()] == [10, 10, 5]
    assert report.segments == [s.name for s in crawl.segments()]
    again = taken_in(crawl, *documents, page("http://a.test/1", NOW - 2 * DAY), page("http://a.test/2", NOW - 1))
    assert again.left_out == {"in_crawl": 25, "newer_in_crawl": 1}
    assert again.documents == 1


def test_nothing_is_seen_before_the_end_and_nothing_stays_of_a_failure(crawl: CrawlFolder) -> None:
    intake = SegmentIntake(crawl, SETTINGS, origin="a test", clock=clock(), segment_documents=2)
    for i in range(5):
        intake.add(page(f"http://a.test/{i}"))
    assert crawl.segments() == []
    intake.abort()
    assert list(crawl.segments_path.iterdir()) == []
    with (
        contextlib.suppress(ZeroDivisionError),
        SegmentIntake(crawl, SETTINGS, origin="a test", clock=clock()) as intake,
    ):
        intake.add(page("http://a.test/"))
        raise ZeroDivisionError
    assert list(crawl.segments_path.iterdir()) == []
    assert taken_in(crawl).segments == []


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (page("dns:a.test"), "not_http"),
        (page("http:///x:y:z"), "bad_url"),
        (page("http://a.test/", NOW + 3 * DAY), "bad_date"),
        (page("http://a.test/", 0), "bad_date"),
        (Document("http://a.test/", NOW, 304), "not_modified"),
        (Document("http://a.test/", NOW, 99), "bad_status"),
        (Document("http://a.test/", NOW, None), "no_status"),
        (Document("http://a.test/", NOW, 200, head=b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000), "head_too_large"),
        (page("http://gone.test/x"), "forgotten"),
    ],
)
def test_what_cannot_enter_is_left_out_by_reason(crawl: CrawlFolder, document: Document, reason: str) -> None:
    remember(crawl, [Entry("host", "gone.test")], None, NOW)
    report = taken_in(crawl, document)
    assert report.left_out == {reason: 1}
    assert crawl.segments() == []


def test_an_address_becomes_no_seed(crawl: CrawlFolder) -> None:
    """A seed that is an address allows fetching from it: an archive must not open this machine's ports."""
    report = taken_in(crawl, page("http://127.0.0.1:6379/"), page("http://localhost/"), page("http://a.test/x"))
    assert report.seeds == ["http://a.test/x"]
    assert report.address_hosts == ["127.0.0.1", "localhost"]
    assert report.documents == 3


def test_header_values_cannot_break_out_of_the_head(crawl: CrawlFolder) -> None:
    taken_in(crawl, Document("http://a.test/", NOW, 200, (("X\r\nA", "b\r\n\r\nSet: c"), ("", "y"), HTML[0]), b"body"))
    [segment] = crawl.segments()
    [record] = [r for f in warc_files(segment.warc_path, 0) for r in read_tail(f, -1)]
    assert record.response.body == b"body"


def test_parsed_pages_and_links_come_along(crawl: CrawlFolder) -> None:
    """Whoever knows text and links gives them; the parse step then adds what is missing."""
    first, second = "http://a.test/", "http://a.test/two"
    parsed = row(tables.PARSED, first, parse_status="ok", title="Given", text="given text", fetched_at=NOW - DAY)
    link = row(
        tables.LINKS, from_key=key(first), from_host="a.test", to_key=key(second), to_host="a.test", kind="link",
        anchor="two",
    )  # fmt: skip
    with SegmentIntake(crawl, SETTINGS, origin="a test", clock=clock()) as intake:
        intake.add(page(first), parsed=parsed, links=[link])
        intake.add(page(second, body=b"<title>Read</title><p>text"))
        intake.add(page(first, NOW - 5 * DAY), parsed={**parsed, "title": "Older"}, links=[link, link])
        intake.finish()
    [segment] = crawl.segments()
    steps.parse(crawl, SETTINGS, segment)
    assert segment.state() == "parsed"
    assert {r["url"]: r["title"] for r in rows(segment, tables.PARSED)} == {first: "Given", second: "Read"}
    assert [r["anchor"] for r in rows(segment, tables.LINKS)] == ["two"]


def test_imported_pages_enter_the_crawldb(crawl: CrawlFolder) -> None:
    report = taken_in(
        crawl, page("http://a.test/x", body=b"<a href=/y>y</a> <a href=http://elsewhere.test/>e</a>"),
        Document("http://a.test/moved", NOW - DAY, 302, (("Location", "http://other.test/"),)),
    )  # fmt: skip
    steps.inject(crawl, SETTINGS, report.seeds, clock=clock())
    [segment] = crawl.segments()
    steps.parse(crawl, SETTINGS, segment)
    steps.updatedb(crawl, SETTINGS, clock=clock())
    found = {r["url_key"]: r for r in crawl.table(tables.CRAWLDB).read().to_pylist()}
    assert found.keys() == {key(f"http://a.test/{n}") for n in ("x", "y", "moved")}
    assert found[key("http://a.test/x")]["status"] == "fetched"
    assert (found[key("http://a.test/x")]["depth"], found[key("http://a.test/y")]["depth"]) == (0, 1)
    assert found[key("http://a.test/moved")]["status"] == "redirect_temp"


def test_a_404_seen_once_does_not_count_twice_when_it_is_imported_again(crawl: CrawlFolder) -> None:
    missing = Document("http://a.test/no", NOW - DAY, 404, HTML, b"no")
    taken_in(crawl, missing)
    steps.parse(crawl, SETTINGS, crawl.segments()[0])
    steps.updatedb(crawl, SETTINGS, clock=clock())
    assert taken_in(crawl, missing).left_out == {"in_crawl": 1}
    [row_] = crawl.table(tables.CRAWLDB).read().to_pylist()
    assert (row_["status"], row_["reason"]) == ("unfetched", "http_404")


class Stopping(VirtualClock):
    """Ends the program, as it were, while it waits for the second in which the next segment may be named."""

    def sleep(self, seconds: float) -> None:
        raise KeyboardInterrupt


def test_an_end_between_two_segments_is_made_good_by_running_again(crawl: CrawlFolder) -> None:
    documents = [page(f"http://a.test/{i}") for i in range(5)]
    with (
        contextlib.suppress(KeyboardInterrupt),
        SegmentIntake(crawl, SETTINGS, origin="a test", clock=Stopping(NOW), segment_documents=2) as intake,
    ):
        for document in documents:
            intake.add(document)
        intake.finish()
    [first] = crawl.segments()
    assert [p.name for p in crawl.segments_path.iterdir()] == [first.name]
    report = taken_in(crawl, *documents)
    assert (report.documents, report.left_out) == (3, {"in_crawl": 2})
    assert set.union(*(urls(s) for s in crawl.segments())) == {d.url for d in documents}
