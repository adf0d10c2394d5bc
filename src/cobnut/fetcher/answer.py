"""What did one exchange bring?

Not here: how the exchange is done (`fetcher.exchange`, `fetcher.lenient`), what the answer comes to
(`fetcher.outcome`).
"""

from __future__ import annotations

import re
import time
from typing import NamedTuple

from cobnut.text.dates import UNREADABLE, mail_s

MAX_HEAD_BYTES = 128 * 1024
MAX_VALUE_CHARS = 4_096

KEPT_HEADERS = frozenset({
    "content-type", "content-encoding", "content-language", "content-disposition", "content-location", "content-range",
    "x-robots-tag", "link", "refresh", "location", "cache-control", "expires", "date", "age", "server", "vary",
})  # fmt: skip
"""Header fields that rows keep; the archive keeps all."""

_STATUS_LINE = re.compile(rb"HTTP/\d+(?:\.\d+)?[ \t]+(\d{3})(?!\d)")
_NOT_VISIBLE = re.compile(rb"[\x80-\xff]")


class Answer(NamedTuple):
    """An answer, or why there is none.

    `status` is None when no status line came; `error` is then the reason, and `code` libcurl's number for it.
    `truncated` is WARC's word for why the body is cut: length, time or disconnect.
    """

    status: int | None
    head: bytes
    headers: dict[str, str]
    body: bytes
    digest: bytes | None
    truncated: str | None
    error: str | None
    code: int
    address: str | None
    elapsed_ms: int
    broken_encoding: bool = False
    connected: bool = False


def failure(
    error: str, address: str | None = None, elapsed_ms: int = 0, *, code: int = 0, connected: bool = False
) -> Answer:
    """An exchange that brought no status line."""
    return Answer(None, b"", {}, b"", None, None, error, code, address, elapsed_ms, connected=connected)


def status_of(line: bytes) -> int | None:
    """The status in a status line; None when it is none.

    >>> status_of(b"HTTP/1.1 404 Not Found")
    404
    """
    match = _STATUS_LINE.match(line)
    return int(match.group(1)) if match else None


def read_headers(head: bytes) -> dict[str, str]:
    """Header fields by lower-case name; repeated ones joined by commas. Lines without a colon are passed over.

    Bytes beyond ASCII in Location are percent-encoded as they came (RFC 9110 section 5.5 calls them opaque):
    servers that put raw UTF-8 there mean just these bytes. Elsewhere they are read as Latin-1.
    """
    found: dict[str, str] = {}
    last = ""
    for line in head.replace(b"\r", b"").split(b"\n")[1:]:
        if line[:1] in (b" ", b"\t") and last:  # an obsolete continuation line
            found[last] = f"{found[last]} {line.strip().decode('latin-1')}"[:MAX_VALUE_CHARS]
            continue
        raw_name, colon, raw = line.partition(b":")
        if not colon:
            continue
        name = raw_name.strip().lower().decode("latin-1")
        raw = raw.strip()
        if name in ("location", "refresh"):
            raw = _NOT_VISIBLE.sub(lambda m: b"%%%02X" % m.group()[0], raw)
        value = raw.decode("latin-1")[: MAX_VALUE_CHARS * 4]
        if name in found:
            if name in ("location", "content-type", "content-length", "etag", "last-modified", "retry-after"):
                continue
            value = f"{found[name]}, {value}"
        found[name] = value[: MAX_VALUE_CHARS * 4]
        last = name
    return found


def retry_after_s(value: str | None, now_s: float) -> int | None:
    """Retry-After as seconds from now (RFC 9110 section 10.2.3): a number, or an HTTP date; None when unreadable.

    >>> retry_after_s("120", 0.0), retry_after_s("soon", 0.0)
    (120, None)
    """
    if not value:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(int(value[:10]), 366 * 86_400)
    try:
        return max(0, min(round(mail_s(value) - now_s), 366 * 86_400))
    except UNREADABLE:
        return None


def http_date(at_ms: int) -> str:
    """A time as HTTP writes it."""
    from email.utils import formatdate

    return formatdate(at_ms / 1000, usegmt=True)


def now_ms() -> int:
    """The wall clock; the one place of this package that reads it."""
    return time.time_ns() // 1_000_000
