"""A redirect to a page that was fetched already does not fetch it again before it is due."""

import time

from crawling import cobnut, to_web

from cobnut.records.catalogue import CRAWLDB, PAGES
from cobnut.storage.layout import CrawlFolder
from cobnut.testing.fakeweb import moved
from cobnut.urls.resolve import url_key


def key(path):
    return url_key(f"http://a.test{path}")


def test_a_target_fetched_in_an_earlier_round_is_left(tmp_path, web):
    pages = {
        "/": "<a href=/about>about</a> <a href=/old>old</a>",
        "/about": moved("/"),
        "/old": moved("/new"),
        "/new": "new",
    }
    web.site("a.test", pages)
    cobnut("crawl", tmp_path / "crawl", "http://a.test/", *to_web(web.port))
    assert [len(web.requests("a.test", path)) for path in ("/", "/about", "/old", "/new")] == [1, 1, 1, 1]
    crawl = CrawlFolder.open(tmp_path / "crawl")
    led = {
        row["url_key"]: row["redirect_key"] for row in crawl.table(PAGES).read(["url_key", "redirect_key"]).to_pylist()
    }
    assert led == {key("/"): None, key("/about"): key("/"), key("/old"): key("/new"), key("/new"): None}
    states = {row["url_key"]: row["status"] for row in crawl.table(CRAWLDB).read(["url_key", "status"]).to_pylist()}
    assert states[key("/about")] == "redirect_perm"
    assert states[key("/")] == "fetched"


def test_a_refresh_visits_every_page_once(tmp_path, web):
    web.site("a.test", {"/": "<a href=/about>about</a>", "/about": moved("/")})
    words = ("crawl", tmp_path / "crawl", "http://a.test/", *to_web(web.port))
    cobnut(*words)
    cobnut(*words, "--refresh")
    assert [len(web.requests("a.test", path)) for path in ("/", "/about")] == [2, 2]


def test_a_target_that_is_due_is_followed(tmp_path, web):
    # the first page is due again after a second, and is not in the second round's fetchlist, which has room for one
    web.site("a.test", {"/": "<a href=/about>about</a>", "/more": moved("/")})
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("http://a.test/\tnutch.fetchInterval.fixed=1\n")
    crawl = tmp_path / "crawl"
    web_options = to_web(web.port)
    cobnut("create", crawl)
    cobnut("inject", crawl, seeds)
    for step in ("generate", "fetch", "parse", "updatedb"):
        cobnut(step, crawl, *(web_options if step == "fetch" else ()))
    seeds.write_text("http://a.test/more\tnutch.score=100\n")
    cobnut("inject", crawl, seeds)
    time.sleep(1.1)
    cobnut("generate", crawl, "--top-n", "1")
    cobnut("fetch", crawl, *web_options)
    assert len(web.requests("a.test", "/more")) == 1
    assert len(web.requests("a.test", "/")) == 2
