"""What is left of a table when its writer is killed, or the disk is full? With real processes and signals."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cobnut.config.sections import Settings, StorageSettings
from cobnut.crawl import steps
from cobnut.records.catalogue import CRAWLDB, HOSTDB, PAGES, ROBOTS
from cobnut.storage.files import TEMPORARY_PREFIX
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import TableStore, checksum
from cobnut.testing.clock import VirtualClock
from cobnut.testing.relations import difference, multiset
from cobnut.testing.tables import START_MS, link, new_crawl, page, write_segment

WRITER = """
import pathlib, sys
from cobnut.records.catalogue import CRAWLDB
from cobnut.storage.tables import TableStore, partition_of
from cobnut.testing.tables import page, rows_of

store = TableStore(pathlib.Path(sys.argv[1]), CRAWLDB, grace_s=0)
version = int(sys.argv[2])
print("ready", flush=True)
while True:
    version += 1
    rows = [{**page(f"http://h{i}.example/"), "score": version} for i in range(50)]
    with store.begin(2) as draft:
        for partition in range(2):
            mine = [row for row in rows if partition_of(row["bucket"], 2) == partition]
            draft.write_partition(partition, [rows_of(CRAWLDB, mine)])
        draft.publish("test", version=version)
    print(version, flush=True)
"""


def whole_version(store):
    """The version that a reader sees; every row and every byte must be that version's."""
    with store.current() as current:
        version = current.manifest["version"]
        rows = current.read(["url_key", "score"])
        assert set(rows.column("score").to_pylist()) == {version}
        assert rows.num_rows == len(set(rows.column("url_key").to_pylist())) == 50 == current.rows
        for entry in current.manifest["files"]:
            assert checksum(current.generation.path / entry["name"]) == entry["xxh3"]
        return version


def test_killed_at_any_moment_a_reader_finds_the_last_whole_generation(tmp_path):
    store, rng = TableStore(tmp_path / "crawldb", CRAWLDB, grace_s=0), random.Random(7)
    version, taken_over = 0, 0
    for last in [False] * 11 + [True]:
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(store.path), str(version)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout.readline() == "ready\n"
        until = time.monotonic() + rng.uniform(0.0, 0.6)
        patience = until + (60 if last else 0)  # a busy machine may need long for the first one
        while time.monotonic() < until or (store.generations.current_number() is None and time.monotonic() < patience):
            if store.generations.current_number() is not None:
                assert whole_version(store) >= version
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged = [int(line) for line in writer.stdout.read().split()]
        writer.wait()
        writer.stdout.close()
        if store.generations.current_number() is None:
            continue
        found = whole_version(store)
        assert found >= max(acknowledged, default=version), "what was acknowledged is lost"
        assert found <= max(acknowledged, default=version) + 1
        version = found
        with store.begin() as draft:
            taken_over += any("taken over" in m for m in draft.messages)
        names = [p.name for p in store.path.iterdir()]
        assert not [n for n in names if n.startswith(TEMPORARY_PREFIX)], "unfinished work was not swept"
    assert version > 0
    assert taken_over > 0, "no kill met a writer at work"


# ---- killed between the tables of one stage


UPDATE = """
import os, pathlib, signal, sys
from cobnut.config.sections import Settings, StorageSettings
from cobnut.crawl.updatedb import updatedb
from cobnut.storage.layout import CrawlFolder
from cobnut.testing.clock import VirtualClock

def killed(table):
    if table == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

updatedb(
    CrawlFolder.open(pathlib.Path(sys.argv[1])), Settings(storage=StorageSettings(**eval(sys.argv[4]))),
    clock=VirtualClock(int(sys.argv[3])), on_publish=killed,
)
"""
TABLES = (PAGES, HOSTDB, ROBOTS, CRAWLDB)
STORAGE = {"whole": {"partition_rows": 20}, "delta": {"partition_rows": 20, "delta_least_rows": 0, "delta_share": 10.0}}
SETTINGS = Settings(storage=StorageSettings(partition_rows=20))
LATER_MS = START_MS + 3_600_000


def made_crawl(path: Path) -> CrawlFolder:
    crawl = new_crawl(path)
    seeds = [f"http://s{i}.example/" for i in range(30)]
    steps.inject(crawl, SETTINGS, seeds, clock=VirtualClock())
    write_segment(
        crawl, "20260101000000",
        fetchlist=[page(u) for u in seeds],
        fetched=[page(u, outcome="gone" if i % 5 == 0 else "success", reason="http_410" if i % 5 == 0 else None,
                      digest=bytes([i]) * 16) for i, u in enumerate(seeds)],
        parsed=[page(u, signature=bytes([i]) * 16, outlink_count=2) for i, u in enumerate(seeds) if i % 5],
        links=[link(u, f"{u}page{n}", n, contribution=1000) for i, u in enumerate(seeds) if i % 5 for n in range(2)],
        hosts=[{**{k: v for k, v in page(u).items() if k in ("host", "bucket")}, "request_count": 1} for u in seeds],
    )  # fmt: skip
    return crawl


def contents(crawl):
    return {table.name: multiset(crawl.table(table).read()) for table in TABLES}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    crawl = made_crawl(tmp_path_factory.mktemp("undisturbed") / "crawl")
    steps.updatedb(crawl, SETTINGS, clock=VirtualClock(LATER_MS))
    found = contents(crawl)
    assert {name: sum(rows.values()) for name, rows in found.items()} == {
        "pages": 78, "hostdb": 30, "robots": 0, "crawldb": 78,
    }  # fmt: skip
    return found


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("where", [t.name for t in TABLES])
def test_killed_at_a_border_between_two_tables_a_rerun_gives_the_undisturbed_result(
    tmp_path, undisturbed, where, storage
):
    settings = Settings(storage=StorageSettings(**STORAGE[storage]))
    crawl = made_crawl(tmp_path / "crawl")
    before = {t.name: crawl.table(t).manifest().get("generation") for t in TABLES}
    arguments = [str(crawl.path), where, str(LATER_MS), repr(STORAGE[storage])]
    done = subprocess.run([sys.executable, "-c", UPDATE, *arguments], capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    published = [t.name for t in TABLES if crawl.table(t).manifest().get("generation") != before[t.name]]
    assert published == [t.name for t in TABLES][: [t.name for t in TABLES].index(where)]
    assert steps.applied_segments(crawl) == [], "applied once the crawldb says so"

    report = steps.updatedb(crawl, settings, clock=VirtualClock(LATER_MS))
    assert report.segments == ["20260101000000"]
    assert any("taken over" in message for message in report.messages)
    found = contents(crawl)
    for name, rows in undisturbed.items():
        assert found[name] == rows, f"{name}: " + difference(rows, found[name])
    again = steps.updatedb(crawl, settings, ["20260101000000"], clock=VirtualClock(LATER_MS))
    assert again.segments == []
    assert contents(crawl) == undisturbed
    left = [p.name for p in crawl.path.rglob("*") if p.name.startswith(TEMPORARY_PREFIX)]
    assert left == []


# ---- a full disk

ADD = """
import pathlib, resource, sys
from cobnut.config.sections import Settings
from cobnut.crawl.inject import inject
from cobnut.errors import CobnutError
from cobnut.storage.layout import CrawlFolder

if sys.argv[2] != "-":
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
seeds = (f"http://h{i}.example/{i * 7919}{'x' * (i % 97)}" for i in range(int(sys.argv[3])))
try:
    inject(CrawlFolder.open(pathlib.Path(sys.argv[1])), Settings(), seeds)
except CobnutError as error:
    print(type(error).__name__, error.line(), sep="\\n")
    sys.exit(error.exit_code)
"""


def add_seeds(crawl, limit, count):
    done = subprocess.run(
        [sys.executable, "-c", ADD, str(crawl.path), limit, str(count)], capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.fixture(params=["a full file system", "a limit on file sizes"])
def small_place(request, tmp_path):
    """A crawl where little more fits, and the limit its writer is to be given."""
    if request.param == "a limit on file sizes":
        yield new_crawl(tmp_path / "crawl"), "20000"
        return
    place = tmp_path / "small"
    place.mkdir()
    mounted = os.geteuid() == 0 and not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(place)], capture_output=True
    ).returncode  # fmt: skip
    if not mounted:
        pytest.skip("a small file system cannot be mounted here (needs root)")
    try:
        yield new_crawl(place / "crawl"), "-"
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_one_clear_line_and_the_table_stays(small_place):
    crawl, limit = small_place
    assert add_seeds(crawl, "-", 40) == (0, [], "")
    before = (crawl.table(CRAWLDB).manifest(), multiset(crawl.table(CRAWLDB).read()))
    code, said, stderr = add_seeds(crawl, limit, 20_000)
    assert (code, len(said), stderr) == (4, 2, ""), said
    assert said[0] == "MachineError"
    assert "No space left on device" in said[1] or "File too large" in said[1]
    assert str(crawl.path) in said[1]
    assert (crawl.table(CRAWLDB).manifest(), multiset(crawl.table(CRAWLDB).read())) == before
    assert add_seeds(crawl, "-", 50) == (0, [], ""), "it goes on as soon as there is room"
    assert crawl.table(CRAWLDB).read().num_rows == 50
    left = [p.name for p in crawl.path.rglob("*") if p.name.startswith(TEMPORARY_PREFIX)]
    assert left == []
