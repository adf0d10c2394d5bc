"""Does `why --host` tell how a host stands and how it will be treated?"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from crawling import cobnut
from small_crawl import DAY_MS, GONE, HOME, NOW, PAGE, SEGMENT, arrow, row, small_crawl, write

from cobnut.config.load import load_settings
from cobnut.inspect.host import HostEvidence, gather_host, plain_host, politeness
from cobnut.inspect.why_host import host_story, host_verdict
from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.parts import write_part
from cobnut.urls.hosts import bucket_of


def gathered(crawl: CrawlFolder, host: str, now: int = NOW, **overrides: str) -> HostEvidence:
    words = [f"{name.replace('__', '.')}={value}" for name, value in overrides.items()]
    settings = load_settings(crawl.path, environ={}, overrides=words).settings
    return gather_host(crawl, settings, host, lambda url: None, now)


def told(evidence: HostEvidence) -> str:
    text = "\n".join(host_story(evidence))
    assert "\x1b" not in text
    msgspec.json.encode(plain_host(evidence))
    return text


def hostdb(crawl: CrawlFolder, **values: Any) -> None:
    write(
        crawl, tables.HOSTDB, [row(tables.HOSTDB, host="a.test", bucket=bucket_of("a.test"), updated_at=NOW, **values)]
    )


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlFolder:
    return small_crawl(tmp_path / "c")


def test_a_host_that_is_well(crawl: CrawlFolder) -> None:
    hostdb(crawl, request_count=7, error_count=1, body_bytes=1_234, elapsed_ms=700)
    evidence = gathered(crawl, "a.test")
    assert evidence.by_status == {"fetched": 2, "gone": 1}
    assert (evidence.pages, evidence.due_now, evidence.next_due_at) == (3, 1, NOW + DAY_MS)
    assert evidence.by_reason == {"http_404": 1}
    assert evidence.by_http_status == {"200": 2, "404": 1}
    assert evidence.seeds == [HOME]
    text = told(evidence)
    assert host_verdict(evidence) == "It is well; 1 of its 3 pages are due now."
    assert "7, 1 of them failed; 1,234 bytes of bodies, 100 ms an answer" in text
    assert "http://a.test has rules; read 2026-05-2" in text
    assert "1 http_404: The server answered 404 (Not Found)" in text
    assert "1 s between two requests (by default" in text


def test_only_its_own_rows_count(crawl: CrawlFolder) -> None:
    evidence = gathered(crawl, "b.test")
    assert (evidence.pages, evidence.by_status, evidence.row, evidence.seeds) == (1, {"fetched": 1}, None, [])
    assert host_verdict(evidence).startswith("It was never asked; none of its 1 pages is due before 2026-05-2")


def test_a_host_that_fails_rests(crawl: CrawlFolder) -> None:
    until = NOW + 3_600_000
    hostdb(
        crawl,
        failures=6,
        backoff_s=3600,
        last_error="dns_failed",
        next_fetch_at=until,
        dns_error_count=6,
        error_count=6,
    )
    evidence = gathered(crawl, "a.test")
    assert evidence.politeness.rests_until == until
    assert "6 failures in a row (dns_failed: The name does not exist or has no address)" in host_verdict(evidence)
    assert "back-off 1h" in told(evidence)
    later = gathered(crawl, "a.test", now=until + 1)
    assert later.politeness.rests_until is None
    assert host_verdict(later).startswith("It may be asked, after 6 failures")
    # a time that makes no sense is bounded as the fetcher bounds it
    hostdb(crawl, next_fetch_at=2**62)
    assert gathered(crawl, "a.test").politeness.rests_until == NOW + 86_400_000


@pytest.mark.parametrize(
    ("delay_ms", "overrides", "want"),
    [
        (None, {}, (1.0, "default")), (2_500, {}, (2.5, "crawl-delay")), (90_000, {}, (30.0, "crawl-delay")),
        (None, {"fetcher__delay_s": "0.25"}, (0.25, "setting")),
        (0, {"fetcher__min_delay_s": "0.5"}, (0.5, "crawl-delay")),
    ],
)  # fmt: skip
def test_the_pace_that_will_apply(
    crawl: CrawlFolder, delay_ms: int | None, overrides: dict[str, str], want: tuple[float, str]
) -> None:
    hostdb(crawl, crawl_delay_ms=delay_ms)
    polite = gathered(crawl, "a.test", **overrides).politeness
    assert (polite.delay_s, polite.delay_from) == want


def test_the_pace_is_the_fetchers(crawl: CrawlFolder) -> None:
    """The same rule as `fetcher.pace`, asked directly."""
    from cobnut.fetcher.pace import Pace
    from cobnut.fetcher.politeness import HostQueues
    from cobnut.fetcher.task import HostFacts

    for delay_s, own in itertools.product((-1.0, 0.0, 4.0), ("", "a.test 0s", "a.test 3s")):
        for crawl_delay in (None, 0, 1_500, 99_000):
            words = [f"fetcher.delay_s={delay_s}", f"fetcher.host_delays={own}"]
            settings = load_settings(crawl.path, environ={}, overrides=words).settings
            pace = Pace(settings.fetcher, HostQueues(), False, lambda: 0.0, lambda *_: None)
            facts = HostFacts(0, None)  # type: ignore[arg-type]
            facts.crawl_delay_ms = crawl_delay
            known = row(tables.HOSTDB, host="a.test", crawl_delay_ms=crawl_delay)
            assert politeness(settings, "a.test", known, NOW).delay_s == pace._delay_s("a.test", facts)


def test_waiting_rounds_redirects_and_failures(crawl: CrawlFolder) -> None:
    p, c, b = tables.PAGES, tables.CRAWLDB, bucket_of("a.test")
    urls = [f"http://a.test/{n}" for n in range(40)]
    write(
        crawl, p,
        [row(p, u, discovered_at=1, http_status=503, checked_at=NOW + n) for n, u in enumerate(urls)]
        + [row(p, GONE, discovered_at=1, http_status=301, checked_at=NOW, redirect_key="test,z)http/")],
    )  # fmt: skip
    write(crawl, c, [row(c, u, status="unfetched", reason="http_503", due_at=NOW + n) for n, u in enumerate(urls)])
    segment = crawl.segment(SEGMENT)
    traffic = [
        row(
            tables.HOSTS, host="a.test", bucket=b, seen_at=NOW + n, event="traffic", request_count=4, error_count=n,
            reason="http_503", body_bytes=5,
        )
        for n in range(2)
    ]  # fmt: skip
    write_part(segment.folder(tables.HOSTS), tables.HOSTS, "part-00000", [arrow(tables.HOSTS, traffic)])
    evidence = gathered(crawl, "a.test")
    assert evidence.waiting == {SEGMENT: 3}, "the crawldb of this test has applied nothing"
    assert (evidence.redirects, evidence.redirects_to) == (1, {"z.test": 1})
    assert [e["url"] for e in evidence.last_errors] == urls[:-11:-1]
    assert evidence.rounds[0]["request_count"] == 8
    text = told(evidence)
    assert "8 requests, 1 failed, 10 bytes" in text
    assert "Redirects     1 pages, to z.test 1" in text


def test_the_command(crawl: CrawlFolder) -> None:
    said = cobnut("why", crawl.path, "--host", "HTTP://A.test:80/x").stdout
    assert said.splitlines()[0] == "a.test"
    found = json.loads(cobnut("why", crawl.path, "--host", "a.test", "--json").stdout)
    assert found["known"] is True
    assert found["by_status"] == {"fetched": 2, "gone": 1}
    assert found["robots"][0]["body"].startswith("User-agent")
    assert "Nothing is known of it" in cobnut("why", crawl.path, "--host", "nowhere.test", expect=1).stdout
    for words in ([], [PAGE, "--host", "a.test"], ["--host", "a b"], ["--host", ""], ["--host", "http://"]):
        assert cobnut("why", crawl.path, *words, expect=2).stderr.count("\n") == 1


def test_a_damaged_table_is_named(crawl: CrawlFolder) -> None:
    file = next((crawl.path / "hostdb").glob("g*/part-*.parquet"))
    file.write_bytes(file.read_bytes()[:50])
    assert "hostdb is damaged" in cobnut("why", crawl.path, "--host", "a.test", expect=3).stderr
