"""The access log: one line a request, no query unless wanted, rotation, and what cannot be written."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
from search_pages import Server, document, make_crawl, publish

KEYS = {"time", "client", "who", "method", "path", "status", "bytes", "took_ms", "agent"}


@pytest.fixture
def crawl(tmp_path):
    path = make_crawl(tmp_path / "crawl")
    publish(path, [document(n) for n in range(3)])
    return path


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_line_for_every_request_but_healthz(crawl, tmp_path):
    log = tmp_path / "access.log"
    with Server(crawl, workers=1, settings=[f"serve.access_log={log}"]) as server:  # two may write in another order
        size = len(server.get("/search?q=secretword", headers={"User-Agent": "Test/1"}).body)
        server.get("/nowhere", method="HEAD")
        server.get("/search", method="POST")
        server.get("/api/search?q=secretword&limit=x")
        server.get("/healthz")
        server.get("/" + quote('a"\n\x1b[31m\ud7ff'))
    found = lines(log)
    assert [line["status"] for line in found] == [200, 404, 405, 400, 404]
    assert all(set(line) == KEYS for line in found)
    assert found[0]["bytes"] == size
    assert found[0]["agent"] == "Test/1"
    assert found[0]["path"] == "/search"
    assert found[0]["client"] == "127.0.0.1"
    assert found[0]["time"].endswith("Z")
    assert found[1]["bytes"] == 0
    assert found[4]["path"] == '/a"\n\x1b[31m\ud7ff'
    assert "secretword" not in log.read_text()
    assert "\x1b" not in log.read_text()
    assert oct(log.stat().st_mode & 0o777) == "0o640"


def test_queries_when_wanted_on_standard_output(crawl):
    with Server(crawl, settings=["serve.access_log=-", "serve.log_queries=true"]) as server:
        server.get("/search", q="größe & more")
        server.get("/api/search?" + "&".join(f"a{n}=1" for n in range(900)))
        _, out, _ = server.end()
    found = [json.loads(line) for line in out.splitlines()]
    assert [line["query"] for line in found] == ["größe & more", ""]


def test_lines_of_all_processes_stay_whole(crawl, tmp_path):
    log = tmp_path / "access.log"
    with Server(crawl, workers=2, settings=[f"serve.access_log={log}"]) as server, ThreadPoolExecutor(8) as pool:
        agents = [f"{n} " + "x" * 400 for n in range(200)]
        list(pool.map(lambda agent: server.get("/robots.txt", headers={"User-Agent": agent}), agents))
    assert sorted(line["agent"] for line in lines(log)) == sorted(agents)


def test_a_file_that_was_moved_away_is_begun_anew(crawl, tmp_path):
    log, old = tmp_path / "access.log", tmp_path / "access.log.1"
    with Server(crawl, settings=[f"serve.access_log={log}"]) as server:
        server.get("/first")
        log.rename(old)
        for _ in range(200):
            time.sleep(0.02)
            server.get("/more")
            if log.exists():
                break
    assert lines(log)[0]["path"] == "/more"
    assert lines(old)[0]["path"] == "/first"


def test_a_file_that_cannot_be_opened_is_said_before_anything_starts(crawl, tmp_path):
    server = Server(crawl, settings=[f"serve.access_log={tmp_path / 'no' / 'access.log'}"])
    assert server.process.returncode == 4
    assert "cannot write the access log" in server.process.communicate()[1]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_stops_no_answer_and_is_told_once(crawl):
    with Server(crawl, settings=["serve.access_log=/dev/full"]) as server:
        assert {server.get("/search?q=hazel").status for _ in range(5)} == {200}
        _, _, err = server.end()
    assert err.count("the access log is not being written") == 1
