"""Does a seed that redirects to another host bring that host, and nothing more?"""

from __future__ import annotations

from pathlib import Path

from crawling import cobnut, indexed_urls, to_web

from cobnut.testing.fakeweb import FakeWeb, moved


def test_where_a_seed_leads_is_in_scope(tmp_path: Path) -> None:
    """The bare name redirects to www, as half the web does: www is crawled; a link's redirect elsewhere is not."""
    web = FakeWeb()
    web.site("a.test", {"/": moved("http://www.a.test/")})
    web.site(
        "www.a.test",
        {"/": "<p>home <a href=/x>x</a> <a href=/out>out</a>", "/x": "<p>x", "/out": moved("http://b.test/")},
    )
    web.site("b.test", {"/": "<p>elsewhere"})
    with web:
        crawl = tmp_path / "crawl"
        cobnut("crawl", crawl, "http://a.test/", *to_web(web.port))
        assert indexed_urls(crawl) == {"http://www.a.test/", "http://www.a.test/x"}
        assert not web.requests("b.test", "/")
        why = cobnut("why", crawl, "http://www.a.test/out").stdout
        assert "scope" in why
