"""What does a server serve when its publisher is killed, comes twice, or finds no room? Real processes and signals."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from crawling import cobnut, command, environment
from search_pages import Server, document, make_crawl
from search_pages import publish as new_generation

from cobnut.index.reader import IndexReader
from cobnut.storage.files import TEMPORARY_PREFIX
from cobnut.storage.generations import GenerationStore
from cobnut.storage.tables import checksum

PUBLISHER = """
import pathlib, sys
from cobnut.index.publish import publish_index
from cobnut.storage.generations import GenerationStore
source, target = (GenerationStore(pathlib.Path(p), "the index", grace_s=0) for p in sys.argv[1:])
print("ready", flush=True)
print(publish_index(source, target).generation, flush=True)
"""


def whole(target: Path) -> int:
    """Number of documents of the published index, after every byte of it was checked; 0 when there is none."""
    current = GenerationStore(target, "index").current()
    if current is None:
        return 0
    with current:
        for file in current.manifest["files"]:
            assert checksum(current.path / file["name"]) == file["xxh3"], file["name"]
        return len(IndexReader(current.path).doc_keys())


def make_index(crawl: Path, documents: int) -> None:
    """A new generation whose text does not shrink by compression: some 8 KB a document."""
    rng = random.Random(documents)
    texts = [" ".join(f"{rng.getrandbits(64):x}" for _ in range(250)) for _ in range(documents)]
    new_generation(crawl, [document(n, text=f"hazel {text}") for n, text in enumerate(texts)])


def test_killed_at_any_moment_a_whole_index_is_served(tmp_path):
    crawl, target, rng = make_crawl(tmp_path / "crawl"), tmp_path / "published", random.Random(11)
    make_index(crawl, 20)
    cobnut("publish", crawl, target)
    served, seen, finished, unfinished = 20, {20}, 0, 0
    with Server(target) as server:
        longest = 0.12
        for round in range(60):
            if round >= 14 and finished and unfinished:
                break
            make_index(crawl, 21 + round)
            publisher = subprocess.Popen(
                [sys.executable, "-c", PUBLISHER, str(crawl / "index"), str(target)], stdout=subprocess.PIPE, text=True
            )
            assert publisher.stdout.readline() == "ready\n"
            time.sleep(rng.uniform(0.0, longest))
            publisher.kill()
            said = publisher.stdout.read()
            publisher.wait()
            publisher.stdout.close()
            now = whole(target)
            assert now in (served, 21 + round)
            assert not said or now == 21 + round, "what was acknowledged is lost"
            finished, unfinished = finished + (now == 21 + round), unfinished + (now == served)
            longest *= 0.9 if now == 21 + round else 1.1  # so that about half of them are killed before they are done
            served = now
            seen.add(now)
            answer = server.get("/api/search", q="hazel")
            assert answer.status == 200
            assert answer.json()["total"] in seen
        assert finished
        assert unfinished
        cobnut("publish", crawl, target)
        last = 20 + round
        assert whole(target) == last
        assert not list(target.glob(f"{TEMPORARY_PREFIX}*")), "the next publisher removes what killed ones left"
        until = time.monotonic() + 30
        while server.get("/api/search", q="hazel").json()["total"] != last:
            assert time.monotonic() < until, "the server never saw the new index"
            time.sleep(0.1)


def test_of_two_publishers_the_second_is_refused_and_told_by_whom(tmp_path):
    crawl, target = make_crawl(tmp_path / "crawl"), tmp_path / "published"
    make_index(crawl, 5)
    # the first stops in the middle of its work, with the lock in its hands
    first = subprocess.Popen(
        [sys.executable, "-c", PUBLISHER, str(crawl / "index"), str(target)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert first.stdout.readline() == "ready\n"
        until = time.monotonic() + 30
        while not list(target.glob(f"{TEMPORARY_PREFIX}*")) and time.monotonic() < until:
            pass
        os.kill(first.pid, signal.SIGSTOP)
        if GenerationStore(target, "index").current_number() is not None:
            pytest.skip("the first was done before it could be stopped")
        refused = cobnut("publish", crawl, target, expect=4)
        assert f"process {first.pid} on " in refused.stderr
        assert refused.stderr.count("\n") == 1
        assert whole(target) == 0
        os.kill(first.pid, signal.SIGCONT)
        assert first.stdout.read() == "1\n"
    finally:
        first.kill()
        first.wait()
        first.stdout.close()
    assert "unchanged" in cobnut("publish", crawl, target).stdout


def test_the_second_waits_when_asked_to(tmp_path):
    crawl, target = make_crawl(tmp_path / "crawl"), tmp_path / "published"
    make_index(crawl, 5)
    with GenerationStore(target, "the index").begin():
        second = subprocess.Popen(
            command("publish", crawl, target, "-s", "storage.lock_wait_s=60"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(2)
    out, error = second.communicate(timeout=60)
    assert second.returncode == 0, error
    assert "generation 1" in out


@pytest.fixture
def small_place(tmp_path):
    """A file system of its own with little room; only root may make one."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = os.geteuid() == 0 and not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=900k", "tmpfs", str(place)], capture_output=True
    ).returncode  # fmt: skip
    if not mounted:
        pytest.skip("a small file system cannot be mounted here (needs root)")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_another_file_system_and_no_room_on_it(small_place, tmp_path):
    crawl, target = make_crawl(tmp_path / "crawl"), small_place / "published"
    make_index(crawl, 20)
    assert target.parent.stat().st_dev != crawl.stat().st_dev
    cobnut("publish", crawl, target)
    assert whole(target) == 20
    make_index(crawl, 21)
    (small_place / "filler").write_bytes(bytes(500_000))
    refused = cobnut("publish", crawl, target, expect=4)
    assert refused.stderr.count("\n") == 1
    assert "free some space" in refused.stderr
    assert whole(target) == 20
    assert not list(target.glob(f"{TEMPORARY_PREFIX}*"))
    (small_place / "filler").unlink()
    cobnut("publish", crawl, target)
    assert whole(target) == 21
