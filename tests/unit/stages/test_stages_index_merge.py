"""The index of a segment, and the merged index: from real tables on disk to what a searcher finds."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cobnut.config.sections import Settings
from cobnut.errors import DataError
from cobnut.index.reader import IndexReader
from cobnut.observe.clock import SystemClock
from cobnut.records import catalogue as tables
from cobnut.records.columns import Table
from cobnut.search.open import open_searcher
from cobnut.stages.index import run_index
from cobnut.stages.merge import reasons_to_drop, run_merge
from cobnut.storage.layout import PARSED, CrawlFolder, SegmentFolder
from cobnut.storage.parts import write_part

SETTINGS = Settings()
CLOCK = SystemClock()
_ZERO = {"string": "", "int64": 0, "int32": 0, "bool": False, "binary": b""}


def rows(table: Table, given: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    full = [{c.name: row.get(c.name, None if c.nullable else _ZERO[c.type]) for c in table.columns} for row in given]
    return pa.Table.from_pylist(full, table.schema())


def page(name: str, **more: Any) -> dict[str, Any]:
    return {
        "url_key": f"org,example)/{name}", "url": f"http://example.org/{name}", "host": "example.org", "bucket": 1,
        "parse_status": "ok", "title": name, "text": f"text of {name}", "fetched_at": 1_000, "score": 1, **more,
    }  # fmt: skip


def answer(name: str, **more: Any) -> dict[str, Any]:
    return {
        "url_key": f"org,example)/{name}", "url": f"http://example.org/{name}", "host": "example.org",
        "outcome": "success", "depth": 2, "warc_file": "w.warc.gz", "warc_offset": 77,
        "last_modified": "Thu, 01 Jan 1970 00:00:02 GMT", **more,
    }  # fmt: skip


def linked(name: str, anchors: list[tuple[str, str]], **more: Any) -> dict[str, Any]:
    return {
        "url_key": f"org,example)/{name}", "host": "example.org", "page_rank": 5_000_000, "inlink_count": len(anchors),
        "anchors": [{"from_key": source, "anchor": words} for words, source in anchors], **more,
    }  # fmt: skip


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlFolder:
    return CrawlFolder.create(tmp_path / "crawl", "")


def segment(crawl: CrawlFolder, name: str, pages: list[dict[str, Any]], **more: list[dict[str, Any]]) -> SegmentFolder:
    path = crawl.segments_path / name
    path.mkdir(exist_ok=True)
    made = SegmentFolder(path)
    made.set_state(PARSED)
    answers = more.get("fetched", [answer(p["url_key"].split("/")[1]) for p in pages])
    for table, given in ((tables.PARSED, pages), (tables.FETCHED, answers), (tables.LINKED, more.get("linked"))):
        if given is not None:
            made.folder(table).mkdir(exist_ok=True)
            write_part(made.folder(table), table, "part-00000", [rows(table, given)])
    return made


def publish(crawl: CrawlFolder, table: Table, given: list[dict[str, Any]]) -> None:
    with crawl.table(table).begin() as draft:
        draft.write_partition(0, [rows(table, given)])
        draft.publish("test")


def shown(crawl: CrawlFolder) -> list[tuple[str, str]]:
    version = crawl.index_generations().current()
    assert version is not None
    with version:
        return sorted((d.url_key.split("/")[1], d.segment) for d in IndexReader(version.path).documents())


def index_and_merge(crawl: CrawlFolder) -> None:
    run_index(crawl, SETTINGS, clock=CLOCK)
    run_merge(crawl, SETTINGS, clock=CLOCK)


def test_a_page_comes_from_its_three_tables_into_the_index(crawl: CrawlFolder) -> None:
    links = [linked("a", [("fine words", "k1"), ("left out", "k2")], score=42, inlink_host_count=3)]
    made = segment(crawl, "20260101000000", [page("a", language="en"), page("b")], linked=links)
    report = run_index(crawl, SETTINGS, clock=CLOCK, without_links_from=frozenset({"k2"}))
    assert report.doc_count == 2
    reader = IndexReader(made.index_path)
    kept = reader.get("org,example)/a")
    assert kept is not None
    assert (kept.title, kept.segment, kept.depth, kept.warc_file, kept.warc_offset) == (
        "a", "20260101000000", 2, "w.warc.gz", 77,
    )  # fmt: skip
    assert (kept.score, kept.page_rank, kept.inlink_host_count, kept.modified_at) == (42, 5_000_000, 3, 2_000)
    assert kept.inlink_sample == (("k1", "fine words"),)
    searcher = open_searcher(made.path)
    assert [h.url for h in searcher.search("fine").hits] == ["http://example.org/a"]
    assert searcher.search("left").total == 0


def test_pages_that_are_not_to_be_found_are_left_out_by_reason(crawl: CrawlFolder) -> None:
    pages = [
        page("ok"), page("secret", noindex=True), page("broken", parse_status="failed"),
        page("image", parse_status="skipped"), page("moved"),
        page("on", refresh_key="org,example)/ok", refresh_delay_s=0), page("slow", refresh_delay_s=9),
    ]  # fmt: skip
    answers = [answer(p["title"]) for p in pages if p["title"] != "moved"] + [answer("moved", outcome="redirect_perm")]
    segment(crawl, "20260101000000", pages, fetched=answers)
    (done,) = run_index(crawl, SETTINGS, clock=CLOCK).segments
    assert done.doc_count == 2
    assert done.left_out == {"noindex": 1, "parse_failed": 1, "parse_skipped": 1, "redirect_perm": 1, "refresh": 1}


def test_a_segment_is_indexed_again_only_when_its_inputs_or_settings_change(crawl: CrawlFolder) -> None:
    made = segment(crawl, "20260101000000", [page("a")])
    assert [s.unchanged for s in run_index(crawl, SETTINGS, clock=CLOCK).segments] == [False]
    assert [s.unchanged for s in run_index(crawl, SETTINGS, clock=CLOCK).segments] == [True]
    segment(crawl, "20260101000000", [page("a")], linked=[linked("a", [("x", "k")])])
    assert [s.unchanged for s in run_index(crawl, SETTINGS, clock=CLOCK).segments] == [False]
    assert [s.unchanged for s in run_index(crawl, SETTINGS, clock=CLOCK).segments] == [True]
    (made.path / ".tmp-index-1-old").mkdir()
    other = run_index(crawl, SETTINGS, clock=CLOCK, without_links_from=frozenset({"k"}))
    assert [s.unchanged for s in other.segments] == [False]
    assert not list(made.path.glob(".tmp-*"))


def test_the_newest_version_of_a_url_is_shown_whichever_stage_ran_first(crawl: CrawlFolder) -> None:
    segment(crawl, "20260101000000", [page("a", text="old"), page("b")])
    segment(crawl, "20260102000000", [page("a", text="new"), page("c")])
    index_and_merge(crawl)
    before = shown(crawl)
    publish(crawl, tables.DUPLICATES, [{
        "url_key": "org,example)/a", "segment": "20260101000000", "host": "example.org", "kind": "same_url",
        "representative_key": "org,example)/a", "representative_segment": "20260102000000", "rule": "newest",
    }])  # fmt: skip
    assert run_merge(crawl, SETTINGS, clock=CLOCK).unchanged
    assert shown(crawl) == before == [("a", "20260102000000"), ("b", "20260101000000"), ("c", "20260102000000")]
    assert open_searcher(crawl.path).search("old").total == 0


def test_duplicates_and_pages_that_went_are_not_shown_and_come_back(crawl: CrawlFolder) -> None:
    name = "20260101000000"
    segment(crawl, name, [page(n) for n in ("a", "copy", "gone", "hidden", "missing", "kept")])
    duplicate = {
        "url_key": "org,example)/copy", "segment": name, "host": "example.org", "kind": "exact", "rule": "score",
        "representative_key": "org,example)/a", "representative_segment": name,
    }  # fmt: skip
    publish(crawl, tables.DUPLICATES, [duplicate])
    states = [("gone", "gone", "http_410"), ("hidden", "fetched", "noindex"), ("missing", "unfetched", "http_404"),
              ("kept", "unfetched", "timeout"), ("elsewhere", "gone", None)]  # fmt: skip
    publish(crawl, tables.CRAWLDB, [
        {"url_key": f"org,example)/{n}", "host": "example.org", "status": s, "reason": r} for n, s, r in states
    ])  # fmt: skip
    index_and_merge(crawl)
    assert [n for n, _ in shown(crawl)] == ["a", "kept"]
    publish(crawl, tables.CRAWLDB, [{"url_key": "org,example)/a", "host": "example.org", "status": "gone"}])
    report = run_merge(crawl, SETTINGS, clock=CLOCK)
    assert report.left_out == {"hidden": 1}
    assert [n for n, _ in shown(crawl)] == ["copy", "gone", "hidden", "kept", "missing"]


def test_what_a_later_answer_took_back_stays_hidden(crawl: CrawlFolder) -> None:
    """Whatever the crawldb says of the last, failed visit: `pages` says which full answer still stands."""
    first, second = "20260101000000", "20260102000000"
    segment(crawl, first, [page(n) for n in ("stands", "went", "hidden", "never", "later")])
    hidden = page("hidden", noindex=True)
    segment(crawl, second, [hidden, page("again")])
    failed = {"host": "example.org", "status": "unfetched", "reason": "timeout"}
    names = ("stands", "went", "hidden", "never", "later")
    publish(crawl, tables.CRAWLDB, [{"url_key": f"org,example)/{n}", **failed} for n in names])
    full = [("stands", 5, first), ("went", 5, None), ("hidden", 5, second), ("never", None, None),
            ("later", 5, "20260103000000"), ("again", 5, first)]  # fmt: skip
    publish(crawl, tables.PAGES, [
        {"url_key": f"org,example)/{n}", "host": "example.org", "checked_at": at, "segment": s} for n, at, s in full
    ])  # fmt: skip
    index_and_merge(crawl)
    # the later answer of one is not indexed yet: until then the former is shown
    assert [n for n, _ in shown(crawl)] == ["again", "later", "never", "stands"]


def test_segments_that_went_leave_no_trace_when_nothing_of_them_is_shown(crawl: CrawlFolder) -> None:
    segment(crawl, "20260101000000", [page("a")])
    segment(crawl, "20260102000000", [page("a", text="new")])
    index_and_merge(crawl)
    shutil.rmtree(crawl.segments_path / "20260101000000")
    run_merge(crawl, SETTINGS, clock=CLOCK)
    assert shown(crawl) == [("a", "20260102000000")]
    current = crawl.index_generations().current()
    assert current is not None
    with current:
        assert tuple(current.manifest["segments"]) == ("20260102000000",)


def test_after_merging_every_segment_may_go(crawl: CrawlFolder) -> None:
    segment(crawl, "20260101000000", [page("a"), page("b")])
    segment(crawl, "20260102000000", [page("b"), page("c")])
    index_and_merge(crawl)
    before = shown(crawl)
    shutil.rmtree(crawl.segments_path / "20260101000000")
    run_merge(crawl, SETTINGS, clock=CLOCK)
    assert shown(crawl) == before
    segment(crawl, "20260103000000", [page("a")])
    index_and_merge(crawl)
    assert shown(crawl) == [("a", "20260103000000"), ("b", "20260102000000"), ("c", "20260102000000")]
    shutil.rmtree(crawl.segments_path)
    crawl.segments_path.mkdir()
    assert open_searcher(crawl.path).search("text").total == 3
    run_merge(crawl, SETTINGS, clock=CLOCK)
    assert len(shown(crawl)) == 3
    assert run_merge(crawl, SETTINGS, clock=CLOCK).unchanged
    shutil.copytree(crawl.index_path, crawl.path.parent / "away")
    shutil.rmtree(crawl.path)
    assert open_searcher(crawl.path.parent / "away").search("text").total == 3


def test_a_segment_that_is_indexed_anew_replaces_what_was_merged_of_it(crawl: CrawlFolder) -> None:
    segment(crawl, "20260101000000", [page("a", text="first"), page("b")])
    index_and_merge(crawl)
    segment(crawl, "20260101000000", [page("a", text="second")])
    index_and_merge(crawl)
    assert shown(crawl) == [("a", "20260101000000")]
    assert open_searcher(crawl.path).search("first").total == 0
    assert open_searcher(crawl.path).search("second").total == 1


def test_an_empty_crawl_merges_to_an_index_without_documents(crawl: CrawlFolder) -> None:
    assert open_searcher(crawl.path).search("word").notice == "nothing indexed yet"
    index_and_merge(crawl)
    results = open_searcher(crawl.path).search("word")
    assert (results.total, results.notice) == (0, "nothing indexed yet")


def test_a_crawl_with_segments_but_no_merged_index_says_what_to_run(crawl: CrawlFolder) -> None:
    segment(crawl, "20260101000000", [page("a")])
    with pytest.raises(DataError, match="cobnut merge"):
        open_searcher(crawl.path)
    searcher = open_searcher(crawl.path, missing_ok=True)
    assert searcher.search("text").notice == "nothing indexed yet"
    index_and_merge(crawl)
    assert searcher.refresh_if_changed()
    assert searcher.search("text").total == 1
    assert not searcher.refresh_if_changed()


def test_a_searcher_follows_generations_while_old_ones_are_removed(crawl: CrawlFolder) -> None:
    crawl.grace_s = 0.0
    searcher = None
    for number in range(5):
        segment(crawl, f"2026010100000{number}", [page(f"p{number}")])
        index_and_merge(crawl)
        searcher = searcher or open_searcher(crawl.path)
        searcher.refresh_if_changed()
        assert searcher.search("text").total == number + 1


def test_rules_of_dropping() -> None:
    keys = ["u\ns1", "u\ns3", "u\ns2", "v\ns1", "w\ns1", "x\ns1"]
    stale = ("v", "s1", "u", "s1", "exact")  # the representative has been superseded: v must not be lost
    good = ("w", "s1", "u", "s3", "exact")
    by_hidden = ("x", "s1", "h", "s1", "canonical")
    reasons = reasons_to_drop([*keys, "h\ns1"], [stale, good, by_hidden], {"h"})
    assert reasons == {
        "u\ns1": "superseded", "u\ns2": "superseded", "w\ns1": "duplicate_exact", "h\ns1": "hidden",
    }  # fmt: skip


_ENDLESS = """
import sys
from pathlib import Path
from cobnut.config.sections import Settings
from cobnut.observe.clock import SystemClock
from cobnut.stages.index import run_index
from cobnut.stages.merge import run_merge
from cobnut.storage.layout import CrawlFolder
crawl = CrawlFolder.open(Path(sys.argv[1]))
print("ready", flush=True)
for turn in range(10**6):
    run_index(crawl, Settings(), clock=SystemClock(), without_links_from=frozenset({str(turn)}))
    run_merge(crawl, Settings(), clock=SystemClock())
"""


@pytest.mark.serial
def test_killed_at_any_moment_the_merged_index_stays_whole(crawl: CrawlFolder) -> None:
    crawl.grace_s = 0.0
    for number in range(3):
        segment(crawl, f"2026010100000{number}", [page(f"p{number}-{i}") for i in range(20)])
    index_and_merge(crawl)
    whole = shown(crawl)
    for turn in range(6):
        process = subprocess.Popen([sys.executable, "-c", _ENDLESS, str(crawl.path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.05 + 0.037 * turn)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert shown(crawl) == whole
    index_and_merge(crawl)
    assert shown(crawl) == whole
    assert not list(crawl.path.rglob(".tmp-*"))


def rot(file: Path) -> None:
    """Changes the content of an index file and leaves the footer with its checksum."""
    content = bytearray(file.read_bytes())
    for place in range(0, len(content) - 128, 5):
        content[place] ^= 0x5A
    with open(file, "r+b") as stream:  # in place: a reader that has it mapped must not find it shorter
        stream.write(content)


def current_index(crawl: CrawlFolder) -> Path:
    return crawl.index_path / (crawl.index_path / "CURRENT").read_text().strip()


@pytest.mark.parametrize("name", [".fast", ".store", ".term", "manifest.json", "meta.json"])
def test_index_and_merge_mend_a_damaged_index(crawl: CrawlFolder, name: str) -> None:
    segment(crawl, "20260101000000", [page("a"), page("b")])
    index_and_merge(crawl)
    before = shown(crawl)
    file = next(path for path in current_index(crawl).iterdir() if path.name.endswith(name))
    if name.endswith(".json"):
        file.write_bytes(b"{")
    else:
        rot(file)  # a link: the segment's index is damaged too
        with pytest.raises(DataError, match=f"cobnut index {crawl.path}"):
            run_merge(crawl, SETTINGS, clock=CLOCK)
    with pytest.raises(DataError):
        open_searcher(crawl.path)
    run_index(crawl, SETTINGS, clock=CLOCK)
    report = run_merge(crawl, SETTINGS, clock=CLOCK)
    assert "made anew" in " ".join(report.messages)
    assert shown(crawl) == before
    assert run_merge(crawl, SETTINGS, clock=CLOCK).unchanged


@pytest.mark.parametrize("name", [".store", "manifest.json"])
def test_a_damaged_index_that_alone_holds_pages_is_not_thrown_away(crawl: CrawlFolder, name: str) -> None:
    segment(crawl, "20260101000000", [page("a")])
    segment(crawl, "20260102000000", [page("b")])
    index_and_merge(crawl)
    publish(crawl, tables.PAGES, [])
    with crawl.table(tables.CRAWLDB).begin() as draft:
        draft.publish("test", applied=[{"segment": "20260101000000"}, {"segment": "20260102000000"}])
    shutil.rmtree(crawl.segments_path / "20260101000000")
    damaged = current_index(crawl)
    for file in damaged.iterdir():
        if file.name.endswith(name):
            rot(file) if name == ".store" else file.write_bytes(b"{")
    with pytest.raises(DataError, match=f"20260101000000.*cobnut rollback .* index.*remove {crawl.index_path}"):
        run_merge(crawl, SETTINGS, clock=CLOCK)
    assert damaged.is_dir()
    shutil.rmtree(crawl.index_path)
    run_index(crawl, SETTINGS, clock=CLOCK)  # the files were shared
    run_merge(crawl, SETTINGS, clock=CLOCK)
    assert [key for key, _ in shown(crawl)] == ["b"]
