"""Is what was forgotten gone everywhere, and does cleaning take only what nobody needs?"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest
from crawling import cobnut, command, environment, indexed_urls, to_web

from cobnut.fetcher.tombstone import members, target_uri
from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import read_files
from cobnut.testing.fakeweb import Answer, FakeWeb, moved

HOME = "http://a.test/"
NAMES = ("open", "secret", "folder/one", "folder/two")
LINKS = "".join(f'<a href="/{name}">{name}</a> ' for name in NAMES) + '<a href="http://b.test/">b</a>'
PAGES = {
    "/": f"<title>Home</title>{LINKS}",
    "/open": "<title>Open</title><p>marzipan <a href=/secret>our secret</a> <a href=/folder/one>one</a>",
    "/secret": '<title>Secret</title><p>nougat123456 <a href="/open">words456 of the secret page</a>',
    "/folder/one": "<title>One</title><p>nougat123456 one",
    "/folder/two": "<title>Two</title><p>nougat123456 two",
}
OTHER = {"/": "<title>B</title><p>nougat123456 <a href=/x>x</a>", "/x": "<title>X</title><p>marzipan x"}
ALL = {HOME, *(HOME + name for name in NAMES), "http://b.test/", "http://b.test/x"}
WEB = ("--scope", "web")


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    with FakeWeb().site("a.test", PAGES).site("b.test", OTHER) as running:
        yield running


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forget") / "crawl"
    with FakeWeb().site("a.test", PAGES).site("b.test", OTHER) as web:
        cobnut("crawl", folder, HOME, *WEB, *to_web(web.port))
    assert indexed_urls(folder) == ALL
    return folder


@pytest.fixture
def crawl(first_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(first_run, tmp_path / "crawl"))


def again(crawl: Path, web: FakeWeb, *more: str) -> str:
    return cobnut("crawl", crawl, "--refresh", *to_web(web.port), *more).stdout


def asked(web: FakeWeb) -> set[str]:
    return {f"http://{entry.host}{entry.target}" for entry in web.requests() if entry.target != "/robots.txt"}


def total(crawl: Path, words: str) -> int:
    return int(json.loads(cobnut("search", crawl, words, "--json").stdout)["total"])


def bytes_with(folder: Path, word: bytes) -> list[str]:
    """Files below a folder that hold a word: as they are, unpacked, or in a Parquet column."""
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if path.name.endswith(".warc.gz"):
            data = gzip.decompress(data)
        elif path.suffix == ".parquet":
            import pyarrow.parquet as pq

            data = str(pq.read_table(path).to_pylist()).encode()
        if word in data:
            found.append(str(path.relative_to(folder)))
    return found


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        ((HOME + "secret",), {HOME + "secret"}),
        (("--prefix", HOME + "folder/"), {HOME + "folder/one", HOME + "folder/two"}),
        (("--host", "b.test"), {"http://b.test/", "http://b.test/x"}),
        (("a.test/secret", "--host", "b.test"), {HOME + "secret", "http://b.test/", "http://b.test/x"}),
    ],
    ids=["url", "prefix", "host", "several"],
)
def test_forgotten_pages_leave_and_are_never_asked_for_again(
    web: FakeWeb, crawl: Path, words: tuple[str, ...], gone: set[str]
) -> None:
    done = cobnut("forget", crawl, *words, "--reason", "asked by their owner")
    assert f"documents {len(gone)}" in done.stdout
    assert indexed_urls(crawl) == ALL - gone
    assert all(hit["url"] not in gone for hit in hits(crawl, "nougat123456"))
    again(crawl, web)
    assert asked(web) == ALL - gone
    assert indexed_urls(crawl) == ALL - gone
    for step in ("updatesegs", "index", "dedup", "merge"):
        cobnut(step, crawl)
    assert indexed_urls(crawl) == ALL - gone
    url = sorted(gone)[0]
    why = cobnut("why", crawl, url).stdout
    assert "this crawl was told to forget it" in why
    assert "asked by their owner" in why
    refused = cobnut("inject", crawl, "-", "--verbose", stdin=f"{url}\n", expect=1).stdout
    assert "left out by forgotten" in refused


def hits(crawl: Path, words: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(cobnut("search", crawl, words, "--json").stdout)["hits"]
    return found


def test_list_and_undo(web: FakeWeb, crawl: Path) -> None:
    secret = HOME + "secret"
    assert "nothing is forgotten" in cobnut("forget", crawl, "--list").stdout
    assert "nothing named to forget" in cobnut("forget", crawl, expect=2).stderr
    cobnut("forget", crawl, "--undo", secret, expect=2)
    cobnut("forget", crawl, secret, "--reason", "a \x1b[31mred\x1b[0m reason")
    listed = cobnut("forget", crawl, "--list").stdout
    assert secret in listed
    assert "\x1b" not in listed
    cobnut("forget", crawl, secret, "--undo")
    row = json.loads(cobnut("forget", crawl, "--list", "--json").stdout)
    assert (row["value"], row["holds"]) == (secret, False)
    again(crawl, web)
    assert secret in asked(web)
    assert indexed_urls(crawl) == ALL
    cobnut("forget", crawl, "--undo", secret, expect=2)


def test_there_is_no_way_back_to_an_index_that_shows_it(crawl: Path) -> None:
    cobnut("merge", crawl)
    cobnut("forget", crawl, HOME + "secret")
    cobnut("rollback", crawl, "index", expect=2)
    assert indexed_urls(crawl) == ALL - {HOME + "secret"}


def test_a_redirect_leads_to_nothing_forgotten(web: FakeWeb, crawl: Path) -> None:
    cobnut("forget", crawl, HOME + "secret")
    web.site("a.test", {"/open": moved("/secret")})
    again(crawl, web)
    assert HOME + "secret" not in asked(web)
    assert indexed_urls(crawl) == ALL - {HOME + "secret", HOME + "open"}


def test_what_waits_in_a_fetchlist_is_not_fetched(web: FakeWeb, crawl: Path) -> None:
    cobnut("inject", crawl, "-", "--overwrite", stdin=f"{HOME}secret\n{HOME}open\n")
    cobnut("generate", crawl)
    cobnut("forget", crawl, HOME + "secret")
    cobnut("fetch", crawl, *to_web(web.port))
    assert asked(web) == {HOME + "open"}


def test_a_running_server_stops_showing_it(crawl: Path) -> None:
    server = subprocess.Popen(
        command("serve", crawl, "--port", "0", "--workers", "2"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    try:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1] + "api/search?q=nougat123456"
        assert HOME + "secret" in get(url)
        cobnut("forget", crawl, HOME + "secret")
        time.sleep(2.0)  # what is promised
        for _ in range(6):  # whichever worker answers
            assert HOME + "secret" not in get(url)
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)


def get(url: str) -> str:
    with build_opener(ProxyHandler({})).open(url, timeout=20) as answer:
        return str(answer.read().decode())


def test_clean_purges_every_byte_of_it(web: FakeWeb, crawl: Path) -> None:
    """WARC, parsed text, anchors of its links, all indexes; what else lies there is found where it was."""
    again(crawl, web, "-s", "storage.grace_s=0")
    cobnut("forget", crawl, HOME + "secret")
    assert bytes_with(crawl, b"words456")
    dry = cobnut("clean", crawl, "--dry-run")
    assert "purge" in dry.stdout
    before = {p: p.stat().st_mtime_ns for p in crawl.rglob("*") if p.is_file() and "reports" not in p.parts}
    assert before == {p: p.stat().st_mtime_ns for p in before}
    cobnut("clean", crawl)
    assert bytes_with(crawl, b"words456") == []
    assert indexed_urls(crawl) == ALL - {HOME + "secret"}
    places_hold(crawl)
    assert "purge" not in cobnut("clean", crawl).stdout
    web.reset()
    again(crawl, web)
    assert indexed_urls(crawl) == ALL - {HOME + "secret"}


def places_hold(crawl: Path) -> None:
    """Every row of fetched that names a record finds its own URL there."""
    looked = 0
    for segment in CrawlFolder(crawl).segments():
        rows = read_files(tables.FETCHED, segment.part_files(tables.FETCHED), ["url", "warc_file", "warc_offset"])
        for row in rows.to_pylist():
            if row["warc_file"] is not None:
                with open(segment.warc_path / row["warc_file"], "rb") as file:
                    file.seek(row["warc_offset"])
                    _, _, head = next(members(file))
                assert target_uri(head) == row["url"]
                looked += 1
    assert looked


def test_killed_while_purging(web: FakeWeb, crawl: Path) -> None:
    """Killed at every rename it makes, and run again: nothing is left of it, and nothing else is lost."""
    cobnut("forget", crawl, HOME + "secret")
    for kill_at in range(1, 12):
        victim = Path(shutil.copytree(crawl, crawl.with_name(f"killed{kill_at}")))
        done = subprocess.run(
            [command()[0], "-c", KILLED_CLEAN, str(victim), str(kill_at)],
            env=environment(),
            capture_output=True,
            text=True,
        )
        cobnut("clean", victim)
        cobnut("merge", victim)
        assert bytes_with(victim / "segments", b"words456") == [], kill_at
        assert indexed_urls(victim) == ALL - {HOME + "secret"}, kill_at
        places_hold(victim)
        shutil.rmtree(victim)
        if done.returncode == 0:
            break
    assert kill_at > 5


KILLED_CLEAN = """
import os, signal, sys
from pathlib import Path
from cobnut.config.load import load_settings
from cobnut.crawl.cleaning import Policy, clean
from cobnut.storage.layout import CrawlFolder
renames = 0
def watch(event, arguments):
    global renames
    if event == "os.rename" and "segments" in str(arguments[1]):
        renames += 1
        if renames == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
path = Path(sys.argv[1])
clean(CrawlFolder.open(path), load_settings(path, environ={}).settings, Policy())
"""


def test_clean_takes_superseded_segments_only(web: FakeWeb, crawl: Path) -> None:
    first = [s.name for s in CrawlFolder(crawl).segments()]
    refused = cobnut("clean", crawl, first[0], expect=2).stderr
    assert "still needed" in refused
    assert HOME in refused
    web.site("a.test", {"/open": Answer(304)})  # unasked: not believed; the page stays with its old version
    again(crawl, web)
    done = cobnut("clean", crawl, "--dry-run")
    left = {s.name for s in CrawlFolder(crawl).segments()}
    assert set(first) < left
    cobnut("clean", crawl)
    after = {s.name for s in CrawlFolder(crawl).segments()}
    holds_open = {name for name in first if name in after}
    assert len(holds_open) == 1, "the one with the page that was not fetched again"
    assert len(after) < len(left), done.stdout
    assert indexed_urls(crawl) == ALL
    for step in ("rank", "updatesegs", "index", "dedup", "merge"):
        cobnut(step, crawl)
    assert indexed_urls(crawl) == ALL
    assert total(crawl, "marzipan") == 2


def test_clean_removes_leavings_and_old_generations(web: FakeWeb, crawl: Path) -> None:
    for _ in range(3):
        again(crawl, web)
    ended = subprocess.Popen([command()[0], "-c", ""])
    ended.wait()
    leavings = [crawl / f".tmp-engine-{ended.pid}-abcdef01", crawl / "segments" / f".tmp-segment-{ended.pid}-abcdef01"]
    living = crawl / f".tmp-x-{os.getpid()}-abcdef01"
    for folder in (*leavings, living):
        folder.mkdir()
    assert len(list((crawl / "crawldb").glob("g*"))) > 2
    reports = len(list((crawl / "reports").glob("*.json")))
    cobnut("clean", crawl, "--reports-older-than", "0")
    assert not any(folder.exists() for folder in leavings)
    assert living.exists()
    assert len(list((crawl / "crawldb").glob("g*"))) == 2
    assert len(list((crawl / "reports").glob("*.json"))) < reports
    cobnut("rollback", crawl, "crawldb")
    assert indexed_urls(crawl) == ALL


def test_clean_waits_for_readers(crawl: Path) -> None:
    """A generation that is being read stays, and is named."""
    store = CrawlFolder(crawl).index_generations()
    with store.current() or pytest.fail("no index") as held:
        for name in ("/open", "/secret"):
            cobnut("forget", crawl, HOME[:-1] + name)
        done = cobnut("clean", crawl)
        assert held.path.exists()
        assert "being read" in done.stderr
    cobnut("clean", crawl)
    assert not held.path.exists()


def test_what_was_purged_comes_back_in_full(tmp_path: Path) -> None:
    """The server would answer "not modified" to the validators that are still known."""
    crawl, secret = tmp_path / "crawl", HOME + "secret"
    with FakeWeb().site("a.test", PAGES | {"/secret": Answer(body="<title>S</title>nougat", etag='"s"')}) as web:
        cobnut("crawl", crawl, HOME, *to_web(web.port))
        cobnut("forget", crawl, secret)
        cobnut("clean", crawl)
        cobnut("forget", crawl, secret, "--undo")
        again(crawl, web)
        assert secret in indexed_urls(crawl)
        web.reset()
        again(crawl, web)
        assert [entry.status for entry in web.requests() if entry.target == "/secret"] == [304]
        assert secret in indexed_urls(crawl)


def test_forgetting_once_more_keeps_the_reason(crawl: Path) -> None:
    def entry() -> dict[str, object]:
        found: dict[str, object] = json.loads(cobnut("forget", crawl, "--list", "--json").stdout)
        return found

    cobnut("forget", crawl, HOME + "secret", "--reason", "first")
    before = entry()
    assert "nothing is known" not in cobnut("forget", crawl, HOME + "secret").stderr
    assert entry() == before
    cobnut("forget", crawl, HOME + "secret", "--reason", "second")
    assert entry()["reason"] == "second"


def test_what_is_mistyped_is_told(crawl: Path) -> None:
    assert "beginning of a URL" in cobnut("forget", crawl, "--prefix", "http", expect=2).stderr
    done = cobnut("forget", crawl, "--host", "aa.test", "--prefix", HOME + "folder/", HOME + "sekret").stderr
    assert "nothing is known of host aa.test" in done
    assert f"nothing is known of url {HOME}sekret" in done
    assert "folder" not in done
