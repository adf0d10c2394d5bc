"""Does a stage notice when keys are there twice or are missing, before it publishes anything, and say what it kept?

Somebody has changed the Parquet files behind the program's back, with and without the manifest. The rows are those of a
real crawl of three rounds, in bases and deltas, of one partition and of several.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cobnut.cli.main import main
from cobnut.config.sections import CrawlSettings, Settings, StorageSettings
from cobnut.crawl import steps
from cobnut.crawl.inject import inject
from cobnut.crawl.mergedb import mergedb
from cobnut.engines.local import LocalEngine, Run
from cobnut.errors import DataError, MachineError
from cobnut.records import catalogue as tables
from cobnut.records.columns import Table
from cobnut.records.steps import Input, Map, Output, Stage
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import checksum
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import DAY_MS, START_MS, link, new_crawl, page, write_segment

URLS = [f"http://h{n % 5}.example/page{n}" for n in range(40)]
WHOLE = Settings(crawl=CrawlSettings(scope="web"), storage=StorageSettings(grace_s=0))
DELTA = msgspec.structs.replace(
    WHOLE, storage=StorageSettings(partition_rows=20, delta_least_rows=0, delta_share=10.0, grace_s=0)
)


def round_of(crawl: CrawlFolder, number: int, settings: Settings) -> None:
    """A round that fetches eight pages, which link to others; the third is left to be applied, unless in deltas."""
    asked, at = URLS[number * 3 : number * 3 + 8], START_MS + number * DAY_MS
    write_segment(
        crawl, f"2026010{number}000000",
        fetchlist=[page(u) for u in asked],
        fetched=[page(u, outcome="success", fetched_at=at, digest=u.encode()[-16:].rjust(16)) for u in asked],
        parsed=[page(u, signature=u.encode()[-16:].rjust(16), outlink_count=2) for u in asked],
        links=[link(u, URLS[(7 * n + number) % 40], n, contribution=1000) for n, u in enumerate(asked)],
    )  # fmt: skip
    if settings is not WHOLE or number < 3:
        steps.updatedb(crawl, settings, clock=VirtualClock(at))


def made(folder: Path, settings: Settings) -> CrawlFolder:
    crawl = new_crawl(folder)
    inject(crawl, settings, URLS[:25], clock=VirtualClock(START_MS))
    for number in (1, 2):
        round_of(crawl, number, settings)
    steps.invertlinks(crawl, settings)
    steps.rank(crawl, settings)
    return crawl


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("conserve")
    return {name: made(folder / name, how).path for name, how in (("whole", WHOLE), ("delta", DELTA))}


@pytest.fixture
def whole(crawls: dict[str, Path], tmp_path: Path) -> CrawlFolder:
    return CrawlFolder.open(Path(shutil.copytree(crawls["whole"], tmp_path / "crawl")))


@pytest.fixture
def delta(crawls: dict[str, Path], tmp_path: Path) -> CrawlFolder:
    return CrawlFolder.open(Path(shutil.copytree(crawls["delta"], tmp_path / "crawl")))


def current(crawl: CrawlFolder, table: str) -> Path:
    return crawl.path / table / (crawl.path / table / "CURRENT").read_text().strip()


def change(file: Path, rows: Callable[[pa.Table], pa.Table], cover_up: bool = False) -> None:
    """Changes the rows of a file; to `cover_up` is to make the manifest agree."""
    old = pq.read_table(file, partitioning=None)
    new = rows(old)
    file.unlink()  # generations share files by links
    pq.write_table(new, file)
    manifest = file.parent / "manifest.json"
    if cover_up:
        told = json.loads(manifest.read_text())
        for entry in told["files"]:
            if entry["name"] == file.name:
                entry.update(rows=new.num_rows, bytes=file.stat().st_size, xxh3=checksum(file))
        told["rows"] += new.num_rows - old.num_rows
        manifest.write_text(json.dumps(told))


def first_twice(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows.slice(0, 1), rows])


def last_gone(rows: pa.Table) -> pa.Table:
    return rows.slice(0, rows.num_rows - 1)


def state(crawl: CrawlFolder) -> dict[str, str]:
    return {path.parent.name: path.read_text() for path in crawl.path.glob("*/CURRENT")}


def other_of(crawl: CrawlFolder) -> Path:
    other = new_crawl(crawl.path.parent / "other")
    inject(other, WHOLE, ["http://other.example/", URLS[3]], clock=VirtualClock(START_MS))
    return other.path


READERS: dict[str, tuple[str, Callable[[CrawlFolder], Any]]] = {
    "inject": ("crawldb", lambda c: inject(c, WHOLE, ["http://new.example/"])),
    "inject_pages": ("pages", lambda c: inject(c, WHOLE, ["http://new.example/"])),
    "inject_seeds": ("seeds", lambda c: inject(c, WHOLE, ["http://new.example/"])),
    "generate": ("crawldb", lambda c: steps.generate(c, WHOLE)),
    "updatedb": ("crawldb", lambda c: steps.updatedb(c, WHOLE)),
    "invertlinks": ("linkdb", lambda c: steps.invertlinks(c, WHOLE)),
    "rank": ("crawldb", lambda c: steps.rank(c, WHOLE)),
    "updatesegs": ("ranks", lambda c: steps.updatesegs(c, WHOLE)),
    "dedup": ("pages", lambda c: steps.dedup(c, WHOLE)),
    "mergedb": ("crawldb", lambda c: mergedb(c, WHOLE, [other_of(c)])),
}


@pytest.mark.parametrize("tampered", [first_twice, last_gone])
@pytest.mark.parametrize("stage", READERS)
def test_a_file_with_other_rows_than_were_written_is_refused(
    whole: CrawlFolder, stage: str, tampered: Callable[[pa.Table], pa.Table]
) -> None:
    table, run = READERS[stage]
    file = current(whole, table) / "part-00000.parquet"
    if stage in ("updatedb", "invertlinks"):
        round_of(whole, 3, WHOLE if stage == "updatedb" else DELTA)
    before = state(whole)
    change(file, tampered)
    with pytest.raises(DataError, match=f"a file of {table} has") as caught:
        run(whole)
    assert caught.value.where == str(file)
    assert f"`cobnut rollback {whole.path} {table}`" in caught.value.line()
    assert state(whole) == before


@pytest.mark.parametrize("table", ["crawldb", "pages"])
def test_a_key_twice_in_a_base_is_named(whole: CrawlFolder, table: str) -> None:
    """The manifest agrees: only the keys themselves tell."""
    file, before = current(whole, table) / "part-00000.parquet", state(whole)
    change(file, first_twice, cover_up=True)
    with pytest.raises(
        DataError, match=f"{table} holds the key 'example,h0\\).*' twice; nothing was written"
    ) as caught:
        inject(whole, WHOLE, ["http://new.example/"])
    assert caught.value.where == str(file)
    assert state(whole) == before


def test_a_key_twice_in_a_delta_is_named(delta: CrawlFolder) -> None:
    files = sorted(current(delta, "crawldb").glob("delta-*.parquet"))
    assert files
    for file in files:
        change(file, first_twice, cover_up=True)
    before = state(delta)
    round_of(delta, 3, WHOLE)
    with pytest.raises(DataError, match=r"crawldb holds the key .* twice; nothing was written") as caught:
        steps.updatedb(delta, DELTA)
    assert caught.value.where in [str(file) for file in files]
    assert {n: v for n, v in state(delta).items() if n == "crawldb"} == {"crawldb": before["crawldb"]}


def test_a_key_twice_in_the_base_below_a_delta_is_named(delta: CrawlFolder) -> None:
    """Where the round touches it, and where all is folded in."""
    for file in sorted(current(delta, "crawldb").glob("part-*.parquet")):
        change(file, lambda rows: pa.concat_tables([rows, rows]).sort_by("url_key"), cover_up=True)
    round_of(delta, 3, WHOLE)
    for settings in (DELTA, WHOLE):
        with pytest.raises(DataError, match=r"crawldb holds the key .* twice"):
            steps.updatedb(delta, settings)


def test_generate_offers_no_page_twice(whole: CrawlFolder) -> None:
    file = current(whole, "crawldb") / "part-00000.parquet"
    change(file, lambda rows: pa.concat_tables([rows, rows]).sort_by("url_key"), cover_up=True)
    with pytest.raises(DataError, match=r"crawldb holds the key .* twice; nothing was written") as caught:
        steps.generate(whole, WHOLE, refresh=True)
    assert caught.value.where == str(file)
    assert len(whole.segments()) == 2


def test_a_delta_that_claims_to_replace_more_than_it_does(delta: CrawlFolder) -> None:
    manifest = current(delta, "crawldb") / "manifest.json"
    told = json.loads(manifest.read_text())
    next(e for e in told["files"] if e.get("replaced"))["replaced"] += 1
    manifest.write_text(json.dumps(told))
    with pytest.raises(DataError, match=r"the files of crawldb have .* rows, and its manifest says"):
        steps.generate(delta, DELTA)


@pytest.mark.parametrize("table", ["fetched", "parsed"])
def test_a_page_twice_in_a_segment_counts_once_and_is_told(
    whole: CrawlFolder, crawls: dict[str, Path], table: str
) -> None:
    round_of(whole, 3, WHOLE)
    segment = max(whole.segments(), key=lambda s: s.name)
    (file,) = (segment.path / table).glob("*.parquet")
    pq.write_table(first_twice(pq.read_table(file, partitioning=None)), file)
    report = steps.updatedb(whole, WHOLE, clock=VirtualClock(START_MS + 3 * DAY_MS))
    told = [m for m in report.messages if m.startswith(f"{table} has 9 rows for 8 pages")]
    assert len(told) == 1
    assert str(file) in told[0]
    clean = CrawlFolder.open(Path(shutil.copytree(crawls["whole"], whole.path.parent / "clean")))
    round_of(clean, 3, WHOLE)
    steps.updatedb(clean, WHOLE, clock=VirtualClock(START_MS + 3 * DAY_MS))
    assert rows(whole, tables.CRAWLDB) == rows(clean, tables.CRAWLDB)


def rows(crawl: CrawlFolder, table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = crawl.table(table).read().sort_by("url_key").to_pylist()
    return found


def losing(keeps: str | None) -> Stage:
    """A stage that forgets a row."""
    return Stage(
        "losing", "Loses a row.", inputs=(Input("crawldb", tables.CRAWLDB, "current"),),
        steps=(
            Map("lose", lambda batches, _: (b.slice(1) for b in batches), "crawldb", "next", tables.CRAWLDB.columns),
        ),
        outputs=(Output("next", tables.CRAWLDB, keeps=keeps),),
    )  # fmt: skip


def test_a_stage_that_loses_a_key_publishes_nothing(whole: CrawlFolder) -> None:
    before = state(whole)
    with pytest.raises(MachineError, match="1 keys of crawldb would be lost; nothing was written"):
        LocalEngine(WHOLE).run(Run(whole, losing("crawldb")))
    assert state(whole) == before
    done = LocalEngine(WHOLE).run(Run(whole, losing(None)))
    assert done.keys["crawldb"].after == done.keys["crawldb"].before - 1


@pytest.mark.parametrize("settings", [WHOLE, DELTA], ids=["whole", "delta"])
def test_the_report_says_what_was_kept(crawls: dict[str, Path], tmp_path: Path, settings: Settings) -> None:
    name = "whole" if settings is WHOLE else "delta"
    crawl = CrawlFolder.open(Path(shutil.copytree(crawls[name], tmp_path / "crawl")))
    before = len(rows(crawl, tables.CRAWLDB))
    round_of(crawl, 3, WHOLE)
    report = steps.updatedb(crawl, settings)
    after = len(rows(crawl, tables.CRAWLDB))
    assert after > before
    assert (report.keys["crawldb"].before, report.keys["crawldb"].after) == (before, after)
    assert all(report.keys[name].kept for name in ("crawldb", "pages", "hostdb", "robots"))
    (newest,) = [p for p in crawl.reports_path.glob("*-updatedb-*.json") if '"new": ' in p.read_text()][-1:]
    assert json.loads(newest.read_text())["keys"].keys() == report.keys.keys()


def test_the_command_says_it(whole: CrawlFolder, capsys: pytest.CaptureFixture[str]) -> None:
    known = len(rows(whole, tables.CRAWLDB))
    seeds = whole.path.parent / "seeds"
    seeds.write_text("http://new.example/\n")
    assert main(["inject", str(whole.path), str(seeds)]) == 0
    told = capsys.readouterr().out
    assert f"crawldb {known} + 1 new = {known + 1}; none lost, none twice" in told
    change(current(whole, "crawldb") / "part-00000.parquet", first_twice)
    assert main(["generate", str(whole.path)]) == 3
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "a file of crawldb has" in error
