"""What a command says of damaged and forbidden files, and whether what it advises helps."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cobnut.cli.main import main
from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder
from cobnut.testing.sample import sample_web

NO_POWERS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample site, crawled to its end."""
    path = tmp_path_factory.mktemp("damage") / "crawl"
    web = sample_web().start()
    try:
        assert main(["crawl", str(path), web.proxy_url + "/", "-s", "fetcher.delay_s=0"]) == 0
    finally:
        web.stop()
    return path


@pytest.fixture
def crawl(sample: Path, tmp_path: Path) -> Path:
    shutil.copytree(sample, tmp_path / "c")
    return tmp_path / "c"


def first_segment(crawl: Path) -> Path:
    return min((crawl / "segments").iterdir())


def spoil(folder: Path) -> Path:
    file = min(folder.glob("*.parquet"), key=lambda path: -path.stat().st_size)
    file.write_bytes(file.read_bytes()[:-40] + b"\0" * 40)
    return file


def told(capsys: pytest.CaptureFixture[str], *words: object, expect: int = 3) -> str:
    """The one line that a failing command says."""
    capsys.readouterr()
    assert main([*map(str, words)]) == expect
    line = capsys.readouterr().err
    assert line.count("\n") == 1, line
    return line


def follow(line: str) -> None:
    """Does what the line advises: removes what it says, runs what it says."""
    advice = line.rpartition("; ")[2]
    for path in re.findall(r"(?:remove|and) (/[^\s:,]+)", advice):
        shutil.rmtree(path)
    for words in re.findall(r"`cobnut ([^`]*)`", advice):
        assert main(shlex.split(words)) == 0, words


@pytest.mark.parametrize("table", ["parsed", "links"])
def test_what_was_parsed_is_parsed_again(crawl: Path, table: str, capsys: pytest.CaptureFixture[str]) -> None:
    segment = first_segment(crawl)
    file = spoil(segment / table)
    rows = {t: len(list((segment / t).iterdir())) for t in ("parsed", "links")}
    line = told(capsys, "read", "segment", crawl, segment.name, "--table", table)
    assert str(file) in line
    follow(line)
    assert {t: len(list((segment / t).iterdir())) for t in ("parsed", "links")} == rows
    assert main(["read", "segment", str(crawl), segment.name, "--table", table]) == 0
    for step in ("updatedb", "invertlinks", "rank", "updatesegs", "index", "dedup", "merge"):
        assert main([step, str(crawl)]) == 0, step


def test_what_was_linked_is_linked_again(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment = first_segment(crawl)
    spoil(segment / "linked")
    line = told(capsys, "index", crawl)
    assert f"`cobnut updatesegs {crawl}`" in line
    assert main(["updatesegs", str(crawl)]) == 0
    assert main(["index", str(crawl)]) == 0


@pytest.mark.parametrize("name", ["fetched", "fetchlist", "state.json"])
def test_a_segment_that_nothing_mends_is_removed(crawl: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    segment = first_segment(crawl)
    if name == "state.json":
        (segment / name).write_bytes(b"{")
        line = told(capsys, "read", "segment", crawl)
    else:
        spoil(segment / name)
        line = told(capsys, "read", "segment", crawl, segment.name, "--table", name)
    assert f"remove {segment}:" in line
    assert "rollback" not in line
    follow(line)
    assert not segment.exists()
    for step in ("updatedb", "invertlinks", "rank", "updatesegs", "index", "dedup", "merge", "generate"):
        assert main([step, str(crawl)]) == 0, step
    assert main(["search", str(crawl), "link"]) == 0


def test_parse_tells_of_a_damaged_fetch(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment = first_segment(crawl)
    spoil(segment / "fetched")
    assert "fetched is damaged" in told(capsys, "parse", crawl, segment.name)


def test_a_table_goes_back(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(crawl / "crawldb" / (crawl / "crawldb" / "CURRENT").read_text().strip())
    line = told(capsys, "read", "crawldb", crawl)
    assert f"`cobnut rollback {crawl} crawldb`" in line
    follow(line)
    assert main(["read", "crawldb", str(crawl)]) == 0


def test_a_damaged_index_manifest_is_mended_as_advised(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = crawl / "index" / (crawl / "index" / "CURRENT").read_text().strip() / "manifest.json"
    manifest.write_bytes(b"{")
    line = told(capsys, "search", crawl, "link")
    assert f"`cobnut merge {crawl}`" in line
    assert main(["merge", str(crawl)]) == 0
    assert main(["search", str(crawl), "link"]) == 0


def test_a_table_is_no_index(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (crawl / "crawldb", crawl / "crawldb" / (crawl / "crawldb" / "CURRENT").read_text().strip()):
        assert "not an index" in told(capsys, "search", folder, "link")


def test_a_folder_with_other_things_is_not_to_become_a_crawl(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"cobnut create {tmp_path}`" in told(capsys, "read", "crawldb", tmp_path, expect=2)
    (tmp_path / "file").write_text("")
    assert "cobnut create" not in told(capsys, "read", "crawldb", tmp_path, expect=2)


@pytest.mark.parametrize("table", ["crawldb", "pages"])
def test_a_table_that_is_missing_is_no_new_crawl(crawl: Path, table: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written over what a backup could complete."""
    shutil.rmtree(crawl / table)
    for words in ("generate {}", "crawl {} http://127.0.0.1:9/", f"read {table} {{}}", "upgrade {}"):
        line = told(capsys, *(word.format(crawl) for word in words.split()))
        assert f"{table} is missing" in line, words
        assert "backup" in line
        assert not (crawl / table / "CURRENT").exists(), words


def test_a_table_may_be_missing_before_the_first_segment(crawl: Path) -> None:
    """The first seeds' writer may have been killed between two tables."""
    for name in ("crawldb", "linkdb", "segments", "index", "hostdb", "robots", "ranks", "duplicates"):
        shutil.rmtree(crawl / name, ignore_errors=True)
    with CrawlFolder(crawl).table(tables.PAGES).begin() as draft:
        draft.write_partition(0, [])
        draft.publish("inject")
    assert main(["inject", str(crawl), str(write_seeds(crawl))]) == 0


def write_seeds(folder: Path) -> Path:
    seeds = folder.with_name("seeds.txt")
    seeds.write_text("http://127.0.0.1:9/\n")
    return seeds


def test_a_segment_that_lost_its_state_is_named(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment = first_segment(crawl)
    (segment / "state.json").unlink()
    for command in ("updatedb", "index", "generate", "upgrade"):
        line = told(capsys, command, crawl)
        assert f"remove {segment}:" in line, command
    follow(line)
    assert main(["upgrade", str(crawl)]) == 0
    (crawl / "segments" / "notes").mkdir()  # no segment at all
    assert main(["upgrade", str(crawl)]) == 0


@pytest.mark.parametrize("version", ["0", "-1", "true", '"1"', "1.5"])
@pytest.mark.parametrize("name", ["crawldb/g*/manifest.json", "segments/*/state.json"])
def test_a_version_that_nobody_wrote(crawl: Path, name: str, version: str, capsys: pytest.CaptureFixture[str]) -> None:
    for path in crawl.glob(name):
        text = path.read_text()
        path.write_text(re.sub(r'("format_version": )1\b', rf"\g<1>{version}", text))
        assert path.read_text() != text
    assert "no released Cobnut wrote" in told(capsys, "clean", crawl)
    assert "no released Cobnut wrote" in told(capsys, "upgrade", crawl)


@pytest.mark.parametrize("version", ["0", "true"])
def test_an_index_version_that_nobody_wrote(crawl: Path, version: str, capsys: pytest.CaptureFixture[str]) -> None:
    for path in crawl.glob("index/g*/manifest.json"):
        path.write_text(path.read_text().replace('"format_version": 1', f'"format_version": {version}'))
    assert "no released Cobnut wrote" in told(capsys, "search", crawl, "link")


@pytest.mark.parametrize("name", ["crawldb/g*/manifest.json", "index/g*/manifest.json", "segments/*/state.json"])
def test_json_nested_without_end_is_damaged(crawl: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for path in crawl.glob(name):
        path.write_text("[" * 200_000)
    assert "damaged JSON" in told(capsys, "upgrade", crawl)


def test_a_published_index_is_no_crawl(crawl: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = tmp_path / "public"
    assert main(["publish", str(crawl), str(public)]) == 0
    for settings in (False, True):
        if settings:
            shutil.copy(crawl / "cobnut.toml", public)
        before = sorted(p for p in public.rglob("*") if p.suffix != ".lock")
        for words in ((["crawl", public, "http://127.0.0.1:9/"]), (["inject", public, write_seeds(crawl)])):
            line = told(capsys, *words, expect=2)
            assert "a published index, not a crawl" in line
            assert "cobnut create" not in line
        assert main(["upgrade", str(public)]) == 0
        assert "published index   1  current" in capsys.readouterr().out
        assert main(["search", str(public), "link"]) == 0
        assert main(["config", "show", str(public)]) == (0 if settings else 2)
        assert sorted(p for p in public.rglob("*") if p.suffix != ".lock") == before
    manifest = next(public.glob("g*/manifest.json"))
    manifest.write_text(manifest.read_text().replace('"format_version": 1', '"format_version": 9'))
    assert "newer Cobnut" in told(capsys, "upgrade", public)


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may read everything")
@pytest.mark.parametrize("what", [".", "crawldb/CURRENT", "crawldb/g*/manifest.json", "crawldb/g*/part-00000.parquet"])
@pytest.mark.parametrize("words", ["read crawldb {}", "why {} http://a.test/", "generate {}"])
def test_what_may_not_be_read_is_the_machines_fault(crawl: Path, what: str, words: str) -> None:
    for path in crawl.glob(what) if what != "." else [crawl]:
        path.chmod(0)
    asked = [word.format(crawl) for word in words.split()]
    done = subprocess.run(
        [*NO_POWERS, sys.executable, "-m", "cobnut.cli", *asked], capture_output=True, text=True, check=False
    )
    crawl.chmod(0o755)
    assert done.returncode == 4, done.stderr
    assert done.stderr.count("\n") == 1
    assert "may not be read" in done.stderr
    assert "damaged" not in done.stderr
