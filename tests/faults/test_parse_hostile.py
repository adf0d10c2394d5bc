"""Hostile pages, killed workers, killed runs: every fetched page gets exactly one row, whatever happens."""

from __future__ import annotations

import mmap
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "parsers"))

from segment_maker import HTML_HEADERS, fetched_row, make_segment, rows_of

from cobnut.config.sections import ParserSettings, Settings
from cobnut.errors import MachineError
from cobnut.parsers.pool import ParsePool
from cobnut.parsers.tasks import Batch, PageTask, WorkerStart, write_message
from cobnut.records.catalogue import FETCHED, LINKS, PARSED
from cobnut.stages.parse import BATCH_PAGES, ParseProgress, run_parse
from cobnut.storage.layout import CrawlFolder, SegmentFolder

T = TypeVar("T")

pytestmark = pytest.mark.serial

SLOW = b"<b>" * 500 + b"</i>" * 3_500_000
"""Holds the tree builder for longer than the time these tests allow a page."""


def settings(workers: int = 1, timeout_s: float = 0.4, **more: int) -> Settings:
    return Settings(parser=ParserSettings(workers=workers, page_timeout_s=timeout_s, **more))


RUN = """
import sys
from pathlib import Path
from cobnut.config.sections import ParserSettings, Settings
from cobnut.stages.parse import run_parse
from cobnut.storage.layout import CrawlFolder
crawl = CrawlFolder.open(Path(sys.argv[1]))
settings = Settings(parser=ParserSettings(workers=int(sys.argv[2]), page_timeout_s=float(sys.argv[3])))
run_parse(crawl, crawl.segments()[-1], settings)
"""


def start_run(crawl: CrawlFolder, workers: int, timeout_s: float) -> subprocess.Popen[bytes]:
    """A run over the newest segment in a process of its own."""
    return subprocess.Popen([sys.executable, "-c", RUN, str(crawl.path), str(workers), str(timeout_s)])


def site(count: int) -> dict[str, bytes]:
    return {
        f"http://h{i % 7}.test/{i}": f"<title>t{i}</title><p>page {i}<a href=/{i + 1}>next</a>"
        f"<a href=http://h{(i + 1) % 7}.test/{i * 2 % count}>other</a>".encode()
        for i in range(count)
    }


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlFolder:
    return CrawlFolder.create(tmp_path / "crawl", "")


def rows(segment: SegmentFolder) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    return rows_of(segment, PARSED), rows_of(segment, LINKS)


def test_a_page_that_takes_too_long_is_recorded_and_the_rest_goes_on(crawl: CrawlFolder) -> None:
    pages = site(30)
    pages["http://evil.test/1"] = SLOW
    pages |= {f"http://after.test/{i}": b"<title>after</title>" for i in range(5)}
    pages["http://evil.test/2"] = SLOW
    segment = make_segment(crawl, pages)
    report = run_parse(crawl, segment, settings())
    assert report.reasons == {"parse_timeout": 2}
    assert report.statuses == {"ok": 35, "failed": 2}
    parsed, links = rows(segment)
    assert {r["url"]: r["reason"] for r in parsed if r["parse_status"] != "ok"} == {
        "http://evil.test/1": "parse_timeout",
        "http://evil.test/2": "parse_timeout",
    }
    assert sorted(str(r["url"]) for r in parsed) == sorted(pages)
    assert len(links) == len({(r["from_key"], r["position"]) for r in links})
    assert segment.state() == "parsed"


def test_the_kernel_ends_a_page_without_a_supervisor(crawl: CrawlFolder, tmp_path: Path) -> None:
    segment = make_segment(crawl, {"http://evil.test/": SLOW})
    row = pq.read_table(segment.part_files(FETCHED)[0]).to_pylist()[0]
    task = PageTask(**{name: row[name] for name in PageTask.__struct_fields__})
    with open(tmp_path / "place", "w+b") as place:
        place.truncate(mmap.PAGESIZE)
        worker = subprocess.Popen(
            [sys.executable, "-m", "cobnut.parsers.worker", str(place.fileno()), str(os.getpid())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(place.fileno(),),
        )  # fmt: skip
        assert worker.stdin is not None
        write_message(worker.stdin, WorkerStart(settings()))
        write_message(worker.stdin, Batch(str(segment.path), "pages-x", [task]))
        assert worker.wait(120) == -signal.SIGPROF  # nobody watched, and nobody read its answers
    assert rows(segment) == ([], [])


def test_a_page_that_takes_too_much_memory_is_recorded(crawl: CrawlFolder) -> None:
    bomb = b"<p>" * 2_000_000
    segment = make_segment(
        crawl, {"http://a.test/": b"<title>a", "http://evil.test/": bomb, "http://b.test/": b"<title>b"}
    )
    report = run_parse(crawl, segment, settings(timeout_s=20, memory_mib=256))
    assert report.statuses == {"ok": 2, "failed": 1}
    assert report.reasons == {"parse_crashed": 1}


def test_workers_killed_from_outside_lose_and_double_nothing(crawl: CrawlFolder) -> None:
    pages = site(2_000)
    calm = make_segment(crawl, pages, name="20260101000000")
    run_parse(crawl, calm, settings(workers=2))
    segment = make_segment(crawl, pages, name="20260101000001")
    stop = threading.Event()
    killed = []
    with ParsePool(settings(workers=2)) as pool:

        def kill() -> None:
            pick = random.Random(7)
            while not stop.is_set() and len(killed) < 6:
                time.sleep(0.3 + pick.random() * 0.6)
                pids = pool.pids
                if pids:
                    victim = pick.choice(pids)
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        try:
            report = run_parse(crawl, segment, settings(workers=2), pool=pool)
        finally:
            stop.set()
            killer.join()
    assert killed
    assert report.complete
    assert rows(segment) == rows(calm)


def test_a_killed_run_is_continued_and_gives_the_rows_of_an_undisturbed_one(crawl: CrawlFolder) -> None:
    pages = site(2_400)
    calm = make_segment(crawl, pages, name="20260101000000")
    run_parse(crawl, calm, settings(workers=2))
    segment = make_segment(crawl, pages, name="20260101000001")
    pick = random.Random(3)
    kills = 0
    for _ in range(10):
        run = start_run(crawl, 2, 10)
        try:
            run.wait(1.0 + pick.random() * 1.5)
        except subprocess.TimeoutExpired:
            workers = _children(run.pid)
            run.kill()
            kills += 1
            for worker in workers:
                _wait_for(partial(_is_gone, worker), 30)  # the kernel ends the orphans
        run.wait()
        if segment.state() == "parsed":
            break
    assert kills
    run_parse(crawl, segment, settings(workers=2))
    assert segment.state() == "parsed"
    assert rows(segment) == rows(calm)
    assert not [p for t in (PARSED, LINKS) for p in segment.folder(t).iterdir() if p.name.startswith(".")]


def test_links_without_their_pages_go_away(crawl: CrawlFolder) -> None:
    segment = make_segment(crawl, site(50))
    run_parse(crawl, segment, settings())
    before = rows(segment)
    for path in segment.part_files(PARSED):  # as if killed between the two parts
        path.unlink()
    widow = segment.part_files(LINKS)[0]
    widow.rename(widow.with_name("pages-of-a-former-batch.parquet"))
    run_parse(crawl, segment, settings())
    assert rows(segment) == before


def test_the_same_rows_whatever_the_number_of_workers(crawl: CrawlFolder) -> None:
    pages = site(BATCH_PAGES * 4 + 17)
    found = []
    for number, workers in enumerate((1, 3)):
        segment = make_segment(crawl, pages, name=f"2026010100000{number}")
        run_parse(crawl, segment, settings(workers=workers))
        found.append(rows(segment))
    assert found[0] == found[1]


def test_stopping_finishes_what_was_begun_and_is_continued(crawl: CrawlFolder) -> None:
    segment = make_segment(crawl, site(BATCH_PAGES * 5))
    seen: list[ParseProgress] = []
    report = run_parse(
        crawl,
        segment,
        settings(),
        on_progress=seen.append,
        should_stop=lambda: bool(seen and seen[-1].done >= BATCH_PAGES),
    )
    assert not report.complete
    assert segment.state() == "fetched"
    assert len(rows(segment)[0]) == report.pages
    assert 0 < report.pages < BATCH_PAGES * 5
    report = run_parse(crawl, segment, settings())
    assert report.complete
    assert len(rows(segment)[0]) == BATCH_PAGES * 5


def test_answers_that_are_not_in_the_archive_are_failed_pages(crawl: CrawlFolder) -> None:
    more = [
        fetched_row("http://gone.test/1", warc_file="part-00000.warc.gz", warc_offset=99_999_999),
        fetched_row("http://gone.test/2", warc_file="no-such-file.warc.gz", warc_offset=0),
        fetched_row("http://gone.test/3", warc_file="part-00000.warc.gz", warc_offset=0),  # another page's answer
        fetched_row("http://gone.test/4", warc_file="part-00000.warc.gz", warc_offset=7),  # no record begins here
        fetched_row("http://gone.test/5", warc_file="../../../etc/passwd", warc_offset=0),
        fetched_row("http://empty.test/", warc_file=None),
    ]
    segment = make_segment(crawl, site(3), more_rows=more)
    report = run_parse(crawl, segment, settings())
    assert report.statuses == {"ok": 4, "failed": 5}
    assert report.reasons == {"parse_error": 5}


def test_redirects_are_links_from_source_to_target(crawl: CrawlFolder) -> None:
    moved = fetched_row("http://old.test/a", score=700, depth=3)
    moved |= {"outcome": "redirect_perm", "redirect_url": "http://new.test/b%27", "redirect_key": "test,new)http/b'"}
    loop = fetched_row("http://loop.test/")
    loop |= {"outcome": "redirect_temp", "redirect_url": "http://loop.test/", "redirect_key": loop["url_key"]}
    gone = fetched_row("http://gone.test/") | {"outcome": "gone"}
    segment = make_segment(crawl, {}, more_rows=[moved, loop, gone])
    report = run_parse(crawl, segment, settings())
    assert (report.pages, report.redirects) == (0, 1)
    (link,) = rows(segment)[1]
    assert link["kind"] == "redirect"
    assert (link["from_key"], link["to_key"], link["to_host"]) == (moved["url_key"], moved["redirect_key"], "new.test")
    assert (link["contribution"], link["from_score"], link["from_depth"], link["position"]) == (700, 700, 3, 0)
    assert segment.state() == "parsed"


def test_links_are_sorted_by_the_targets_bucket(crawl: CrawlFolder) -> None:
    segment = make_segment(crawl, site(300))
    run_parse(crawl, segment, settings())
    for path in segment.part_files(LINKS):
        buckets = pq.read_table(path, columns=["to_bucket"]).column(0).to_pylist()
        assert buckets == sorted(buckets)


def test_two_runs_on_one_segment_do_not_mix(crawl: CrawlFolder) -> None:
    segment = make_segment(crawl, site(50))

    def again(_: ParseProgress) -> None:
        with pytest.raises(MachineError, match="another process is writing"):
            run_parse(crawl, segment, settings())

    assert run_parse(crawl, segment, settings(), on_progress=again).complete


def test_a_full_disk_is_the_machines_fault_and_loses_nothing(crawl: CrawlFolder) -> None:
    segment = make_segment(crawl, site(20))
    segment.folder(LINKS).write_bytes(b"a file where the folder should be")
    with pytest.raises(MachineError):
        run_parse(crawl, segment, settings())
    segment.folder(LINKS).unlink()
    assert run_parse(crawl, segment, settings()).complete
    assert len(rows(segment)[0]) == 20


def test_a_worker_that_cannot_begin_says_why_in_one_line(crawl: CrawlFolder, capfd: pytest.CaptureFixture[str]) -> None:
    """No room for what is unpacked into temporary files, before the first page."""
    segment = make_segment(crawl, site(3))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    try:
        with pytest.raises(MachineError, match=r"the language model cannot be unpacked .*; make room there"):
            run_parse(crawl, segment, settings())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "Traceback" not in capfd.readouterr().err
    assert run_parse(crawl, segment, settings()).complete


def test_hostile_pages_cost_little(crawl: CrawlFolder) -> None:
    """Each of these holds an unprotected tree builder for seconds, or ends it: here all are parsed."""
    n = 100_000
    pages = {
        "deep": b"<div>" * n + b"deep", "unclosed base": b"<base " * 30_000 + b"<a href=/x>x</a>",
        "attributes": b"<a " + b" ".join(b"a%d=1" % i for i in range(n)) + b">x",
        "quoted": b"<a " + b" ".join(b"a%d='>'" % i for i in range(n)) + b">x",
        "formatting": b"<b>" * n + b"<p>" * 1_000, "nested anchors": b"<a href=x><div>" * n,
        "lists": b"<li><ul>" * n, "comments": b"<!--" * n, "entities": b"&amp" * n, "nul": b"\0" * n,
    }  # fmt: skip
    segment = make_segment(
        crawl, [(f"http://h.test/{name.replace(' ', '-')}", body, HTML_HEADERS) for name, body in pages.items()]
    )
    report = run_parse(crawl, segment, settings(timeout_s=10))
    assert report.statuses == {"ok": len(pages)}


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(p) for p in text.split()]


def _is_gone(pid: int) -> bool:
    """Whether a process has ended, buried or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _wait_for(condition: Callable[[], T], limit_s: float = 20.0) -> T:
    deadline = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)
    return found
