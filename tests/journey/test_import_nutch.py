"""Is a crawl of Nutch's searched, explained and crawled further by the ordinary commands?"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from crawling import AGENT, cobnut, indexed_urls
from nutch_imports import NEW, OLD
from nutch_site import HOME, NutchSite

from cobnut.cli.options import opened
from cobnut.crawl import steps
from cobnut.records import catalogue as tables
from cobnut.storage.tables import read_files
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import key

STEPS = ("invertlinks", "rank", "updatesegs", "index", "dedup", "merge")
QUICK = tuple(
    word
    for setting in ("backoff_s=1", "backoff_max_s=1", "max_delay_s=0.1", "failures_per_host=99")
    for word in ("-s", f"fetcher.{setting}")
)
"""A server that is slow and fails on purpose is not waited for."""
JANUARY_2027_MS = 1_799_000_000_000


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The crawl of 1.23, imported, and made searchable step by step."""
    crawl = tmp_path_factory.mktemp("journey") / "crawl"
    cobnut("create", crawl)
    done = cobnut(
        "import", "nutch", crawl, NEW / "crawldb-09-recrawl", NEW / "linkdb", NEW / "hostdb", NEW / "segments"
    )
    assert "cobnut parse" in done.stderr
    assert "127.0.0.1" in done.stderr  # no seeds for private addresses
    cobnut("parse", crawl)
    for step in STEPS:
        cobnut(step, crawl)
    return crawl


def found(crawl: Path, query: str) -> list[str]:
    answer = json.loads(cobnut("search", crawl, query, "--json").stdout)
    return [hit["url"] for hit in answer["hits"]]


def test_what_nutch_crawled_is_found(new: Path) -> None:
    assert found(new, "纳奇") == [f"{HOME}/zh.html"]
    assert found(new, "compressed body") == [f"{HOME}/gz.html"]  # parsed here: Nutch could not
    assert f"{HOME}/latin1.html" in found(new, "façade")
    assert f"{HOME}/b.html" in found(new, "second page")  # by its anchor
    urls = indexed_urls(new)
    assert len(urls) == 16
    assert not urls & {f"{HOME}/noindex.html", f"{HOME}/gone.html", f"{HOME}/moved", f"{HOME}/missing.html"}


def test_why_tells_where_a_page_comes_from(new: Path) -> None:
    told = cobnut("why", new, f"{HOME}/zh.html").stdout
    assert "It is in the index" in told
    assert "20261130130216" in told or "segment" in told
    assert "http_410" in cobnut("why", new, f"{HOME}/gone.html").stdout


def test_what_is_due_later_is_generated(new: Path) -> None:
    crawl = opened(new, ("crawl.scope=web",))
    at = JANUARY_2027_MS
    segment, report = steps.generate(crawl.crawl, crawl.settings, clock=VirtualClock(at))
    assert segment is not None
    rows = {r["url_key"]: r for r in crawl.crawl.table(tables.CRAWLDB).read().to_pylist()}
    listed = set(read_files(tables.FETCHLIST, segment.part_files(tables.FETCHLIST)).column("url_key").to_pylist())
    assert listed == {k for k, row in rows.items() if row["due_at"] <= at}
    assert key(f"{HOME}/zh.html") in listed
    assert key(f"{HOME}/gone.html") not in listed
    assert report.counts["selected"] == 23
    shutil.rmtree(segment.path)


def test_the_crawl_of_0_7_goes_on(tmp_path: Path) -> None:
    """Imported, then crawled further where the pages still are: what is known is not lost, what is due is fetched.

    The crawl is made by the import; a wrong path makes none.
    """
    crawl = tmp_path / "crawl"
    cobnut("import", "nutch", crawl, tmp_path / "nothing", expect=2)
    assert not crawl.exists()
    cobnut("import", "nutch", crawl, OLD / "webdb-2-round3", OLD / "segments")
    with NutchSite() as site:
        # private addresses are fetched from only when the user names them
        done = cobnut("crawl", crawl, f"{HOME}/", "--refresh", *QUICK, *site.options, *AGENT)
    assert "fetched" in done.stdout
    assert found(crawl, "纳奇") == [f"{HOME}/zh.html"]
    rows = {r["url_key"]: r for r in opened(crawl, ()).crawl.table(tables.CRAWLDB).read().to_pylist()}
    assert rows[key(f"{HOME}/zh.html")]["status"] == "not_modified"  # the same bytes as Nutch had
    assert rows[key(f"{HOME}/gone.html")]["status"] == "gone"
    assert len(rows) >= 25


def test_what_cannot_be_read_makes_the_exit_code_3(tmp_path: Path) -> None:
    """All else is there, what was left out is told, and --json has it too."""
    crawl, files = tmp_path / "crawl", tmp_path / "nutch"
    shutil.copytree(NEW / "crawldb-09-recrawl", files / "crawldb" / "current")
    data = files / "crawldb" / "current" / "part-r-00000" / "data"
    data.write_bytes(data.read_bytes()[:3000])
    (files / "crawldb" / "current" / "part-r-00000" / ".data.crc").unlink(missing_ok=True)
    cobnut("create", crawl)
    done = cobnut("import", "nutch", crawl, files, expect=3)
    assert f"{data}, byte " in done.stderr
    assert "unreadable 1" in done.stdout
    report = json.loads(cobnut("import", "nutch", crawl, files, "--json", expect=3).stdout)
    assert report["details"]["damage"] == 1
    assert report["counts"]["crawldb"] == report["counts"]["kept"] > 5
    assert "nothing" not in cobnut("why", crawl, f"{HOME}/").stdout
    assert "Usage" in cobnut("import", "nutch", "--help").stdout
    assert "no files of Nutch" in cobnut("import", "nutch", crawl, tmp_path, tmp_path / "crawl", expect=2).stderr
