"""Is a crawl that is well told to be well, whatever has happened to it? And how is a person told?"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doctored import SPLIT, current, first_segment, goes_on, looked_at, make, site
from nutch_imports import LATER_MS, NEW, OLD, imported, new_crawl

from cobnut.cli.main import main
from cobnut.cli.options import opened
from cobnut.crawl import steps
from cobnut.inspect.doctor import examine
from cobnut.storage.files import this_machine
from cobnut.storage.layout import CrawlFolder
from cobnut.testing.clock import VirtualClock
from cobnut.testing.fakeweb import FakeWeb


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with site() as running:
        yield running


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, web: FakeWeb) -> Path:
    return make(tmp_path_factory.mktemp("healthy") / "crawl", web)


@pytest.fixture
def crawl(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "c"))


def told(capsys: pytest.CaptureFixture[str], *words: object, expect: int = 0) -> Any:
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == expect
    return json.loads(capsys.readouterr().out)


def dead_pid() -> int:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


def test_at_every_step_of_a_round(tmp_path: Path, web: FakeWeb) -> None:
    import msgspec

    folder = tmp_path / "c"
    CrawlFolder.create(folder, "")
    assert looked_at(folder).findings == []
    shutil.rmtree(folder)
    make(folder, web)
    crawl = opened(folder, ())
    settings = msgspec.structs.replace(crawl.settings, storage=SPLIT)
    steps.inject(crawl.crawl, settings, ["http://b.test/new"])
    assert looked_at(folder, deep=True).findings == []
    segment, _ = steps.generate(crawl.crawl, settings, refresh=True)
    assert segment is not None
    assert looked_at(folder, deep=True).findings == []
    steps.fetch(crawl.crawl, settings, segment)
    assert looked_at(folder, deep=True).findings == []
    steps.parse(crawl.crawl, settings, segment)
    steps.updatedb(crawl.crawl, settings)
    assert looked_at(folder, deep=True).findings == []
    goes_on(folder)
    assert looked_at(folder, deep=True).findings == []


def test_copies(crawl: Path, tmp_path: Path) -> None:
    for more in ([], ["--link"]):
        copy = tmp_path / f"copy{len(more)}"
        assert main(["backup", str(crawl), str(copy), *more]) == 0
        assert looked_at(copy, deep=True).findings == []


def test_after_forgetting_cleaning_and_taking_it_back(crawl: Path) -> None:
    assert main(["forget", str(crawl), "http://a.test/6", "--reason", "asked"]) == 0
    assert looked_at(crawl, deep=True).findings == []
    assert main(["clean", str(crawl)]) == 0
    assert looked_at(crawl, deep=True).findings == []
    assert main(["forget", str(crawl), "http://a.test/6", "--undo"]) == 0
    assert looked_at(crawl, deep=True).findings == []


def test_after_everything_was_fetched_again_and_the_old_removed(crawl: Path, web: FakeWeb) -> None:
    before = {p.name for p in (crawl / "segments").iterdir()}
    assert main(["crawl", str(crawl), "--refresh"]) == 0
    assert looked_at(crawl, deep=True).findings == []
    assert main(["clean", str(crawl)]) == 0
    assert before - {p.name for p in (crawl / "segments").iterdir()}, "nothing was removed"
    assert looked_at(crawl, deep=True).findings == []


def test_after_going_back(crawl: Path) -> None:
    assert main(["rollback", str(crawl), "crawldb"]) == 0
    found = looked_at(crawl)
    assert [f.kind for f in found.findings] == ["note"] * len(found.findings)
    assert any("updatedb" in f.remedy for f in found.findings)
    assert main(["updatedb", str(crawl)]) == 0
    assert looked_at(crawl).findings == []
    assert main(["rollback", str(crawl), "hostdb"]) == 0
    assert looked_at(crawl).problems == []


def test_pages_that_went_back_alone(crawl: Path) -> None:
    assert main(["rollback", str(crawl), "pages"]) == 0
    problem, *_ = looked_at(crawl).problems
    assert problem.check == "applied"
    assert f"`cobnut rollback {crawl} crawldb`, then `cobnut updatedb {crawl}`" in problem.remedy
    assert main(["rollback", str(crawl), "crawldb"]) == 0
    assert main(["updatedb", str(crawl)]) == 0
    assert looked_at(crawl, deep=True).findings == []


@pytest.mark.parametrize("source", [NEW, OLD], ids=["1.23", "0.7"])
def test_what_came_from_nutch(tmp_path: Path, source: Path) -> None:
    crawl = new_crawl(tmp_path / "c")
    imported(crawl, source)
    found = examine(crawl.crawl, deep=True, clock=VirtualClock(LATER_MS + 1_000))
    assert found.findings == []
    assert found.checked.segments > 0


def test_a_segment_that_somebody_removed(crawl: Path) -> None:
    shutil.rmtree(first_segment(crawl))
    found = looked_at(crawl)
    assert [(f.kind, f.check) for f in found.findings] == [("note", "places")]
    goes_on(crawl)


def test_leavings_and_locks_of_the_dead(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = dead_pid()
    left = [
        crawl / f".tmp-engine-{gone}-0a0b0c0d", crawl / "segments" / f".tmp-segment-{gone}-0a0b0c0d",
        first_segment(crawl) / "parsed" / f".tmp-pages-1-{gone}-0a0b0c0d", crawl / "pages" / f".tmp-g-{gone}-0a0b0c0d",
    ]  # fmt: skip
    for path in left:
        path.mkdir()
    mine = crawl / f".tmp-engine-{os.getpid()}-0a0b0c0d"
    mine.mkdir()
    note = {"pid": gone, "host": this_machine(), "started_at": "2026-01-01T00:00:00Z", "command": "cobnut updatedb"}
    (crawl / "pages/LOCK").write_text(json.dumps(note))
    found = told(capsys, "doctor", crawl)
    assert {(f["kind"], f["check"]) for f in found["findings"]} == {("note", "leftover"), ("note", "lock")}
    assert found["healthy"]
    assert all(path.exists() for path in left), "nothing is changed unasked"
    found = told(capsys, "doctor", crawl, "--repair")
    assert [f["repaired"] for f in found["findings"]] == [True, True]
    assert not any(path.exists() for path in left)
    assert mine.exists(), "what a living process makes stays"
    assert (crawl / "pages/LOCK").read_bytes() == b""
    assert told(capsys, "doctor", crawl)["findings"] == []


def test_while_a_crawl_is_running(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with CrawlFolder.open(crawl).lock():
        assert f"process {os.getpid()}" in told(capsys, "doctor", crawl)["at_work"]
        shutil.rmtree(current(crawl, "ranks"))
        capsys.readouterr()
        assert main(["doctor", str(crawl), "--repair"]) == 4, "nothing is repaired under a running crawl"
        assert "another process is writing" in capsys.readouterr().err


def test_a_clock_that_was_set_back(crawl: Path) -> None:
    now_ms = time.time_ns() // 1_000_000
    found = examine(CrawlFolder.open(crawl), clock=VirtualClock(now_ms - 86_400_000))
    assert {f.check for f in found.problems} == {"clock"}
    whats = " ".join(f.what for f in found.problems)
    for words in ("crawldb was written", "fetched_at in the future", "before the newest segment"):
        assert words in whats
    assert examine(CrawlFolder.open(crawl), clock=VirtualClock(now_ms - 60_000)).findings == []


def test_a_published_index(crawl: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = tmp_path / "public"
    assert main(["publish", str(crawl), str(public)]) == 0
    assert told(capsys, "doctor", public)["findings"] == []
    store = next(public.glob("g*/*.store"))
    store.unlink()
    store.write_bytes(b"x" * 100)
    (finding,) = told(capsys, "doctor", public, expect=3)["findings"]
    assert "publish it here once more" in finding["remedy"]


def test_how_a_person_is_told(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(crawl)]) == 0
    out = capsys.readouterr()
    assert out.err == ""
    assert out.out.startswith("doctor: whole; looked at 8 tables, ")
    (crawl / "crawldb/CURRENT").write_text("nothing\x1b[31m")
    assert main(["doctor", str(crawl)]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("problem: 'nothing")
    assert [line.split(":")[0].strip() for line in lines[1:4]] == ["where", "means", "helps"]
    assert "\x1b" not in "".join(lines)
    (crawl / "cobnut.toml").write_text("not toml = [")
    assert main(["doctor", str(crawl)]) == 3
    assert "cobnut.toml" in capsys.readouterr().out


def test_what_is_no_crawl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(tmp_path)]) == 2
    assert main(["doctor", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.count("\n") == 2
