"""Makes a fetched segment of given answers: real WARC files and a real `fetched` part, without a web."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cobnut.records.catalogue import FETCHED
from cobnut.records.columns import Table
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.parts import write_part
from cobnut.urls.resolve import forms


def warc_record(url: str, body: bytes, headers: Iterable[tuple[str, str]] = ()) -> bytes:
    """One response record in a gzip member of its own."""
    http = b"HTTP/1.1 200 OK\r\n" + b"".join(f"{n}: {v}\r\n".encode() for n, v in headers) + b"\r\n" + body
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + http + b"\r\n\r\n", 1)


def fetched_row(url: str, **more: Any) -> dict[str, Any]:
    """A row of `fetched` for a page that answered 200."""
    found = forms(url)
    assert found is not None
    return {
        "url_key": found.key, "url": url, "host": found.host, "bucket": found.bucket, "outcome": "success",
        "http_status": 200, "fetched_at": 1_700_000_000_000, "body_bytes": 0, "truncated": False, "score": 1_000_000,
        "depth": 0, "had_condition": False, **more,
    }  # fmt: skip


HTML_HEADERS = (("Content-Type", "text/html; charset=utf-8"),)


def make_segment(
    crawl: CrawlFolder,
    pages: Mapping[str, bytes] | Iterable[tuple[str, bytes, Iterable[tuple[str, str]]]],
    *,
    name: str = "20260101000000",
    more_rows: Iterable[dict[str, Any]] = (),
    part: str = "part-00000",
) -> SegmentFolder:
    """A segment in state fetched with these answers."""
    segment = SegmentFolder(crawl.segments_path / name)
    segment.warc_path.mkdir(parents=True, exist_ok=True)
    if isinstance(pages, Mapping):
        pages = [(url, body, HTML_HEADERS) for url, body in pages.items()]
    rows = []
    file_name = f"{part}.warc.gz"
    with open(segment.warc_path / file_name, "wb") as warc:
        for url, body, headers in pages:
            digest = hashlib.md5(body).digest() if body else None
            rows.append(
                fetched_row(url, warc_file=file_name, warc_offset=warc.tell(), body_bytes=len(body), digest=digest)
            )
            warc.write(warc_record(url, body, headers))
    table = pa.Table.from_pylist([*rows, *more_rows], schema=FETCHED.schema())
    write_part(segment.folder(FETCHED), FETCHED, part, [table])
    segment.set_state("fetched")
    return segment


def rows_of(segment: SegmentFolder, table: Table) -> list[dict[str, Any]]:
    """All rows of one of the segment's tables, in an order that does not depend on the parts."""
    rows: list[dict[str, Any]] = []
    for path in segment.part_files(table):
        rows += pq.read_table(path).to_pylist()
    return sorted(rows, key=lambda row: tuple(row[k] for k in table.key))
