"""Crawl on one machine, search on another: published, moved, the crawl deleted, another user, nothing else there."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest
from crawling import FAST, cobnut, environment, to_web

from cobnut.testing.fakeweb import FakeWeb
from cobnut.testing.sample import sample_web

pytestmark = pytest.mark.serial

NOBODY = 65534


@pytest.fixture
def place():
    """A folder that other users may enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="cobnut-test-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.fixture
def crawl(place):
    """A crawl of the sample site."""
    with sample_web() as web:
        home = web.proxy_url.rstrip("/") + "/"
        cobnut("crawl", place / "crawl", home, *FAST)
        yield place / "crawl"


def answers(folder: Path, *queries: str) -> list[dict]:
    """What `cobnut search --json --explain` says, without the time it took."""
    found = [json.loads(cobnut("search", folder, query, "--json", "--explain").stdout) for query in queries]
    return [{name: value for name, value in answer.items() if name != "took_ms"} for answer in found]


def get(url: str) -> str:
    with build_opener(ProxyHandler({})).open(url, timeout=20) as answer:
        return answer.read().decode()


def as_nobody(*words: object) -> list[str]:
    """A command line that another user can run: an interpreter of the same version that he may execute."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, shutil.which(version, path=os.defpath), f"/usr/bin/{version}"):
        if python is None:
            continue
        try:
            tried = subprocess.run(
                [python, "-c", "import cobnut.web.app, granian, tantivy"], user=NOBODY, group=NOBODY, extra_groups=[],
                env=nobodys_environment(), cwd="/", capture_output=True,
            )  # fmt: skip
        except PermissionError:
            continue
        if tried.returncode == 0:
            return [python, "-m", "cobnut.cli", *map(str, words)]
    return pytest.skip("another user may execute no interpreter that has the packages")


def nobodys_environment() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "HOME": "/nonexistent", "PATH": os.defpath}


def test_the_same_answers_when_the_crawl_is_gone(crawl, place):
    queries = ("robots.txt", "link rank", "ロボット", "site:127.0.0.1 archive", '"crawl database"')
    before = answers(crawl, *queries)
    assert all(answer["hits"] for answer in before[:2])
    assert "generation 1 of " in cobnut("publish", crawl, place / "published").stdout
    assert "unchanged" in cobnut("publish", crawl, place / "published").stdout
    shutil.rmtree(crawl)
    elsewhere = place / "another" / "tree"
    elsewhere.parent.mkdir()
    os.rename(place / "published", elsewhere)
    assert answers(elsewhere, *queries) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_searches_and_serves_it_read_only(crawl, place):
    before = answers(crawl, "robots.txt")[0]["hits"]
    target = place / "published"
    cobnut("publish", crawl, target)
    shutil.rmtree(crawl)
    listing = sorted(target.rglob("*"))
    options = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/", "env": nobodys_environment()}
    found = subprocess.run(
        as_nobody("search", target, "robots.txt", "--json", "--explain"),
        capture_output=True,
        text=True,
        **options,
    )
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["hits"] == before
    server = subprocess.Popen(
        as_nobody("serve", target, "--port", "0", "--workers", "2"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip
    try:
        url = server.stdout.readline().split()[-1]
        assert "robots.txt and other signs" in get(f"{url}search?q=robots.txt")
        assert json.loads(get(f"{url}api/search?q=robots.txt"))["hits"][0]["url"] == before[0]["url"]
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=30)
        assert server.returncode == 0
        assert errors == ""
    finally:
        server.kill()
        server.communicate()
    assert sorted(target.rglob("*")) == listing


def test_a_running_server_goes_on_with_what_is_published_next(crawl, place):
    target = place / "published"
    cobnut("publish", crawl, target)
    server = subprocess.Popen(
        [sys.executable, "-m", "cobnut.cli", "serve", str(target), "--port", "0", "--workers", "2"],
        stdout=subprocess.PIPE, text=True, env=environment(), start_new_session=True,
    )  # fmt: skip
    try:
        url = server.stdout.readline().split()[-1]
        assert json.loads(get(f"{url}api/search?q=marzipan"))["total"] == 0
        with FakeWeb().site("sweets.test", {"/": "<title>Marzipan</title><p>almonds and sugar"}) as web:
            cobnut("crawl", crawl, "http://sweets.test/", *to_web(web.port))
        assert answers(crawl, "marzipan")[0]["total"] == 1
        assert json.loads(get(f"{url}api/search?q=marzipan"))["total"] == 0, "what is not published is not served"
        assert "generation 2 of " in cobnut("publish", crawl, target).stdout
        until = time.monotonic() + 30
        agreed = 0
        while agreed < 20:  # each of the workers, whichever answers
            agreed = agreed + 1 if json.loads(get(f"{url}api/search?q=marzipan"))["total"] == 1 else 0
            assert time.monotonic() < until, "the workers never saw the new generation"
    finally:
        server.terminate()
        server.communicate(timeout=30)


def test_a_bad_index_is_taken_back(crawl, place):
    target = place / "published"
    cobnut("publish", crawl, target)
    with FakeWeb().site("sweets.test", {"/": "<title>Marzipan</title><p>almonds and sugar"}) as web:
        cobnut("crawl", crawl, "http://sweets.test/", *to_web(web.port))
    cobnut("publish", crawl, target)
    assert answers(target, "marzipan")[0]["total"] == 1
    assert cobnut("rollback", target, "index").stdout == "index: generation 1 is current again (was 2)\n"
    assert answers(target, "marzipan")[0]["total"] == 0
