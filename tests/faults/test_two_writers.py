"""Two commands at once on one crawl: one works, the other waits or says who is at work."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import cobnut, command, environment, to_web

from cobnut.testing.fakeweb import Answer, FakeWeb

PAGES = {"/": "".join(f'<a href="/{n}">{n}</a>' for n in range(30)), **{f"/{n}": f"<p>page {n}" for n in range(30)}}
STEPS: list[tuple[str, ...]] = [
    ("inject", "DIR", "-"), ("generate", "DIR"), ("updatedb", "DIR"), ("invertlinks", "DIR"), ("rank", "DIR"),
    ("updatesegs", "DIR"), ("index", "DIR"), ("dedup", "DIR"), ("merge", "DIR"), ("rollback", "DIR", "crawldb"),
]  # fmt: skip
HOLD = """
import sys
from pathlib import Path
from cobnut.storage.layout import CrawlFolder
with CrawlFolder(Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("writers") / "crawl"
    with FakeWeb().site("a.test", PAGES) as web:
        cobnut("crawl", folder, "http://a.test/", *to_web(web.port))
    return folder


@pytest.fixture
def held(ready: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process has the crawl's lock until its standard input ends."""
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(ready)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    yield other
    other.communicate("")


def words(step: tuple[str, ...], crawl: Path) -> list[str]:
    return [str(crawl) if word == "DIR" else word for word in step]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[0])
def test_a_step_names_who_is_at_work(ready: Path, held: subprocess.Popen[str], step: tuple[str, ...]) -> None:
    done = cobnut(*words(step, ready), expect=4, stdin="http://a.test/\n")
    assert f"process {held.pid} on " in done.stderr
    assert "storage.lock_wait_s" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_step_waits_as_long_as_it_is_told(ready: Path, held: subprocess.Popen[str], tmp_path: Path) -> None:
    waiting = subprocess.Popen(
        command("dedup", ready, "-s", "storage.lock_wait_s=60"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(2)
    held.communicate("")
    out, errors = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, errors
    assert out.startswith("dedup:")


def test_two_generates_never_list_a_page_twice(ready: Path, tmp_path: Path) -> None:
    """Started together, again and again: what one has listed the other leaves out."""
    crawl = Path(shutil.copytree(ready, tmp_path / "crawl"))
    seeds = "\n".join(f"http://a.test/{n}" for n in range(30))
    cobnut("inject", crawl, "-", "--overwrite", stdin=seeds)
    for segment in (crawl / "segments").iterdir():
        shutil.rmtree(segment)
    runs = [
        subprocess.Popen(
            command("generate", crawl, "--top-n", "20", "-s", "storage.lock_wait_s=60"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        )
        for _ in range(3)
    ]  # fmt: skip
    for run in runs:
        _, errors = run.communicate(timeout=120)
        assert run.returncode == 0, errors
    from cobnut.records.catalogue import FETCHLIST
    from cobnut.storage.layout import CrawlFolder
    from cobnut.storage.tables import read_files

    listed = [
        key
        for segment in CrawlFolder(crawl).segments()
        for key in read_files(FETCHLIST, segment.part_files(FETCHLIST), ["url_key"]).column("url_key").to_pylist()
    ]
    assert len(listed) == 30
    assert len(set(listed)) == 30


def test_a_running_crawl_refuses_a_second_one(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    with FakeWeb().site("a.test", {"/": Answer(body="<p>late").after(30.0)}) as web:
        run = subprocess.Popen(
            command("crawl", crawl, "http://a.test/", *to_web(web.port)),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(),
        )  # fmt: skip
        try:
            deadline = time.monotonic() + 60
            while not web.requests("a.test", "/") and time.monotonic() < deadline:
                time.sleep(0.05)
            for step in (("crawl", "DIR"), ("generate", "DIR"), ("merge", "DIR")):
                done = cobnut(*words(step, crawl), *(to_web(web.port) if step[0] == "crawl" else ()), expect=4)
                assert f"process {run.pid} on " in done.stderr
            # looking on is free
            assert json.loads(cobnut("why", crawl, "http://a.test/", "--json").stdout)["known"]
        finally:
            run.kill()
            run.wait()
