"""A real server that is stopped, hangs, and is started again, while the crawl of it is killed and run anew.

Everything through the command, each run with what is on disk alone.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from aged import pass_time
from crawling import cobnut, command, environment, indexed_urls

from cobnut.storage.layout import CrawlFolder

DAY_S = 86_400
QUICK = ("-s", "fetcher.timeout_s=0.5", "-s", "fetcher.connect_timeout_s=0.5", "-s", "fetcher.workers=1")


class Site:
    """Pages on one port of this machine: served, refused (nothing listens), or hanging (connected and not answered)."""

    def __init__(self) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.pages = {
            "/": "".join(f"<a href=/{n}>page {n}</a> " for n in range(6)),
            **{f"/{n}": f"<p>page {n}" for n in range(6)},
        }
        self.gone: set[str] = set()
        self.asked: list[str] = []
        self._server: ThreadingHTTPServer | None = None
        self._deaf: socket.socket | None = None

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def start(self) -> None:
        self.stop()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                body = site.pages.get(self.path)
                status = 200 if body is not None else 410 if self.path in site.gone else 404
                data = (body or "nothing").encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def hang(self) -> None:
        self.stop()
        self._deaf = socket.socket()
        self._deaf.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._deaf.bind(("127.0.0.1", self.port))
        self._deaf.listen(64)

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        if self._deaf is not None:
            self._deaf.close()
        self._server = self._deaf = None


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.stop()


def table(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cobnut("read", name, folder, "--json").stdout.splitlines()]


def states(folder: Path, site: Site) -> dict[str, str]:
    return {row["url"].removeprefix(site.url("")): row["status"] for row in table(folder, "crawldb")}


def test_a_server_that_goes_and_comes_loses_no_page(tmp_path: Path, site: Site) -> None:
    folder = tmp_path / "crawl"
    site.start()
    cobnut("crawl", folder, site.url(), *QUICK)
    whole = set(states(folder, site))
    assert whole == set(site.pages)
    shown = indexed_urls(folder)
    crawl = CrawlFolder.open(folder)
    well = table(folder, "hostdb")[0]

    for day, outage in enumerate((site.stop, site.hang, site.stop)):
        outage()
        pass_time(crawl, 1.1 * DAY_S)
        if outage == site.hang:  # killed while it waits for an answer
            process = subprocess.Popen(
                command("crawl", folder, *QUICK, "--refresh", "-s", "fetcher.timeout_s=30"), env=environment(),
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            wait_for_a_caller(site)
            process.send_signal(signal.SIGKILL)
            process.wait()
        cobnut("crawl", folder, *QUICK, "--refresh", expect=None)
        assert set(states(folder, site).values()) <= {"fetched", "not_modified"}, day
        assert indexed_urls(folder) == shown
    host = table(folder, "hostdb")[0]
    assert host["failures"] >= 3
    assert host["error_count"] > well["error_count"]
    assert host["last_error"] in ("connect_failed", "timeout")
    why = cobnut("why", folder, site.url("/3")).stdout
    assert "It is in the index" in why
    assert "times in a row" in why
    told = cobnut("why", folder, "--host", "127.0.0.1").stdout
    assert "It is left alone until" in told
    assert "failures in a row" in told

    site.start()
    del site.pages["/4"], site.pages["/5"]
    site.gone.add("/5")
    for visit in range(2):
        pass_time(crawl, 1.1 * DAY_S)
        cobnut("crawl", folder, *QUICK, "--refresh")
        now = states(folder, site)
        assert now["/5"] == "gone"
        assert now["/4"] == ("unfetched" if visit == 0 else "gone")  # a second visit on another day decides
        assert {status for path, status in now.items() if path in site.pages} <= {"fetched", "not_modified"}
        assert indexed_urls(folder) == {site.url(path) for path in site.pages}
    host = table(folder, "hostdb")[0]
    assert (host["failures"], host["backoff_s"]) == (0, 0)
    assert host["last_success_at"] > host["last_error_at"]
    assert set(now) == whole


def wait_for_a_caller(site: Site) -> None:
    """Until a connection to the site stands, as the kernel's table of this process' machine has it."""
    end = time.monotonic() + 60
    wanted = f":{site.port:04X}"
    while time.monotonic() < end:
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[2].endswith(wanted) and fields[3] == "01":
                return
        time.sleep(0.02)
    raise AssertionError("nobody has called")
