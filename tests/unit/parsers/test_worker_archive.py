"""Reading answers back from the archive, as odd as servers send them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cobnut.parsers.tasks import PageTask
from cobnut.parsers.worker import Archive

URL = "http://a.test/"


def record(http: bytes, url: str = URL) -> bytes:
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + http + b"\r\n\r\n", 1)


def read(folder: Path, data: bytes, offset: int = 0) -> tuple[list[tuple[str, str]], bytes] | None:
    (folder / "x.warc.gz").write_bytes(data)
    archive = Archive(folder)
    found = archive.read(PageTask("k", URL, "a.test", 0, 0, 0, 0, False, None, "x.warc.gz", offset))
    archive.close()
    return None if found is None else (list(found[0]), found[1])


@pytest.mark.parametrize(
    ("http", "headers", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n\r\n", [("A", "b")], b"body\r\n\r\n"),
        (b"HTTP/1.0 200 OK\nA: b\n\nbody", [("A", "b")], b"body"),
        (b"HTTP/1.1 200 OK\r\n\r\n", [], b""),
        (b"HTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\n\r\n\0\xff", [("A", "1"), ("A", "2")], b"\0\xff"),
        (b"HTTP/1.1 200 OK\r\nX-Big: " + b"a" * 300_000 + b"\r\n\r\nok", [("X-Big", "a" * 300_000)], b"ok"),
    ],
    ids=["plain", "lf", "empty", "repeated", "huge"],
)
def test_heads_of_all_kinds(tmp_path: Path, http: bytes, headers: list[tuple[str, str]], body: bytes) -> None:
    assert read(tmp_path, record(http)) == (headers, body)


def test_a_cut_or_foreign_record_is_none(tmp_path: Path) -> None:
    http = b"HTTP/1.1 200 OK\r\n\r\n" + bytes(range(256)) * 400
    assert read(tmp_path, record(http, "http://other.test/")) is None
    assert read(tmp_path, record(http)[:-60]) is None
    assert read(tmp_path, record(http)[:40]) is None
    assert read(tmp_path, b"") is None
    assert read(tmp_path, b"not an archive at all") is None
    data = record(b"HTTP/1.1 200 OK\r\n\r\nfirst", "http://other.test/") + record(http)
    start = len(record(b"HTTP/1.1 200 OK\r\n\r\nfirst", "http://other.test/"))
    found = read(tmp_path, data, start)
    assert found is not None
    assert found[1] == bytes(range(256)) * 400
