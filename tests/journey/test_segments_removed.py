"""Segments that were taken in may be removed: searching, asking, ranking and the next rounds need none of them."""

import json
import shutil

from crawling import cobnut, indexed_urls, to_web

from cobnut.testing.fakeweb import FakeWeb

LINKS = "".join(f"<a href=/{i}>number {i}</a> " for i in range(8))
SITE = {"/": f"<title>Start</title>{LINKS}"} | {
    f"/{i}": f"<title>Page {i}</title>word{i} <a href=/>up</a>" for i in range(8)
}


def test_everything_but_the_archive_outlives_the_segments(tmp_path):
    crawl = tmp_path / "c"
    with FakeWeb().site("a.test", SITE).site("b.test", {"/": "<title>Late</title>latecomer"}) as web:
        cobnut("crawl", crawl, "http://a.test/", *to_web(web.port))
        before = indexed_urls(crawl)
        assert len(before) == 9
        ranks = cobnut("read", "ranks", crawl, "--json").stdout
        for segment in (crawl / "segments").iterdir():
            shutil.rmtree(segment)

        again = cobnut("crawl", crawl, *to_web(web.port))
        assert "9 pages can be searched" in again.stdout
        assert "nothing to index" not in again.stdout + again.stderr
        assert indexed_urls(crawl) == before
        (hit,) = json.loads(cobnut("search", crawl, "word3", "--json").stdout)["hits"]
        assert hit["url"] == "http://a.test/3"
        why = cobnut("why", crawl, "http://a.test/3").stdout
        assert "It is in the index" in why
        assert "number 3" in why
        cobnut("rank", crawl)
        assert cobnut("read", "ranks", crawl, "--json").stdout == ranks, "the linkdb stands for their links"

        cobnut("crawl", crawl, "http://b.test/", *to_web(web.port))
        assert indexed_urls(crawl) == before | {"http://b.test/"}
