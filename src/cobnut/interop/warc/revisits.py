"""Which earlier answer does a revisit record stand for?

A revisit says that a page was the same as in a record elsewhere, named by the digest of its payload, by the record's
id, or by URL and time. Revisits are put aside on disk; when all archives were read and there are any, the archives are
gone through once more for the answers they name.

Source: WARC 1.1 section 6.7. Not here: reading records (`interop.warc.records`).
"""

from __future__ import annotations

import base64
import hashlib
import tempfile
from collections.abc import Iterator

import msgspec

from cobnut.interop.documents import Document
from cobnut.interop.warc.answers import Message, is_robots, read_message, target_of
from cobnut.interop.warc.dates import parse_date
from cobnut.interop.warc.records import Record

MOST_REVISITS = 2_000_000
MOST_HEAD = 16_384


class _Revisit(msgspec.Struct, array_like=True):
    url: str
    at_ms: int
    head: bytes
    address: str | None


class Revisits:
    """Revisits that wait for the answer they stand for."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the import
        self._waiting: dict[bytes, list[int]] = {}
        self.count = 0

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def put(self, record: Record) -> str | None:
        """Puts a revisit aside; a reason when nothing can come of it."""
        url, at_ms = target_of(record), parse_date(record.fields.get("warc-date", ""))
        if url is None:
            return "no_uri"
        if not url[:8].lower().startswith(("http://", "https://")):
            return "not_http"
        if at_ms is None:
            return "bad_date"
        if is_robots(url):
            return "robots_txt"
        name = _wanted(record)
        if name is None or self.count >= MOST_REVISITS:
            return "revisit_unresolved"
        message = read_message(record.block) if record.block else "no_http_head"
        # of a 304 only the answer before tells status and headers
        head = message.head if isinstance(message, Message) and message.status != 304 else b""
        data = msgspec.msgpack.encode(
            _Revisit(url, at_ms, head if len(head) <= MOST_HEAD else b"", record.fields.get("warc-ip-address"))
        )
        place = self._file.seek(0, 2)
        self._file.write(len(data).to_bytes(4, "big") + data)
        self._waiting.setdefault(_short(name), []).append(place)
        self.count += 1
        return None

    def resolved(self, record: Record, document: Document) -> Iterator[Document]:
        """The documents of the revisits that stand for this answer."""
        names = [n for n in (record.fields.get("warc-record-id"), _by_url(document.url, document.fetched_at_ms)) if n]
        digest = record.fields.get("warc-payload-digest")
        names.append(_digest(digest) if digest else _digest(_sha1(document.body)))
        for name in names:
            for place in self._waiting.pop(_short(name), ()):
                self._file.seek(place)
                size = int.from_bytes(self._file.read(4), "big")
                revisit = msgspec.msgpack.decode(self._file.read(size), type=_Revisit)
                message = read_message(revisit.head) if revisit.head else "no_http_head"
                head, status = document.head, document.status
                if isinstance(message, Message):
                    head, status = message.head, message.status
                yield msgspec.structs.replace(
                    document, url=revisit.url, fetched_at_ms=revisit.at_ms, head=head, status=status,
                    address=revisit.address,
                )  # fmt: skip

    def close(self) -> None:
        """Forgets everything."""
        self._file.close()


def _wanted(record: Record) -> str | None:
    """What a revisit names: the digest, where there is one; a record; a URL and a time."""
    fields = record.fields
    if digest := fields.get("warc-payload-digest"):
        return _digest(digest)
    if name := fields.get("warc-refers-to"):
        return name
    url, at_ms = fields.get("warc-refers-to-target-uri"), parse_date(fields.get("warc-refers-to-date", ""))
    return None if url is None or at_ms is None else _by_url(url.strip("<>"), at_ms)


def _by_url(url: str, at_ms: int) -> str:
    return f"{at_ms // 1000} {url}"


def _digest(text: str) -> str:
    algorithm, colon, value = text.strip().partition(":")
    return f"{algorithm.lower()}:{value.upper()}" if colon else text.strip()


def _sha1(body: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()


def _short(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=16).digest()
