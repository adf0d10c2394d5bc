"""A small crawl written straight into its tables, for tests of what can be asked of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from cobnut.config.template import settings_text
from cobnut.records import catalogue as tables
from cobnut.records.columns import Table
from cobnut.storage.layout import PARSED, CrawlFolder, SegmentFolder
from cobnut.storage.parts import write_part
from cobnut.urls.hosts import bucket_of
from cobnut.urls.resolve import forms

HOME, PAGE, COPY, GONE, LEFT = (
    "http://a.test/", "http://a.test/page", "http://b.test/copy", "http://a.test/gone", "http://c.test/",
)  # fmt: skip
DAY_MS = 86_400_000
NOW = 1_780_000_000_000
SEGMENT = "20260528202640"
MD5 = bytes(range(16))


def row(table: Table, url: str | None = None, **values: Any) -> dict[str, Any]:
    """A row of a table: forms of the URL, zero values for what may not be NULL, and what is given."""
    zero = {"string": "", "int64": 0, "int32": 0, "bool": False, "binary": b"", "map": [], "strings": []}
    found: dict[str, Any] = {c.name: None if c.nullable else zero.get(c.type) for c in table.columns}
    if url is not None:
        made = forms(url)
        assert made is not None
        known = {"url_key": made.key, "host": made.host, "bucket": made.bucket}
        found |= {name: value for name, value in known.items() if name in found}
        if "url" in found and table.name not in ("crawldb",):
            found["url"] = made.url
    assert not set(values) - set(found), set(values) - set(found)
    return found | values


def key(url: str) -> str:
    """The url_key of a URL."""
    made = forms(url)
    assert made is not None
    return made.key


def arrow(table: Table, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=table.schema())


def write(crawl: CrawlFolder, table: Table, rows: list[dict[str, Any]]) -> None:
    """Publishes a whole table."""
    with crawl.table(table).begin() as draft:
        draft.write_partition(0, [arrow(table, rows)])
        draft.publish("test")


def link(source: str, target: str, anchor: str | None, **values: Any) -> dict[str, Any]:
    """A row of the linkdb."""
    to, start = forms(target), forms(source)
    assert to is not None
    assert start is not None
    return row(
        tables.LINKDB, to_key=to.key, from_key=start.key, to_host=to.host, to_bucket=to.bucket, from_host=start.host,
        anchor=anchor, kind="link", segment=SEGMENT, **values,
    )  # fmt: skip


def small_crawl(path: Path) -> CrawlFolder:
    """Five URLs: a seed, a page, its copy on another host, one that is gone, one out of scope that is linked to."""
    crawl = CrawlFolder.create(path, settings_text({"fetcher.agent_name": "Cobnut"}))
    c, p = tables.CRAWLDB, tables.PAGES
    common = {"interval_s": 86_400, "due_at": NOW + DAY_MS, "fetched_at": NOW, "modified_at": NOW}
    write(crawl, tables.SEEDS, [row(tables.SEEDS, HOME, injected_at=NOW - DAY_MS)])
    write(
        crawl, c,
        [
            row(c, HOME, status="fetched", score=1_500_000, signature=b"\xff" * 16, outlink_count=3, **common),
            row(c, PAGE, status="fetched", score=500_000, depth=1, signature=MD5, **common),
            row(c, COPY, status="fetched", score=250_000, depth=1, signature=MD5, **common),
            row(c, GONE, status="gone", reason="http_404", depth=1, retries=1, interval_s=86_400, due_at=NOW),
        ],
    )  # fmt: skip
    told = {"discovered_at": NOW, "discovered_from": key(HOME), "discovered_via": "link"}
    write(
        crawl, p,
        [
            row(
                p, HOME, http_status=200, discovered_at=NOW - DAY_MS, discovered_via="seed", segment=SEGMENT,
                metadata=[("topic", "nuts")],
            ),
            row(p, PAGE, http_status=200, segment=SEGMENT, **told),
            row(p, COPY, http_status=200, segment=SEGMENT, **told),
            row(p, GONE, http_status=404, **told),
        ],
    )  # fmt: skip
    write(
        crawl, tables.LINKDB,
        [
            link(HOME, PAGE, "the page", from_score=1_500_000),
            link(COPY, PAGE, "a \x1b[31mred\x1b[0m page", from_score=250_000, nofollow=True),
            link(HOME, LEFT, "elsewhere", from_score=1_500_000),
            link(HOME, COPY, None, from_score=1_500_000),
        ],
    )  # fmt: skip
    write(crawl, tables.RANKS, [row(tables.RANKS, PAGE, page_rank=2_000_000, host_rank=1_250_000)])
    write(
        crawl, tables.HOSTDB,
        [row(tables.HOSTDB, host="a.test", bucket=bucket_of("a.test"), request_count=7, error_count=1, updated_at=NOW)],
    )  # fmt: skip
    write(
        crawl, tables.ROBOTS,
        [
            row(
                tables.ROBOTS, origin="http://a.test", host="a.test", bucket=bucket_of("a.test"), state="rules",
                http_status=200, body=b"User-agent: *\nDisallow: /private\n", fetched_at=NOW,
            )
        ],
    )  # fmt: skip
    write(
        crawl, tables.DUPLICATES,
        [
            row(
                tables.DUPLICATES, COPY, segment=SEGMENT, representative_key=key(PAGE), representative_segment=SEGMENT,
                kind="exact", rule="score",
            )
        ],
    )  # fmt: skip
    write(crawl, tables.ORPHANS, [row(tables.ORPHANS, LEFT, since=NOW)])
    small_segment(crawl)
    return crawl


def small_segment(crawl: CrawlFolder) -> SegmentFolder:
    """The segment in which all of it was fetched."""
    segment = SegmentFolder(crawl.segments_path / SEGMENT)
    segment.path.mkdir()
    f, d, l = tables.FETCHED, tables.PARSED, tables.LINKS  # noqa: E741 (the table's initial)
    told = {"fetched_at": NOW, "elapsed_ms": 12, "address": "127.0.0.1"}
    rows = [
        row(f, HOME, outcome="success", http_status=200, body_bytes=1_234, **told),
        row(f, PAGE, outcome="success", http_status=200, body_bytes=10, digest=MD5, **told),
        row(f, COPY, outcome="success", http_status=200, body_bytes=10, digest=MD5, **told),
        row(f, GONE, outcome="gone", http_status=404, reason="http_404", **told),
    ]
    listed = [row(tables.FETCHLIST, r["url"], fetch=True) for r in rows]
    write_part(segment.folder(tables.FETCHLIST), tables.FETCHLIST, "part-00000", [arrow(tables.FETCHLIST, listed)])
    write_part(segment.folder(f), f, "part-00000", [arrow(f, rows[:2])])
    write_part(segment.folder(f), f, "part-00001", [arrow(f, rows[2:])])
    parsed = [
        row(d, HOME, parse_status="ok", title="Home", outlink_count=3, media_type="text/html", fetched_at=NOW),
        row(d, PAGE, parse_status="ok", title="Page", noindex=True, media_type="text/html", fetched_at=NOW),
    ]
    write_part(segment.folder(d), d, "part-00000", [arrow(d, parsed)])
    links = []
    for position, (target, anchor) in enumerate([(PAGE, "the page"), (LEFT, "elsewhere"), (COPY, None)]):
        to = forms(target)
        assert to is not None
        links.append(
            row(
                l, from_key=key(HOME), position=position, from_host="a.test", to_key=to.key, to_host=to.host,
                to_bucket=to.bucket, anchor=anchor, kind="link",
            )
        )  # fmt: skip
    write_part(segment.folder(l), l, "part-00000", [arrow(l, links)])
    segment.set_state(PARSED)
    return segment
