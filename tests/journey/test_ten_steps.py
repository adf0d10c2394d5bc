"""Do the ten steps typed by hand come to the same as `cobnut crawl`?"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from crawling import FAST, cobnut, index_of, indexed_documents, indexed_urls, to_web

from cobnut.testing.fakeweb import FakeWeb, SynthWeb


@pytest.fixture(scope="module")
def web():
    with FakeWeb(synth=SynthWeb(hosts=4, pages=120, quirks=0, delay=0)) as running:
        running.site("dead.test", {"/": "".join(f"<a href=/{n}>{n}</a> " for n in range(400))})
        yield running


def test_steps_by_hand_give_the_index_that_crawl_gives(web: FakeWeb, tmp_path: Path) -> None:
    """The same documents with the same scores and anchors, whichever way they were made."""
    at_once, by_hand, options = tmp_path / "crawl", tmp_path / "steps", to_web(web.port)
    cobnut("crawl", at_once, "http://s0.synth.test/", "--scope", "web", *options)

    cobnut("create", by_hand)
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("# the start\n\nhttp://s0.synth.test/\n")
    cobnut("inject", by_hand, seeds)
    scope = ("-s", "crawl.scope=web")
    for _ in range(40):
        if "0 selected" in (made := cobnut("generate", by_hand, *scope)).stdout or "nothing" in made.stdout.lower():
            break
        cobnut("fetch", by_hand, *scope, *options)
        cobnut("parse", by_hand, *scope)
        cobnut("updatedb", by_hand, *scope)
    else:
        pytest.fail("generate never came to an end")
    for step in ("invertlinks", "rank", "updatesegs", "index", "dedup", "merge"):
        cobnut(step, by_hand)
    mine, theirs = indexed_documents(at_once), indexed_documents(by_hand)
    assert len(mine) > 100
    assert mine.keys() == theirs.keys()
    for url, document in mine.items():
        assert document == theirs[url], url


def test_dedup_before_or_after_index_gives_the_same(tmp_path: Path) -> None:
    """A page that stands in two segments, and the same content under two addresses."""
    pages = {
        "/": "<title>Home</title><a href=/a>a</a> <a href=/b>b</a>",
        "/a": "<p>twin text</p>",
        "/b": "<p>twin text</p>",
    }
    with FakeWeb().site("a.test", pages) as web:
        first, options = tmp_path / "first", to_web(web.port)
        cobnut("crawl", first, "http://a.test/", *options)
        web.site("a.test", {"/": "<title>New home</title><a href=/a>a</a> <a href=/b>b</a>"})
        # everything is due again: the home page comes to stand in two segments
        cobnut("inject", first, "-", "--overwrite", stdin="http://a.test/\n")
        for step in ("generate", "fetch", "parse", "updatedb"):
            cobnut(step, first, *(options if step == "fetch" else ()))
    second = tmp_path / "second"
    shutil.copytree(first, second)
    before = ("invertlinks", "rank", "updatesegs")
    for step in (*before, "index", "dedup", "merge"):
        cobnut(step, first)
    for step in (*before, "dedup", "index", "merge"):
        cobnut(step, second)
    assert indexed_documents(first) == indexed_documents(second)
    titles = {document.url: document.title for document in index_of(first).documents()}
    assert titles["http://a.test/"] == "New home"
    assert len(titles) == 2  # of the twins one is shown


def test_search_and_why_need_no_segments(web: FakeWeb, tmp_path: Path) -> None:
    """After merge every segment may go."""
    crawl = tmp_path / "crawl"
    cobnut("crawl", crawl, "http://s1.synth.test/", *to_web(web.port))
    urls = indexed_urls(crawl)
    shutil.rmtree(crawl / "segments")
    word = web.synth.page_word(1, 3) if web.synth else ""
    found = json.loads(cobnut("search", crawl, word, "--json").stdout)
    assert found["hits"][0]["url"] == "http://s1.synth.test/p/3.html"
    assert set(found) >= {"query", "total", "took_ms", "hits"}
    story = cobnut("why", crawl, "http://s1.synth.test/p/3.html").stdout
    assert "fetched" in story
    cobnut("merge", crawl)
    assert indexed_urls(crawl) == urls


def test_the_number_of_workers_changes_nothing(web: FakeWeb, tmp_path: Path) -> None:
    """One worker or three: the same pages with the same contents."""
    found = []
    for workers in (1, 3):
        crawl = tmp_path / f"crawl{workers}"
        count = ("-s", f"fetcher.workers={workers}", "-s", f"parser.workers={workers}")
        cobnut("crawl", crawl, "http://s0.synth.test/", "--scope", "web", *to_web(web.port), *count)
        found.append(indexed_documents(crawl))
    assert found[0] == found[1]


def test_depth_scope_and_limits(web: FakeWeb, tmp_path: Path) -> None:
    """`--depth 1` takes the seed and what it links to; scope host stays on the host; `--max-pages` holds."""
    shallow, some = tmp_path / "shallow", tmp_path / "some"
    cobnut("crawl", shallow, "http://s0.synth.test/", "--depth", "1", *to_web(web.port))
    hosts = {url.split("/")[2] for url in indexed_urls(shallow)}
    assert hosts == {"s0.synth.test"}
    rows = [json.loads(line) for line in cobnut("read", "crawldb", shallow, "--json").stdout.splitlines()]
    assert {row["depth"] for row in rows if row["status"] == "fetched"} == {0, 1}
    assert {row["depth"] for row in rows if row["status"] == "unfetched"} == {2}
    deeper = cobnut("crawl", shallow, "--depth", "-1", *to_web(web.port)).stdout  # a greater depth, set later
    assert "0 pages fetched" not in deeper
    assert len(indexed_urls(shallow)) > len(rows) / 2
    cobnut("crawl", some, "http://s0.synth.test/", "--max-pages", "10", *to_web(web.port))
    fetched = [json.loads(line) for line in cobnut("read", "crawldb", some, "--json").stdout.splitlines()]
    assert sum(row["status"] == "fetched" for row in fetched) == 10
    cobnut("crawl", tmp_path / "dead", "http://dead.test/", "--max-pages", "10", *to_web(web.port))
    assert len(web.requests("dead.test")) > 300, "pages that are not there are no reason to stop early"
    rounds = list((tmp_path / "dead" / "segments").iterdir())
    assert len(rounds) < 6, "nor to go on in small steps"
    again = cobnut("crawl", some, "--max-pages", "10", *to_web(web.port)).stdout
    assert "10 pages fetched" in again
    assert "crawl.max_pages" in again


def test_loopback_needs_no_agent(tmp_path: Path) -> None:
    """A seed on loopback is crawled without a name and without being asked."""
    with FakeWeb().site("127.0.0.1", {"/": "<title>here</title><p>hello loopback"}) as web:
        crawl = tmp_path / "crawl"
        cobnut("crawl", crawl, f"http://127.0.0.1:{web.port}/")
        assert indexed_urls(crawl) == {f"http://127.0.0.1:{web.port}/"}


def test_open_web_needs_an_agent(tmp_path: Path) -> None:
    """Without a terminal: exit 2, both settings named, nothing fetched, nothing made."""
    done = cobnut("crawl", tmp_path / "crawl", "http://example.org/", *FAST, expect=2)
    assert "fetcher.agent_name" in done.stderr
    assert "fetcher.agent_contact" in done.stderr
    assert not (tmp_path / "crawl").exists()
