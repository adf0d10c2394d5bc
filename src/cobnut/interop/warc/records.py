"""Which records does an archive hold?

Reads WARC (0.17 to 1.1) and ARC (versions 1 and 2) off an unpacked stream. What a record claims of its length is
checked against what follows: a seam of the file, or another record. Where it does not fit, the record is taken to end
where the next one begins; what is no record is passed over. Either is told as `Damage`, with its offset in the file.

Sources: WARC 1.1 (ISO 28500:2017) sections 4 and 5; the ARC file format (versions 1 and 2) of the Internet Archive.
Not here: what is in a record (`interop.warc.answers`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cobnut.interop.warc.source import LOOK, Source

MOST_HEAD_BYTES = 256 << 10
MOST_BLOCK_BYTES = 65 << 20
"""Bytes of a block that are kept; what is longer is cut and marked."""

MOST_LOOKED_THROUGH = 16 << 20
"""Bytes behind a claimed end in which the real one is looked for."""

MOST_DAMAGE = 10_000
"""Damaged places after which the rest of a file is left out: each costs a search."""

_SCANNED = 1 << 20

_WARC = rb"WARC/[01]\.\d{1,2}[ \t]*\r?\n[A-Za-z][A-Za-z-]*[ \t]*:"
# URL, address, date, media type, (version 2: status, checksum, location, offset, file name,) length
_ARC = (
    rb"[a-z][a-z0-9+.-]{1,20}:[^\r\n\0]{1,2100}? (?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F:]{2,39}|-) \d{8,14} "
    rb"[^\s]{1,200}(?: [^\r\n\0]{1,512})? \d{1,12}[ \t]*\r?\n"
)
_START = re.compile(rb"(?:%b|%b)" % (_WARC, _ARC))
_NEXT_WARC = re.compile(rb"(?<=\n)%b" % _WARC)
_NEXT_ANY = re.compile(rb"(?<=\n)(?:%b|%b)" % (_WARC, _ARC))
_HEAD_END = re.compile(rb"\n\r?\n")
_BLANK = b"\r\n \t\0"


class Record(msgspec.Struct, frozen=True):
    """One record. `fields` by lower-case name; of an ARC record those of a WARC record that say the same.

    `offset` is where it begins in the file (of a packed file: the member it begins in), `alone` whether it can be read
    by that offset. `is_cut`: `block` is only its beginning. `note` says what was wrong with its length.
    """

    version: str
    fields: dict[str, str]
    block: bytes
    offset: int
    alone: bool
    is_cut: bool = False
    note: str | None = None

    @property
    def type(self) -> str:
        """response, resource, request …; of ARC records response, or warcinfo for the version block."""
        return self.fields.get("warc-type", "").strip().lower()


class Damage(msgspec.Struct, frozen=True):
    """Something that could not be read: where in the file, and why. `at_end`: the file was not written to its end."""

    offset: int
    reason: str
    at_end: bool = False


class Place(msgspec.Struct, frozen=True):
    """Where the record before ended: given after each record, for whoever needs its packed length."""

    end: int


def looks_like_archive(path: Path) -> bool:
    """Does the file begin like an archive, or hold a record near its beginning?"""
    source = Source(path, is_start)
    try:
        count = source.need(_SCANNED)
        head = source.peek(count).lstrip(_BLANK)
        return is_start(head) or _NEXT_WARC.search(head) is not None
    finally:
        source.close()


def is_start(data: bytes) -> bool:
    """Bytes that begin like a record.

    >>> is_start(b"WARC/1.0\\r\\nWARC-Type: response\\r\\n"), is_start(b"HTTP/1.1 200 OK")
    (True, False)
    """
    return _START.match(data) is not None


def read_records(path: Path) -> Iterator[Record | Damage | Place]:
    """All records of an archive in their order, what could not be read, and where each record ended."""
    source = Source(path, is_start)
    try:
        yield from _Reader(source).all()
    finally:
        source.close()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._is_arc = False

    def all(self) -> Iterator[Record | Damage | Place]:
        source, damaged = self._source, 0
        is_after_record = False
        while True:
            if damaged > MOST_DAMAGE:
                yield Damage(source.offset(), "too much damage: the rest is left out")
                return
            self._pass_blank()
            if is_after_record:
                yield Place(source.offset())
                is_after_record = False
            if source.need(1) == 0:
                if source.stopped is None:
                    return
                stop = source.stopped
                damaged += 1
                yield Damage(stop.offset, stop.reason, not stop.more)
                if not source.resume():
                    if source.stopped is not None and source.stopped != stop:
                        yield Damage(source.stopped.offset, source.stopped.reason)
                    return
                continue
            if not is_start(source.peek(LOOK)):
                offset = source.offset()
                damaged += 1
                yield Damage(offset, f"no record here: {self._pass_garbage():,} bytes passed over")
                continue
            found = self._record()
            yield found
            is_after_record = isinstance(found, Record)
            damaged += not is_after_record

    def _pass_blank(self) -> None:
        source = self._source
        while source.need(1):
            data = source.peek(LOOK)
            left = len(data.lstrip(_BLANK))
            source.advance(len(data) - left)
            if left:
                return

    def _pass_garbage(self) -> int:
        """Passes everything up to where a record seems to begin; how much."""
        source, passed = self._source, 0
        while True:
            seam = source.seam(_SCANNED)
            there = min(source.need(_SCANNED + LOOK), _SCANNED + LOOK)
            found = self._next(1, there)
            if seam is not None and (found is None or seam < found):
                found = seam
            if found is not None:
                source.advance(found)
                return passed + found
            step = there if there <= _SCANNED else _SCANNED
            source.advance(step)
            passed += step
            if not source.need(1):
                return passed

    def _next(self, start: int, end: int) -> int | None:
        """Where in the window a record begins behind a line end, counted from here."""
        return self._source.search(_NEXT_ANY if self._is_arc else _NEXT_WARC, start, end)

    def _record(self) -> Record | Damage:
        source = self._source
        offset, alone = source.offset(), source.at_member_start()
        if source.peek(5) == b"WARC/":
            head_bytes = self._head_length()
            if head_bytes is None:
                self._skip_endless()
                return Damage(offset, "the head of a record has no end")
            version, fields = _warc_head(source.peek(head_bytes))
        else:
            self._is_arc = True
            line = source.peek(LOOK + 1_024).partition(b"\n")[0]
            head_bytes = len(line) + 1
            version, fields = "ARC", _arc_fields(line)
        source.advance(head_bytes)
        claimed = _length(fields.get("content-length"))
        length, note = self._measure(claimed)
        if length is None:
            source.advance(source.need(claimed or 0) if (claimed or 0) <= MOST_BLOCK_BYTES else source.need(1))
            at_end = source.stopped is None or not source.stopped.more
            return Damage(offset, "a record is cut: the data ends before it does", at_end)
        kept = min(length, MOST_BLOCK_BYTES)
        block = source.peek(kept)
        source.advance(len(block))
        if length > kept:
            source.skip(length - kept)
            if not self._fits(0):
                note = "what follows the record is none"
        return Record(version, fields, block, offset, alone, length > kept, note)

    def _head_length(self) -> int | None:
        source = self._source
        size = 4_096
        while True:
            there = min(source.need(size), size)
            found = source.search(_HEAD_END, 0, there)
            if found is not None:
                return found + (2 if source.peek(2, found)[1:2] == b"\n" else 3)
            if there < size or size >= MOST_HEAD_BYTES:
                return None
            size *= 4

    def _skip_endless(self) -> None:
        """Passes a head without end. No other head ends in what was looked through, so none of it need be tried."""
        there = min(self._source.need(MOST_HEAD_BYTES), MOST_HEAD_BYTES)
        self._source.advance(max(there - LOOK, len(self._source.peek(LOOK).partition(b"\n")[0]), 1))

    def _fits(self, length: int) -> bool:
        """Behind so many bytes comes nothing more, or a record."""
        rest = self._source.peek(LOOK, length).lstrip(_BLANK)
        return not rest or is_start(rest)

    def _measure(self, claimed: int | None) -> tuple[int | None, str | None]:
        """How long the block is, and what is wrong with what it claims; None: it is cut."""
        source = self._source
        if claimed is None:
            return self._to_next_record("it has no usable Content-Length")
        if claimed > MOST_BLOCK_BYTES:
            return self._measure_large(claimed)
        seam = source.seam(claimed)
        if seam is not None:
            return self._without_end(seam), "it is shorter than its Content-Length"
        there = source.need(claimed + LOOK)
        if there < claimed:
            found = self._next(1, there)
            return (
                (None, None) if found is None else (self._without_end(found), "it is shorter than its Content-Length")
            )
        if self._fits(claimed):
            return claimed, None
        if source.peek(4, claimed) == b"\r\n\r\n":
            return claimed, None  # it ends as it should; what follows is told as no record
        found = self._next(1, claimed + LOOK)
        if found is not None and found < claimed:
            return self._without_end(found), "it is shorter than its Content-Length"
        length, _ = self._to_next_record("", claimed)
        if length is None or length < claimed:
            return claimed, None
        return length, "it is longer than its Content-Length"

    def _measure_large(self, claimed: int) -> tuple[int | None, str | None]:
        source = self._source
        there = source.need(MOST_BLOCK_BYTES)
        seam = source.seam(min(there, claimed))
        if seam is not None:
            return self._without_end(seam), "it is shorter than its Content-Length"
        if there < MOST_BLOCK_BYTES or not self._fits_in_file(claimed):
            found = self._next(1, there)
            return (
                (None, None) if found is None else (self._without_end(found), "it is shorter than its Content-Length")
            )
        return claimed, None

    def _fits_in_file(self, claimed: int) -> bool:
        """As `_fits`, of what is too long to be looked at; True where a packed file does not let us look ahead."""
        source = self._source
        if source.kind != "plain":
            return True
        end = source.position + claimed
        if end > source.size:
            return False
        rest = source.look_ahead(end, LOOK).lstrip(_BLANK)
        return not rest or is_start(rest)

    def _to_next_record(self, note: str, start: int = 0) -> tuple[int | None, str | None]:
        """The block ends where the next record begins, or the data."""
        source = self._source
        limit = start + MOST_LOOKED_THROUGH
        size = max(start + (64 << 10), 64 << 10)
        searched = max(start - LOOK, 1)
        while True:
            seam = source.seam(size)
            there = min(source.need(size), size)
            found = self._next(searched, there)
            if seam is not None and seam >= start and (found is None or seam < found):
                found = seam
            if found is not None:
                return self._without_end(found), note
            if there < size:
                if source.kind == "plain" and start:
                    return None, None  # rubbish behind the last record is likelier than a wrong length
                return self._without_end(there), note
            if size >= limit:
                return None, None
            searched, size = max(there - LOOK, 1), min(size * 4, limit)

    def _without_end(self, length: int) -> int:
        """Without the line ends that part records."""
        tail = self._source.peek(min(length, 4), max(length - 4, 0))
        for end in (b"\r\n\r\n", b"\n\n", b"\r\n", b"\n"):
            if tail.endswith(end):
                return length - len(end)
        return length


def _length(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _warc_head(head: bytes) -> tuple[str, dict[str, str]]:
    """Version and fields; of a field that stands twice the first counts. Continued lines are joined."""
    first, _, rest = head.partition(b"\n")
    fields: dict[str, str] = {}
    last = ""
    for line in rest.decode("utf-8", "replace").split("\n"):
        line = line.rstrip("\r")
        if line[:1] in (" ", "\t") and last:
            fields[last] += " " + line.strip()
            continue
        name, colon, value = line.partition(":")
        name = name.strip().lower()
        last = ""
        if colon and name and name not in fields:
            fields[name] = value.strip()
            last = name
    return first.strip().decode("latin-1"), fields


def _arc_fields(line: bytes) -> dict[str, str]:
    """The fields of an ARC record's line, which may have spaces in its URL: version 1 has five, version 2 ten."""
    words = line.decode("utf-8", "replace").strip().split(" ")
    at = next((i for i in range(1, len(words) - 3) if _is_date(words[i + 1]) and _is_address(words[i])), 1)
    url, address, date, kind = " ".join(words[:at]), words[at], words[at + 1], words[at + 2]
    is_version = url.startswith("filedesc:")
    fields = {
        "warc-type": "warcinfo" if is_version else "response", "warc-target-uri": url, "warc-date": date,
        "content-type": kind, "content-length": words[-1],
    }  # fmt: skip
    if address not in ("0.0.0.0", "-"):
        fields["warc-ip-address"] = address
    return fields


def _is_date(word: str) -> bool:
    return word.isdigit() and 8 <= len(word) <= 14


def _is_address(word: str) -> bool:
    return word == "-" or (word.count(".") == 3 and word.replace(".", "").isdigit()) or ":" in word
