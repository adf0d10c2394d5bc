"""Is a page that sends on to another at once (meta tag or header) a redirect like any other?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crawling import cobnut, indexed_documents, to_web

from cobnut.testing.fakeweb import Answer, FakeWeb

HOME = "http://a.test/"
ROBOTS = Answer(body="User-agent: *\nDisallow: /secret\n", content_type="text/plain")


def refresh(content: str, text: str = "sending on") -> str:
    return f'<title>on</title><meta http-equiv="refresh" content="{content}"><p>{text}</p>'


def links(*names: str) -> str:
    return "".join(f'<a href="/{name}">words for {name}</a> ' for name in names)


def raw(crawl: Path, table: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cobnut("read", table, crawl, "--json").stdout.splitlines()]


def rows(crawl: Path) -> dict[str, dict[str, Any]]:
    return {row["url"]: row for row in raw(crawl, "crawldb")}


def test_pages_that_send_on_are_redirects(tmp_path: Path) -> None:
    """In every form; slow ones and those that only reload are pages. Anchors go to where they lead, in the end."""
    pages = {
        "/robots.txt": ROBOTS,
        "/": "<title>home</title>" + links("meta", "header", "slow", "reload", "chain", "one", "barred", "out", "js"),
        "/meta": refresh("0; url='/target'"), "/target": "<title>t</title><p>the target of the tag",
        "/header": Answer(body="<p>header", headers={"Refresh": "3;/aim"}), "/aim": "<title>a</title><p>the aim of it",
        "/slow": refresh("5;url=/later", "time enough to read this"), "/later": "<title>l</title><p>later page",
        "/reload": refresh("0", "reloads itself"), "/js": refresh("0;url=javascript:go()", "nowhere to go"),
        "/chain": refresh("0;url=/link2"), "/link2": Answer(302, headers={"Location": "/link3"}),
        "/link3": refresh("1;url=/end"), "/end": "<title>e</title><p>the end of the chain",
        "/one": refresh("0;url=/two"), "/two": refresh("0;url=/one"),
        "/barred": refresh("0;url=/secret"), "/secret": "secret", "/out": refresh("0;url=http://b.test/"),
    }  # fmt: skip
    folder = tmp_path / "crawl"
    with FakeWeb().site("a.test", pages).site("b.test", {"/": "elsewhere"}) as web:
        told = cobnut("crawl", folder, HOME, *to_web(web.port)).stdout
        asked = [(e.host, e.target) for e in web.requests()]
    assert ("b.test", "/") not in asked
    assert ("a.test", "/secret") not in asked
    state = {url.removeprefix(HOME): (row["status"], row["reason"]) for url, row in rows(folder).items()}
    on = ("redirect_temp", "refresh")
    assert state == {
        "": ("fetched", None), "target": ("fetched", None), "aim": ("fetched", None), "later": ("fetched", None),
        "end": ("fetched", None), "slow": ("fetched", None), "reload": ("fetched", None), "js": ("fetched", None),
        "meta": on, "header": on, "chain": on, "link2": ("redirect_temp", None), "link3": on, "one": on, "two": on,
        "barred": on, "out": on, "secret": ("gone", "robots_denied"),
    }  # fmt: skip
    assert "  8  refresh: The page sends on to another at once" in told
    found = indexed_documents(folder)
    assert set(found) == {HOME + name for name in ("", "target", "aim", "later", "end", "slow", "reload", "js")}
    for page, source in (("target", "meta"), ("aim", "header"), ("end", "chain")):
        hits = json.loads(cobnut("search", folder, f'"words for {source}"', "--json").stdout)["hits"]
        assert (HOME + page) in {hit["url"] for hit in hits}, page
    why = cobnut("why", folder, HOME + "chain").stdout
    assert "it redirects to http://a.test/end, which stands in the index for it" in why
    on, to = "The page sends on to another at once, by a meta tag or a header", "  " + " " * 14
    assert (
        "  Leads to      http://a.test/link2 (redirect_temp)\n"
        f"{to}→ http://a.test/link3 (redirect_temp, refresh: {on})\n"
        f"{to}→ http://a.test/end (fetched)\n"
    ) in why
    why = cobnut("why", folder, HOME + "one").stdout
    assert f"{to}→ http://a.test/one, where it was before: a loop, which leads nowhere\n" in why
    assert "(gone, robots_denied" in cobnut("why", folder, HOME + "barred").stdout
    assert "http://b.test/ (not in the crawldb)" in cobnut("why", folder, HOME + "out").stdout
    told = json.loads(cobnut("why", folder, HOME + "chain", "--json").stdout)
    assert [step["url"] for step in told["leads_to"]] == [HOME + name for name in ("link2", "link3", "end")]
    why = cobnut("why", folder, HOME + "end").stdout
    assert "It is in the index" in why
    assert "→ http://a.test/link2 (refresh)" in why
    assert "→ http://a.test/end (refresh)" in why


def test_the_whole_score_goes_on_and_a_page_that_comes_back_is_one(tmp_path: Path) -> None:
    pages: dict[str, Any] = {
        "/": links("on", "b", "c", "d"),
        "/on": refresh("0;url=/target") + links("x"),
        "/target": "t",
    }
    folder = tmp_path / "crawl"
    with FakeWeb().site("a.test", pages) as web:
        cobnut("crawl", folder, HOME, *to_web(web.port), expect=0)
        scores = {url.removeprefix(HOME): row["score"] for url, row in rows(folder).items()}
        assert (scores["on"], scores["target"], scores["x"]) == (250_000, 250_000, 0)
        cobnut("create", tmp_path / "other")
        cobnut("mergedb", tmp_path / "other", folder, "--with-segments")
        there = rows(tmp_path / "other")[HOME + "on"]
        assert there == rows(folder)[HOME + "on"]
        assert (there["status"], there["reason"], there["fetched_at"]) == ("redirect_temp", "refresh", None)
        led = {row["url_key"]: (row["redirect_key"], row["segment"]) for row in raw(tmp_path / "other", "pages")}
        assert led["test,a)http/on"] == ("test,a)http/target", None)  # no content to show
        web.site("a.test", {"/on": "<title>back</title><p>a page again"})
        cobnut("crawl", folder, "--refresh", *to_web(web.port))
        assert rows(folder)[HOME + "on"]["status"] == "fetched"
        assert HOME + "on" in indexed_documents(folder)


def test_a_seed_means_where_it_sends_on_to(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    web = FakeWeb().site("a.test", {"/": refresh("0;url=http://www.a.test/home")})
    with web.site("www.a.test", {"/home": "<title>h</title><p>at home <a href=/x>x</a>", "/x": "<p>x page"}):
        cobnut("crawl", folder, HOME, *to_web(web.port))
    assert set(indexed_documents(folder)) == {"http://www.a.test/home", "http://www.a.test/x"}
    assert json.loads(cobnut("search", folder, "home", "--json").stdout)["hits"][0]["shown_url"] == HOME
