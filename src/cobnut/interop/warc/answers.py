"""Which document is in a record?

An answer is read as it was received: head and body apart, chunks undone where there are any (many crawlers store them,
many store the body without them under a head that still announces them), Content-Encoding left on. Resource and
conversion records are documents without a head.

Not here: finding records (`interop.warc.records`), revisits (`interop.warc.revisits`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from cobnut.fetcher.answer import MAX_HEAD_BYTES, read_headers
from cobnut.fetcher.archive import end_of_head
from cobnut.interop.documents import Document
from cobnut.interop.warc.dates import parse_date
from cobnut.interop.warc.records import Record

MOST_INTERIM = 5
MOST_CHUNK_LINE = 4_096

_STATUS = re.compile(rb"[A-Za-z][^ \t\r\n]{0,20}[ \t]+(\d{3})(?!\d)[^\r\n]*")
_STRICT = re.compile(rb"HTTP/\d+(?:\.\d+)?[ \t]+\d{3}(?!\d)")
_CHUNK = re.compile(rb"[ \t]*([0-9a-fA-F]{1,12})[ \t]*(?:;[^\r\n]*)?\r?\n")
_INTERIM = re.compile(rb"HTTP/\d\.\d 1\d\d[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n(?=HTTP/)")
_NUMBER = re.compile(r"-?\d{1,18}")


class Message(NamedTuple):
    """An HTTP answer taken apart; `broken`: a chunk was cut."""

    status: int
    head: bytes
    body: bytes
    broken: bool = False


def target_of(record: Record) -> str | None:
    """The URI a record is about."""
    uri = record.fields.get("warc-target-uri", "").strip()
    if uri.startswith("<") and uri.endswith(">"):
        uri = uri[1:-1].strip()
    return uri or None


def document_of(record: Record) -> Document | str:
    """The document of a response, resource or conversion record; a reason when there is none."""
    uri = target_of(record)
    if uri is None:
        return "no_uri"
    if not uri[:8].lower().startswith(("http://", "https://")):
        return "not_http"
    at_ms = parse_date(record.fields.get("warc-date", ""))
    if at_ms is None:
        return "bad_date"
    if is_robots(uri) or record.fields.get("cobnut-purpose") == "robots":
        return "robots_txt"
    kind = record.fields.get("content-type", "")
    is_cut = record.is_cut or "warc-segment-number" in record.fields  # continuation records are not put together
    truncated = "length" if is_cut else record.fields.get("warc-truncated")
    if record.type in ("resource", "conversion"):
        return Document(
            uri, at_ms, headers=(("Content-Type", kind),) if kind else (), body=record.block, truncated=truncated,
            derived=record.type == "conversion",
        )  # fmt: skip
    message = read_message(record.block)
    if isinstance(message, str):
        return message
    return Document(
        uri, at_ms, message.status, body=message.body, head=message.head, address=record.fields.get("warc-ip-address"),
        truncated="disconnect" if message.broken and truncated is None else truncated,
        score=_number(record.fields.get("cobnut-score")), depth=_number(record.fields.get("cobnut-depth")) or 0,
    )  # fmt: skip


def is_robots(uri: str) -> bool:
    """A robots.txt is asked for by every crawler, and is no page."""
    return uri.partition("://")[2].partition("/")[2].partition("?")[0] == "robots.txt"


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None


def read_message(block: bytes) -> Message | str:
    """An HTTP answer; a reason when it is none.

    >>> read_message(b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nhello\\r\\n0\\r\\n\\r\\n").body
    b'hello'
    """
    for _ in range(MOST_INTERIM):
        interim = _INTERIM.match(block, 0, MAX_HEAD_BYTES)
        if interim is None:
            break
        block = block[interim.end() :]
    end = end_of_head(block[: MAX_HEAD_BYTES + 1])
    match = _STATUS.match(block, 0, min(end, 4_096))
    if match is None:
        return "no_http_head"
    status = int(match.group(1))
    if end > MAX_HEAD_BYTES:
        return "head_too_large"
    head, body = block[:end], block[end:]
    if _STRICT.match(head) is None:  # `ICY 200 OK` and the like
        head = b"HTTP/1.0 %d " % status + head[match.end() :]
    broken = False
    if "chunked" in read_headers(head).get("transfer-encoding", "").lower():
        undone = dechunked(body)
        if undone is not None:
            body, broken = undone
    return Message(status, head, body, broken)


def dechunked(body: bytes) -> tuple[bytes, bool] | None:
    """A body without its chunk lines, and whether it was cut; None when there are none, at least at its beginning."""
    pieces: list[bytes] = []
    at = 0
    while True:
        match = _CHUNK.match(body, at, at + MOST_CHUNK_LINE)
        if match is None:
            return (b"".join(pieces), True) if pieces else None
        size = int(match.group(1), 16)
        at = match.end()
        if size == 0:
            return b"".join(pieces), False
        piece = body[at : at + size]
        if len(piece) < size:
            # a text that begins like a chunk line is no chunk of a size that it does not have
            return (b"".join([*pieces, piece]), True) if pieces or _is_likely(match.group(1), body) else None
        at += size
        end = 2 if body.startswith(b"\r\n", at) else 1 if body.startswith(b"\n", at) else 0
        if not end and at < len(body):
            return (b"".join([*pieces, piece]), True) if pieces else None
        pieces.append(piece)
        at += end
        if at >= len(body):
            return b"".join(pieces), True


def _is_likely(size: bytes, body: bytes) -> bool:
    """The only chunk of a cut body: its line ends as HTTP's lines do, and the body ends before the chunk."""
    return body.startswith(size + b"\r\n")
