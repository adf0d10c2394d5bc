"""Does a list of URLs become a segment that goes the way of any other?"""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from crawling import cobnut, command, environment, indexed_urls, to_web

from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder
from cobnut.testing.fakeweb import FakeWeb, moved


@pytest.fixture
def web() -> Any:
    web = FakeWeb()
    web.site(
        "a.test", {"/": "<title>A</title><a href=/x>x</a>", "/x": "<p>x", "/y": "<p>y <a href=/z>z</a>", "/z": "z"}
    )
    web.site("b.test", {"/p": "<title>B</title>far away <a href=/q>q</a>", "/q": "q", "/go": moved("http://c.test/")})
    web.site("c.test", {"/": "<p>c"})
    with web:
        yield web


def rows(crawl: Path, table: str = "crawldb") -> dict[str, dict[str, Any]]:
    return {r["url"]: r for r in map(json.loads, cobnut("dump", crawl, table).stdout.splitlines())}


def fetchlist(crawl: Path, segment: str) -> list[dict[str, Any]]:
    lines = cobnut("dump", crawl, "fetchlist", "--segment", segment).stdout.splitlines()
    return [json.loads(line) for line in lines]


def made(text: str) -> str:
    return text.strip().splitlines()[-1].removeprefix("segment ")


def test_pages_of_a_list_enter_the_crawldb_and_the_index(web: FakeWeb, tmp_path: Path) -> None:
    crawl, options = tmp_path / "crawl", to_web(web.port)
    cobnut("crawl", crawl, "http://a.test/", *options)
    assert indexed_urls(crawl) == {"http://a.test/", "http://a.test/x"}
    before = rows(crawl)
    said = cobnut("freegen", crawl, "http://a.test/", "http://a.test/y", "http://b.test/p", "http://b.test/go").stdout
    assert "selected 4, hosts 2" in said
    listed = {r["url"]: r for r in fetchlist(crawl, made(said))}
    assert listed["http://a.test/"]["fetched_before"]
    assert listed["http://a.test/"]["score"] == before["http://a.test/"]["score"]
    assert (listed["http://a.test/"]["depth"], listed["http://b.test/p"]["depth"]) == (0, 1)
    for step in ("fetch", "parse", "updatedb"):
        cobnut(step, crawl, *(options if step == "fetch" else ()))
    after = rows(crawl)
    assert {url for url, r in after.items() if r["status"] in ("fetched", "not_modified")} == {
        "http://a.test/", "http://a.test/x", "http://a.test/y", "http://b.test/p",
    }  # fmt: skip
    assert after["http://a.test/z"]["status"] == "unfetched", "a link of a listed page, within the scope"
    assert not {"http://b.test/q", "http://c.test/"} & set(after), "the scope is what it was, for redirects too"
    assert after["http://a.test/"]["fetched_at"] > before["http://a.test/"]["fetched_at"], "not due, and fetched"
    assert after["http://a.test/x"]["score"] == before["http://a.test/x"]["score"], "links pass on their score once"
    for step in ("invertlinks", "rank", "updatesegs", "index", "dedup", "merge"):
        cobnut(step, crawl)
    assert {"http://a.test/y", "http://b.test/p"} <= indexed_urls(crawl)
    generated = cobnut("generate", crawl, "-s", "db.interval_s=1").stdout
    assert "selected 1" in generated, "z alone is due"


def test_a_list_in_files_on_stdin_with_all_that_may_stand_in_it(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    cobnut("create", crawl)
    cobnut("inject", crawl, "-", stdin="http://a.test/\n")
    cobnut("forget", crawl, "--host", "gone.test")
    packed = tmp_path / "more.gz"
    packed.write_bytes(
        gzip.compress(b"http://b.test/1\nhttp://B.test:80/1#frag\n# no\n\nhttp://b.test/2\tnutch.score=9\n")
    )
    listed = "\n".join(
        ["http://a.test/", "ftp://a.test/", "mailto:x@a.test", "http://", "http://gone.test/x", "x" * 70_000,
         "http://b.test/" + "y" * 20_000, "http://c.test/\0\x1b[31m", "http://10.0.0.1/", "javascript:alert(1)",
         "http://b.test/1/1/1/1/1", "http://[::1", "\ufffd\ufffd", "http://c.test/x\ttopic=nuts\tbroken"]
    )  # fmt: skip
    done = cobnut("freegen", crawl, packed, "-", "--json", stdin=listed)
    report = json.loads(done.stdout)
    # the control characters are escaped, as a browser does
    urls = {r["url"]: r for r in fetchlist(crawl, report["segments"][0])}
    assert set(urls) == {
        "http://a.test/", "http://b.test/1", "http://b.test/2", "http://c.test/%00%1B[31m", "http://10.0.0.1/",
        "http://c.test/x",
    }  # fmt: skip
    assert report["left_out"]["duplicate"] == 1
    assert report["left_out"]["forgotten"] == 1
    assert report["left_out"]["repeat"] == 1
    assert report["left_out"]["length"] >= 1
    assert report["counts"]["lines"] == len(urls) + sum(report["left_out"].values())
    assert urls["http://b.test/2"]["score"] == 9_000_000
    assert urls["http://c.test/x"]["metadata"] == {"topic": "nuts"}
    again = cobnut("freegen", crawl, packed, expect=1)
    assert "in_segment 2" in again.stdout
    assert "no URL is left" in again.stdout
    assert "in_segment 1" in cobnut("generate", crawl, expect=None).stdout, "nor does generate take them again"


def test_filters_limits_and_parts(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    cobnut("create", crawl)
    cobnut("inject", crawl, "-", stdin="http://a.test/\n")
    cobnut("forget", crawl, "http://b.test/never")
    hosts = [f"http://{h}.test/{n}" for h in "abcd" for n in range(5)]
    text = "\n".join([*hosts, "http://a.test/pic.exe", "http://b.test/never", "http://a.test/i/i/i/i"])
    said = json.loads(cobnut("freegen", crawl, "-", "--filter", "--json", stdin=text).stdout)
    assert said["counts"]["selected"] == 5
    assert said["left_out"]["scope"] == 15
    said = json.loads(cobnut("freegen", crawl, "-", "--no-filter", "--max-per-host", "2", "--json", stdin=text).stdout)
    assert said["left_out"] == {"in_segment": 5, "max_per_host": 9, "forgotten": 1}
    said = json.loads(
        cobnut(
            "freegen",
            crawl,
            "-",
            "--num-fetchers",
            "3",
            "--json",
            stdin="\n".join(f"http://h{n}.test/" for n in range(9)),
        ).stdout
    )
    parts: dict[str, int] = {r["host"]: r["part"] for r in fetchlist(crawl, said["segments"][0])}
    assert sorted(parts.values()) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["/no/such/file"], 2, "no such seed file"),
        ([], 2, "missing argument"),
        (["http://a.test/", "--max-per-host", "-3"], 2, "max-per-host"),
        (["nonsense://x"], 1, ""),
    ],
)
def test_what_cannot_be_is_said(tmp_path: Path, words: list[str], code: int, says: str) -> None:
    crawl = tmp_path / "crawl"
    cobnut("create", crawl)
    done = cobnut("freegen", crawl, *words, expect=code)
    assert says in done.stderr
    assert not list((crawl / "segments").iterdir())
    (tmp_path / "empty").mkdir()
    assert "not a crawl" in cobnut("freegen", tmp_path / "empty", "http://a.test/", expect=2).stderr
    binary = tmp_path / "b"
    binary.write_bytes(b"\0\1\2")
    assert "no text" in cobnut("freegen", crawl, binary, expect=2).stderr


def test_killed_in_between_there_is_a_whole_segment_or_none(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    cobnut("create", crawl)
    many = tmp_path / "urls"
    many.write_text("".join(f"http://h{n % 50}.test/{n}\n" for n in range(60_000)))
    running = subprocess.Popen(command("freegen", crawl, many), env=environment(), stdout=subprocess.DEVNULL)
    for _ in range(3_000):
        if list((crawl / "segments").glob(".*")):
            break
        time.sleep(0.005)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    for segment in CrawlFolder.open(crawl).segments():
        (crawl / "segments" / segment.name).rename(tmp_path / segment.name)  # it was faster
    said = cobnut("freegen", crawl, many)
    assert "selected 60,000, hosts 50" in said.stdout
    (segment,) = CrawlFolder.open(crawl).segments()
    assert sum(pq.read_metadata(path).num_rows for path in segment.part_files(tables.FETCHLIST)) == 60_000
