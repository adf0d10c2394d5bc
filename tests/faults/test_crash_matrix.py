"""Every stage is killed at every border, at random moments, and finds the disk full: what does a rerun come to?

To what an undisturbed run comes to, row by row, without anything to be done by hand; and doctor finds nothing wrong, at
once after the kill and after the rerun. The table is the list of stages: who adds one adds a line.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doctored import looked_at, make, site
from killing import Ran, Zygote

from cobnut.index.reader import IndexReader
from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import read_files
from cobnut.testing.clock import VirtualClock
from cobnut.testing.fakeweb import FakeWeb
from cobnut.testing.relations import difference, multiset

pytestmark = pytest.mark.serial

NEW_HOSTS = 12
MOST_BORDERS = 8
STAGES: dict[str, tuple[str, ...]] = {
    "inject": ("inject", "DIR", "SEEDS"),
    "generate": ("generate", "DIR", "--num-fetchers", "2"),
    "fetch": ("fetch", "DIR", "-s", "fetcher.workers=2"),
    "parse": ("parse", "DIR", "-s", "parser.workers=2"),
    "updatedb": ("updatedb", "DIR"),
    "invertlinks": ("invertlinks", "DIR"),
    "rank": ("rank", "DIR"),
    "updatesegs": ("updatesegs", "DIR"),
    "index": ("index", "DIR"),
    "dedup": ("dedup", "DIR"),
    "merge": ("merge", "DIR"),
    "forget": ("forget", "DIR", "http://a.test/6"),
    "clean": ("clean", "DIR"),
    "backup": ("backup", "DIR", "COPY"),
}
"""The commands in the order in which each finds work to do. Upgrades have a test like this of their own."""

PROCESSES = {"fetch", "parse"}
"""Stages whose work is done by processes of their own: these end with the one that is killed."""


class Stage:
    """One stage: the crawl as it finds it, and as it leaves it."""

    def __init__(self, name: str, folder: Path, zygote: Zygote, seeds: Path) -> None:
        self.name, self.folder, self.zygote, self.seeds = name, folder, zygote, seeds
        self.before, self.after = folder / "before", folder / "after"
        self.borders = 0

    def words(self, crawl: Path) -> list[str]:
        names = {"DIR": str(crawl), "SEEDS": str(self.seeds), "COPY": f"{crawl}-copy"}
        return [names.get(word, word) for word in STAGES[self.name]]

    def run(self, crawl: Path, **how: Any) -> Ran:
        return self.zygote.run(*self.words(crawl), **how)

    def fresh(self, place: Path) -> Path:
        shutil.rmtree(f"{place}-copy", ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
        return Path(shutil.copytree(self.before, place))

    def finished(self, crawl: Path, what: str) -> None:
        """Runs the stage to its end: all is as if nothing had happened."""
        if self.name == "backup":  # one that came to its end is not made again
            shutil.rmtree(f"{crawl}-copy", ignore_errors=True)
        done = self.run(crawl)
        # a run that was to be killed may have been faster
        assert done.code == 0 or (done.code == 2 and "no segment waits" in done.err), (what, done.err)
        same(crawl, self.after, what)
        if self.name == "backup":
            same(Path(f"{crawl}-copy"), self.after, what)


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    running = site()
    for n in range(NEW_HOSTS):
        links = "".join(f'<a href="/{m}">words {m}</a>' for m in range(3))
        running.site(f"c{n}.test", {"*": f"<title>New {n}</title>{links}<a href='http://a.test/1'>almond</a> page {n}"})
    with running:
        yield running


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory, web: FakeWeb) -> Iterator[dict[str, Stage]]:
    """Every stage run once, undisturbed, on a crawl that has some rounds behind it."""
    top = tmp_path_factory.mktemp("matrix")
    crawl = make(top / "crawl", web)
    seeds = top / "seeds.txt"
    seeds.write_text("".join(f"http://c{n}.test/{page}\n" for n in range(NEW_HOSTS) for page in range(3)))
    found: dict[str, Stage] = {}
    with Zygote(top, int(time.time()) + 3_600) as zygote:
        for name in STAGES:
            stage = found[name] = Stage(name, top / name, zygote, seeds)
            shutil.copytree(crawl, stage.before)
            done = stage.run(crawl)
            assert done.code == 0, (name, done.err)
            stage.borders = done.borders
            shutil.copytree(crawl, stage.after)
        yield found


def contents(crawl: Path) -> dict[str, Counter[Any]]:
    """All that counts of a crawl: rows of its tables and segments, what was applied, and which documents there are."""
    folder = CrawlFolder.open(crawl)
    found: dict[str, Counter[Any]] = {}
    for table in (t for t in tables.TABLES if t.scope == "crawl"):
        found[table.name] = multiset(without_times(folder.table(table).read()))
        applied = folder.table(table).manifest().get("applied", [])
        found[f"{table.name} applied"] = Counter(entry["segment"] for entry in applied)
    for segment in folder.segments():
        found[f"{segment.name} state"] = Counter([segment.state()])
        # what was learned of hosts is not acknowledged: it goes with the process that learned it
        for table in (t for t in tables.TABLES if t.scope == "segment" and t is not tables.HOSTS):
            rows = multiset(without_times(read_files(table, segment.part_files(table))))
            if rows:
                found[f"{segment.name} {table.name}"] = rows
        if segment.index_path.exists():
            found[f"{segment.name} index"] = documents(segment.index_path)
    generation = folder.index_generations().current()
    if generation is not None:
        with generation:
            found["index"] = documents(generation.path)
    return found


MEASURED = {"elapsed_ms", "fetched_at", "warc_file", "warc_offset", "headers"}
"""Columns that tell when and how an answer came: two runs of a fetch differ in them."""


def without_times(rows: Any) -> Any:
    if not {"elapsed_ms", "warc_offset"} & set(rows.schema.names):
        return rows
    return rows.drop_columns([name for name in MEASURED if name in rows.schema.names])


def documents(folder: Path) -> Counter[Any]:
    return Counter((d.url_key, d.segment, d.title) for d in IndexReader(folder).documents())


def same(crawl: Path, wanted: Path, what: str) -> None:
    found, expected = contents(crawl), contents(wanted)
    for name in sorted({*found, *expected}):
        one, other = found.get(name, Counter()), expected.get(name, Counter())
        assert one == other, f"{what}: {name}: {difference(other, one)}"


def is_well(stage: Stage, crawl: Path, *, wholly: bool) -> None:
    """Doctor finds nothing wrong, and after a rerun nothing at all."""
    clock = VirtualClock(stage.zygote.now_s * 1_000)
    if wholly:  # what killed runs left goes with the next writer of its table, at the latest with `clean`
        assert stage.zygote.run("clean", crawl, "--keep", "1000").code == 0
    found = looked_at(crawl, deep=True, clock=clock)
    assert found.problems == [], (stage.name, found.problems)
    if wholly:
        assert [f for f in found.notes if f.check not in ("lock", "archive")] == [], (stage.name, found.notes)


def some_of(borders: int) -> list[int]:
    """All borders of a stage; of many, some that lie evenly, others in each run. COBNUT_KILL_EVERY=1: all."""
    if borders <= MOST_BORDERS or os.environ.get("COBNUT_KILL_EVERY") == "1":
        return list(range(1, borders + 1))
    step = borders / MOST_BORDERS
    first = random.uniform(0, step)
    return sorted({min(borders, 1 + int(first + n * step)) for n in range(MOST_BORDERS)} | {borders})


@pytest.mark.parametrize("name", [name for name in STAGES if name not in PROCESSES])
def test_killed_at_every_border(stages: dict[str, Stage], tmp_path: Path, name: str) -> None:
    """Again and again on the same crawl, each time one border later; where it came to its end, on a fresh one."""
    stage = stages[name]
    crawl = stage.fresh(tmp_path / "c")
    chosen = some_of(stage.borders)
    for number, border in enumerate(chosen):
        ran = stage.run(crawl, border=border)
        if ran.code == 0:  # former runs did some of its work, so that fewer borders were left
            stage.finished(crawl, f"{name} killed at every border up to {border}")
            crawl = stage.fresh(tmp_path / "c")
            ran = stage.run(crawl, border=border)
        assert ran.code == -signal.SIGKILL, (border, ran)
        if number == len(chosen) // 2:
            is_well(stage, crawl, wholly=False)
    assert chosen
    stage.finished(crawl, f"{name} killed at every border")
    is_well(stage, crawl, wholly=True)


@pytest.mark.parametrize("name", [name for name in STAGES if name not in PROCESSES])
def test_killed_at_random_moments(stages: dict[str, Stage], tmp_path: Path, name: str) -> None:
    stage = stages[name]
    seed = int(os.environ.get("COBNUT_KILL_SEED", "0")) or random.randrange(1, 10**9)
    chance = random.Random(seed)
    crawl = stage.fresh(tmp_path / "c")
    for _ in range(3):
        stage.run(crawl, after_s=chance.uniform(0.0, 0.5))
    stage.finished(crawl, f"{name} killed at random moments (seed {seed})")


def acknowledged(crawl: Path) -> set[str]:
    """URLs whose rows are on disk, in the newest segment."""
    segment = CrawlFolder.open(crawl).segments()[-1]
    return set(read_files(tables.FETCHED, segment.part_files(tables.FETCHED), ["url"]).column("url").to_pylist())


def asked(web: FakeWeb) -> list[str]:
    return [f"http://{entry.host}{entry.target}" for entry in web.requests() if entry.target != "/robots.txt"]


def test_two_fetch_workers_killed_at_random_moments(stages: dict[str, Stage], tmp_path: Path, web: FakeWeb) -> None:
    stage = stages["fetch"]
    crawl = stage.fresh(tmp_path / "c")
    seed = int(os.environ.get("COBNUT_KILL_SEED", "0")) or random.randrange(1, 10**9)
    chance = random.Random(seed)
    kills, longest_s = 0, 1.5
    for _ in range(8):
        known = acknowledged(crawl)
        web.reset()
        killed = stage.run(crawl, after_s=chance.uniform(0.2, longest_s)).code == -signal.SIGKILL
        kills += killed
        if not kills:  # it was faster: once more from the beginning, and sooner
            crawl, longest_s = stage.fresh(tmp_path / "c"), max(longest_s / 2, 0.25)
            continue
        time.sleep(0.3)  # its workers end a moment after it
        assert not known & set(asked(web)), f"acknowledged and fetched again, seed {seed}"
        is_well(stage, crawl, wholly=False)
    known = acknowledged(crawl)
    web.reset()
    stage.finished(crawl, f"fetch, seed {seed}")
    assert not known & set(asked(web)), f"acknowledged and fetched again, seed {seed}"
    assert kills, f"no run was killed, seed {seed}"
    is_well(stage, crawl, wholly=True)


def test_two_parse_workers_killed_at_random_moments(stages: dict[str, Stage], tmp_path: Path) -> None:
    stage = stages["parse"]
    seed = int(os.environ.get("COBNUT_KILL_SEED", "0")) or random.randrange(1, 10**9)
    chance = random.Random(seed)
    crawl = stage.fresh(tmp_path / "c")
    for _ in range(4):
        stage.run(crawl, after_s=chance.uniform(0.1, 1.5))
    for border in range(1, 9):
        stage.run(crawl, border=border)
    stage.finished(crawl, f"parse, seed {seed}")
    is_well(stage, crawl, wholly=True)


# ---- a full disk


def refused(ran: Ran, what: str) -> None:
    """The machine says no, in one line; or there was room enough."""
    if ran.code == 0:
        return
    assert ran.code == 4, (what, ran)
    lines = [line for line in ran.err.splitlines() if line.startswith("cobnut:")]
    assert len(lines) == 1, (what, ran)
    words = ("No space left", "File too large", "disk is full", "space")
    assert any(word in lines[0] for word in words), (what, ran)
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", STAGES)
def test_no_file_may_grow(stages: dict[str, Stage], tmp_path: Path, name: str) -> None:
    stage = stages[name]
    crawl = stage.fresh(tmp_path / "c")
    full = 0
    for limit in (0, 300, 3_000):
        ran = stage.run(crawl, limit=limit)
        refused(ran, f"{name} with files of {limit} bytes")
        full += ran.code != 0
    assert full, "nothing was refused"
    stage.finished(crawl, f"{name} after a full disk")
    is_well(stage, crawl, wholly=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    size = "size=6m"
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(place)], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("a small file system cannot be mounted here (needs root)")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_full(stages: dict[str, Stage], small_disk: Path) -> None:
    """On a file system of its own, with so many bytes left."""
    for name, stage in stages.items():
        for path in small_disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        crawl = stage.fresh(small_disk / "c")
        for left in (0, 40_000):
            status = os.statvfs(small_disk)
            filler = small_disk / "filler"
            filler.write_bytes(bytes(max(0, status.f_bavail * status.f_bsize - left - 8_192)))
            refused(stage.run(crawl), f"{name} with {left} bytes left")
            filler.unlink()
        stage.finished(crawl, f"{name} after a full disk")
