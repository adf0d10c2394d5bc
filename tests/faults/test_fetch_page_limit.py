"""A limit of pages is never exceeded, and reached where there are pages enough, whatever the servers answer."""

import os
import signal
import threading

import pytest

from cobnut.fetcher.pool import FetchPool
from cobnut.testing.fakeweb import Answer, moved


def urls_on(hosts, count):
    return [f"http://{host}.test/{n}" for n in range(count) for host in hosts]


@pytest.fixture(scope="module")
def three_workers():
    with FetchPool(3) as pool:
        yield pool


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 50])
def test_exactly_so_many_pages(tmp_path, web, bench_class, three_workers, limit):
    hosts = [f"h{n}" for n in range(9)]
    for host in hosts:  # every other URL brings no page, some lead elsewhere, some come late
        pages = {f"/{n}": Answer(404) for n in range(0, 20, 2)} | {
            "/3": moved("/target"),
            "/5": moved("http://h1.test/t5"),
        }
        web.site(f"{host}.test", {"*": Answer(200, "page", delay_s=0.02), **pages})
    bench = bench_class(tmp_path / "c", web, three_workers, workers=3)
    bench.seed("http://h1.test/")
    bench.fetchlist(*urls_on(hosts, 20), parts=3)
    report = bench.fetch(max_pages=limit)
    assert report.outcomes.get("success", 0) == limit
    assert report.stopped
    assert not report.sealed
    assert report.left == report.listed - (report.rows - report.hops)
    # what was left can be fetched, and the former pages are no part of the new limit
    assert bench.fetch(max_pages=5).outcomes["success"] == limit + 5
    assert bench.fetch().sealed


def test_what_one_worker_cannot_use_goes_to_the_others(tmp_path, web, bench_class, three_workers):
    web.site("many.test", {"*": "page"}).site("none.test", {"*": Answer(404)}).site("few.test", {"*": "page"})
    bench = bench_class(tmp_path / "c", web, three_workers, workers=3)
    bench.seed("http://many.test/")
    urls = [*urls_on(["many", "none"], 60), "http://few.test/1"]
    bench.fetchlist(*urls, parts=3, part_of=lambda host, _: ["many.test", "none.test", "few.test"].index(host))
    report = bench.fetch(max_pages=40)
    assert report.outcomes["success"] == 40
    assert report.outcomes["gone"] == 60


def test_a_redirect_to_another_workers_host_counts(tmp_path, web, bench_class, three_workers):
    web.site("a.test", {f"/{n}": moved(f"http://b.test/{n}") for n in range(30)}).site("b.test", {"*": "page"})
    bench = bench_class(tmp_path / "c", web, three_workers, workers=3)
    bench.seed("http://a.test/")
    urls = [*urls_on(["a"], 30), "http://b.test/own"]
    bench.fetchlist(*urls, parts=2, part_of=lambda host, _: int(host == "b.test"))
    report = bench.fetch(max_pages=12)
    assert report.outcomes["success"] == 12


def test_enough_pages_are_no_stop(tmp_path, web, bench_class, three_workers):
    web.site("a.test", {"*": "page"}).site("b.test", {"*": "page"})
    bench = bench_class(tmp_path / "c", web, three_workers, workers=3)
    bench.seed("http://a.test/")
    bench.fetchlist(*urls_on("ab", 5), parts=2, part_of=lambda host, _: int(host == "b.test"))
    report = bench.fetch(max_pages=10)
    assert report.complete
    assert report.sealed
    assert not report.stopped


def test_no_more_robots_txt_are_asked_than_pages_may_come(bench, web):
    hosts = [f"h{n}" for n in range(40)]
    for host in hosts:
        web.site(f"{host}.test", {"*": "page"})
    report = bench.fetch(*urls_on(hosts, 1), max_pages=3)
    assert report.outcomes == {"success": 3}
    assert len(web.log) == 6


def test_robots_txt_on_a_host_of_a_worker_without_pages_is_told(tmp_path, web, bench_class, three_workers):
    """A worker that may bring no page still fetches what others wait for."""
    web.site("a.test", {"/robots.txt": moved("http://b.test/rules"), "*": Answer(200, "page", delay_s=0.05)})
    web.site("b.test", {"/rules": "User-agent: *\nDisallow: /7\n", "*": "page"})
    bench = bench_class(tmp_path / "c", web, three_workers, workers=3)
    bench.seed("http://a.test/")
    bench.fetchlist(*urls_on("ab", 10), parts=2, part_of=lambda host, _: int(host == "b.test"))
    report = bench.fetch(max_pages=1)  # the first worker gets it
    assert report.outcomes == {"success": 1}
    assert web.requests("a.test", "/0")


def test_the_limit_holds_though_a_worker_dies(tmp_path, web, bench_class, wait_until):
    web.site("a.test", {"*": Answer(200, "page", delay_s=0.05)})
    with FetchPool(1) as pool:
        bench = bench_class(tmp_path / "c", web, pool, delay_s=0.0)
        bench.fetch(*urls_on("a", 60), max_pages=4)

        def kill():
            wait_until(lambda: len(web.requests("a.test")) >= 20)
            os.kill(pool.pids[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        report = bench.fetch(max_pages=30)
        killer.join()
    assert report.replaced_workers == 1
    assert report.outcomes == {"success": 34}
