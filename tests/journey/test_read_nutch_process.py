"""`cobnut read nutch` as a process of its own: it prints at once, in little memory, and ends as other commands do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobnut.interop.hadoop import DataOutput
from cobnut.interop.hadoop.mapfile import MapFileWriter
from cobnut.interop.nutch1 import CrawlDatum

TEXT, DATUM = "org.apache.hadoop.io.Text", "org.apache.nutch.crawl.CrawlDatum"


def crawldb(folder: Path, count: int) -> Path:
    value = CrawlDatum(status=2, fetch_time=1_796_043_503_220, fetch_interval=86_400, score=1.0).to_bytes()
    with MapFileWriter(folder / "current" / "part-r-00000", TEXT, DATUM, crc=False) as table:
        for number in range(count):
            out = DataOutput()
            out.write_text(f"http://host{number // 100:06}.test/a/page/{number:08}.html")
            table.append(out.getvalue(), value)
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawldb(tmp_path_factory.mktemp("small") / "crawldb", 1_000)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawldb(tmp_path_factory.mktemp("large") / "crawldb", 100_000)


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def read_nutch(*words: str | Path, **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cobnut", "read", "nutch", *map(str, words)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


def peak_kib(*words: str | Path) -> int:
    with open(os.devnull, "wb") as nowhere:
        process = read_nutch(*words, stdout=nowhere)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stderr is not None
    process.stderr.close()
    assert process.returncode == 0
    return usage.ru_maxrss


def test_a_reader_that_goes_away_ends_it_without_a_word(large: Path, started: list[subprocess.Popen[bytes]]) -> None:
    process = read_nutch(large, "--json", stdout=subprocess.PIPE)
    started.append(process)
    assert process.stdout is not None
    assert process.stderr is not None
    first = json.loads(process.stdout.readline())
    assert first["key"] == "http://host000000.test/a/page/00000000.html"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0


def test_ctrl_c(large: Path, started: list[subprocess.Popen[bytes]]) -> None:
    process = read_nutch(large, stdout=subprocess.PIPE)
    started.append(process)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()  # it is at work, and soon stands still: nobody reads on
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert error == b"cobnut: interrupted\n"
    assert process.returncode == 130


@pytest.mark.parametrize("options", [(), ("--json",), ("--stats",)], ids=["text", "json", "stats"])
def test_memory_does_not_grow_with_the_file(small: Path, large: Path, options: tuple[str, ...]) -> None:
    """A hundred times the records, 11 MB of them: a few MiB of room for chunks that grow to their size."""
    assert peak_kib(large, *options) < peak_kib(small, *options) + 6 * 1024
