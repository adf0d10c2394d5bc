"""kill -9 at bad moments: nothing acknowledged is lost or fetched again, and no two processes write one part."""

import os
import signal
import subprocess
import sys
import threading
import time

import pyarrow.parquet as pq
import pytest

from cobnut.errors import InputError, MachineError
from cobnut.fetcher import archive
from cobnut.fetcher.pool import FetchPool
from cobnut.fetcher.results import _write, lock_path
from cobnut.records.catalogue import FETCHED
from cobnut.storage.locks import WriterLock
from cobnut.testing.fakeweb import Answer, moved

SLOW = Answer(200, "<p>page", delay_s=0.03)
PARENT = """
import sys
from pathlib import Path
import msgspec
from cobnut.config.sections import Settings
from cobnut.stages.fetch import run_fetch
from cobnut.storage.layout import CrawlFolder

crawl = CrawlFolder.open(Path(sys.argv[1]))
settings = msgspec.json.decode(sys.argv[2], type=Settings)
run_fetch(crawl, crawl.segments()[-1], settings, part=int(sys.argv[3]) if len(sys.argv) > 3 else None)
"""


def start_parent(bench, *more):
    settings = bench.settings
    import msgspec

    return subprocess.Popen(
        [sys.executable, "-c", PARENT, str(bench.crawl.path), msgspec.json.encode(settings).decode(), *more]
    )


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    if int(file.read().rpartition(")")[2].split()[1]) == pid:
                        found.append(int(entry))
            except OSError:
                continue
    return found


def test_a_killed_worker_is_replaced_and_goes_on(tmp_path, web, bench_class):
    web.site("a.test", {"*": SLOW})
    urls = [f"http://a.test/{n}" for n in range(60)]
    with FetchPool(1) as pool:
        bench = bench_class(tmp_path / "c", web, pool)

        def kill():
            wait_for(lambda: len(web.requests("a.test")) >= 20)
            os.kill(pool.pids[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        report = bench.fetch(*urls)
        killer.join()
    assert report.replaced_workers == 1
    assert any("replaced" in notice for notice in report.notices)
    assert report.outcomes == {"success": 60}
    assert report.sealed


def test_a_worker_that_dies_twice_is_an_error(tmp_path, web, bench_class):
    web.site("a.test", {"*": SLOW})
    with FetchPool(1) as pool:
        bench = bench_class(tmp_path / "c", web, pool)
        stop = threading.Event()

        def kill():
            while not stop.wait(0.05):
                for pid in pool.pids:
                    if lock_path(bench.segment.path, 0).exists():
                        try:
                            os.kill(pid, signal.SIGKILL)
                        except ProcessLookupError:
                            continue

        bench.seed("http://a.test/")
        bench.fetchlist(*(f"http://a.test/{n}" for n in range(60)))
        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(MachineError, match="ended twice"):
            bench.fetch()
        stop.set()
        killer.join()
        assert bench.fetch().complete


def test_acknowledged_rows_survive_and_records_at_the_tail_become_rows(tmp_path, web, bench_class, fetch_pool):
    web.site("a.test", {"*": SLOW, "/moved": moved("/target"), "/target": SLOW, "/missing": Answer(404)})
    bench = bench_class(tmp_path / "c", web, fetch_pool)
    urls = ["http://a.test/moved", "http://a.test/missing", *(f"http://a.test/{n}" for n in range(50))]
    bench.seed(urls[0])
    bench.fetchlist(*urls)
    parent = start_parent(bench)
    wait_for(lambda: len(web.requests("a.test")) >= 25)
    (worker,) = children_of(parent.pid)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    wait_for(lambda: not os.path.exists(f"/proc/{worker}"))  # it ends with its parent
    asked = len(web.log)
    files = list(bench.segment.warc_path.glob("*.warc.gz"))
    archived = [r for path in files for r in archive.read_tail(path, -1)]
    whole = [r for r in archived if r.response.purpose is None]
    report = bench.fetch()
    assert report.complete
    assert report.recovered == len(whole)
    rows = bench.rows()
    assert len(rows) == 53
    assert rows["http://a.test/target"]["hop_from"] == rows["http://a.test/moved"]["url_key"]
    assert rows["http://a.test/missing"]["outcome"] == "gone"
    for row in rows.values():
        fields, status, body = bench.record_of(row)
        assert (fields["WARC-Target-URI"], status, len(body)) == (row["url"], row["http_status"], row["body_bytes"])
    for found in whole:
        assert len(web.requests("a.test", found.response.url.removeprefix("http://a.test"))) == 1
    assert len(web.log) - asked < 40
    # what the killed run had learned of the host is known, too: each answer counts once
    assert sum(row["request_count"] for row in bench.hosts("traffic")) == len(bench.records())
    assert sum(row["success_count"] for row in bench.hosts("traffic")) == len(bench.records())
    if len(archived) > len(whole):
        assert len(web.requests("a.test", "/robots.txt")) == 1
    assert len(bench.hosts("robots")) == 1
    assert len(list(bench.segment.warc_path.glob("*.warc.gz"))) == len(files) + 1


@pytest.mark.parametrize("cut", [1, 20, 300])
def test_a_cut_last_member_is_left_and_its_url_fetched_again(bench, web, cut):
    web.site("a.test", {"*": "page"})
    urls = [f"http://a.test/{n}" for n in range(10)]
    bench.fetch(*urls)
    for path in bench.segment.part_files(FETCHED):
        path.unlink()
    (warc,) = bench.segment.warc_path.glob("*.warc.gz")
    data = warc.read_bytes()
    warc.write_bytes(data[:-cut])
    web.reset()
    report = bench.fetch()
    assert report.complete
    assert warc.read_bytes() == data[:-cut]
    assert 1 <= len([e for e in web.log if e.target != "/robots.txt"]) <= 2
    assert len(bench.rows()) == 10


def test_what_a_refusal_says_of_itself_is_read_back_too(bench, web):
    web.site("a.test", {"/in": Answer(401, headers={"WWW-Authenticate": "Basic realm=x"}), "/no": Answer(403, "no")})
    bench.fetch("http://a.test/in", "http://a.test/no")
    before = bench.rows()
    for path in bench.segment.part_files(FETCHED):
        path.unlink()
    web.reset()
    assert bench.fetch().flags == {"login_wall": 1}
    assert not web.log
    assert bench.rows().keys() == before.keys()
    for url, row in bench.rows().items():
        assert row["flags"] == before[url]["flags"] == (["login_wall"] if url.endswith("/in") else None)


def test_an_answer_that_makes_no_row_counts_once_however_often_a_run_is_killed(bench, web):
    web.site("a.test", {"/busy": Answer(503, headers={"Retry-After": "3600"})})
    bench.fetch("http://a.test/busy")
    busy = len(web.requests("a.test", "/busy"))
    assert busy >= 1
    for _ in range(2):
        for path in bench.segment.part_files(FETCHED):  # what a flush leaves that had rows about hosts only
            _write(path.parent, FETCHED, path.stem, [()] * len(FETCHED.columns))
        bench.fetch()
        traffic = bench.hosts("traffic")
        assert sum(row["request_count"] for row in traffic) == busy + 1  # and robots.txt
        assert sum(row["error_count"] for row in traffic) == busy
        assert len(web.requests("a.test", "/busy")) == busy, "the pause is forgotten"


def test_ten_kills_at_any_moment(tmp_path, web, bench_class, fetch_pool):
    web.site("a.test", {"*": SLOW}).site("b.test", {"*": SLOW})
    bench = bench_class(tmp_path / "c", web, fetch_pool)
    urls = [f"http://{host}.test/{n}" for n in range(60) for host in "ab"]
    bench.seed(urls[0])
    bench.fetchlist(*urls)
    for kill in range(6):
        parent = start_parent(bench)
        target = len(web.log) + 3 + 5 * kill
        wait_for(lambda target=target, parent=parent: len(web.log) >= target or parent.poll() is not None)
        parent.kill()
        parent.wait()
    report = bench.fetch()
    assert report.complete
    assert len(bench.rows()) == 120
    twice = [url for url in urls if len(web.requests(url[7:13], url[13:])) > 1]
    assert len(twice) <= 6 * 2  # at most what was in flight at each kill


def test_a_part_that_another_process_fetches_is_refused(bench, web):
    web.site("a.test", {"*": "page"})
    bench.seed("http://a.test/")
    bench.fetchlist("http://a.test/")
    with WriterLock(lock_path(bench.segment.path, 0), "the part"), pytest.raises(MachineError) as error:
        bench.fetch()
    assert f"process {os.getpid()}" in str(error.value)
    assert not web.log
    assert bench.fetch().complete


def test_parts_are_fetched_by_processes_of_their_own(tmp_path, web, bench_class, fetch_pool):
    web.site("a.test", {"*": "page"}).site("b.test", {"*": "page"})
    bench = bench_class(tmp_path / "c", web, fetch_pool)
    bench.seed("http://a.test/")
    urls = [f"http://{host}.test/{n}" for n in range(5) for host in "ab"]
    bench.fetchlist(*urls, parts=2, part_of=lambda host, _: int(host == "b.test"))
    both = [start_parent(bench, "0"), start_parent(bench, "1")]
    assert [process.wait() for process in both] == [0, 0]
    assert len(bench.rows()) == 10
    names = {path.name[:10] for path in bench.segment.warc_path.iterdir()}
    assert names == {"part-00000", "part-00001"}
    assert bench.segment.state() == "fetched"
    with pytest.raises(InputError, match="no part 7"):
        bench.fetch(part=7)


def test_an_interrupt_is_the_parents_business(bench, web, fetch_pool):
    web.site("a.test", {"*": "page"})
    bench.fetch("http://a.test/1")
    (worker,) = fetch_pool.pids
    os.kill(worker, signal.SIGINT)
    assert bench.fetch("http://a.test/2").complete
    assert fetch_pool.pids == (worker,)
    assert pq.read_table(bench.segment.part_files(FETCHED)[0]).num_rows == 1
