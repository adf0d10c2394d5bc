"""Does a crawl without a name stay on this machine, wherever it is led?"""

from __future__ import annotations

import json
from pathlib import Path

from crawling import FAST, cobnut

from cobnut.testing.fakeweb import FakeWeb, moved


def test_loopback_seed_that_redirects_to_the_open_web(tmp_path: Path) -> None:
    """The redirect is followed only as far as the connection: without a name nothing outside is asked."""
    with FakeWeb().site("127.0.0.1", {"/": moved("http://203.0.113.7/"), "/here": "<p>here"}) as web:
        crawl, seed = tmp_path / "crawl", f"http://127.0.0.1:{web.port}/"
        # the guard refuses documentation addresses: told to let them pass, the name is what is missing
        cobnut("crawl", crawl, seed, "--allow-net", "203.0.113.0/24", *FAST, "-s", "fetcher.connect_timeout_s=1")
        rows = {
            row["url"]: row for row in map(json.loads, cobnut("read", "crawldb", crawl, "--json").stdout.splitlines())
        }
        assert rows["http://203.0.113.7/"]["reason"] == "no_agent"
        assert rows["http://203.0.113.7/"]["status"] == "unfetched"
        assert rows["http://203.0.113.7/"]["retries"] == 0
