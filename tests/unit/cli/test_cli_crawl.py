from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import cobnut, command, environment

from cobnut.testing.fakeweb import Answer, FakeWeb

PAGES = {
    "/": "<title>Home of nuts</title><a href=/hazel>hazel</a> <a href=/none>none</a> <a href=http://out.test/>out</a>",
    "/hazel": "<title>Hazel</title><p>The hazel nut is a cob.</p>",
    "/none": Answer(404),
    "/robots.txt": Answer(404),
}
HEAVY_OF_SEARCH = {
    "numpy", "pyarrow", "duckdb", "scipy", "pycurl", "starlette", "granian", "rich", "selectolax", "fastwarc",
    "py3langid", "pycares", "jinja2",
}  # fmt: skip


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb().site("nuts.test", PAGES) as web:
        yield web


@pytest.fixture(scope="module")
def crawled(web: FakeWeb, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("crawl") / "c"
    done = cobnut(
        "crawl", folder, "http://nuts.test/", "--depth", 1, "--proxy", web.proxy_url, "-s", "fetcher.delay_s=0"
    )
    return folder, done.stdout


def test_crawl_search_why(crawled: tuple[Path, str]) -> None:
    folder, summary = crawled
    assert "2 pages fetched" in summary
    assert "filtered_by:scope: Outside what the crawl is about" in summary
    assert "http_404" in summary
    assert "\ndepth = 1\n" in (folder / "cobnut.toml").read_text()
    answer = json.loads(cobnut("search", folder, "hazel cob", "--json").stdout)
    assert answer["hits"][0]["url"] == "http://nuts.test/hazel"
    assert set(answer) >= {"query", "total", "took_ms", "hits"}
    shown = cobnut("search", folder, "hazel", "--explain").stdout
    assert "http://nuts.test/hazel" in shown
    assert "\x1b" not in shown
    assert "It is in the index" in cobnut("why", folder, "http://nuts.test/hazel").stdout
    assert "404 (Not Found)" in cobnut("why", folder, "http://nuts.test/none").stdout
    document = json.loads(cobnut("read", "index", folder, "--url", "http://nuts.test/", "--json").stdout)
    assert document["title"] == "Home of nuts"
    counts = json.loads(cobnut("read", "index", folder, "--json").stdout)
    assert counts["documents"] == 2
    assert "doc_count" not in counts  # told once


def test_search_loads_nothing_heavy(crawled: tuple[Path, str]) -> None:
    code = (
        "import sys, contextlib, io\n"
        "from cobnut.cli.main import main\n"
        "text = io.StringIO()\n"
        f"with contextlib.redirect_stdout(text): code = main(['search', {str(crawled[0])!r}, 'hazel'])\n"
        "assert code == 0 and 'Hazel' in text.getvalue()\n"
        "print('\\n'.join(sys.modules))"
    )
    done = subprocess.run(
        [*command()[:1], "-c", code], capture_output=True, text=True, timeout=60, check=True, env=environment()
    )
    assert not set(done.stdout.split()) & HEAVY_OF_SEARCH


def test_the_summary_says_why_robots_txt_could_not_be_read(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound and not listening: whoever connects is refused
        taken.bind(("127.0.0.1", 0))
        done = cobnut("crawl", tmp_path / "c", f"http://127.0.0.1:{taken.getsockname()[1]}/", expect=1)
    line = next(line for line in done.stdout.splitlines() if " robots_unreachable: " in line)
    assert line.endswith("Origins by cause: connect_failed 1.")


def test_a_seed_that_brings_nothing_is_exit_1(web: FakeWeb, tmp_path: Path) -> None:
    done = cobnut(
        "crawl", tmp_path / "c", "http://nuts.test/hazel", "http://nuts.test/none", "--proxy", web.proxy_url,
        "-s", "fetcher.delay_s=0", expect=1,
    )  # fmt: skip
    assert "Seed without a page: http://nuts.test/none" in done.stdout


def test_without_a_terminal_the_open_web_needs_a_name(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    done = cobnut("crawl", folder, "http://example.org/", expect=2)
    assert "fetcher.agent_name and fetcher.agent_contact" in done.stderr
    assert not folder.exists()
    cobnut("create", folder)
    (tmp_path / "seeds").write_text("http://example.org/\nhttp://127.0.0.1:1/\n")
    cobnut("inject", folder, tmp_path / "seeds")
    assert "fetcher.agent_name" in cobnut("crawl", folder, expect=2).stderr
    cobnut("generate", folder)
    assert "fetcher.agent_name" in cobnut("fetch", folder, expect=2).stderr


def test_on_a_terminal_the_name_is_asked_for_and_kept(tmp_path: Path) -> None:
    """Nothing leaves the machine: the only name server is a port on loopback where nobody answers."""
    folder = tmp_path / "c"
    terminal, theirs = pty.openpty()
    words = ("crawl", folder, "http://nowhere.invalid/", "--max-time", "20s", "-s", "fetcher.nameservers=127.0.0.1:1")
    process = subprocess.Popen(
        command(*words), stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=environment(), text=True
    )
    os.close(theirs)
    seen = b""
    for question, answer in ((b"Name of your crawler", b"Acorn\n"), (b"reaches you", b"me@acorn.test\n")):
        while question not in seen:
            seen += os.read(terminal, 1024)
        os.write(terminal, answer)
    text = (folder / "cobnut.toml").read_text() if process.poll() is not None else ""
    deadline = time.monotonic() + 60
    while 'agent_name = "Acorn"' not in text and time.monotonic() < deadline:
        time.sleep(0.05)
        text = (folder / "cobnut.toml").read_text() if (folder / "cobnut.toml").exists() else ""
    assert '\nagent_name = "Acorn"\n' in text
    assert '\nagent_contact = "me@acorn.test"\n' in text
    process.kill()
    process.communicate()
    os.close(terminal)


def test_ctrl_c_stops_in_good_order_and_a_rerun_goes_on(tmp_path: Path) -> None:
    pages = {f"/{i}": f"<title>page {i}</title><a href=/{i + 1}>next</a>" for i in range(40)}
    slow = {path: Answer(body=body, delay_s=0.3) for path, body in pages.items()}
    with FakeWeb().site("slow.test", {**slow, "/robots.txt": Answer(404)}) as web:
        folder = tmp_path / "c"
        words = ("crawl", folder, "http://slow.test/0", "--proxy", web.proxy_url, "-s", "fetcher.delay_s=0")
        process = subprocess.Popen(
            command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
        )
        while len(web.requests("slow.test")) < 4:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=120)
        assert process.returncode == 130, error
        assert "stopping after what is under way" in error
        assert "stopped by you; run it again to go on" in out
        assert "Traceback" not in error
        before = len(web.requests("slow.test"))
        assert before < 40
        done = cobnut("crawl", folder, "--max-pages", 3, "--proxy", web.proxy_url, "-s", "fetcher.delay_s=0")
        assert "3 pages fetched" in done.stdout
        paths = [entry.target for entry in web.requests("slow.test") if entry.target != "/robots.txt"]
        assert sorted(paths) == sorted(set(paths)), "a page was fetched twice"


def test_steps_by_hand(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    options = ("--proxy", web.proxy_url, "-s", "fetcher.delay_s=0")
    cobnut("create", folder, "-s", "crawl.depth=1")
    done = cobnut(
        "inject", folder, "-", "--verbose", stdin="http://nuts.test/\tnutch.score=2\ttopic=nuts\nftp://x.test/\n\n#\n"
    )
    assert "rejected 1" in done.stdout
    assert "line 2: left out by" in done.stdout
    assert "nothing is due" not in cobnut("generate", folder, "--num-fetchers", 2).stdout
    cobnut("fetch", folder, *options)
    for step in ("parse", "updatedb", "invertlinks", "rank", "updatesegs", "index", "dedup", "merge"):
        done = cobnut(step, folder)
        assert done.stdout.startswith(f"{step}: "), step
    assert json.loads(cobnut("read", "webdb", folder, "--stats", "--json").stdout)["pages"] == 3
    report = json.loads(cobnut("generate", folder, "--json").stdout)
    assert (report["stage"], report["counts"]["selected"]) == ("generate", 2)
    assert len(report["segments"]) == 1
