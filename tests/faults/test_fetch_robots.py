"""robots.txt as servers really answer it (RFC 9309 section 2.3)."""

import pytest

from cobnut.testing.fakeweb import Answer, moved

ROBOTS = "User-agent: *\nDisallow: /x\n"
TEXT = "text/plain"


@pytest.mark.parametrize(
    ("answer", "outcome", "reason", "state"),
    [
        (Answer(body=ROBOTS, content_type=TEXT), "denied", "robots_denied", "rules"),
        (Answer(body=ROBOTS, compress=True), "denied", "robots_denied", "rules"),
        (Answer(body="\ufeff" + ROBOTS), "denied", "robots_denied", "rules"),
        (Answer(body="<html>User-agent: *<br>Disallow: /x</html>"), "success", None, "rules"),
        (Answer(404), "success", None, "allow_all"),
        (Answer(403), "success", None, "allow_all"),
        (Answer(401), "success", None, "allow_all"),
        (Answer(429), "retry", "robots_unreachable", "disallow_all"),
        (Answer(500), "retry", "robots_unreachable", "disallow_all"),
        (Answer(503), "retry", "robots_unreachable", "disallow_all"),
        (Answer(drop=True), "retry", "robots_unreachable", "disallow_all"),
        (Answer(delay_s=30), "retry", "robots_unreachable", "disallow_all"),
        (Answer(body=ROBOTS + "#" * 600_000), "denied", "robots_denied", "rules"),
        (Answer(body="#" * 600_000 + "\n" + ROBOTS), "success", None, "rules"),
    ],
)
def test_what_robots_txt_answers(bench, web, answer, outcome, reason, state):
    web.site("a.test", {"/robots.txt": answer, "/x": "page"})
    bench.fetch("http://a.test/x", settings=bench.with_settings(timeout_s=1.5))
    row = bench.row("http://a.test/x")
    assert (row["outcome"], row["reason"]) == (outcome, reason)
    assert len(web.requests("a.test", "/x")) == (outcome == "success")
    (known,) = bench.hosts("robots")
    assert (known["origin"], known["state"]) == ("http://a.test", state)


def test_a_redirected_robots_txt_counts_for_the_origin(bench, web):
    web.site("a.test", {"/robots.txt": moved("http://www.a.test/robots.txt"), "/x": "x", "/y": "y"})
    web.site("www.a.test", {"/robots.txt": Answer(body=ROBOTS, content_type=TEXT)})
    bench.fetch("http://a.test/x", "http://a.test/y")
    assert bench.row("http://a.test/x")["reason"] == "robots_denied"
    assert bench.row("http://a.test/y")["outcome"] == "success"
    assert len(web.requests("www.a.test", "/robots.txt")) == 1
    archived = {(url, status) for url, _, status, _ in bench.records()}
    assert {("http://a.test/robots.txt", 301), ("http://www.a.test/robots.txt", 200)} <= archived


def test_endless_redirects_of_robots_txt_mean_there_is_none(bench, web):
    web.site("a.test", {"/robots.txt": moved("/r/1"), "*": lambda r: moved(r.target + "1")})
    web.site("a.test", {"/x": "page"})
    bench.fetch("http://a.test/x")
    assert bench.row("http://a.test/x")["outcome"] == "success"
    assert len(web.requests("a.test")) == 7


def test_robots_txt_redirected_to_a_private_address_is_not_followed(bench, web):
    web.site("a.test", {"/robots.txt": moved("http://10.0.0.5/robots.txt"), "/x": "page"})
    web.site("10.0.0.5", {"*": "secret"})
    bench.fetch("http://a.test/x")
    assert not web.requests("10.0.0.5")
    assert bench.row("http://a.test/x")["outcome"] != "success"


def test_prior_knowledge_is_used_while_it_is_fresh(bench, web):
    import time

    import pyarrow as pa

    from cobnut.records.catalogue import ROBOTS as ROBOTS_TABLE
    from cobnut.urls.hosts import bucket_of

    web.site("a.test", {"*": "x"}).site("b.test", {"*": "x"})
    now = time.time_ns() // 1_000_000
    rows = [
        {"origin": f"http://{host}", "host": host, "bucket": bucket_of(host), "state": "rules",
         "body": b"User-agent: *\nDisallow: /\n", "fetched_at": at}
        for host, at in (("a.test", now - 1000), ("b.test", now - 90_000_000))
    ]  # fmt: skip
    with bench.crawl.table(ROBOTS_TABLE).begin() as draft:
        draft.write_partition(0, [pa.Table.from_pylist(rows, schema=ROBOTS_TABLE.schema())])
        draft.publish("updatedb")
    bench.fetch("http://a.test/x", "http://b.test/x")
    assert bench.row("http://a.test/x")["reason"] == "robots_denied"
    assert bench.row("http://b.test/x")["outcome"] == "success"
    assert not web.requests("a.test")


def test_sitemaps_and_delay_are_kept(bench, web):
    text = "User-agent: *\nCrawl-delay: 0.25\nSitemap: /s.xml\nSitemap: http://b.test/t.xml\n"
    web.site("a.test", {"/robots.txt": text, "/x": "page"})
    bench.fetch("http://a.test/x")
    (known,) = bench.hosts("robots")
    assert known["sitemaps"] == ["http://a.test/s.xml", "http://b.test/t.xml"]
    assert known["crawl_delay_ms"] == 250
    assert known["body"] == text.encode()


def test_each_origin_has_its_own(bench, web):
    web.site("a.test", {"/robots.txt": ROBOTS, "/x": "page"})
    settings = bench.with_settings(resolve=(f"a.test:127.0.0.1:{web.port}",))
    bench.fetch("http://a.test/x", "http://a.test:8080/x", settings=settings)
    assert len(web.requests("a.test", "/robots.txt")) == 2


def test_many_origins_that_share_one_file_ask_for_it_once_and_at_its_pace(tmp_path, web, bench_class):
    from cobnut.fetcher.pool import FetchPool

    hosts = [f"h{n}.test" for n in range(12)]
    for host in hosts:
        web.site(host, {"/robots.txt": moved("http://shared.test/robots.txt"), "/x": "x", "/y": "y"})
    web.site("shared.test", {"/robots.txt": ROBOTS, "/y": "page"})
    urls = [f"http://{host}/{path}" for host in hosts for path in "xy"]
    with FetchPool(2) as pool:
        bench = bench_class(tmp_path / "c", web, pool, workers=2, delay_s=0.2)
        bench.seed(urls[0])
        bench.fetchlist(*urls, "http://shared.test/y", parts=2)
        report = bench.fetch()
    assert report.outcomes == {"denied": 12, "success": 13}
    assert web.stats("shared.test").most_at_once == 1
    assert web.stats("shared.test").min_gap_s >= 0.2 - 0.02
    assert len(web.requests("shared.test", "/robots.txt")) == 1
    assert len(bench.hosts("robots")) == 13


def test_two_robots_files_that_redirect_to_each_other(tmp_path, web, bench_class):
    from cobnut.fetcher.pool import FetchPool

    web.site("a.test", {"/robots.txt": moved("http://b.test/robots.txt"), "/x": "x"})
    web.site("b.test", {"/robots.txt": moved("http://a.test/robots.txt"), "/x": "x"})
    with FetchPool(2) as pool:
        bench = bench_class(tmp_path / "c", web, pool, workers=2)
        bench.seed("http://a.test/x")
        urls = ("http://a.test/x", "http://b.test/x")
        bench.fetchlist(*urls, parts=2, part_of=lambda host, _: int(host == "b.test"))
        assert bench.fetch().outcomes == {"success": 2}
        bench.fetchlist(*urls)
        assert bench.fetch().outcomes == {"success": 2}
