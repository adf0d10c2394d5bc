"""Is a copy that is made while a crawl is at work a whole crawl?"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

from crawling import cobnut, command, environment, indexed_urls, to_web

from cobnut.records.catalogue import TABLES
from cobnut.storage.layout import PARSED, CrawlFolder
from cobnut.storage.tables import checksum, read_files
from cobnut.testing.fakeweb import FakeWeb, SynthWeb

WORDS = ("http://s0.synth.test/", "--scope", "web", "--max-pages", "0", "-s", "crawl.round_pages=40")


def test_backups_of_a_running_crawl_are_whole(tmp_path: Path) -> None:
    """At random moments, copied or linked: every table can be read and is what its manifest says, and going on comes to
    the same end."""
    seed = int(os.environ.get("COBNUT_BACKUP_SEED", "0")) or random.randrange(1, 10**9)
    chance, copies = random.Random(seed), []
    with FakeWeb(synth=SynthWeb(hosts=4, pages=200, quirks=0, delay=0)) as web:
        crawl = tmp_path / "crawl"
        run = subprocess.Popen(
            command("crawl", crawl, *WORDS, *to_web(web.port)),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip
        while run.poll() is None:
            time.sleep(chance.uniform(0.0, 1.0))
            if (crawl / "cobnut.toml").exists():
                copy = tmp_path / f"copy{len(copies)}"
                cobnut("backup", crawl, copy, *([], ["--link"])[len(copies) % 2])
                copies.append(copy)
        assert run.returncode == 0, run.communicate()[1]
        assert len(copies) > 2
        wanted = indexed_urls(crawl)
        for copy in copies:
            assert_whole(copy)
        for copy in {chance.choice(copies[::2]), chance.choice(copies[1::2])}:
            cobnut("crawl", copy, *WORDS, *to_web(web.port))
            assert indexed_urls(copy) == wanted, f"seed {seed}, {copy.name}"
        assert indexed_urls(crawl) == wanted
        assert_whole(crawl)


def assert_whole(path: Path) -> None:
    """Every table and segment of a crawl says of itself what is true."""
    crawl = CrawlFolder.open(path)
    applied = {e["segment"] for e in crawl.table(TABLES[0]).manifest().get("applied", [])}
    assert applied <= {s.name for s in crawl.segments()}
    for table in TABLES:
        if table.scope == "crawl":
            version = crawl.table(table).current()
            if version is not None:
                with version:
                    assert version.read().num_rows == version.rows
                    for entry in version.manifest["files"]:
                        assert checksum(version.generation.path / entry["name"]) == entry["xxh3"]
    for segment in crawl.segments():
        counts = {t.name: read_files(t, segment.part_files(t)) for t in TABLES if t.scope == "segment"}
        if segment.state() == PARSED:
            successes = counts["fetched"].column("outcome").to_pylist().count("success")
            assert counts["parsed"].num_rows == successes
        for row in counts["fetched"].select(["warc_file", "warc_offset"]).to_pylist():
            if row["warc_file"] is not None:
                assert (segment.warc_path / row["warc_file"]).stat().st_size > row["warc_offset"]
    if (crawl.index_path / "CURRENT").exists():
        indexed_urls(path)


def test_a_plain_copy_of_an_idle_crawl_is_one(tmp_path: Path) -> None:
    with FakeWeb(synth=SynthWeb(hosts=2, pages=40, quirks=0, delay=0)) as web:
        crawl, copy = tmp_path / "crawl", tmp_path / "copy"
        cobnut("crawl", crawl, *WORDS, *to_web(web.port))
        subprocess.run(["cp", "-a", crawl, copy], check=True)
        assert_whole(copy)
        before = indexed_urls(crawl)
        shutil.rmtree(crawl)
        assert indexed_urls(copy) == before
        cobnut("crawl", copy, "--refresh", *to_web(web.port))
        assert indexed_urls(copy) == before


def test_a_backup_needs_a_new_folder_of_its_own(tmp_path: Path) -> None:
    cobnut("create", tmp_path / "crawl")
    cobnut("backup", tmp_path / "crawl", tmp_path, expect=2)
    cobnut("backup", tmp_path / "crawl", tmp_path / "crawl" / "in", expect=2)
    cobnut("backup", tmp_path / "crawl", tmp_path / "empty")
    cobnut("inject", tmp_path / "empty", "-", stdin="http://a.test/\n")
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".tmp-")]


def test_what_a_killed_backup_left_goes_with_the_next(tmp_path: Path) -> None:
    crawl = tmp_path / "c"
    cobnut("create", crawl)
    ended = subprocess.Popen([command()[0], "-c", ""])
    ended.wait()
    killed, living = tmp_path / f".tmp-copy-{ended.pid}-abcdef01", tmp_path / f".tmp-copy-{os.getpid()}-abcdef01"
    others = tmp_path / f".tmp-copy-two-{ended.pid}-abcdef01"
    for folder in (killed, living, others):
        (folder / "segments").mkdir(parents=True)
    cobnut("backup", crawl, tmp_path / "copy")
    assert not killed.exists()
    assert living.exists()
    assert others.exists()
