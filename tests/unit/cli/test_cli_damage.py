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
