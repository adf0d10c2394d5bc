"""Upgrades: nothing where all is current, newer refused, each part published by itself, killed ones go on."""

import json
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from full_disk import filled, refused, small_disk
from killing import Zygote
from small_crawl import small_crawl

from cobnut.cli.main import main
from cobnut.errors import DataError
from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.upgrade import Step, survey, upgrade

__all__ = ["small_disk"]

NEXT = Path(__file__).resolve().parents[2] / "support/next_version.py"


def make(path: Path):
    crawl = small_crawl(path)
    for segment in crawl.segments():
        segment.index_path.mkdir()
        (segment.index_path / "words").write_text("words of a segment")
        (segment.index_path / "manifest.json").write_text(json.dumps({"format_version": 1, "docs": 5}))
    with crawl.index_generations().begin() as draft:
        (draft.path / "words").write_text("old words")
        draft.publish({"doc_count": 2})
    return crawl


@pytest.fixture
def crawl(tmp_path):
    return make(tmp_path / "c")


def snapshot(folder: Path) -> dict[str, bytes]:
    files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    files.pop(".lock", None)
    return files


def contents(crawl_path: Path) -> dict[str, bytes]:
    """What a reader of whatever version finds: data of current generations and segments, by place."""
    found: dict[str, bytes] = {}
    for current in crawl_path.glob("*/CURRENT"):
        folder = current.parent / current.read_text().strip()
        found |= {f"{current.parent.name}/{p.name}": p.read_bytes() for p in folder.iterdir() if p.suffix != ".json"}
    for segment in (crawl_path / "segments").iterdir():
        if not segment.name.startswith("."):
            files = (p for p in segment.rglob("*") if p.is_file() and p.suffix != ".json")
            found |= {str(p.relative_to(crawl_path)): p.read_bytes() for p in files}
    return found


def run_next(crawl_path: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(NEXT), str(crawl_path), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_current_nothing_changes(crawl, capsys):
    before = snapshot(crawl.path)
    assert upgrade(crawl) == []
    assert main(["upgrade", str(crawl.path)]) == 0
    out = capsys.readouterr().out
    assert "nothing to do" in out
    for name in ("crawldb", "linkdb", "duplicates", f"segment {crawl.segments()[0].name}", "index"):
        assert f"\n{name} " in f"\n{out}"
    assert snapshot(crawl.path) == before


def test_json_is_one_object_a_part(crawl, capsys):
    assert main(["upgrade", "--json", str(crawl.path)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == len(survey(crawl))
    assert {row["state"] for row in rows} <= {"current", "absent"}
    assert {row["part"]: row["format_version"] for row in rows}["crawldb"] == 1


@pytest.mark.parametrize("check", [(), ("--check",)])
@pytest.mark.parametrize("what", ["crawldb", "segment", "segment index", "index"])
def test_a_newer_part_is_refused_and_nothing_is_touched(crawl, capsys, what, check):
    path = next(p.path for p in survey(crawl) if what in (p.what, p.sort))
    file = path / "state.json" if what == "segment" else path / "manifest.json"
    if what in ("crawldb", "index"):
        file = path / (path / "CURRENT").read_text().strip() / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format_version": 99}))
    before = snapshot(crawl.path)
    assert main(["upgrade", str(crawl.path), *check]) == 3
    told = capsys.readouterr()
    assert "format version 99" in told.err
    assert "newer" in told.out
    with pytest.raises(DataError, match="format version 99"):
        upgrade(crawl)
    assert snapshot(crawl.path) == before


def test_what_names_no_version_is_damaged(crawl, capsys):
    (crawl.segments()[0].path / "state.json").write_text("{}")
    assert main(["upgrade", str(crawl.path)]) == 3
    assert "names no format version" in capsys.readouterr().err


def test_a_crawl_without_anything_has_nothing_to_upgrade(tmp_path, capsys):
    assert main(["create", str(tmp_path / "c")]) == 0
    assert main(["upgrade", str(tmp_path / "c")]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert main(["upgrade", str(tmp_path)]) == 2


def test_every_part_takes_every_step_and_rollback_goes_back(crawl):
    before = contents(crawl.path)
    done = run_next(crawl.path)
    assert done.returncode == 0, done.stderr
    parts = [part for part in survey(crawl) if part.version is not None]
    assert {part.version for part in parts} == {3}
    assert int(done.stdout.split()[0]) == len(parts)
    assert contents(crawl.path) == before
    manifest = json.loads((crawl.path / "crawldb/g000002/manifest.json").read_text())
    assert manifest["via"] == [1, 2]
    assert manifest["rows"] == 4
    assert not list(crawl.path.rglob(".*-*")), "nothing unfinished is left"
    with pytest.raises(DataError, match="newer than this program"):
        crawl.table(tables.CRAWLDB).read()
    assert main(["rollback", str(crawl.path), "crawldb"]) == 0
    assert crawl.table(tables.CRAWLDB).read().num_rows == 4


def test_without_a_step_nothing_is_touched(crawl):
    before = snapshot(crawl.path)
    done = run_next(crawl.path, "--without", "index")
    assert done.returncode != 0
    assert "no step leads from 1 to 2" in done.stderr
    assert snapshot(crawl.path) == before


@pytest.mark.parametrize("what", ["crawldb", "segment", "segment index", "index"])
def test_a_step_that_fails_leaves_its_part_as_it_was(crawl, what):
    def fail(old: Path, new: Path, manifest: dict) -> dict:
        (new / "half").write_text("half")
        raise OSError(28, "No space left on device")

    def nothing_else(old: Path, new: Path, manifest: dict) -> dict:
        raise AssertionError("parts are changed in order, and this one comes later or was to be changed before")

    before = contents(crawl.path)
    order = [part for part in survey(crawl) if part.version is not None]
    part = next(p for p in order if what in (p.what, p.sort))
    for other in order:  # all others are of the target's version already
        if other is not part:
            file = other.path / "state.json" if other.sort == "segment" else other.path / "manifest.json"
            if other.sort in ("table", "index"):
                file = other.path / (other.path / "CURRENT").read_text().strip() / "manifest.json"
            file.write_text(json.dumps({**json.loads(file.read_text()), "format_version": 2}))
    names = [t.name for t in tables.TABLES if t.scope == "crawl"]
    steps = [Step(w, 1, fail if w == what else nothing_else) for w in (*names, "segment", "segment index", "index")]
    with pytest.raises(Exception, match="No space left"):
        upgrade(crawl, steps=steps, target=2)
    assert contents(crawl.path) == before
    assert not list(crawl.path.rglob("half"))


# ---- killed, or without room


@pytest.fixture(scope="module")
def zygote(tmp_path_factory):
    """Forks the program of the next version."""
    with Zygote(tmp_path_factory.mktemp("upgrade"), imports="from next_version import upgraded as main\n") as running:
        yield running


def finished(zygote: Zygote, crawl, before: dict[str, bytes], what: object) -> None:
    """Another run comes to what an undisturbed one comes to, and leaves nothing behind."""
    done = zygote.run(crawl.path)
    assert done.code == 0, (what, done.err)
    assert contents(crawl.path) == before, what
    assert {part.version for part in survey(crawl) if part.version is not None} == {3}, what
    assert not [p for p in crawl.path.rglob(".*-*") if p.name.startswith(LEFT)], what


LEFT = (".tmp-", ".upgraded-", ".outdated-")


def test_killed_at_any_border_the_next_run_finishes(tmp_path, crawl, zygote):
    before = contents(crawl.path)
    undisturbed = Path(shutil.copytree(crawl.path, tmp_path / "undisturbed"))
    borders = zygote.run(undisturbed).borders
    assert borders > 12, "tables, index, and three each for the segment and its index"
    for border in range(1, borders + 1):
        killed = CrawlFolder(Path(shutil.copytree(crawl.path, tmp_path / f"killed-{border}")))
        assert zygote.run(killed.path, border=border).code == -signal.SIGKILL
        finished(zygote, killed, before, border)


def test_killed_at_random_moments(tmp_path, crawl, zygote):
    before, chance = contents(crawl.path), random.Random(3)
    for _ in range(6):
        zygote.run(crawl.path, after_s=chance.uniform(0, 0.2))
    finished(zygote, crawl, before, "random moments")


def test_no_file_may_grow(crawl, zygote):
    before = contents(crawl.path)
    for limit in (0, 100):
        assert refused(zygote.run(crawl.path, limit=limit), f"files of {limit} bytes")
    assert contents(crawl.path) == before
    finished(zygote, crawl, before, "files may not grow")


def test_a_disk_that_is_full(small_disk, zygote):
    crawl = make(small_disk / "c")
    before, full = contents(crawl.path), 0
    for left in (0, 10_000, 30_000):
        filler = filled(small_disk, left)
        full += refused(zygote.run(crawl.path), f"{left} bytes left")
        filler.unlink()
    assert full
    finished(zygote, crawl, before, "a full disk")
