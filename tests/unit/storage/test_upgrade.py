"""Upgrades: nothing where all is current, newer refused, each part published by itself, killed ones go on."""

import json
import os
import shutil
from pathlib import Path

import pytest
from small_crawl import small_crawl

from cobnut.cli.main import main
from cobnut.errors import DataError
from cobnut.records import catalogue as tables
from cobnut.storage import upgrade as module
from cobnut.storage.upgrade import Step, survey, unfinished, upgrade


@pytest.fixture
def crawl(tmp_path):
    made = small_crawl(tmp_path / "c")
    for segment in made.segments():
        segment.index_path.mkdir()
        (segment.index_path / "manifest.json").write_text(json.dumps({"format_version": 1, "docs": 5}))
    with made.index_generations().begin() as draft:
        (draft.path / "words").write_text("old words")
        draft.publish({"doc_count": 2})
    return made


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def link_all(old: Path, new: Path, manifest: dict) -> dict:
    own = {"manifest.json", "state.json"}
    shutil.copytree(
        old, new, copy_function=os.link, dirs_exist_ok=True, ignore=lambda at, _: own if at == str(old) else set()
    )
    return {**manifest, "via": [*manifest.get("via", []), manifest.get("format_version")]}


WHATS = (*(t.name for t in tables.TABLES if t.scope == "crawl"), "segment", "segment index", "index")
TO_3 = tuple(Step(what, since, link_all) for what in WHATS for since in (1, 2))


def test_all_current_nothing_changes(crawl, capsys):
    before = snapshot(crawl.path)
    assert upgrade(crawl) == []
    assert main(["upgrade", str(crawl.path)]) == 0
    out = capsys.readouterr().out
    assert "nothing to do" in out
    for name in ("crawldb", "linkdb", "duplicates", f"segment {crawl.segments()[0].name}", "index"):
        assert f"\n{name} " in f"\n{out}"
    after = snapshot(crawl.path)
    after.pop(".lock", None)
    assert after == before


def test_json_is_one_object_a_part(crawl, capsys):
    assert main(["upgrade", "--json", str(crawl.path)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == len(survey(crawl))
    assert {row["state"] for row in rows} <= {"current", "absent"}
    assert {row["part"]: row["format_version"] for row in rows}["crawldb"] == 1


@pytest.mark.parametrize("what", ["crawldb", "segment", "segment index", "index"])
def test_a_newer_part_is_refused_and_nothing_is_touched(crawl, capsys, what):
    path = next(p.path for p in survey(crawl) if what in (p.what, p.sort))
    file = path / "state.json" if what == "segment" else path / "manifest.json"
    if what in ("crawldb", "index"):
        file = path / (path / "CURRENT").read_text().strip() / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format_version": 99}))
    before = snapshot(crawl.path)
    assert main(["upgrade", str(crawl.path)]) == 3
    told = capsys.readouterr()
    assert "format version 99" in told.err
    assert "newer" in told.out
    assert snapshot(crawl.path) == before


def test_every_part_takes_every_step_and_the_old_generation_stays_for_rollback(crawl):
    rows = crawl.table(tables.CRAWLDB).read().to_pylist()
    changed = upgrade(crawl, steps=TO_3, target=3)
    assert len(changed) == len([p for p in survey(crawl) if p.version is not None])
    # what publishes gives the version of this program; the steps were taken in order whatever it is
    for part in survey(crawl):
        if part.sort in ("segment", "segment index"):
            assert part.version == 3, part
    manifest = crawl.table(tables.CRAWLDB).manifest()
    assert manifest["via"] == [1, 1]
    assert manifest["rows"] == len(rows)
    assert crawl.table(tables.CRAWLDB).read().to_pylist() == rows
    assert crawl.table(tables.CRAWLDB).generations.rollback() == (2, 1)
    current = crawl.index_generations().current()
    with current:
        assert (current.path / "words").read_text() == "old words"
    assert not list(crawl.path.rglob(".tmp-*"))
    assert not list(crawl.path.rglob(".outdated-*"))
    for segment in crawl.segments():
        assert segment.part_files(tables.PARSED) or segment.part_files(tables.FETCHED)


def test_without_a_step_nothing_is_touched(crawl):
    before = snapshot(crawl.path)
    some = tuple(step for step in TO_3 if step.what != "index")
    with pytest.raises(DataError, match="no step leads from 1 to 2"):
        upgrade(crawl, steps=some, target=3)
    after = snapshot(crawl.path)
    after.pop(".lock", None)
    assert after == before


def test_a_step_that_fails_leaves_the_part_as_it_was(crawl):
    def fail(old: Path, new: Path, manifest: dict) -> dict:
        (new / "half").write_text("half")
        raise OSError(28, "No space left on device")

    names = [t.name for t in tables.TABLES if t.scope == "crawl"]
    for what in ("crawldb", "segment"):
        steps = tuple(
            Step(w, 1, fail if w == what else link_all) for w in (*names, "segment", "segment index", "index")
        )
        with pytest.raises(Exception, match="No space left"):
            upgrade(crawl, steps=steps, target=2)
        assert not list(crawl.path.rglob("half"))
        assert crawl.table(tables.CRAWLDB).read().num_rows
        assert crawl.segments()


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_killed_between_two_renames_the_next_run_finishes(crawl, monkeypatch, stop):
    """The renames of a segment's folder: made whole, old one away, new one in place."""
    (segment,) = crawl.segments()
    steps = (Step("segment", 1, link_all),)
    real, calls = os.rename, []

    class Killed(BaseException):
        pass

    def rename(source, target):
        if ".tmp-" not in str(target):  # hiding what is to be removed is no step of the protocol
            calls.append(target)
            if len(calls) > stop:
                raise Killed
        real(source, target)

    part = next(p for p in survey(crawl) if p.sort == "segment")
    monkeypatch.setattr(module.os, "rename", rename)
    if stop < 3:
        with pytest.raises(Killed):
            module._upgrade_folder(part, steps, 2)
    else:
        module._upgrade_folder(part, steps, 2)
    monkeypatch.setattr(module.os, "rename", real)
    assert bool(unfinished(crawl)) == (stop < 3)
    module.finish_renames(crawl)
    assert not unfinished(crawl)
    (again,) = crawl.segments()
    assert again.name == segment.name
    assert json.loads((again.path / "state.json").read_text())["format_version"] == 2
    assert again.part_files(tables.FETCHED) or again.part_files(tables.PARSED)
    assert (again.index_path / "manifest.json").exists()
