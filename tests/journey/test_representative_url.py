"""Is a page behind a redirect shown by the URL that stands for it?"""

from __future__ import annotations

import json
from pathlib import Path

from crawling import cobnut, to_web

from cobnut.testing.fakeweb import FakeWeb, moved


def test_the_root_of_a_site_stands_for_the_page_it_sends_to(tmp_path: Path) -> None:
    """A root that sends on is what people know; a page that moved is known by its new place, and words for the old."""
    web = FakeWeb()
    web.site(
        "a.test",
        {
            "/": moved("/en/home.html", 302),
            "/en/home.html": "<title>Hazel</title><p>hazel nuts <a href=/old>ancient rind</a>",
            "/old": moved("/new/place", 301),
            "/new/place": "<title>Walnut</title><p>walnut shells",
        },
    )
    with web:
        crawl = tmp_path / "crawl"
        cobnut("crawl", crawl, "http://a.test/", *to_web(web.port))
        found = {
            word: json.loads(cobnut("search", crawl, word, "--json").stdout)["hits"][0] for word in ("hazel", "walnut")
        }
        assert (found["hazel"]["url"], found["hazel"]["shown_url"]) == ("http://a.test/en/home.html", "http://a.test/")
        assert found["walnut"]["shown_url"] == found["walnut"]["url"] == "http://a.test/new/place"
        by_anchor = json.loads(cobnut("search", crawl, "ancient rind", "--json").stdout)["hits"]
        assert by_anchor[0]["url"] == "http://a.test/new/place", "words of a link to the old place lead to the new one"
        assert "http://a.test/\n" in cobnut("search", crawl, "hazel").stdout
        assert "http://a.test/" in cobnut("why", crawl, "http://a.test/en/home.html").stdout
        root, old = (cobnut("why", crawl, f"http://a.test/{path}").stdout for path in ("", "old"))
        assert "redirects to http://a.test/en/home.html, which is in the index and is shown by this address." in root
        assert "redirects to http://a.test/new/place, which stands in the index for it." in old
