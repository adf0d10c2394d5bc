"""Does `cobnut dump` hand over a table as it is?"""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crawling import cobnut, command, environment
from small_crawl import COPY, GONE, HOME, MD5, NOW, PAGE, SEGMENT, arrow, key, row, small_crawl, write

from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> CrawlFolder:
    return small_crawl(tmp_path_factory.mktemp("crawl") / "c")


def lines(*words: object, **more: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cobnut("dump", *words, **more).stdout.splitlines()]


def test_json_lines_hold_every_column_in_the_order_of_the_key(crawl: CrawlFolder) -> None:
    rows = lines(crawl.path)
    assert [r["url_key"] for r in rows] == sorted(key(url) for url in (HOME, PAGE, COPY, GONE))
    assert all(tuple(r) == tables.CRAWLDB.column_names for r in rows)
    (home,) = [r for r in rows if r["url"] == HOME]
    assert (home["score"], home["fetched_at"], home["signature"]) == (1_500_000, NOW, "ff" * 16)
    (home,) = [r for r in lines(crawl.path, "crawldb+pages") if r["url"] == HOME]
    assert home["metadata"] == {"topic": "nuts"}
    assert (home["segment"], home["http_status"], home["status"]) == (SEGMENT, 200, "fetched")


def test_every_table_is_dumped_as_it_stands(crawl: CrawlFolder) -> None:
    for table in tables.TABLES:
        rows = lines(crawl.path, table.name)
        if table.scope == "crawl":
            assert len(rows) == crawl.table(table).read().num_rows
        else:
            parts = [path for segment in crawl.segments() for path in segment.part_files(table)]
            assert len(rows) == sum(pq.read_metadata(path).num_rows for path in parts)
            assert {r["segment"] for r in rows} <= {SEGMENT}
        assert all(set(r) == {*table.column_names, *(("segment",) if table.scope == "segment" else ())} for r in rows)
    assert lines(crawl.path, "fetched", "--segment", SEGMENT) == lines(crawl.path, "fetched")
    assert [
        r["url"] for r in lines(crawl.path, "fetched", "--where", f"segment = '{SEGMENT}' and http_status = 404")
    ] == [GONE]


def test_rows_and_columns_are_chosen(crawl: CrawlFolder) -> None:
    assert [r["url"] for r in lines(crawl.path, "--status", "gone")] == [GONE]
    assert {r["url"] for r in lines(crawl.path, "--status", "gone", "--status", "fetched", "--where", "depth = 1")} == {
        PAGE, COPY, GONE,
    }  # fmt: skip
    assert [r["url"] for r in lines(crawl.path, "--host", "B.test")] == [COPY]
    assert [r["url"] for r in lines(crawl.path, "crawldb+pages", "--where", "http_status = 404")] == [GONE]
    assert lines(crawl.path, "--columns", "score, url", "--where", f"url = '{PAGE}'") == [
        {"score": 500_000, "url": PAGE}
    ]
    assert len(lines(crawl.path, "--limit", "1")) == 1
    (time_,) = lines(crawl.path, "--columns", "due_at", "--times", "iso", "--status", "gone")
    assert time_["due_at"].startswith("2026-05-2")
    assert time_["due_at"].endswith(f".{NOW % 1000:03d}Z")


def test_parquet_has_the_types_of_the_table(crawl: CrawlFolder, tmp_path: Path) -> None:
    out = tmp_path / "pages.parquet"
    assert "rows 4" in cobnut("dump", crawl.path, "pages", "-o", out).stdout
    found = pq.read_table(out)
    assert found.schema.equals(tables.PAGES.schema())
    assert found.sort_by("url_key").equals(crawl.table(tables.PAGES).read().sort_by("url_key"))
    cobnut("dump", crawl.path, "--times", "iso", "-o", out)
    found = pq.read_table(out)
    assert found.schema.field("due_at").type == pa.timestamp("ms", "UTC")
    assert found.column("due_at").cast(pa.int64()).to_pylist()
    piped = subprocess.run(
        command("dump", crawl.path, "seeds", "--format", "parquet"), capture_output=True, check=True, env=environment()
    )
    assert pq.read_table(io.BytesIO(piped.stdout)).num_rows == 1


def test_csv_keeps_what_is_stored_and_a_spreadsheet_gets_no_formula(tmp_path: Path) -> None:
    crawl = small_crawl(tmp_path / "c")
    anchors = ["=cmd()", "+1", "-1", "@x", "a,b", 'say "x"', "", None, "two\nlines", "\t=1", "中文"]
    links = [
        row(tables.LINKDB, to_key="t", from_key=f"{n:02}", anchor=words, kind="link", from_score=-5)
        for n, words in enumerate(anchors)
    ]
    write(crawl, tables.LINKDB, links)
    text = cobnut("dump", crawl.path, "linkdb", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [r["anchor"] for r in rows] == [words or "" for words in anchors]
    assert '"link",-5,' in text
    assert '"",false,"link"' in text
    assert ',,false,"link"' in text, "NULL is told from the empty text"
    safe = cobnut("dump", crawl.path, "linkdb", "--format", "csv", "--spreadsheet").stdout
    found = [r["anchor"] for r in csv.DictReader(io.StringIO(safe))]
    assert found == ["'=cmd()", "'+1", "'-1", "'@x", "a,b", 'say "x"', "", "", "two\nlines", "'\t=1", "中文"]
    pages = list(csv.DictReader(io.StringIO(cobnut("dump", crawl.path, "crawldb+pages", "--format", "csv").stdout)))
    assert {r["signature"] for r in pages} == {"ff" * 16, MD5.hex(), ""}
    assert json.loads(next(r["metadata"] for r in pages if r["metadata"])) == {"topic": "nuts"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nosuch"], "unknown table: 'nosuch'"),
        (["crawldb", "--columns", "urll"], "did you mean 'url'"),
        (["crawldb", "--columns", ","], "names no column"),
        (["crawldb", "--status", "fetchd"], "did you mean 'fetched'"),
        (["hostdb", "--status", "fetched"], "has no status"),
        (["crawldb", "--segment", SEGMENT], "no table of a segment"),
        (["fetched", "--segment", "20200101000000"], "no segment is called"),
        (["crawldb", "--where", "depth = = 1"], "--where"),
        (["crawldb", "--where", "1=1; drop table x"], "--where"),
        (["seeds", "--where", "read_text('/etc/passwd') = 'x'"], "--where"),
        (["crawldb", "--spreadsheet"], "for --format csv"),
        (["crawldb", "-o", "."], "a folder is in the way"),
        (["crawldb", "-o", "DIR/cobnut.toml"], "no place for a dump"),
        (["ranks", "--host", "x y"], ""),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(
    crawl: CrawlFolder, tmp_path: Path, words: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = (crawl.path / "cobnut.toml").read_bytes()
    words = [word.replace("DIR", str(crawl.path)) for word in words]
    done = cobnut("dump", crawl.path, *words, expect=2 if says else 0)
    assert says in done.stderr
    assert done.stderr.count("\n") <= 1
    assert (crawl.path / "cobnut.toml").read_bytes() == before
    assert not list(tmp_path.iterdir())


def test_a_damaged_table_leaves_the_old_file(tmp_path: Path) -> None:
    crawl = small_crawl(tmp_path / "c")
    out = tmp_path / "o" / "x.jsonl"
    out.parent.mkdir()
    out.write_text("old")
    file = next((crawl.path / "crawldb").glob("g*/part-*.parquet"))
    file.write_bytes(file.read_bytes()[:-200])
    done = cobnut("dump", crawl.path, "-o", out, expect=3)
    assert "crawldb is damaged" in done.stderr
    assert [p.name for p in out.parent.iterdir()] == ["x.jsonl"]
    assert out.read_text() == "old"
    cobnut("dump", crawl.path, "-o", tmp_path / "nowhere" / "x", expect=4)


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_a_file_without_a_column_is_named_and_one_line_says_all(tmp_path: Path, form: str) -> None:
    crawl = small_crawl(tmp_path / "c")
    (file,) = (crawl.path / "segments" / SEGMENT / "parsed").glob("*.parquet")
    held = pq.read_table(file, partitioning=None)
    pq.write_table(held.drop_columns(["noindex"]), file)
    done = cobnut("dump", crawl.path, "parsed", "--format", form, "-o", tmp_path / "out", expect=3)
    assert done.stderr.count("\n") == 1, done.stderr
    assert str(file) in done.stderr
    assert "cobnut parse" in done.stderr
    assert not (tmp_path / "out").exists()


def test_rows_that_are_missing_are_no_dump(tmp_path: Path) -> None:
    crawl = small_crawl(tmp_path / "c")
    file = next((crawl.path / "crawldb").glob("g*/part-*.parquet"))
    pq.write_table(pq.read_table(file, partitioning=None).slice(1), file)
    done = cobnut("dump", crawl.path, expect=3)
    assert "its manifest says" in done.stderr
    assert str(file) in done.stderr


def test_a_pipe_is_written_to_and_what_a_link_leads_to_is_replaced(crawl: CrawlFolder, tmp_path: Path) -> None:
    pipe, link, real = tmp_path / "pipe", tmp_path / "link.csv", tmp_path / "real.csv"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
    cobnut("dump", crawl.path, "-o", pipe)
    assert reader.communicate()[0] == cobnut("dump", crawl.path).stdout
    assert pipe.is_fifo()
    link.symlink_to(real)
    cobnut("dump", crawl.path, "--format", "csv", "-o", link)
    assert link.is_symlink()
    assert real.read_text() == cobnut("dump", crawl.path, "--format", "csv").stdout
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "link.csv", "real.csv"}


def many(crawl: CrawlFolder, rows: int) -> None:
    """A linkdb of many rows, with long anchors, in no order."""
    batch = 20_000
    one = row(tables.LINKDB, to_key="", kind="link", anchor="x" * 300)
    with crawl.table(tables.LINKDB).begin() as draft:
        draft.write_partition(
            0,
            (
                arrow(tables.LINKDB, [one]).take(pa.array([0] * batch)).set_column(
                    0, "to_key", pa.array([f"{n * 7919 % 1_000_003:09}-{start}" for n in range(start, start + batch)])
                ).cast(tables.LINKDB.schema())
                for start in range(0, rows, batch)
            ),
        )  # fmt: skip
        draft.publish("test")


def test_killed_in_between_nothing_half_is_left_and_memory_stays(tmp_path: Path) -> None:
    crawl = small_crawl(tmp_path / "c")
    many(crawl, 400_000)
    out = tmp_path / "o" / "links.jsonl"
    out.parent.mkdir()
    running = subprocess.Popen(command("dump", crawl.path, "linkdb", "-o", out), env=environment())
    for _ in range(3_000):
        if any(p.is_file() and p.stat().st_size for p in out.parent.iterdir()):
            break
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert not out.exists()
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    cobnut("dump", crawl.path, "linkdb", "-o", out)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(before, 900 * 1024)
    assert [p.name for p in out.parent.iterdir()] == ["links.jsonl"], "what the killed one left is gone too"
    with open(out, encoding="utf-8") as file:
        keys = [json.loads(line)["to_key"] for line in file]
    assert len(keys) == 400_000
    assert keys == sorted(keys)


def test_whoever_reads_may_go(crawl: CrawlFolder, tmp_path: Path) -> None:
    many(crawl, 40_000)
    running = subprocess.Popen(
        command("dump", crawl.path, "linkdb"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    assert running.wait(60) == 0
    assert running.stderr.read() == b""
