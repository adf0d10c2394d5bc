"""The pause after the last request to a host holds in the next round, after a stop, after a kill, and for whoever asks
the host next. Gaps are measured where the requests arrive; only their lower bound is asserted."""

import os
import signal
import subprocess
import sys
import time

import msgspec
import pyarrow as pa
import pytest
from crawling import cobnut, command, environment, to_web

from cobnut.fetcher.answer import now_ms
from cobnut.fetcher.pool import FetchPool
from cobnut.records.catalogue import HOSTDB
from cobnut.storage.layout import CrawlFolder
from cobnut.testing.fakeweb import Answer, moved
from cobnut.urls.resolve import forms

SLACK_S = 0.03
"""Times on disk are whole milliseconds of the wall clock, and answers take a moment to arrive."""

CHAIN = {"/": "<a href=/a>a</a>", "/a": "<a href=/b>b</a>", "/b": "<a href=/c>c</a>", "/c": "the end"}
ROBOTS = "User-agent: *\nCrawl-delay: 0.8\n"
PARENT = """
import sys
from pathlib import Path
import msgspec
from cobnut.config.sections import Settings
from cobnut.stages.fetch import run_fetch
from cobnut.storage.layout import CrawlFolder

crawl = CrawlFolder.open(Path(sys.argv[1]))
run_fetch(crawl, crawl.segments()[-1], msgspec.json.decode(sys.argv[2], type=Settings))
"""


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["setting", "robots"])
def test_a_pause_holds_across_the_rounds_of_a_crawl(tmp_path, web, how):
    web.site("nd.test", CHAIN | ({"/robots.txt": ROBOTS} if how == "robots" else {}))
    delay = ("-s", "fetcher.delay_s=0.8") if how == "setting" else ()
    cobnut("crawl", tmp_path / "crawl", "http://nd.test/", *to_web(web.port), *delay)
    stats = web.stats("nd.test")
    assert stats.requests == 5  # robots.txt and four rounds of one page
    assert stats.most_at_once == 1
    assert stats.min_gap_s >= 0.8 - SLACK_S


def test_a_crawl_run_again_keeps_the_pause(tmp_path, web):
    web.site("nd.test", CHAIN)
    words = (tmp_path / "crawl", "http://nd.test/", *to_web(web.port), "-s", "fetcher.delay_s=4")
    cobnut("crawl", *words, "--max-pages", 1)
    cobnut("crawl", *words, "--max-pages", 1)
    assert [entry.target for entry in web.requests("nd.test")] == ["/robots.txt", "/", "/a"]
    assert web.stats("nd.test").min_gap_s >= 4 - SLACK_S


@pytest.mark.parametrize("how", ["setting", "robots"])
def test_a_crawl_killed_and_run_again_keeps_the_pause(tmp_path, web, how):
    web.site("nd.test", {"*": "page", "/": "".join(f"<a href=/{n}>{n}</a> " for n in range(4))})
    delay = ("-s", "fetcher.delay_s=2")
    if how == "robots":
        web.site("nd.test", {"/robots.txt": ROBOTS.replace("0.8", "2")})
        delay = ()
    words = ("crawl", tmp_path / "crawl", "http://nd.test/", *to_web(web.port), *delay)
    # once right after robots.txt, when nothing is known yet, and once in the middle
    for requests in (1, 4):
        process = subprocess.Popen(command(*words), env=environment(), stdout=subprocess.DEVNULL)
        wait_for(lambda requests=requests: len(web.requests("nd.test")) >= requests)
        process.send_signal(signal.SIGKILL)
        process.wait()
    cobnut(*words)
    assert {entry.target for entry in web.requests("nd.test")} >= {"/robots.txt", "/", "/0", "/1", "/2", "/3"}
    assert web.stats("nd.test").min_gap_s >= 2 - SLACK_S


def test_what_was_in_flight_when_a_run_was_killed_counts(tmp_path, web, bench_class, fetch_pool):
    web.site("a.test", {"/robots.txt": Answer(404), "/1": Answer(200, "slow", delay_s=3), "*": "page"})
    bench = bench_class(tmp_path / "c", web, fetch_pool, delay_s=1.0)
    bench.seed("http://a.test/1")
    bench.fetchlist("http://a.test/1", "http://a.test/2")
    settings = msgspec.json.encode(bench.settings).decode()
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(bench.crawl.path), settings])
    wait_for(lambda: web.requests("a.test", "/1"))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert bench.fetch().complete
    assert web.stats("a.test").min_gap_s >= 1.0 - SLACK_S


def test_a_stopped_segment_goes_on_after_the_pause(tmp_path, web, bench_class):
    web.site("a.test", {"*": "page"})
    with FetchPool(1) as pool:
        bench = bench_class(tmp_path / "c", web, pool, delay_s=1.0)
        urls = [f"http://a.test/{n}" for n in range(4)]
        bench.fetch(*urls, should_stop=lambda: len(web.requests("a.test")) >= 3)
    with FetchPool(1) as pool:  # another process
        bench.pool = pool
        assert bench.fetch().complete
    assert len(web.requests("a.test")) == 5  # robots.txt once: what it said was written down
    assert web.stats("a.test").min_gap_s >= 1.0 - SLACK_S


def test_a_segment_that_is_not_applied_counts(bench, web):
    web.site("a.test", {"/robots.txt": ROBOTS, "*": "page"})
    bench.fetch("http://a.test/1")
    bench.fetch("http://a.test/2")
    assert web.stats("a.test").min_gap_s >= 0.8 - SLACK_S


def apply(bench, **host):
    """The hostdb holds the segment, and says this of a.test, which another crawl may have brought (`mergedb`)."""
    row = {"host": "a.test", "bucket": forms("http://a.test/").bucket, "updated_at": now_ms(), **host}
    row = {c.name: None if c.nullable else 0 for c in HOSTDB.columns} | row
    with bench.crawl.table(HOSTDB).begin() as draft:
        draft.write_partition(0, [pa.Table.from_pylist([row], schema=HOSTDB.schema())])
        draft.publish("mergedb", applied=[{"segment": bench.segment.name}])


def test_a_pause_that_the_hostdb_holds_wins_over_a_segment_that_it_holds_too(bench, web):
    web.site("a.test", {"/robots.txt": Answer(404), "*": "page"})
    bench.fetch("http://a.test/1")
    apply(bench, next_fetch_at=now_ms() + 3_600_000, backoff_s=3600, failures=3, last_error="http_503")
    report = bench.fetch("http://a.test/2")
    assert report.left_by == {"host_backoff": 1}
    assert not web.requests("a.test", "/2")


def test_a_pause_that_the_hostdb_holds_no_more_is_over_and_the_delay_is_not(bench, web):
    busy = Answer(503, b"", (("Retry-After", "3600"),))
    web.site("a.test", {"/robots.txt": Answer(404), "/1": busy, "*": "page"})
    bench.fetch("http://a.test/1", settings=bench.with_settings(delay_s=0.8))
    assert bench.hosts("traffic")[0]["next_fetch_at"] > now_ms() + 3_000_000
    apply(bench, backoff_s=0, failures=0)
    assert bench.fetch("http://a.test/2", settings=bench.with_settings(delay_s=0.8)).complete
    assert web.stats("a.test").min_gap_s >= 0.8 - SLACK_S


def test_a_pause_that_is_newer_than_what_the_hostdb_says_holds(bench, web):
    """A hostdb that was rolled back holds the segment by name alone, from the next updatedb on."""
    busy = Answer(503, b"", (("Retry-After", "3600"),))
    web.site("a.test", {"/robots.txt": Answer(404), "/1": busy, "*": "page"})
    before = now_ms()
    bench.fetch("http://a.test/1")
    apply(bench, backoff_s=0, failures=0, updated_at=before)
    assert bench.fetch("http://a.test/2").left_by == {"host_backoff": 1}
    assert not web.requests("a.test", "/2")


def test_a_host_that_a_redirect_leads_to_keeps_its_pause(bench, web):
    web.site("a.test", {"*": moved("http://b.test/target")}).site("b.test", {"/robots.txt": ROBOTS, "*": "page"})
    bench.fetch("http://b.test/1")
    bench.fetch("http://a.test/1", seeds=["http://a.test/1"])
    assert web.requests("b.test", "/target")
    assert web.stats("b.test").min_gap_s >= 0.8 - SLACK_S


def test_another_killed_segment_counts(tmp_path, web, bench_class, fetch_pool):
    web.site("a.test", {"*": "page"})
    bench = bench_class(tmp_path / "c", web, fetch_pool, delay_s=2.0)
    bench.seed("http://a.test/1")
    bench.fetchlist("http://a.test/1", "http://a.test/2")
    settings = msgspec.json.encode(bench.settings).decode()
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(bench.crawl.path), settings])
    wait_for(lambda: web.requests("a.test", "/1"))
    parent.kill()
    parent.wait()
    bench.fetch("http://a.test/3")
    assert web.requests("a.test", "/3")
    assert web.stats("a.test").min_gap_s >= 2.0 - SLACK_S


def test_loopback_needs_no_pause_and_generate_holds_nothing_back(tmp_path, web):
    web.site("127.0.0.1", CHAIN)
    url = f"http://127.0.0.1:{web.port}/"
    cobnut("crawl", tmp_path / "crawl", url)
    rows = CrawlFolder.open(tmp_path / "crawl").table(HOSTDB).read().to_pylist()
    assert [row["next_fetch_at"] for row in rows] == [None]
    assert len(web.requests("127.0.0.1")) == 5


def test_no_answer_makes_a_pause_longer_than_the_longest(bench, web):
    year = str(365 * 86_400)
    web.site("a.test", {"/robots.txt": Answer(404), "*": Answer(503, headers={"Retry-After": year})})
    web.site("b.test", {"/robots.txt": Answer(503, headers={"Retry-After": year})})
    settings = bench.with_settings(backoff_max_s=3600.0)
    bench.fetch("http://a.test/1", "http://b.test/1", settings=settings)
    rows = bench.hosts("traffic")
    assert {row["host"] for row in rows} == {"a.test", "b.test"}
    for row in rows:
        assert 3_000_000 < row["next_fetch_at"] - row["seen_at"] <= 3_600_000 + 1000


def test_a_pause_asked_for_long_ago_is_shortened_too(bench, web):
    web.site("a.test", {"/robots.txt": Answer(404), "/1": Answer(503, headers={"Retry-After": "9999"}), "*": "page"})
    bench.fetch("http://a.test/1", settings=bench.with_settings(backoff_max_s=9999.0))
    report = bench.fetch("http://a.test/2", settings=bench.with_settings(backoff_max_s=0.5))
    assert report.complete


def test_a_crawl_that_no_host_answers_any_more_says_that_it_stopped(tmp_path, web):
    """The hostdb goes back to before the pause, so that the fetchlists are full; the segments still know of it."""
    web.site(
        "nd.test",
        {"/": "<a href=/a>a</a> <a href=/b>b</a>", "/a": Answer(503, b"", (("Retry-After", "3600"),)), "/b": "b"},
    )
    words = ("crawl", tmp_path / "crawl", "http://nd.test/", *to_web(web.port))
    assert "host_backoff: The host asked for a pause or failed too often" in cobnut(*words).stdout
    asked = len(web.requests("nd.test"))
    cobnut("rollback", tmp_path / "crawl", "hostdb")
    told = cobnut(*words).stdout
    assert "stopped, since several rounds in a row brought no answer at all" in told
    assert "nothing more is due" not in told
    assert len(web.requests("nd.test")) == asked
