"""How do tests run the command and look at what it made?"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from cobnut.index.reader import IndexReader

AGENT = ("-s", "fetcher.agent_name=CobnutTest", "-s", "fetcher.agent_contact=test@example.org")
FAST = ("-s", "fetcher.delay_s=0")


def command(*words: object) -> list[str]:
    """The command line of `cobnut` in this interpreter."""
    return [sys.executable, "-m", "cobnut.cli", *map(str, words)]


def environment() -> dict[str, str]:
    """The environment without settings of whoever runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COBNUT_")}


def cobnut(*words: object, expect: int | None = 0, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs `cobnut` to its end; the exit code must be `expect`, unless that is None."""
    done = subprocess.run(
        command(*words),
        input=stdin if stdin is not None else "",
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(),
        check=False,
    )
    assert expect is None or done.returncode == expect, (done.returncode, done.stdout, done.stderr)
    return done


def to_web(port: int) -> tuple[str, ...]:
    """Options that point every name at the fake web, without delays."""
    return ("--resolve", f"*:127.0.0.1:{port}", *FAST, *AGENT)


def index_of(crawl: Path) -> IndexReader:
    """The merged index of a crawl."""
    return IndexReader(crawl / "index" / (crawl / "index" / "CURRENT").read_text().strip())


def indexed_urls(crawl: Path) -> set[str]:
    """URLs of all documents in the merged index; one stands there once."""
    urls = [document.url for document in index_of(crawl).documents()]
    assert len(urls) == len(set(urls)), sorted(u for u in set(urls) if urls.count(u) > 1)[:5]
    return set(urls)


def indexed_documents(crawl: Path, without: Iterable[str] = ()) -> dict[str, dict[str, object]]:
    """All that the merged index holds of each document, by URL; times and places that differ by run left out."""
    import msgspec

    left_out = {"segment", "fetched_at", "warc_file", "warc_offset", *without}
    return {
        document.url: {k: v for k, v in msgspec.structs.asdict(document).items() if k not in left_out}
        for document in index_of(crawl).documents()
    }
