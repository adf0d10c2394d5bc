"""Two segments of one crawl are not fetched at the same time, since they may share hosts; parts of one segment are."""

import os
import signal
import subprocess

import pytest
from crawling import AGENT, command, environment

from cobnut.crawl import steps
from cobnut.errors import MachineError
from cobnut.records.catalogue import HOSTDB
from cobnut.stages.fetch import run_fetch
from cobnut.storage.layout import FETCH_LOCK
from cobnut.storage.locks import GroupLock
from cobnut.testing.fakeweb import Answer

SLOW = Answer(200, "page", delay_s=0.3)


def start(bench, segment, *more):
    words = ("fetch", bench.crawl.path, segment.name, "--resolve", f"*:127.0.0.1:{bench.web.port}", *AGENT, *more)
    return subprocess.Popen(
        command(*words), env=environment(), text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


@pytest.fixture
def two(bench, web):
    """A crawl with two segments of the same slow host."""
    web.site("a.test", {"/robots.txt": Answer(404), "*": SLOW})
    bench.seed("http://a.test/")
    first = bench.fetchlist(*(f"http://a.test/{n}" for n in range(40)))
    second = bench.fetchlist("http://a.test/other")
    return bench, first, second


def test_the_second_segment_is_refused_and_the_owner_named(two, web, wait_until):
    bench, first, second = two
    at_work = start(bench, first)
    wait_until(lambda: web.requests("a.test", "/1"))
    refused = start(bench, second)
    _, told = refused.communicate(timeout=60)
    assert refused.returncode == 4
    assert first.name in told
    assert second.name in told
    assert f"process {at_work.pid} " in told
    assert f"cobnut fetch {bench.crawl.path}" in told
    assert not web.requests("a.test", "/other")
    same = start(bench, first)
    _, told = same.communicate(timeout=60)
    assert same.returncode == 4
    assert f"process {at_work.pid} " in told  # a part's owner too is the command, not its worker
    assert f"cobnut fetch {bench.crawl.path}" in told
    at_work.send_signal(signal.SIGKILL)
    at_work.communicate()
    later = start(bench, second)
    _, told = later.communicate(timeout=60)
    assert later.returncode == 0, told  # a dead owner keeps nobody out
    assert web.stats("a.test").most_at_once == 1


def test_the_second_segment_waits_as_long_as_the_setting_says(two, web, wait_until):
    bench, first, second = two
    at_work = start(bench, first)
    wait_until(lambda: web.requests("a.test", "/1"))
    waits = start(bench, second, "-s", "storage.lock_wait_s=120")
    _, told = waits.communicate(timeout=120)
    assert waits.returncode == 0, told
    assert at_work.wait() == 0
    targets = [entry.target for entry in web.requests("a.test")]
    assert targets[-1] == "/other"
    assert web.stats("a.test").most_at_once == 1


def test_parts_of_one_segment_are_fetched_side_by_side(bench, web, wait_until):
    web.site("a.test", {"*": SLOW}).site("b.test", {"*": SLOW})
    bench.seed("http://a.test/")
    urls = [f"http://{host}.test/{n}" for n in range(10) for host in "ab"]
    segment = bench.fetchlist(*urls, parts=2, part_of=lambda host, _: int(host == "b.test"))
    both = [start(bench, segment, "--part", "0"), start(bench, segment, "--part", "1")]
    told = [process.communicate(timeout=60)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert len(bench.rows()) == 20
    steps.parse(bench.crawl, bench.settings, segment)
    steps.updatedb(bench.crawl, bench.settings)
    known = {row["host"]: row for row in bench.crawl.table(HOSTDB).read().to_pylist()}
    assert set(known) == {"a.test", "b.test"}
    for host, row in known.items():
        assert row["request_count"] == row["success_count"] == len(web.requests(host)) == 11
        assert (row["error_count"], row["failures"], row["last_error"]) == (0, 0, None)
        assert row["last_success_at"] >= max(r["fetched_at"] for r in bench.rows().values() if r["host"] == host)


def test_a_host_in_no_part_is_asked_by_one_process(bench, web):
    from cobnut.testing.fakeweb import moved

    web.site("a.test", {"*": moved("http://x.test/a")}).site("b.test", {"*": moved("http://x.test/b")})
    web.site("x.test", {"*": SLOW})
    bench.seed("http://a.test/")
    bench.fetchlist("http://a.test/1", "http://b.test/1", parts=2, part_of=lambda host, _: int(host == "b.test"))
    for part in (0, 1):
        bench.fetch(part=part)
    assert len(bench.rows()) == 3  # the other one is left to the next round


def test_who_joins_and_who_is_kept_out(tmp_path):
    def lock(group):
        return GroupLock(tmp_path / "lock", group, lambda other: f"{other} is at work")

    with lock("one") as first, lock("one"):
        first.release()
        with pytest.raises(MachineError, match="one is at work") as refused, lock("two"):
            pass
        assert f"process {os.getpid()} " in str(refused.value)
    with lock("two"), pytest.raises(MachineError, match="two is at work"), lock("one"):
        pass


def test_a_fetch_that_fails_gives_the_lock_back(two):
    bench, first, second = two
    with GroupLock(bench.crawl.path / FETCH_LOCK, first.name, lambda other: f"{other} …"), pytest.raises(MachineError):
        run_fetch(bench.crawl, second, bench.settings, pool=bench.pool)
    assert run_fetch(bench.crawl, second, bench.settings, pool=bench.pool).complete
