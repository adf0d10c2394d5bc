"""Does a crawl that is run again bring into search what has changed, and take out what has gone?"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import cobnut, index_of, indexed_urls, to_web

from cobnut.testing.fakeweb import Answer, FakeWeb, moved

HOME = "http://a.test/"
LINKS = "".join(
    f'<a href="/{name}">{name}</a> ' for name in ("stays", "changes", "goes", "hides", "moves", "forbidden")
)
PAGES = {
    "/": Answer(body=f"<title>Home</title>{LINKS}", etag='"home"'),
    "/stays": Answer(
        body="<title>Stays</title><p>the same", etag='"s1"', last_modified="Thu, 01 Jan 2026 00:00:00 GMT"
    ),
    "/changes": Answer(body="<title>Changes</title><p>before", etag='"c1"'),
    "/goes": Answer(body="<title>Goes</title><p>goes", etag='"g1"'),
    "/hides": "<title>Hides</title><p>hides",
    "/moves": "<title>Moves</title><p>moves",
    "/forbidden": "<title>Forbidden</title><p>forbidden",
    "/robots.txt": Answer(body="User-agent: *\nDisallow:\n", content_type="text/plain"),
}
NO_ROBOTS_CACHE = ("-s", "fetcher.robots_ttl_s=0")
DOWN = Answer(503, body="down for now")


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    with FakeWeb().site("a.test", PAGES) as running:
        yield running


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("again") / "crawl"
    with FakeWeb().site("a.test", PAGES) as web:
        cobnut("crawl", folder, HOME, *to_web(web.port))
    assert indexed_urls(folder) == urls("", "stays", "changes", "goes", "hides", "moves", "forbidden")
    return folder


@pytest.fixture
def crawl(first_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(first_run, tmp_path / "crawl"))


def urls(*names: str) -> set[str]:
    return {HOME + name for name in names}


def again(crawl: Path, web: FakeWeb, *more: str) -> str:
    return cobnut("crawl", crawl, "--refresh", *to_web(web.port), *NO_ROBOTS_CACHE, *more).stdout


def rows(crawl: Path) -> dict[str, dict[str, object]]:
    lines = cobnut("read", "crawldb", crawl, "--json").stdout.splitlines()
    return {row["url"]: row for row in map(json.loads, lines)}


def scores(crawl: Path) -> int:
    from cobnut.records.catalogue import CRAWLDB
    from cobnut.storage.layout import CrawlFolder

    return sum(CrawlFolder(crawl).table(CRAWLDB).read(["score"]).column("score").to_pylist())


def title(crawl: Path, url: str) -> str:
    return {document.url: document.title for document in index_of(crawl).documents()}[url]


def test_nothing_is_asked_before_it_is_due(web: FakeWeb, crawl: Path) -> None:
    """Run again at once, a crawl asks for nothing and says when the next page is due."""
    before = scores(crawl)
    done = cobnut("crawl", crawl, *to_web(web.port))
    assert web.requests() == []
    assert "due" in done.stdout
    assert scores(crawl) == before


def test_due_pages_come_a_little_early(web: FakeWeb, crawl: Path) -> None:
    """A daily run finds yesterday's pages due some minutes later than it begins: it takes them all the same, once."""
    cobnut("crawl", crawl, *to_web(web.port), "-s", "db.interval_s=86400")
    assert not web.requests()
    everything_due_in(crawl, 2 * 3_600)
    cobnut("generate", crawl)  # a step typed by hand takes what is due, and nothing is
    cobnut("crawl", crawl, *to_web(web.port))
    assert sorted(e.target for e in web.requests("a.test") if e.target != "/robots.txt") == sorted(
        path for path in PAGES if path != "/robots.txt"
    )


def everything_due_in(crawl: Path, seconds: int) -> None:
    """Moves every row's due time, as if time had passed."""
    import time

    import pyarrow as pa

    from cobnut.records.catalogue import CRAWLDB
    from cobnut.storage.layout import CrawlFolder
    from cobnut.testing.tables import write_table

    folder = CrawlFolder(crawl)
    data = folder.table(CRAWLDB).read()
    due = pa.array([time.time_ns() // 1_000_000 + seconds * 1000] * data.num_rows, pa.int64())
    write_table(
        folder, CRAWLDB, data.set_column(data.schema.get_field_index("due_at"), data.schema.field("due_at"), due)
    )


def test_everything_that_can_happen_to_a_site(web: FakeWeb, crawl: Path) -> None:
    """Changed, gone, noindex, redirected, forbidden, new, the same: one refresh brings all of it into search."""
    before = scores(crawl)
    web.remove("a.test", "/goes")
    web.site(
        "a.test",
        {
            "/": Answer(body=f'<title>Home</title>{LINKS}<a href="/new">new</a>', etag='"home 2"'),
            "/changes": Answer(body="<title>Changed</title><p>after", etag='"c2"'),
            "/hides": '<title>Hides</title><meta name="robots" content="noindex"><p>hides',
            "/moves": moved("/moved"),
            "/moved": "<title>Moved</title><p>moved here",
            "/new": "<title>New</title><p>new",
            "/robots.txt": Answer(body="User-agent: *\nDisallow: /forbidden\n", content_type="text/plain"),
        },
    )
    again(crawl, web)
    assert indexed_urls(crawl) == urls("", "stays", "changes", "moved", "new")
    assert title(crawl, HOME + "changes") == "Changed"
    asked = web.requests("a.test", "/stays")
    assert len(asked) == 1
    assert asked[0].status == 304
    assert not web.requests("a.test", "/forbidden")
    # each page was asked for once, the unchanged one included
    paths = [entry.target for entry in web.requests("a.test") if entry.target != "/robots.txt"]
    assert len(paths) == len(set(paths)), paths
    # a new page takes its share from the one that links to it; nothing else is passed on again
    found = rows(crawl)
    assert found[HOME + "stays"]["status"] == "not_modified"
    assert found[HOME + "goes"]["reason"] == "http_404"
    assert found[HOME + "hides"]["reason"] == "noindex"
    assert found[HOME + "moves"]["status"] == "redirect_perm"
    assert found[HOME + "forbidden"]["reason"] == "robots_denied"
    middle = scores(crawl)
    assert before < middle <= before + 3_000_000
    again(crawl, web)
    assert scores(crawl) == middle
    assert indexed_urls(crawl) == urls("", "stays", "changes", "moved", "new")
    # what was forbidden and hidden, and comes back, is found again
    web.site("a.test", {"/hides": PAGES["/hides"], "/goes": PAGES["/goes"], "/robots.txt": PAGES["/robots.txt"]})
    again(crawl, web)
    assert indexed_urls(crawl) == urls("", "stays", "changes", "moved", "new", "hides", "goes", "forbidden")
    # it was asked for in full: the version that was taken back may be gone from the disk
    assert [e.status for e in web.requests("a.test", "/goes")] == [404, 404, 200]
    assert scores(crawl) == middle


@pytest.mark.parametrize(
    "failure",
    [DOWN, Answer(500, body="oops"), Answer(drop=True), Answer(body="late").after(20.0)],
    ids=["503", "500", "dropped", "timeout"],
)
def test_passing_failures_take_nothing_out(web: FakeWeb, crawl: Path, failure: Answer) -> None:
    """A server that fails for a while: every document stays; nothing that was hidden comes back."""
    web.site("a.test", {"/hides": '<meta name="robots" content="noindex"><p>x', "/moves": moved("/stays")})
    web.remove("a.test", "/goes")
    again(crawl, web)
    shown = urls("", "stays", "changes", "forbidden")
    assert indexed_urls(crawl) == shown
    changed = ("/stays", "/hides", "/moves", "/goes", "/changes")
    web.site("a.test", dict.fromkeys(changed, failure))
    quick = ("-s", "fetcher.timeout_s=1", "-s", "fetcher.failures_per_host=100")
    for _ in range(2):  # impatient: none of these runs counts as another day
        again(crawl, web, *quick, "--max-time", "4")
        assert indexed_urls(crawl) == shown


def test_a_host_that_is_down_is_left_in_peace(web: FakeWeb, crawl: Path) -> None:
    """`--refresh` obeys the back-off of hosts, and ends."""
    web.down("a.test", DOWN)
    again(crawl, web, "--max-time", "3")
    first = len(web.requests("a.test"))
    assert indexed_urls(crawl) == urls("", "stays", "changes", "goes", "hides", "moves", "forbidden")
    again(crawl, web, "--max-time", "3")
    assert len(web.requests("a.test")) - first <= first
    assert indexed_urls(crawl) == urls("", "stays", "changes", "goes", "hides", "moves", "forbidden")
