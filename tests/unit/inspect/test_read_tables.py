from __future__ import annotations

from pathlib import Path

import pytest
from small_crawl import COPY, GONE, HOME, LEFT, MD5, NOW, PAGE, SEGMENT, key, small_crawl

from cobnut.config.sections import Settings
from cobnut.errors import DataError, InputError
from cobnut.inspect import tables, webdb
from cobnut.inspect.stats import segment_lines, segment_stats, table_stats, webdb_stats
from cobnut.inspect.tables import Selection
from cobnut.records.catalogue import CRAWLDB, HOSTDB, LINKDB, LINKS, RANKS, SEEDS
from cobnut.storage.files import remove_tree
from cobnut.storage.layout import CrawlFolder
from cobnut.urls.hosts import bucket_of
from cobnut.urls.resolve import UrlForms, forms


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> CrawlFolder:
    return small_crawl(tmp_path_factory.mktemp("crawl") / "c")


def form(url: str) -> UrlForms:
    made = forms(url)
    assert made is not None
    return made


def keys(crawl: CrawlFolder, selection: Selection) -> list[str]:
    return [r["url_key"] for r in tables.rows_of_table(crawl, CRAWLDB, selection).as_dicts()]


def test_rows_are_chosen_by_url_host_and_condition(crawl: CrawlFolder) -> None:
    assert len(keys(crawl, Selection())) == 4
    assert keys(crawl, Selection(key=key(PAGE), bucket=form(PAGE).bucket)) == [key(PAGE)]
    assert keys(crawl, Selection(key=key(PAGE), bucket=form(PAGE).bucket, where="depth = 0")) == []
    assert keys(crawl, Selection(host="b.test", bucket=bucket_of("b.test"))) == [key(COPY)]
    assert set(keys(crawl, Selection(where=f"signature = '{MD5.hex()}'"))) == {key(PAGE), key(COPY)}
    assert keys(crawl, Selection(where="fetched_at is null")) == [key(GONE)]
    assert len(keys(crawl, Selection(limit=2))) == 2


def test_a_table_that_was_never_written_has_no_rows(tmp_path: Path) -> None:
    crawl = CrawlFolder.create(tmp_path / "c", "")
    assert keys(crawl, Selection(where="depth = 1")) == []
    assert table_stats(crawl, CRAWLDB, NOW) == {"table": "crawldb", "rows": 0, "generation": None}
    with pytest.raises(InputError, match="did you mean depth"):
        keys(crawl, Selection(where="dept = 1"))


def test_what_a_table_cannot_be_asked_is_said(crawl: CrawlFolder) -> None:
    with pytest.raises(InputError, match="hostdb has no URL"):
        tables.check_selection(HOSTDB, Selection(key="x"))
    with pytest.raises(InputError, match="--where cannot be computed"):
        keys(crawl, Selection(where="(due_at + 1) * 9000000000000000000 > 1"))
    with pytest.raises(InputError, match="--where cannot be read: nothing can be divided by 0"):
        keys(crawl, Selection(where="due_at % 0 = 1"))
    with pytest.raises(InputError, match="'deep' is no number"):
        keys(crawl, Selection(where="depth = 'deep'"))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    crawl = small_crawl(tmp_path / "c")
    file = next((crawl.path / "crawldb").glob("g*/part-*.parquet"))
    file.write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(DataError, match="crawldb is damaged"):
        keys(crawl, Selection())


def test_a_page_is_crawldb_and_pages_joined(crawl: CrawlFolder) -> None:
    page = webdb.page(crawl, form(HOME))
    assert page is not None
    assert (page["url"], page["status"], page["http_status"]) == (HOME, "fetched", 200)
    assert dict(page["metadata"]) == {"topic": "nuts"}
    assert set(page) == {*CRAWLDB.column_names, *tables.READABLE["pages"].column_names}
    assert webdb.page(crawl, form(LEFT)) is None


def test_pages_are_found_by_md5(crawl: CrawlFolder) -> None:
    assert {p["url"] for p in webdb.pages_by_md5(crawl, MD5.hex().upper())} == {PAGE, COPY}
    assert list(webdb.pages_by_md5(crawl, "0" * 32)) == []
    for bad in ("", "x" * 32, "00", "' or 1=1 --"):
        with pytest.raises(InputError, match="32 hexadecimal digits"):
            list(webdb.pages_by_md5(crawl, bad))


def test_links_to_and_from(tmp_path: Path) -> None:
    crawl = small_crawl(tmp_path / "c")
    assert {(r["from_url"], r["nofollow"]) for r in webdb.links_to(crawl, form(PAGE))} == {(HOME, False), (COPY, True)}
    assert [(r["to_url"], r["segment"]) for r in webdb.links_from(crawl, form(HOME))] == [
        (PAGE, SEGMENT), (LEFT, SEGMENT), (COPY, SEGMENT),
    ]  # fmt: skip
    assert len(list(webdb.links_from(crawl, form(HOME), limit=1))) == 1
    remove_tree(crawl.segments_path / SEGMENT)
    assert {r["to_url"] for r in webdb.links_from(crawl, form(HOME))} == {PAGE, LEFT, COPY}
    assert [r["to_url"] for r in webdb.links_from(crawl, form(COPY))] == [PAGE]


def test_a_url_without_scheme_means_http() -> None:
    assert webdb.forms_of(" A.test/x ", Settings()).normalized == "http://a.test/x"
    for bad in ("mailto:a@b.test", "", "http://"):
        with pytest.raises(InputError, match="not an http or https URL"):
            webdb.forms_of(bad, Settings())


def test_counts(crawl: CrawlFolder) -> None:
    stats = table_stats(crawl, CRAWLDB, NOW)
    assert (stats["rows"], stats["hosts"], stats["due_now"], stats["score_max"]) == (4, 2, 1, 1.5)
    assert stats["by_status"] == {"fetched": 3, "gone": 1}
    assert stats["by_reason"] == {"http_404": 1}
    assert list(stats["by_depth"].items()) == [("0", 1), ("1", 3)]
    links = table_stats(crawl, LINKDB, NOW)
    assert (links["rows"], links["pages_linked_to"], links["nofollow"], links["with_anchor"]) == (4, 3, 1, 3)
    assert table_stats(crawl, RANKS, NOW)["page_rank_max"] == 2
    assert table_stats(crawl, SEEDS, NOW)["hosts"] == 1
    assert webdb_stats(crawl) == {"pages": 4, "contents": 2, "pages_with_content": 3, "hosts": 2, "links": 4}


def test_counts_of_every_table_can_be_made(crawl: CrawlFolder) -> None:
    for table in tables.READABLE.values():
        assert table_stats(crawl, table, NOW)["rows"] >= 1, table.name


def test_segments(crawl: CrawlFolder) -> None:
    segment = crawl.segment(SEGMENT)
    stats = segment_stats(segment, NOW)
    assert (stats["state"], stats["fetched"]["rows"], stats["fetched"]["files"]) == ("parsed", 4, 2)
    assert stats["fetched"]["by_outcome"] == {"success": 3, "gone": 1}
    assert stats["parsed"]["noindex"] == 1
    assert stats["indexed"] is False
    line = {"segment": SEGMENT, "state": "parsed", "fetchlist": 4, "fetched": 4, "parsed": 2, "links": 3}
    assert segment_lines(crawl) == [{**line, "indexed": False}]
    rows = tables.rows_of_segment(segment, LINKS, Selection(where="anchor is null")).as_dicts()
    assert [r["position"] for r in rows] == [2]
