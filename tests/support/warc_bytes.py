"""WARC and ARC bytes made by hand."""

from __future__ import annotations

import gzip
import uuid

DATE = "2026-01-02T03:04:05Z"
AT_MS = 1_767_323_045_000
PAGE = b"<title>Hello</title><p>A page.</p>"


def http(body: bytes = PAGE, status: str = "HTTP/1.1 200 OK", *headers: str) -> bytes:
    """An HTTP answer."""
    lines = [status, *(headers or ("Content-Type: text/html",))]
    return "\r\n".join([*lines, "", ""]).encode() + body


def warc(
    url: str | None, block: bytes, kind: str = "response", *, version: str = "1.0", date: str | None = DATE,
    length: int | str | None = -1, content_type: str | None = None, end: bytes = b"\r\n\r\n", **more: str,
) -> bytes:  # fmt: skip
    """One WARC record; `length` -1 is the right one, None leaves it out."""
    default = "application/http;msgtype=response" if kind in ("response", "revisit") else "text/plain"
    fields = [f"WARC-Type: {kind}", f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>"]
    if url is not None:
        fields.append(f"WARC-Target-URI: {url}")
    if date is not None:
        fields.append(f"WARC-Date: {date}")
    fields.append(f"Content-Type: {content_type or default}")
    if length is not None:
        fields.append(f"Content-Length: {len(block) if length == -1 else length}")
    fields += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    return f"WARC/{version}\r\n".encode() + "\r\n".join([*fields, "", ""]).encode() + block + end


def info() -> bytes:
    """A warcinfo record."""
    return warc(None, b"software: test\r\n", "warcinfo", content_type="application/warc-fields")


def arc(url: str, block: bytes, version: int = 1, *, length: int | None = None, date: str = "20260102030405") -> bytes:
    """One ARC record."""
    size = len(block) if length is None else length
    middle = "" if version == 1 else " 200 abc - 0 test.arc"
    return f"{url} 192.0.2.7 {date} text/html{middle} {size}\n".encode() + block + b"\n"


def arc_head(version: int = 1) -> bytes:
    """The version block of an ARC file."""
    names = "URL IP-address Archive-date Content-type Archive-length"
    if version == 2:
        names = "URL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename Archive-length"
    block = f"{version} 0 test\n{names}\n".encode()
    middle = "" if version == 1 else " 200 - - 0 test.arc"
    return f"filedesc://test.arc 0.0.0.0 20260102030405 text/plain{middle} {len(block)}\n".encode() + block + b"\n"


def members(*records: bytes) -> bytes:
    """Each record a gzip member."""
    return b"".join(gzip.compress(record, 6) for record in records)
