"""Every stage is killed at its borders, at random moments, and finds the disk full: what does a rerun come to?

To what an undisturbed run comes to, row by row, without anything to be done by hand; and doctor finds nothing wrong, at
once after the kill and after the rerun. Which stages there are: `stages.STAGES`.

COBNUT_KILL_EVERY=1 kills at every border instead of some; COBNUT_KILL_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from full_disk import filled, refused, small_disk
from stages import DONE, STAGES, Stage, Web, bigger_web, undisturbed

from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import read_files
from cobnut.testing.fakeweb import FakeWeb

__all__ = ["small_disk"]

MOST_BORDERS = 6
RANDOM_KILLS = 2


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    made = bigger_web()
    with made.web:
        yield made


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory, web: Web) -> Iterator[dict[str, Stage]]:
    yield from undisturbed(tmp_path_factory.mktemp("matrix"), web)


@pytest.fixture
def chance() -> random.Random:
    """Chance that can be repeated: a failing test prints its seed."""
    seed = int(os.environ.get("COBNUT_KILL_SEED", "0")) or random.randrange(1, 10**9)
    print(f"COBNUT_KILL_SEED={seed}")
    return random.Random(seed)


def some_of(borders: int, chance: random.Random) -> list[int]:
    """All borders of a stage; of many, the last and some that lie evenly, others in each run."""
    if borders <= MOST_BORDERS or os.environ.get("COBNUT_KILL_EVERY") == "1":
        return list(range(1, borders + 1))
    step = borders / MOST_BORDERS
    first = chance.uniform(0, step)
    return sorted({min(borders, 1 + int(first + n * step)) for n in range(MOST_BORDERS)} | {borders})


@pytest.mark.parametrize("name", STAGES)
def test_killed_at_borders_and_at_random_moments(
    stages: dict[str, Stage], tmp_path: Path, name: str, chance: random.Random
) -> None:
    """Again and again on the same crawl, each time one border later; where it came to its end, on a fresh one."""
    stage = stages[name]
    crawl = stage.fresh(tmp_path / "crawl")
    chosen = some_of(stage.borders, chance)
    assert chosen
    for number, border in enumerate(chosen):
        ran = stage.run(crawl, border=border)
        if ran.code == 0:  # former runs did some of its work, so that fewer borders were left
            stage.is_same(crawl, f"{name} killed at borders before {border}")
            crawl = stage.fresh(tmp_path / "crawl")
            ran = stage.run(crawl, border=border)
        assert ran.code == -signal.SIGKILL, (border, ran)
        if number == len(chosen) // 2:
            stage.is_well(crawl, wholly=False)
    for _ in range(RANDOM_KILLS):
        stage.run(crawl, after_s=chance.uniform(0.0, 1.2 * stage.lasts_s))
    stage.finished(crawl, f"{name}, killed")
    stage.is_well(crawl, wholly=True)


def acknowledged(crawl: Path) -> set[str]:
    """URLs whose rows are on disk, in the newest segment."""
    segment = CrawlFolder.open(crawl).segments()[-1]
    return set(read_files(tables.FETCHED, segment.part_files(tables.FETCHED), ["url"]).column("url").to_pylist())


def asked(web: FakeWeb) -> list[str]:
    return [f"http://{entry.host}{entry.target}" for entry in web.requests() if entry.target != "/robots.txt"]


def test_nothing_acknowledged_is_fetched_again(
    stages: dict[str, Stage], tmp_path: Path, web: Web, chance: random.Random
) -> None:
    """Two fetch workers that are killed at random moments."""
    stage = stages["fetch"]
    crawl = stage.fresh(tmp_path / "crawl")
    kills, longest_s = 0, stage.lasts_s
    for _ in range(5):
        known = acknowledged(crawl)
        web.web.reset()
        killed = stage.run(crawl, after_s=chance.uniform(longest_s / 4, longest_s)).code == -signal.SIGKILL
        kills += killed
        if not kills:  # it was faster: once more from the beginning, and sooner
            crawl, longest_s = stage.fresh(tmp_path / "crawl"), max(longest_s / 2, 0.1)
            continue
        time.sleep(0.3)  # its workers end a moment after it
        assert not known & set(asked(web.web)), "acknowledged and fetched again"
    known = acknowledged(crawl)
    web.web.reset()
    stage.finished(crawl, "fetch")
    assert not known & set(asked(web.web)), "acknowledged and fetched again"
    assert kills, "no run was killed"


# ---- a full disk


@pytest.mark.parametrize("name", STAGES)
def test_no_file_may_grow(stages: dict[str, Stage], tmp_path: Path, name: str) -> None:
    stage = stages[name]
    crawl = stage.fresh(tmp_path / "crawl")
    full = 0
    for limit in (0, 300, 3_000):
        done = DONE.get(name) if full else None
        if not refused(stage.run(crawl, limit=limit), f"{name} with files of {limit} bytes", done):
            break  # it is done
        full += 1
    assert full, "nothing was refused"
    stage.finished(crawl, f"{name} after a full disk")


@pytest.mark.parametrize("name", STAGES)
def test_a_disk_that_is_full(stages: dict[str, Stage], small_disk: Path, name: str, chance: random.Random) -> None:
    """On a file system of its own: with nothing left, and full somewhere in the midst of the work."""
    stage = stages[name]
    crawl = stage.fresh(small_disk / "crawl")
    full = 0
    for left in sorted((0, chance.randrange(50_000), chance.randrange(400_000))):
        filler = filled(small_disk, left)
        is_full = refused(stage.run(crawl), f"{name} with {left} bytes left", DONE.get(name) if full else None)
        filler.unlink()
        if not is_full:
            break  # it is done
        full += 1
    assert full, "nothing was refused"
    stage.finished(crawl, f"{name} after a full disk")
    stage.is_well(crawl, wholly=True)
