"""Pace, as the server sees it: gaps are measured where the requests arrive; only their lower bound is asserted."""

import time

from cobnut.testing.fakeweb import Answer

CLOCK_SLACK_S = 0.02
"""The server stamps arrivals, we count from the end of the last answer: only scheduling lies between."""


def test_one_connection_and_the_delay_between_requests(bench, web):
    web.site("a.test", {"*": "page"}).site("b.test", {"*": "page"})
    urls = [f"http://{host}/{n}" for host in ("a.test", "b.test") for n in range(4)]
    bench.fetch(*urls, settings=bench.with_settings(delay_s=0.3))
    for host in ("a.test", "b.test"):
        stats = web.stats(host)
        assert stats.requests == 5
        assert stats.most_at_once == 1
        assert stats.min_gap_s >= 0.3 - CLOCK_SLACK_S


def test_crawl_delay_is_obeyed_on_loopback_too_and_bounded(bench, web):
    web.site("a.test", {"/robots.txt": "User-agent: *\nCrawl-delay: 0.4\n", "*": "page"})
    web.site("b.test", {"/robots.txt": "User-agent: *\nCrawl-delay: 9999\n", "*": "page"})
    urls = [f"http://{host}/{n}" for host in ("a.test", "b.test") for n in range(3)]
    report = bench.fetch(*urls, settings=bench.with_settings(max_delay_s=0.6))
    assert report.complete
    assert web.stats("a.test").min_gap_s >= 0.4 - CLOCK_SLACK_S
    assert web.stats("b.test").min_gap_s >= 0.6 - CLOCK_SLACK_S


def test_a_host_may_have_a_delay_of_its_own(bench, web):
    web.site("a.test", {"*": "page"}).site("b.test", {"*": "page"})
    web.site("c.test", {"/robots.txt": "User-agent: *\nCrawl-delay: 0.5\n", "*": "page"})
    urls = [f"http://{host}/{n}" for host in ("a.test", "b.test", "c.test") for n in range(3)]
    own = ("A.test 0.4s", "b.test 0", "c.test 0.1")
    bench.fetch(*urls, settings=bench.with_settings(delay_s=2.0, max_delay_s=2.0, host_delays=own))
    assert web.stats("a.test").min_gap_s >= 0.4 - CLOCK_SLACK_S
    assert web.stats("c.test").min_gap_s >= 0.5 - CLOCK_SLACK_S  # the longer one holds
    assert web.stats("b.test").min_gap_s < web.stats("a.test").min_gap_s


def test_a_proxy_on_loopback_does_not_make_the_web_local(bench, web):
    web.site("a.test", {"*": "page"})
    bench.fetch("http://a.test/1", settings=bench.with_settings(resolve=(), proxy=web.proxy_url))
    assert web.stats("a.test").requests == 2
    assert web.stats("a.test").min_gap_s >= 1.0 - CLOCK_SLACK_S


def test_retry_after_is_waited_for_within_the_round(bench, web):
    busy = Answer(429, headers={"Retry-After": "1"})
    web.site("a.test", {"/1": [busy, "page"], "/2": "page"})
    report = bench.fetch("http://a.test/1", "http://a.test/2")
    assert report.outcomes == {"success": 2}
    first, second = web.requests("a.test", "/1")
    assert second.at_s - first.at_s >= 1.0 - CLOCK_SLACK_S
    assert {row["url"] for row in bench.rows().values()} == {"http://a.test/1", "http://a.test/2"}


def test_a_pause_that_does_not_fit_leaves_the_host_to_later(bench, web):
    web.site("a.test", {"*": Answer(503, headers={"Retry-After": "3600"})}).site("b.test", {"*": "page"})
    web.site("a.test", {"/robots.txt": Answer(404)})
    report = bench.fetch(*(f"http://a.test/{n}" for n in range(9)), "http://b.test/")
    assert report.outcomes == {"success": 1, "retry": 1}
    assert report.reasons == {"http_503": 1}
    assert report.left == 8
    assert report.left_by == {"host_backoff": 8}
    assert report.sealed
    row = next(row for row in bench.hosts("traffic") if row["host"] == "a.test")
    assert row["next_fetch_at"] > time.time() * 1000 + 3_000_000
    assert row["error_count"] == 1


def test_a_host_that_fails_again_and_again_rests(bench, web):
    web.site("a.test", {"/robots.txt": Answer(404), "*": Answer(500)})
    report = bench.fetch(*(f"http://a.test/{n}" for n in range(20)))
    assert report.reasons == {"http_500": 5}
    assert report.left_by == {"host_backoff": 15}
    row = next(row for row in bench.hosts("traffic") if row["host"] == "a.test")
    assert (row["failures"], row["backoff_s"], row["reason"]) == (5, 60, "http_500")
    assert row["next_fetch_at"] > time.time() * 1000


def test_one_success_forgives(bench, web):
    web.site("a.test", {"/robots.txt": Answer(404), "/ok": "page", "*": Answer(500)})
    urls = [f"http://a.test/{n}" for n in range(4)] + ["http://a.test/ok"] + [f"http://a.test/{n}x" for n in range(4)]
    report = bench.fetch(*urls)
    assert report.complete
    assert bench.hosts("traffic")[-1]["failures"] == 4


def test_the_round_ends_in_time_and_leaves_the_rest(bench, web):
    web.site("slow.test", {"/robots.txt": "User-agent: *\nCrawl-delay: 20\n", "*": "page"}).site(
        "a.test", {"*": "page"}
    )
    urls = [f"http://slow.test/{n}" for n in range(5)] + [f"http://a.test/{n}" for n in range(5)]
    report = bench.fetch(*urls, settings=bench.with_settings(round_s=3))
    assert report.outcomes == {"success": 5}
    assert report.left_by == {"round_over": 5}
    assert report.sealed
    assert not report.stopped


def test_stopping_finishes_what_is_in_flight_and_goes_on_later(bench, web):
    web.site("a.test", {"*": Answer(200, "page", delay_s=0.2)})
    urls = [f"http://a.test/{n}" for n in range(30)]
    report = bench.fetch(*urls, should_stop=lambda: len(web.requests("a.test")) >= 4)
    assert report.stopped
    assert not report.sealed
    assert 0 < report.rows < 30
    assert report.left == 30 - report.rows
    assert bench.segment.state() == "generated"
    web.site("a.test", {"*": "page"})
    report = bench.fetch()
    assert report.complete
    assert report.sealed
    assert all(len(web.requests("a.test", f"/{n}")) == 1 for n in range(30))


def test_enough_is_enough(bench, web):
    web.site("a.test", {"*": Answer(200, "page", delay_s=0.1)})
    report = bench.fetch(*(f"http://a.test/{n}" for n in range(40)), max_pages=3)
    assert report.outcomes == {"success": 3}
