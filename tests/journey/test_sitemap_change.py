"""Does a page come again before its time when the site's own list says that it has changed?"""

from __future__ import annotations

import json
import time
from pathlib import Path

from crawling import cobnut, to_web

from cobnut.testing.fakeweb import Answer, FakeWeb

LIST = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
ENTRY = "<url><loc>http://a.test/{}</loc><lastmod>{}</lastmod></url>"
OLD, FUTURE = "2020-01-02", "2999-01-01T00:00:00Z"


def sitemap(**dates: str) -> Answer:
    body = LIST.format("".join(ENTRY.format(name, date) for name, date in dates.items()))
    return Answer(body=body, content_type="application/xml")


def due(crawl: Path) -> dict[str, int]:
    lines = cobnut("read", "crawldb", crawl, "--json").stdout.splitlines()
    return {row["url"]: row["due_at"] for row in map(json.loads, lines)}


def test_a_page_that_its_sitemap_calls_changed_is_due_at_once(tmp_path: Path) -> None:
    crawl, said = tmp_path / "crawl", ("/changes", "/stays", "/will")
    pages: dict[str, Answer | str] = {path: f"<title>{path}</title>" for path in said}
    pages["/sitemap.xml"] = sitemap(changes=OLD, stays=OLD, will=FUTURE)
    with FakeWeb().site("a.test", pages) as web:
        cobnut("crawl", crawl, "http://a.test/sitemap.xml", *to_web(web.port))
        assert sorted(e.target for e in web.requests("a.test") if e.target in said) == list(said), "each once"
        before = due(crawl)
        begun = int(time.time())
        while int(time.time()) == begun:  # a date of a sitemap has seconds
            time.sleep(0.01)
        changed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        web.site("a.test", {**pages, "/sitemap.xml": sitemap(changes=changed, stays=OLD, will=FUTURE)})
        cobnut("freegen", crawl, "http://a.test/sitemap.xml")
        for step in ("fetch", "parse", "updatedb"):
            cobnut(step, crawl, *(to_web(web.port) if step == "fetch" else ()))
        after = due(crawl)
        assert {url for url in before if after[url] < before[url]} == {"http://a.test/changes"}
        assert "it may be fetched now" in cobnut("why", crawl, "http://a.test/changes").stdout
