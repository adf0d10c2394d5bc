"""Do the databases of several crawls become one?"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from crawling import cobnut

from cobnut.config.sections import CrawlSettings, Settings
from cobnut.crawl import steps
from cobnut.crawl.mergedb import mergedb, mergelinkdb
from cobnut.errors import DataError, InputError, MachineError
from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import partition_of
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import (
    DAY_MS,
    START_MS,
    inlink,
    key,
    link,
    new_crawl,
    page,
    rows_of,
    write_segment,
    write_table,
)

WEB = Settings(crawl=CrawlSettings(scope="web"))
FIRST, SECOND, THIRD = "20260101000000", "20260102000000", "20260103000000"
A, B, C, D = "http://a.example/", "http://a.example/b", "http://c.example/", "http://d.example/x"
NOW = START_MS + 30 * DAY_MS


def merged(crawl: CrawlFolder, *others: CrawlFolder, settings: Settings = WEB, **more: Any) -> Any:
    return mergedb(crawl, settings, [other.path for other in others], clock=VirtualClock(NOW), **more)


def rows(crawl: CrawlFolder, table: Any = tables.CRAWLDB) -> dict[str, dict[str, Any]]:
    found = crawl.table(table).read().to_pylist()
    return {row[table.key[0]] if len(table.key) == 1 else tuple(row[n] for n in table.key): row for row in found}


def all_tables(crawl: CrawlFolder) -> dict[str, list[dict[str, Any]]]:
    return {
        t.name: sorted(crawl.table(t).read().to_pylist(), key=repr)
        for t in (tables.CRAWLDB, tables.PAGES, tables.HOSTDB, tables.ROBOTS, tables.SEEDS, tables.LINKDB)
    }


def hot(url: str, **more: Any) -> dict[str, Any]:
    return {**page(url), "url": None, **more}


def cold(url: str, **more: Any) -> dict[str, Any]:
    row = page(url, **{"discovered_via": "link", **more})
    del row["url"]
    return row


def crawl_of(path: Path, states: dict[str, dict[str, Any]], **pages: Any) -> CrawlFolder:
    """A crawl whose crawldb and pages have these rows."""
    crawl = new_crawl(path)
    names = tables.CRAWLDB.column_names
    write_table(
        crawl, tables.CRAWLDB, [hot(u, **{k: v for k, v in s.items() if k in names}) for u, s in states.items()]
    )
    write_table(
        crawl, tables.PAGES, [cold(u, **{k: v for k, v in s.items() if k not in names}) for u, s in states.items()]
    )
    return crawl


def visited(day: int, **more: Any) -> dict[str, Any]:
    at = START_MS + day * DAY_MS
    return {"status": "fetched", "fetched_at": at, "checked_at": at, "due_at": at + DAY_MS, **more}


def test_the_row_visited_last_stays(tmp_path: Path) -> None:
    here = crawl_of(tmp_path / "a", {A: visited(3, score=1), B: visited(1, score=1), C: visited(2, score=1)})
    there = crawl_of(
        tmp_path / "b",
        {A: visited(2, score=2), B: visited(4, score=2, status="gone"), C: visited(2, score=2), D: {"score": 2}},
    )
    report = merged(here, there)
    assert {u: rows(here)[key(u)]["score"] for u in (A, B, C, D)} == {A: 1, B: 2, C: 1, D: 2}
    assert rows(here)[key(B)]["status"] == "gone"
    assert report.counts == {"crawls": 1, "read": 4, "new": 1, "replaced": 1, "kept": 2, "crawldb": 4}
    before = all_tables(here)
    report = merged(here, there)
    assert report.counts == {"crawls": 1, "read": 4, "new": 0, "replaced": 0, "kept": 4, "crawldb": 4}
    assert all_tables(here) == before


def test_of_rows_as_old_the_crawl_named_first_has_it(tmp_path: Path) -> None:
    others = [crawl_of(tmp_path / f"o{n}", {A: visited(2, score=n), B: {"score": n}}) for n in range(1, 4)]
    here = crawl_of(tmp_path / "h", {})
    merged(here, *others)
    assert {row["score"] for row in rows(here).values()} == {1}
    other_way = crawl_of(tmp_path / "h2", {B: {"score": 9}})
    merged(other_way, *reversed(others))
    assert (rows(other_way)[key(A)]["score"], rows(other_way)[key(B)]["score"]) == (3, 9)


def test_a_failed_try_is_a_visit_too(tmp_path: Path) -> None:
    here = crawl_of(tmp_path / "a", {A: visited(2)})
    there = crawl_of(tmp_path / "b", {A: {**visited(1), "checked_at": START_MS + 5 * DAY_MS, "retries": 2}})
    merged(here, there)
    assert rows(here)[key(A)]["retries"] == 2


def test_metadata_comes_together(tmp_path: Path) -> None:
    here = crawl_of(tmp_path / "a", {A: visited(1, metadata=[("x", "1"), ("y", "2")]), B: visited(9), C: visited(1)})
    there = crawl_of(
        tmp_path / "b",
        {
            A: visited(2, metadata=[("y", "9"), ("z", "3")]), B: visited(1, metadata=[("k", "v")]),
            D: visited(1, metadata=[("n", "w")]),
        },
    )  # fmt: skip
    merged(here, there)
    found = {u: dict(rows(here, tables.PAGES)[key(u)]["metadata"] or {}) for u in (A, B, C, D)}
    assert found == {A: {"x": "1", "y": "2", "z": "3"}, B: {"k": "v"}, C: {}, D: {"n": "w"}}


def test_pages_come_without_content_that_is_not_here(tmp_path: Path) -> None:
    place = {"segment": FIRST, "warc_file": "w", "warc_offset": 7, "etag": '"e"', "last_modified": "Mon"}
    here = crawl_of(tmp_path / "a", {A: visited(1, **place)})
    there = crawl_of(tmp_path / "b", {A: visited(2, **{**place, "segment": SECOND}), B: visited(2, **place)})
    merged(here, there)
    found = rows(here, tables.PAGES)
    assert [found[key(B)][name] for name in place] == [None] * 5
    assert {name: found[key(A)][name] for name in place} == place, "it keeps the content it has"
    assert rows(here)[key(A)]["fetched_at"] == START_MS + 2 * DAY_MS


def test_hosts_robots_and_seeds_come_too(tmp_path: Path) -> None:
    crawls = [crawl_of(tmp_path / name, {A: visited(1)}) for name in "ab"]
    host = {"host": "a.example", "bucket": page(A)["bucket"]}
    for number, crawl in enumerate(crawls):
        write_table(
            crawl, tables.HOSTDB,
            [
                {**host, "updated_at": START_MS + number, "request_count": 10 + number},
                {**host, "host": f"h{number}.example", "updated_at": 5, "request_count": 3},
            ],
        )  # fmt: skip
        write_table(
            crawl,
            tables.ROBOTS,
            [
                {
                    **host,
                    "origin": "http://a.example",
                    "state": "rules",
                    "body": b"%d" % number,
                    "fetched_at": 9 - number,
                }
            ],
        )
        seed = page(A if number else C, injected_at=number)
        seed.pop("bucket")
        write_table(crawl, tables.SEEDS, [seed])
    here, there = crawls
    merged(here, there)
    assert {h: r["request_count"] for h, r in rows(here, tables.HOSTDB).items()} == {
        "a.example": 11, "h0.example": 3, "h1.example": 3,
    }  # fmt: skip
    assert [r["body"] for r in rows(here, tables.ROBOTS).values()] == [b"0"]
    assert set(rows(here, tables.SEEDS)) == {key(A), key(C)}
    before = all_tables(here)
    merged(here, there)
    assert all_tables(here) == before, "counts are not added up"


def test_filters_and_what_is_forgotten(tmp_path: Path) -> None:
    from cobnut.crawl.forgetting import entry_of, forget

    here = crawl_of(tmp_path / "a", {})
    there = crawl_of(tmp_path / "b", {A: visited(1), B: visited(1), C: visited(1), D: visited(1)})
    for crawl, url in ((here, A), (there, C)):
        seed = page(url, injected_at=0)
        seed.pop("bucket")
        write_table(crawl, tables.SEEDS, [seed])
    forget(here, WEB, [entry_of("url", B, WEB)], None)
    hosts = Settings(crawl=CrawlSettings(scope="host"))
    report = merged(here, there, settings=hosts, filters=True)
    assert set(rows(here)) == {key(A), key(C)}, "the scope is that of both"
    assert report.left_out == {"forgotten": 1, "scope": 1}
    assert report.counts["read"] == report.counts["new"] + sum(report.left_out.values())
    merged(here, there, settings=hosts)
    assert set(rows(here)) == {key(A), key(C), key(D)}


def round_of(crawl: CrawlFolder, name: str, url: str, text: bytes, **more: Any) -> None:
    """A page that was fetched in a segment, and is in the crawldb."""
    at = START_MS + DAY_MS * int(name[6:8])
    answer = {
        "outcome": "success", "http_status": 200, "fetched_at": at, "digest": text.ljust(16), "warc_file": "x.warc.gz",
        "warc_offset": 3, "etag": text.decode(),
    }  # fmt: skip
    segment = write_segment(
        crawl, name,
        fetchlist=[page(url, fetch=True)],
        fetched=[page(url, **answer)],
        parsed=[page(url, parse_status="ok", fetched_at=at, signature=text.ljust(16), title=text.decode())],
        links=[link(url, D, **more)],
    )  # fmt: skip
    segment.warc_path.mkdir()
    (segment.warc_path / "x.warc.gz").write_bytes(text)
    steps.updatedb(crawl, WEB, clock=VirtualClock(at))


def test_segments_come_along_under_a_free_name(tmp_path: Path) -> None:
    here, there = new_crawl(tmp_path / "a"), new_crawl(tmp_path / "b")
    round_of(here, FIRST, A, b"here")
    round_of(there, FIRST, B, b"there")
    round_of(there, SECOND, C, b"other")
    write_segment(there, THIRD, fetchlist=[page(D, fetch=True)])
    (there.segment(THIRD)).set_state("generated")
    report = merged(here, there, with_segments=True)
    renamed = "20260101000001"
    assert [s.name for s in here.segments()] == [FIRST, renamed, SECOND]
    assert report.segments == [renamed, SECOND]
    assert report.left_out == {"not_applied_segment": 1}
    found = rows(here, tables.PAGES)
    assert {u: (found[key(u)]["segment"], found[key(u)]["etag"]) for u in (A, B, C)} == {
        A: (FIRST, "here"), B: (renamed, "there"), C: (SECOND, "other"),
    }  # fmt: skip
    assert (here.segment(renamed).warc_path / "x.warc.gz").read_bytes() == b"there"
    assert steps.applied_segments(here) == [FIRST, renamed, SECOND]
    assert steps.pending_segments(here) == ([], None), "nothing is applied twice"
    before = all_tables(here)
    report = merged(here, there, with_segments=True)
    assert report.segments == []
    assert [s.name for s in here.segments()] == [FIRST, renamed, SECOND]
    assert all_tables(here) == before
    merged(here, there)
    assert all_tables(here) == before
    # it goes on like any crawl
    round_of(here, "20260104000000", D, b"later")
    assert rows(here)[key(D)]["status"] == "fetched"
    steps.invertlinks(here, WEB)
    assert {row["segment"] for row in rows(here, tables.LINKDB).values()} == {FIRST, renamed, SECOND, "20260104000000"}


def test_segments_may_come_later(tmp_path: Path) -> None:
    here, there = crawl_of(tmp_path / "a", {A: visited(1)}), new_crawl(tmp_path / "b")
    round_of(there, SECOND, B, b"there")
    merged(here, there)
    assert rows(here, tables.PAGES)[key(B)]["segment"] is None
    merged(here, there, with_segments=True)
    assert rows(here, tables.PAGES)[key(B)]["segment"] == SECOND


def test_no_segments_while_others_wait_here(tmp_path: Path) -> None:
    here, there = crawl_of(tmp_path / "a", {A: visited(1)}), new_crawl(tmp_path / "b")
    round_of(there, SECOND, B, b"there")
    write_segment(here, FIRST, fetchlist=[page(A, fetch=True)]).set_state("generated")
    before = all_tables(here)
    with pytest.raises(InputError, match=f"1 segments wait to be applied here, such as {FIRST}"):
        merged(here, there, with_segments=True)
    assert all_tables(here) == before
    assert merged(here, there).counts["new"] == 2


def test_what_cannot_be_merged_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    here, there = crawl_of(tmp_path / "a", {A: visited(1)}), crawl_of(tmp_path / "b", {B: visited(1)})
    before = all_tables(here)
    (tmp_path / "link").symlink_to(here.path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    for path, says in (
        (here.path, "into itself"), (tmp_path / "link", "into itself"), (tmp_path / "b" / ".." / "a", "into itself"),
        (tmp_path / "nothing", "no such folder"), (tmp_path / "empty", "not a crawl"),
        (tmp_path / "file", "not a crawl"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=says):
            mergedb(here, WEB, [there.path, path])
    with pytest.raises(InputError, match="named twice"):
        mergedb(here, WEB, [there.path, there.path])
    with there.lock(), pytest.raises(MachineError, match="another process is writing"):
        mergedb(here, WEB, [there.path])
    assert all_tables(here) == before
    manifest = next((there.path / "pages").glob("g*/manifest.json"))
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**told, "applied": [{"segment": FIRST, "digest": ""}]}))
    with pytest.raises(DataError, match=f"pages holds segment {FIRST}, and the crawldb does not"):
        mergedb(here, WEB, [there.path])
    manifest.write_text(json.dumps({**told, "format_version": 99}))
    with pytest.raises(DataError, match="newer than this program knows"):
        mergedb(here, WEB, [there.path])
    manifest.write_text(json.dumps(told))
    part = next((there.path / "pages").glob("g*/part-*.parquet"))
    part.write_bytes(part.read_bytes()[:-40])
    with pytest.raises(DataError, match="damaged"):
        mergedb(here, WEB, [there.path])
    assert all_tables(here) == before
    assert not list(here.path.glob(".tmp-*"))


def test_the_commands(tmp_path: Path) -> None:
    here, there = crawl_of(tmp_path / "a", {A: visited(1)}), crawl_of(tmp_path / "b", {B: visited(1)})
    assert "crawls 1, read 1, new 1" in cobnut("mergedb", here.path, there.path).stdout
    assert json.loads(cobnut("mergedb", here.path, there.path, "--json").stdout)["counts"]["kept"] == 1
    write_table(there, tables.LINKDB, [inlink(A, B, anchor="w")])
    assert "read 1, linkdb 1" in cobnut("mergelinkdb", here.path, there.path).stdout
    assert "into itself" in cobnut("mergelinkdb", here.path, here.path, expect=2).stderr
    assert cobnut("mergedb", here.path, expect=2).stderr.count("\n") == 1


def test_links_come_together_and_those_of_pages_parsed_here_stay(tmp_path: Path) -> None:
    here, there = crawl_of(tmp_path / "a", {A: {"score": 5}, B: {"score": 7}}), crawl_of(tmp_path / "b", {})
    write_table(here, tables.LINKDB, [inlink(A, B, anchor="mine")])
    write_table(
        there, tables.LINKDB, [inlink(A, B, anchor="old"), inlink(A, C, anchor="gone"), inlink(B, C, anchor="new")]
    )
    report = mergelinkdb(here, WEB, [there.path])
    assert report.counts == {"crawls": 1, "read": 3, "linkdb": 2}
    found = {
        (r["from_key"], r["to_key"]): (r["anchor"], r["segment"], r["from_score"])
        for r in rows(here, tables.LINKDB).values()
    }
    assert found[key(A), key(B)][0] == "mine"
    assert found[key(B), key(C)] == ("new", "imported", 7)
    before = all_tables(here)
    mergelinkdb(here, WEB, [there.path])
    assert all_tables(here) == before
    report = mergelinkdb(here, Settings(crawl=CrawlSettings(scope="host")), [there.path], filters=True)
    assert report.left_out["scope"] == 3


def test_links_that_come_in_go_into_the_partition_of_their_target_alone(tmp_path: Path) -> None:
    urls = [f"http://h{n}.example/" for n in range(40)]
    here, there = crawl_of(tmp_path / "a", {url: {} for url in urls}), crawl_of(tmp_path / "b", {})
    with here.table(tables.LINKDB).begin(4) as draft:
        for partition in range(4):
            links = [inlink(A, url) for url in urls[:20]]
            mine = [row for row in links if partition_of(row["to_bucket"], 4) == partition]
            assert mine
            draft.write_partition(partition, [rows_of(tables.LINKDB, mine).sort_by("to_key")])
        draft.publish("test", applied=[])
    write_table(there, tables.LINKDB, [inlink(B, url) for url in urls[10:]])
    mergelinkdb(here, WEB, [there.path])
    found = [(row["from_key"], row["to_key"]) for row in here.table(tables.LINKDB).read().to_pylist()]
    wanted = [(key(A), key(url)) for url in urls[:20]] + [(key(B), key(url)) for url in urls[10:]]
    assert sorted(found) == sorted(wanted)


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from cobnut.config.sections import CrawlSettings, Settings
    from cobnut.crawl.mergedb import mergedb
    from cobnut.storage.layout import CrawlFolder
    from cobnut.testing.clock import VirtualClock
    left = [int(sys.argv[3])]
    def border(name):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    mergedb(CrawlFolder(Path(sys.argv[1])), Settings(crawl=CrawlSettings(scope="web")), [Path(sys.argv[2])],
            with_segments=True, clock=VirtualClock(int(sys.argv[4])), on_publish=border)
"""


def test_killed_at_every_border_and_run_again_it_is_as_if_it_had_not_been(tmp_path: Path) -> None:
    here, there = new_crawl(tmp_path / "a"), new_crawl(tmp_path / "b")
    round_of(here, FIRST, A, b"here")
    round_of(there, FIRST, B, b"there")
    write_table(there, tables.HOSTDB, [{"host": "a.example", "bucket": page(A)["bucket"], "updated_at": 1}])
    manifest = next(p for p in sorted((there.path / "hostdb").glob("g*/manifest.json"))[-1:])
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**told, "applied": [{"segment": FIRST, "digest": ""}]}))
    plain = tmp_path / "plain"
    shutil.copytree(here.path, plain)
    merged(CrawlFolder(plain), there, with_segments=True)
    want = all_tables(CrawlFolder(plain))
    for border in range(12):
        folder = tmp_path / f"killed{border}"
        shutil.copytree(here.path, folder)
        words = [sys.executable, "-c", textwrap.dedent(KILLED), str(folder), str(there.path), str(border), str(NOW)]
        code = subprocess.run(words, check=False, env=os.environ).returncode
        merged(CrawlFolder(folder), there, with_segments=True)
        assert all_tables(CrawlFolder(folder)) == want, border
        assert not list(folder.glob(".tmp-*"))
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert border >= 4


def test_many_random_crawls_keep_every_key_once(tmp_path: Path) -> None:
    import random

    rng = random.Random(7)
    urls = [f"http://h{n % 5}.example/{n}" for n in range(60)]
    crawls = [
        crawl_of(
            tmp_path / f"c{n}",
            {u: visited(rng.randrange(3), score=n * 1000 + i) for i, u in enumerate(rng.sample(urls, 30))},
        )
        for n in range(4)
    ]  # fmt: skip
    every = [rows(crawl) for crawl in crawls]
    merged(crawls[0], *crawls[1:])
    found = rows(crawls[0])
    assert set(found) == {k for one in every for k in one}
    for k, row in found.items():
        newest = max(one[k]["fetched_at"] for one in every if k in one)
        first = next(one[k] for one in every if k in one and one[k]["fetched_at"] == newest)
        assert (row["fetched_at"], row["score"]) == (newest, first["score"])
