"""A crawl in Nutch's layouts: which record a row becomes, in which order, and that nothing half done is left."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_crawl import (
    COPY,
    GONE,
    HOME,
    LEFT,
    MD5,
    NOW,
    PAGE,
    SEGMENT,
    arrow,
    row,
    small_crawl,
    write,
)

from cobnut.config.load import load_settings
from cobnut.config.sections import Settings, StorageSettings
from cobnut.config.template import settings_text
from cobnut.errors import InputError
from cobnut.frontier.representative import representative
from cobnut.interop.hadoop import DataInput, MapFileReader, SequenceFileReader
from cobnut.interop.nutch07 import NEVER, md5_of
from cobnut.interop.nutch07.segment import SegmentReader
from cobnut.interop.nutch07.webdb import WebDBReader
from cobnut.interop.nutch1 import CrawlDatum, HostDatum, Inlinks, ParseData
from cobnut.interop.nutch_export import Exported, export_nutch
from cobnut.interop.nutch_export.source import Groups, distinct, java_hash
from cobnut.interop.nutch_export.statuses import args_of, code_of, code_of_state, http_time
from cobnut.records import catalogue as tables
from cobnut.records.outcomes import REASONS
from cobnut.storage.files import TEMPORARY_PREFIX
from cobnut.storage.layout import FETCHED, CrawlFolder, SegmentFolder
from cobnut.storage.parts import write_part

GOLDEN = Path(__file__).parents[2] / "formats" / "nutch" / "1.23" / "json"
PART = "part-r-00000"


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlFolder:
    return small_crawl(tmp_path / "crawl")


def settings_of(crawl: CrawlFolder) -> Settings:
    return load_settings(crawl.path, environ={}, overrides=(), options={}).settings


def export(crawl: CrawlFolder, out: Path, layout: Any = "1.x", **more: Any) -> Exported:
    return export_nutch(crawl, settings_of(crawl), out, layout, **more)


def records(folder: Path, read: Callable[[bytes], Any]) -> dict[str, Any]:
    path = folder / PART
    with MapFileReader(path) if path.is_dir() else SequenceFileReader(path) as reader:
        return {bytes(r.key)[1:].decode(): read(bytes(r.value)) for r in reader.records()}


def test_a_row_of_the_crawldb_becomes_a_crawldatum(crawl: CrawlFolder, tmp_path: Path) -> None:
    done = export(crawl, tmp_path / "out")
    found = records(tmp_path / "out/crawldb/current", CrawlDatum.read)
    assert list(found) == sorted(found)
    home = found[HOME]
    assert (home.status_name, home.fetch_time, home.modified_time) == ("db_fetched", NOW + 86_400_000, NOW)
    assert (home.retries, home.fetch_interval, home.score, home.signature) == (0, 86_400, 1.5, b"\xff" * 16)
    assert home.metadata.get("topic") == "nuts"  # the seed's words
    assert home.metadata.get("nutch.protocol.code") == "200"
    assert home.metadata.get("_depth_") == 1
    gone = found[GONE]
    assert (gone.status_name, gone.retries) == ("db_gone", 1)
    assert gone.metadata.get("_pst_").code == 14
    assert gone.metadata.get("_pst_").args == [GONE]
    assert found[COPY].status_name == "db_duplicate"  # dedup left it out
    assert done.records["crawldb"] == len(found) == 4


def test_keys_are_in_the_order_of_their_bytes_though_the_tables_are_not(crawl: CrawlFolder, tmp_path: Path) -> None:
    """By key, www.a.test follows a.test's pages and b.test; by URL, other hosts and longer paths come between."""
    urls = [
        "http://a.test/",
        "http://a.test/b",
        "http://a.test/é",
        "http://a.test:81/",
        "http://b.a.test/",
        "https://a.test/",
    ]
    rows = [row(tables.CRAWLDB, url, status="unfetched") for url in urls]
    write(crawl, tables.CRAWLDB, sorted(rows, key=lambda r: r["url_key"]))
    assert sorted(rows, key=lambda r: r["url_key"]) != rows
    export(crawl, tmp_path / "out")
    found = list(records(tmp_path / "out/crawldb/current", CrawlDatum.read))
    assert [url.encode() for url in found] == sorted(url.encode() for url in found)
    assert len(found) == len(urls)


def test_links_that_are_followed_become_inlinks(crawl: CrawlFolder, tmp_path: Path) -> None:
    export(crawl, tmp_path / "out")
    found = records(tmp_path / "out/linkdb/current", Inlinks.read)
    links = {to: [(i.from_url, i.anchor) for i in inlinks] for to, inlinks in found.items()}
    assert links == {PAGE: [(HOME, "the page")], COPY: [(HOME, "")], LEFT: [(HOME, "elsewhere")]}


def test_hosts_are_counted(crawl: CrawlFolder, tmp_path: Path) -> None:
    export(crawl, tmp_path / "out")
    found = records(tmp_path / "out/hostdb/current", HostDatum.read)
    assert {host: (d.fetched, d.gone, d.connection_failures) for host, d in found.items()} == {
        "a.test": (2, 1, 1), "b.test": (1, 0, 0),
    }  # fmt: skip


def test_answers_without_an_archive_are_counted_and_the_rest_is_there(crawl: CrawlFolder, tmp_path: Path) -> None:
    """The small crawl's rows name no WARC file."""
    segment = crawl.segment(SEGMENT)
    rows = [
        row(
            tables.FETCHED,
            HOME,
            outcome="success",
            http_status=200,
            warc_file="part-00000-00000.warc.gz",
            warc_offset=7,
        )
    ]
    write_part(segment.folder(tables.FETCHED), tables.FETCHED, "part-00000", [arrow(tables.FETCHED, rows)])
    done = export(crawl, tmp_path / "out")
    assert done.without_content == 1
    folder = tmp_path / "out/segments" / SEGMENT
    assert records(folder / "content", bytes) == {}
    assert list(records(folder / "parse_data", ParseData.read)) == [HOME]


def test_segments_are_written_as_far_as_they_have_come(crawl: CrawlFolder, tmp_path: Path) -> None:
    listed = SegmentFolder(crawl.segments_path / "20260601000000")
    listed.path.mkdir()
    entry = row(tables.FETCHLIST, PAGE, fetch=True, signature=MD5, fetched_before=True)
    write_part(listed.folder(tables.FETCHLIST), tables.FETCHLIST, "part-00000", [arrow(tables.FETCHLIST, [entry])])
    listed.set_state("generated")
    fetched = SegmentFolder(crawl.segments_path / "20260602000000")
    fetched.path.mkdir()
    answer = row(tables.FETCHED, PAGE, outcome="not_modified", http_status=304)
    for table, one in ((tables.FETCHLIST, entry), (tables.FETCHED, answer)):
        write_part(fetched.folder(table), table, "part-00000", [arrow(table, [one])])
    fetched.set_state(FETCHED)

    export(crawl, tmp_path / "new")
    export(crawl, tmp_path / "old", "0.7")
    names = {
        out: {s.name: sorted(p.name for p in s.iterdir()) for s in (tmp_path / out / "segments").iterdir()}
        for out in ("new", "old")
    }
    assert names["new"]["20260601000000"] == ["crawl_generate"]
    assert names["new"]["20260602000000"] == ["content", "crawl_fetch", "crawl_generate"]
    assert names["old"]["20260601000000"] == ["fetchlist"]
    assert names["old"]["20260602000000"] == ["content", "fetcher.done", "fetcher_output", "fetchlist"]
    (output,) = SegmentReader(tmp_path / "old/segments/20260602000000").outputs()
    assert (output.protocol_status.code, output.md5) == (21, MD5)
    again = records(tmp_path / "new/segments/20260602000000/crawl_fetch", CrawlDatum.read)[PAGE]
    assert again.status_name == "fetch_notmodified"


def test_urls_whose_turn_did_not_come_have_no_record(crawl: CrawlFolder, tmp_path: Path) -> None:
    segment = crawl.segment(SEGMENT)
    rows = [
        row(tables.FETCHED, HOME, outcome="retry", reason="host_backoff"),
        row(tables.FETCHED, PAGE, outcome="retry", reason="timeout"),
    ]
    write_part(segment.folder(tables.FETCHED), tables.FETCHED, "part-00000", [arrow(tables.FETCHED, rows)])
    export(crawl, tmp_path / "new")
    export(crawl, tmp_path / "old", "0.7")
    assert HOME not in records(tmp_path / "new/segments" / SEGMENT / "crawl_fetch", CrawlDatum.read)
    outputs = {o.url: o.protocol_status for o in SegmentReader(tmp_path / "old/segments" / SEGMENT).outputs()}
    assert HOME not in outputs
    assert (outputs[PAGE].code, outputs[PAGE].args) == (16, ["timeout"])


def test_the_web_database_of_07(crawl: CrawlFolder, tmp_path: Path) -> None:
    done = export(crawl, tmp_path / "out", "0.7")
    reader = WebDBReader(tmp_path / "out/db")
    pages = {page.url: page for page in reader.pages()}
    assert pages[GONE].next_fetch == NEVER
    assert pages[GONE].md5 == md5_of(GONE)
    assert pages[PAGE].md5 == pages[COPY].md5 == MD5
    assert (pages[PAGE].score, pages[PAGE].next_score) == (0.5, 2.0)  # next_score is the rank
    assert {(link.url, link.anchor) for link in reader.links()} == {
        (PAGE, "the page"), (LEFT, "elsewhere"), (COPY, ""),
    }  # fmt: skip
    assert done.records["pages"] == reader.stats.pages == 4


def test_links_of_pages_whose_segment_has_gone_come_from_the_linkdb(crawl: CrawlFolder, tmp_path: Path) -> None:
    import shutil

    shutil.rmtree(crawl.segment(SEGMENT).path)
    export(crawl, tmp_path / "out", "0.7")
    reader = WebDBReader(tmp_path / "out/db")
    assert {link.url for link in reader.links()} == {PAGE, LEFT, COPY}
    home = reader.page(HOME)
    assert home is not None
    assert (home.num_outlinks, home.md5) == (3, b"\xff" * 16)


def test_a_chain_of_redirects_has_the_md5_of_its_end_and_a_circle_that_of_the_url(
    crawl: CrawlFolder, tmp_path: Path
) -> None:
    urls = [f"http://a.test/{name}" for name in ("one", "two", "three", "round", "about")]
    targets = [urls[1], urls[2], PAGE, urls[4], urls[3]]
    moved = [row(tables.CRAWLDB, url, status="redirect_perm") for url in urls]
    led = [row(tables.PAGES, url, redirect_key=_key(to)) for url, to in zip(urls, targets, strict=True)]
    for table, rows in ((tables.CRAWLDB, moved), (tables.PAGES, led)):
        known = crawl.table(table).read().to_pylist()
        write(crawl, table, [*known, *rows])
    export(crawl, tmp_path / "out", "0.7")
    pages = {page.url: page.md5 for page in WebDBReader(tmp_path / "out/db").pages()}
    assert [pages[url] for url in urls[:3]] == [MD5] * 3
    assert [pages[url] for url in urls[3:]] == [md5_of(url) for url in urls[3:]]


def _key(url: str) -> str:
    from small_crawl import key

    return key(url)


@pytest.mark.parametrize("layout", ["1.x", "0.7"])
def test_what_is_to_be_forgotten_is_not_handed_on(crawl: CrawlFolder, tmp_path: Path, layout: str) -> None:
    write(crawl, tables.FORGOTTEN, [row(tables.FORGOTTEN, kind="url", value=PAGE, forgotten_at=NOW)])
    export(crawl, tmp_path / "out", layout)
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    if layout == "1.x":
        assert PAGE not in records(tmp_path / "out/crawldb/current", CrawlDatum.read)
        assert PAGE not in records(tmp_path / "out/linkdb/current", Inlinks.read)
    assert HOME.encode() in written
    assert PAGE.encode() not in written


@pytest.mark.parametrize("layout", ["1.x", "0.7"])
def test_an_empty_crawl_is_empty_in_nutch_too(tmp_path: Path, layout: str) -> None:
    crawl = CrawlFolder.create(tmp_path / "crawl", settings_text({"fetcher.agent_name": "Cobnut"}))
    done = export(crawl, tmp_path / "out", layout)
    assert set(done.records.values()) == {0}
    assert done.segments == 0


def test_a_folder_that_is_not_empty_is_refused(crawl: CrawlFolder, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").write_text("precious")
    with pytest.raises(InputError, match="not empty"):
        export(crawl, tmp_path / "out")
    assert (tmp_path / "out/mine").read_text() == "precious"
    with pytest.raises(InputError, match="lies in the crawl"):
        export(crawl, crawl.path / "export")
    (tmp_path / "link").symlink_to(crawl.path)
    for way in ("link/export", "link/../crawl/export"):
        with pytest.raises(InputError, match="lies in the crawl"):
            export(crawl, tmp_path / way)
    (tmp_path / "empty").mkdir()
    assert export(crawl, tmp_path / "empty").segments == 1


@pytest.mark.parametrize("layout", ["1.x", "0.7"])
def test_an_export_that_is_broken_off_leaves_nothing(crawl: CrawlFolder, tmp_path: Path, layout: str) -> None:
    def stop(name: str) -> None:
        if name.startswith("segments/"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(crawl, tmp_path / "out", layout, on_part=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crawl"]


def test_leavings_of_a_killed_export_are_swept_and_those_of_others_stay(crawl: CrawlFolder, tmp_path: Path) -> None:
    dead, other = (
        tmp_path / f"{TEMPORARY_PREFIX}out-999999999-0badcafe",
        tmp_path / f"{TEMPORARY_PREFIX}not-999999999-0badcafe",
    )
    for folder in (dead, other):
        folder.mkdir()
    export(crawl, tmp_path / "out")
    assert not dead.exists()
    assert other.exists()


def test_rows_are_handed_out_by_place() -> None:
    rows = iter([(1, "a"), (1, "b"), (3, "c"), (4, "d")])
    groups = Groups(rows, lambda one: one[0])
    assert groups.of(0) == []
    assert groups.of(1) == [(1, "a"), (1, "b")]
    assert groups.of(2) == []
    assert groups.of(4) == [(4, "d")]  # that of 3 is passed over
    assert groups.of(9) == []


@given(st.lists(st.tuples(st.integers(0, 3), st.integers())))
def test_of_rows_under_one_key_the_last_stays(rows: list[tuple[int, int]]) -> None:
    rows.sort(key=lambda one: one[0])
    kept = list(distinct(rows, lambda one: one[0]))
    assert dict(kept) == dict(rows)
    assert len(kept) == len({key for key, _ in rows})


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("segments~*~crawl_generate~part-r-00000.json")), ids=lambda p: p.name[9:23]
)
def test_fetchlists_are_in_the_generators_order(path: Path) -> None:
    urls = [record["key"] for record in json.loads(path.read_text())["records"]]
    assert len(urls) > 2
    assert urls == sorted(urls, key=java_hash)


CHOICES = """
    http://www.a.com/      http://www.b.com/            T  http://www.b.com/
    http://www.a.com/      http://www.b.com/            P  http://www.b.com/
    http://a.com/x         http://a.com/                T  http://a.com/
    http://a.com/x         http://a.com/                P  http://a.com/
    http://a.com/          http://a.com/x               T  http://a.com/
    http://a.com/          http://a.com/x               P  http://a.com/
    http://www.a.com/xy    http://a.com/x               T  http://a.com/x
    http://www.a.com/xy    http://a.com/x               P  http://a.com/x
    http://a.com/x         http://b.com/                T  http://b.com/
    http://a.com/x         http://b.com/                P  http://b.com/
    http://a.com/          http://b.com/x/y             T  http://b.com/x/y
    http://a.com/          http://b.com/x/y             P  http://b.com/x/y
    http://a.com/a/b       http://a.com/a               T  http://a.com/a
    http://a.com/a/b       http://a.com/a               P  http://a.com/a
    http://www.a.com/      http://www.news.a.com/p      T  http://www.a.com/
    http://www.a.com/      http://www.news.a.com/p      P  http://www.a.com/
    http://www.a.com/q     http://www.b.com/q/r         T  http://www.b.com/q/r
    http://www.a.com/q     http://www.b.com/q/r         P  http://www.b.com/q/r
    http://sub.a.com/      http://a.com/                T  http://a.com/
    http://sub.a.com/      http://a.com/                P  http://sub.a.com/
    https://a.com/         http://a.com/                T  https://a.com/
    https://a.com/         http://a.com/                P  https://a.com/
    http://a.com/index     http://a.com/index/deep/page T  http://a.com/index
    http://a.com/index     http://a.com/index/deep/page P  http://a.com/index/deep/page
"""
"""What the real program chose: source, target, temporary or permanent, choice."""


@pytest.mark.parametrize("case", CHOICES.split("\n")[1:-1], ids=lambda case: "-".join(case.split()[:3]))
def test_the_url_shown_for_a_redirect_is_nutchs_choice(case: str) -> None:
    source, target, kind, choice = case.split()
    assert representative(source, target, kind == "T") == choice


@pytest.mark.parametrize(
    ("outcome", "reason", "code"),
    [
        ("success", None, 1), ("not_modified", None, 21), ("redirect_perm", None, 12), ("redirect_temp", None, 13),
        ("gone", "http_404", 14), ("gone", "http_410", 11), ("gone", "http_401", 17), ("denied", "robots_denied", 18),
        ("denied", "filtered_by:scope", 20), ("retry", "timeout", 16), ("retry", "http_503", 16),
        ("retry", "redirect_limit", 19),
    ],
)  # fmt: skip
def test_codes_of_requests(outcome: str, reason: str | None, code: int) -> None:
    assert code_of(outcome, reason) == code


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_every_reason_has_a_code_that_nutch_knows(reason: str) -> None:
    known = {1, 2, *range(10, 24)}
    code = code_of("retry", reason)
    assert code in known
    assert args_of(code, HOME, reason, None, None) in (None, [reason], [HOME], [f"Http: 410 url={HOME}"]) or code in (
        16,
        17,
    )
    assert code_of_state("gone", reason, None, True) in known


def test_a_url_that_was_never_asked_for_has_no_code() -> None:
    assert code_of_state("unfetched", None, None, False) is None
    assert code_of_state("not_modified", None, 304, True) == 21
    assert code_of_state("not_modified", None, 200, True) == 1


@pytest.mark.parametrize(
    "value", [None, "", "yesterday", "Sun, 01 Jan 99999 00:00:00 GMT", "Sun, 32 Jan 2023 00:00:00 GMT"]
)
def test_a_date_that_is_none_is_0(value: str | None) -> None:
    assert http_time(value) == 0


def test_a_damaged_table_is_named(crawl: CrawlFolder, tmp_path: Path) -> None:
    from cobnut.errors import DataError

    (part,) = (crawl.path / "linkdb").glob("g*/part-00000.parquet")
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(DataError, match=str(part)):
        export(crawl, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_rows_of_a_delta_replace_those_of_the_base(crawl: CrawlFolder, tmp_path: Path) -> None:
    """A round that touched one page has written one row: it is exported once, as it is now."""
    version = crawl.table(tables.CRAWLDB).current()
    assert version is not None
    with version, crawl.table(tables.CRAWLDB).begin() as draft:
        newest = row(tables.CRAWLDB, HOME, status="gone", reason="http_410", due_at=NOW)
        draft.write_delta(version, 0, [arrow(tables.CRAWLDB, [newest])], rows=4)
        draft.publish("test")
    export(crawl, tmp_path / "new")
    export(crawl, tmp_path / "old", "0.7")
    found = records(tmp_path / "new/crawldb/current", CrawlDatum.read)
    assert len(found) == 4
    assert found[HOME].status_name == "db_gone"
    page = WebDBReader(tmp_path / "old/db").page(HOME)
    assert page is not None
    assert page.is_never_due


def test_a_digest_that_is_no_md5_is_none_to_07(crawl: CrawlFolder, tmp_path: Path) -> None:
    """A page's MD5 has 16 bytes in 0.7, whatever made the digest here."""
    known = crawl.table(tables.CRAWLDB).read().to_pylist()
    write(crawl, tables.CRAWLDB, [one | {"signature": b"short"} for one in known])
    export(crawl, tmp_path / "out", "0.7")
    pages = {page.url: page.md5 for page in WebDBReader(tmp_path / "out/db").pages()}
    assert pages[GONE] == md5_of(GONE)
    assert {len(md5) for md5 in pages.values()} == {16}


def test_rows_that_do_not_fit_the_memory_are_sorted_all_the_same(crawl: CrawlFolder, tmp_path: Path) -> None:
    count = 150_000
    tails = [f"{n % 97:02}/{n * 7_919 % count}/{'x' * 150}" for n in range(count)]
    blank = {name: [value] * count for name, value in row(tables.CRAWLDB, status="unfetched").items()}
    keys = [f"test,h{tail[:2]})http{tail[2:]}" for tail in tails]
    rows = pa.Table.from_pydict(blank | {"url_key": keys}, schema=tables.CRAWLDB.schema())
    with crawl.table(tables.CRAWLDB).begin() as draft:
        draft.write_partition(0, [rows])
        draft.publish("test")
    settings = msgspec.structs.replace(settings_of(crawl), storage=StorageSettings(memory_mib=1))
    export_nutch(crawl, settings, tmp_path / "out")
    with MapFileReader(tmp_path / "out/crawldb/current" / PART) as reader:
        found = [DataInput(bytes(record.key)).read_text() for record in reader.records()]
    assert found == sorted(f"http://h{tail[:2]}.test{tail[2:]}" for tail in tails)
