"""Does what goes out as WARC come in again as the same pages, and does what other programs wrote?"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import signal
import subprocess
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from crawling import cobnut, command, environment, indexed_documents, indexed_urls, to_web
from warc_bytes import PAGE, http, info, members, warc

from cobnut.storage.layout import CrawlFolder
from cobnut.testing.fakeweb import FakeWeb, SynthWeb

STEPS = ("parse", "updatedb", "invertlinks", "rank", "updatesegs", "index", "dedup", "merge")
SAME = ("score", "page_rank", "host_rank")
"""What depends on the order in which pages were found differs."""


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of a small web with redirects and errors."""
    folder = tmp_path_factory.mktemp("warc") / "first"
    pages = {"/": "<title>Home</title><p>start <a href=/a>a</a> <a href=/b>b</a> <a href=/no>no</a>", "/a": "<p>one"}
    with FakeWeb(synth=SynthWeb(hosts=2, pages=40, quirks=0, delay=0)) as web:
        web.site("site.test", {**pages, "/b": "<title>B</title><p>two <a href=http://s0.synth.test/>out</a>"})
        cobnut("crawl", folder, "http://site.test/", "--scope", "web", *to_web(web.port))
    return folder


def searchable(crawl: Path) -> None:
    for step in STEPS:
        cobnut(step, crawl)


def test_out_and_in_again_the_same_is_searched(crawled: Path, tmp_path: Path) -> None:
    out, second = tmp_path / "out", tmp_path / "second"
    done = json.loads(cobnut("export", "warc", crawled, out, "--json").stdout)
    assert done["records"] > 40
    cobnut("import", "warc", second, out)
    searchable(second)
    mine, theirs = indexed_documents(crawled, SAME), indexed_documents(second, SAME)
    assert len(mine) > 30
    assert mine.keys() == theirs.keys()
    for url, document in mine.items():
        assert document == theirs[url], url
    again = cobnut("import", "warc", second, out)
    assert "nothing new" in again.stdout
    assert len(CrawlFolder(second).segments()) == 1


def test_export_is_valid_for_another_reader(crawled: Path, tmp_path: Path) -> None:
    """Digests are right, one record a member, files are ended at the size asked for."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    out = tmp_path / "out"
    done = json.loads(cobnut("export", "warc", crawled, out, "--prefix", "my", "--json").stdout)
    assert done["files"] == ["my-00000.warc.gz"]
    urls, kinds = [], []
    for record in ArchiveIterator(open(out / "my-00000.warc.gz", "rb"), parse_http=False):  # noqa: SIM115
        kinds.append(record.record_type)
        if record.record_type == WarcRecordType.response:
            urls.append(record.headers["WARC-Target-URI"])
            block = record.reader.read()
            body = block.partition(b"\r\n\r\n")[2]
            digest = "sha1:" + base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()
            assert record.headers["WARC-Payload-Digest"] == digest
            assert len(block) == int(record.headers["Content-Length"])
    assert kinds[0] == WarcRecordType.warcinfo
    assert len(urls) == len(set(urls)) == done["records"]
    cobnut("export", "warc", crawled, out, "--prefix", "my", expect=2)
    cobnut("export", "warc", crawled, crawled / "segments", expect=2)
    cobnut("export", "warc", crawled, out / "my-00000.warc.gz", expect=2)
    assert sorted(p.name for p in out.iterdir()) == ["my-00000.warc.gz"]


def test_index_of_a_crawl_leads_into_its_files(crawled: Path, tmp_path: Path) -> None:
    from fastwarc.warc import ArchiveIterator

    target = tmp_path / "index.cdxj"
    cobnut("cdx", crawled, "--output", target)
    lines = target.read_bytes().splitlines()
    assert lines == sorted(lines)
    for line in lines:
        entry = json.loads(line.split(b" ", 2)[2])
        with open(crawled / entry["filename"], "rb") as file:
            file.seek(int(entry["offset"]))
            assert next(iter(ArchiveIterator(file))).headers["WARC-Target-URI"] == entry["url"]
    assert cobnut("cdx", crawled).stdout.encode().splitlines() == lines
    assert cobnut("cdx", crawled, crawled).stdout.encode().splitlines() == lines
    assert "no such folder" in cobnut("cdx", crawled, "--output", tmp_path / "no" / "index.cdxj", expect=2).stderr


def test_what_is_forgotten_does_not_go_out_nor_come_in(crawled: Path, tmp_path: Path) -> None:
    copy, out, second = tmp_path / "copy", tmp_path / "out", tmp_path / "second"
    shutil.copytree(crawled, copy)
    whole = tmp_path / "whole"
    cobnut("export", "warc", copy, whole)
    cobnut("forget", copy, "--host", "site.test")
    cobnut("export", "warc", copy, out)
    assert "site.test" not in cobnut("cdx", out).stdout
    assert "site.test" not in cobnut("cdx", copy).stdout
    cobnut("create", second)
    cobnut("forget", second, "--host", "site.test")
    assert "forgotten" in cobnut("import", "warc", second, whole).stdout
    searchable(second)
    assert indexed_urls(second)
    assert not [url for url in indexed_urls(second) if "site.test" in url]


def test_a_crawl_goes_on_from_an_import(tmp_path: Path) -> None:
    """The host of an imported page is in the scope, and a page that it links to is fetched."""
    archive, crawl = tmp_path / "x.warc.gz", tmp_path / "crawl"
    page = http(b"<title>Archived</title><p>old words <a href=/next>next</a> <a href=http://no.test/>no</a>")
    archive.write_bytes(members(info(), warc("http://site.test/page", page, date="2020-01-01T00:00:00Z")))
    cobnut("import", "warc", crawl, archive)
    with FakeWeb().site("site.test", {"/next": "<title>Next</title><p>new words", "/page": "<p>page of today"}) as web:
        cobnut("crawl", crawl, *to_web(web.port))
    assert indexed_urls(crawl) == {"http://site.test/page", "http://site.test/next"}


def test_an_import_that_is_killed_leaves_nothing_and_run_again_completes(tmp_path: Path) -> None:
    archive, crawl = tmp_path / "big.warc", tmp_path / "crawl"
    with open(archive, "wb") as file:
        file.write(info())
        for n in range(20_000):
            file.write(warc(f"http://h{n % 50}.test/{n}", http(PAGE + str(n).encode() * 50)))
    cobnut("create", crawl)
    running = subprocess.Popen(
        command("import", "warc", crawl, archive),
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    drafts: list[Path] = []
    while not drafts and running.poll() is None:
        drafts = list((crawl / "segments").glob(".tmp-*/warc/*.warc.gz"))
        time.sleep(0.01)
    assert running.poll() is None, "it was over before it could be killed"
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert CrawlFolder(crawl).segments() == []
    cobnut("read", "segment", crawl)
    done = json.loads(cobnut("import", "warc", crawl, archive, "--json").stdout)
    assert done["counts"]["imported"] == 20_000
    assert [p.name for p in (crawl / "segments").iterdir()] == done["segments"]
    assert done["counts"]["seeds"] == 50


def test_bad_input_is_told(tmp_path: Path) -> None:
    text, cut, crawl = tmp_path / "text", tmp_path / "cut.warc.gz", tmp_path / "crawl"
    text.write_text("hello")
    assert "neither WARC nor ARC" in cobnut("import", "warc", crawl, text, expect=2).stderr
    assert "no such file" in cobnut("import", "warc", crawl, tmp_path / "none", expect=2).stderr
    assert not crawl.exists()
    whole = members(info(), warc("http://a.test/", http()))
    cut.write_bytes(whole + members(warc("http://a.test/2", http()))[:-30])
    done = cobnut("import", "warc", crawl, cut, expect=1)
    assert f"{cut} at byte {len(whole)}" in done.stderr.replace(",", "")
    assert "success 1" in done.stdout
    assert cobnut("cdx", cut, expect=1).stdout.count("\n") == 1
    assert "no command is called" in cobnut("import", "wark", crawl, cut, expect=2).stderr


@pytest.mark.skipif(shutil.which("wget") is None, reason="wget is not on this machine")
@pytest.mark.parametrize("options", [[], ["--no-warc-compression"]], ids=["packed", "plain"])
def test_what_wget_wrote_is_read(tmp_path: Path, options: list[str]) -> None:
    site = tmp_path / "site"
    site.mkdir()
    for n in range(3):
        (site / f"{n}.html").write_text(f"<title>Page {n}</title><p>words <a href={(n + 1) % 3}.html>next</a>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(site)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/0.html"
        wget = [
            "wget",
            "-q",
            "-r",
            "-e",
            "robots=off",
            f"--warc-file={tmp_path / 'w'}",
            "-P",
            str(tmp_path / "got"),
            *options,
        ]
        subprocess.run([*wget, url], check=True, timeout=60)
    finally:
        server.shutdown()
        server.server_close()
    [archive] = tmp_path.glob("w.warc*")
    done = cobnut("import", "warc", tmp_path / "crawl", archive)
    assert "success 3" in done.stdout
    searchable(tmp_path / "crawl")
    assert len(indexed_urls(tmp_path / "crawl")) == 3
