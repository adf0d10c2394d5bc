from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from small_crawl import COPY, GONE, HOME, LEFT, NOW, PAGE, SEGMENT, key, row, small_crawl, write

from cobnut.config.load import load_settings
from cobnut.inspect.evidence import Evidence, gather, plain_evidence
from cobnut.inspect.webdb import forms_of
from cobnut.inspect.why import story, verdict
from cobnut.records import catalogue as tables
from cobnut.storage.files import remove_tree
from cobnut.storage.layout import CrawlFolder
from cobnut.urls.filters import Scope, compile_filter

Ask = Callable[[str], Evidence]


def asker(crawl: CrawlFolder, now_ms: int = NOW) -> Ask:
    settings = load_settings(crawl.path, environ={}).settings
    refuses = compile_filter(settings.urls, Scope("host", (HOME, COPY)))
    return lambda url: gather(crawl, settings, url, forms_of(url, settings), refuses, now_ms)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    return asker(small_crawl(tmp_path_factory.mktemp("crawl") / "c"))


def told(evidence: Evidence) -> str:
    text = "\n".join(story(evidence))
    assert "\x1b" not in text
    msgspec.json.encode(plain_evidence(evidence))
    return text


def test_a_seed_that_was_fetched(ask: Ask) -> None:
    evidence = ask("HTTP://a.test:80")
    text = told(evidence)
    assert evidence.is_known
    assert "Normalised    http://a.test/" in text
    assert "Seed          injected 2026-05-2" in text
    assert "topic=nuts" in text
    assert "scored by opic (links)" in text
    assert evidence.scored_by == [{"rule": "opic", "places": ["links"]}]
    assert f"segment {SEGMENT}: success, HTTP 200, 1,234 bytes in 12 ms, from 127.0.0.1" in text
    assert "robots.txt    allows it" in text
    assert "no index: `cobnut index` and `cobnut merge` make it" in verdict(evidence)


def test_a_page_with_noindex(ask: Ask) -> None:
    evidence = ask(PAGE)
    text = told(evidence)
    assert verdict(evidence) == "It is not in the index: the page forbids indexing (noindex)."
    assert "through a link on http://a.test/, “the page”" in text
    assert "from 2 pages on 2 hosts" in text
    assert "“a \\x1b[31mred\\x1b[0m page”, nofollow" in text
    assert "page 2, host 1.25" in text
    assert "Stands for    1 version of other URLs" in text


def test_a_copy(ask: Ask) -> None:
    assert verdict(ask(COPY)) == "It is not in the index: http://a.test/page is shown instead (exact, by score)."


def test_a_page_that_is_gone(ask: Ask) -> None:
    evidence = ask(GONE)
    assert verdict(evidence) == (
        "It is not in the index: its state is gone (http_404: The server answered 404 (Not Found))."
    )
    assert "1 failed tries since" in told(evidence)


def test_robots_forbids(ask: Ask) -> None:
    evidence = ask("http://a.test/private/x")
    assert evidence.robots_allows is False
    assert "robots.txt    forbids it by the line “Disallow: /private”" in told(evidence)


def test_a_link_that_a_filter_kept_out(ask: Ask) -> None:
    evidence = ask(LEFT)
    text = told(evidence)
    assert evidence.is_known
    assert verdict(evidence) == "It is not in the index: the filter `scope` keeps it out of the crawl."
    assert "http://a.test/, “elsewhere”" in text


def test_a_url_that_nobody_knows(ask: Ask) -> None:
    assert not ask("http://z.test/").is_known
    assert "the filter `scope` would keep it out" in verdict(ask("http://z.test/"))
    assert verdict(ask("http://a.test/new")).startswith("Nothing is known of it: no seed")
    told(ask("http://a.test/new"))
    told(ask("http://a.test/" + "x" * 9_000))


def test_the_story_is_told_without_segments(tmp_path: Path) -> None:
    crawl = small_crawl(tmp_path / "c")
    remove_tree(crawl.segments_path / SEGMENT)
    evidence = asker(crawl)(PAGE)
    text = told(evidence)
    assert evidence.is_known
    assert "no segment is on disk" in text
    assert "from 2 pages on 2 hosts" in text
    assert "Crawldb       fetched" in text


@pytest.mark.parametrize(
    ("status", "reason", "part"),
    [
        ("unfetched", None, "it was not fetched yet; it is due since"),
        ("unfetched", "timeout", "fetching it failed (timeout: The answer took too long, or came too slowly)"),
        ("redirect_perm", None, "it redirects to http://a.test/page, which is not in the index either (not in the"),
        (
            "redirect_temp",
            "redirect_filtered:scope",
            "it redirects, and that was not followed (redirect_filtered:scope: A",
        ),
        ("parse_failed", "parse_timeout", "its state is parse_failed (parse_timeout: Parsing took longer"),
    ],
)
def test_each_state_has_its_sentence(tmp_path: Path, status: str, reason: str | None, part: str) -> None:
    crawl = small_crawl(tmp_path / "c")
    remove_tree(crawl.segments_path / SEGMENT)
    url = "http://a.test/other"
    write(crawl, tables.CRAWLDB, [row(tables.CRAWLDB, url, status=status, reason=reason, interval_s=60)])
    target = key(PAGE) if status == "redirect_perm" else None
    write(crawl, tables.PAGES, [row(tables.PAGES, url, redirect_key=target)])
    evidence = asker(crawl)(url)
    assert part in verdict(evidence)
    told(evidence)
    if target is not None:
        assert "Redirected    from http://a.test/other" in told(asker(crawl)(PAGE))


def test_a_crawl_without_any_table(tmp_path: Path) -> None:
    crawl = CrawlFolder.create(tmp_path / "c", "")
    assert not asker(crawl)(HOME).is_known
    told(asker(crawl)(HOME))
