"""Which bytes does an archive hold once it is unpacked, and where in the file did each come from?

A file is plain, gzip (one member a record, one for all, or split anyhow) or zstd. Unpacked it is one stream. Where a
member begins with the first line of a record, the stream has a *seam*: whatever the record before claimed of its
length, it ends there. Damage ends the stream (`stopped` says why) until `resume` finds the next member that unpacks.

What comes out is bounded: by the buffer that the caller asks for, and over all by a multiple of the file's size.

Not here: what a record is (`interop.warc.records`).
"""

from __future__ import annotations

import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from cobnut.interop.warc.zstd import DICTIONARY, ZSTD, BrokenFrame, frames
from cobnut.storage.files import io_errors

PIECE = 1 << 16
LOOK = 8_192
"""Bytes that say whether a record begins."""

MOST_DAMAGE = 1_000
"""Times that a file is gone on with after damage."""

MOST_EXPANSION = 1_500
"""Deflate makes at most 1,032 bytes of one; what makes more is a bomb."""
FREE_EXPANSION = 1 << 30

_GZIP = b"\x1f\x8b\x08"
_BACK = 1 << 20
"""How far before the place where a member is found to be broken the next one is looked for."""


class Stop(NamedTuple):
    """Why the stream stops: where in the file, what is wrong, and whether there may be more behind it."""

    offset: int
    reason: str
    more: bool


class Member(NamedTuple):
    """A member begins at this offset of the file."""

    offset: int


class Source:
    """One archive file as a stream with a window that can be looked at before it is passed."""

    def __init__(self, path: Path, is_start: Callable[[bytes], bool]) -> None:
        """`is_start` says whether bytes begin like a record."""
        self.path, self._is_start = path, is_start
        with io_errors(path, "read"):
            self._file: IO[bytes] = open(path, "rb")  # noqa: SIM115 - open for the life of the source
            self.size = self._file.seek(0, 2)
            self._file.seek(0)
            magic = self._file.read(4)
            self._file.seek(0)
        self.kind = "gzip" if magic.startswith(b"\x1f\x8b") else "zstd" if magic in (ZSTD, DICTIONARY) else "plain"
        self.stopped: Stop | None = None
        self.ended = False
        self.position = 0  # in the unpacked stream
        self._buffer = bytearray()
        self._at = 0
        self._members: deque[tuple[int, int]] = deque()  # (position, offset in the file), the one we are in first
        self._unjudged: deque[int] = deque()
        self._seams: deque[int] = deque()
        self._out = self._damage = 0
        self._events = self._plain() if self.kind == "plain" else self._zstd() if self.kind == "zstd" else self._gzip(0)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    # ---- the window

    def need(self, count: int) -> int:
        """Brings up to `count` bytes into the window; how many there are."""
        while len(self._buffer) - self._at < count and self._more():
            pass
        return len(self._buffer) - self._at

    def peek(self, count: int, start: int = 0) -> bytes:
        """Up to so many bytes from `start` on, without passing them."""
        self.need(start + count)
        return bytes(memoryview(self._buffer)[self._at + start : self._at + start + count])

    def search(self, pattern: Any, start: int, end: int) -> int | None:
        """Where in the window the pattern is found, counted from here; what is not unpacked yet is not looked at."""
        found = pattern.search(self._buffer, self._at + start, min(self._at + end, len(self._buffer)))
        return None if found is None else found.start() - self._at

    def advance(self, count: int) -> None:
        """Passes bytes of the window."""
        self._at += count
        self.position += count
        if self._at > 4 * PIECE and self._at > len(self._buffer) // 2:
            del self._buffer[: self._at]
            self._at = 0
        while len(self._members) > 1 and self._members[1][0] <= self.position:
            self._members.popleft()
        while self._seams and self._seams[0] <= self.position:
            self._seams.popleft()

    def seam(self, within: int) -> int | None:
        """How far away the next seam is, if it comes before so many bytes have passed."""
        self.need(within + LOOK)
        self._judge()
        return self._seams[0] - self.position if self._seams and self._seams[0] < self.position + within else None

    def look_ahead(self, offset: int, count: int) -> bytes:
        """Bytes of the file itself, wherever we are."""
        with io_errors(self.path, "read"):
            return os.pread(self._file.fileno(), count, offset)

    def offset(self) -> int:
        """The offset in the file of where we are: of the member, where the file is packed."""
        if self.kind == "plain":
            return self.position
        at_end = self._at == len(self._buffer)
        if at_end and (self.ended or self.stopped is not None):
            return self.stopped.offset if self.stopped is not None else self.size
        return self._members[0][1] if self._members else 0

    def at_member_start(self) -> bool:
        """A record that begins here can be read by its offset alone."""
        return self.kind == "plain" or bool(self._members and self._members[0][0] == self.position)

    def skip(self, count: int) -> int:
        """Passes so many bytes, whatever the window holds, up to a seam; how many were passed."""
        passed = 0
        while passed < count:
            step = min(count - passed, 16 * PIECE)
            seam = self.seam(step)
            if seam is not None:
                self.advance(seam)
                return passed + seam
            there = min(step, self.need(step))
            if not there:
                break
            self.advance(there)
            passed += there
        return passed

    def resume(self) -> bool:
        """Goes on behind damage; False when there is nothing more."""
        stop = self.stopped
        if stop is None or not stop.more:
            return False
        self._damage += 1
        if self._damage > MOST_DAMAGE:
            self.stopped = Stop(stop.offset, "too much damage: the rest is left out", False)
            return False
        self.stopped = None
        return True

    # ---- what fills it

    def _more(self) -> bool:
        if self.stopped is not None or self.ended:
            return False
        with io_errors(self.path, "read"):
            event = next(self._events, None)
        if event is None:
            self.ended = True
            return False
        if isinstance(event, Stop):
            self.stopped = event
            return False
        end = self.position + len(self._buffer) - self._at
        if isinstance(event, Member):
            self._members.append((end, event.offset))
            while len(self._members) > 1 and self._members[1][0] <= self.position:
                self._members.popleft()
            self._unjudged.append(end)
            return True
        self._out += len(event)
        if self._out > FREE_EXPANSION + MOST_EXPANSION * self.size:
            self.stopped = Stop(self._file.tell(), "it unpacks to far more than an archive would", False)
            return False
        self._buffer += event
        return True

    def _judge(self) -> None:
        """Decides which members begin with a record, as far as their first bytes are known."""
        end = self.position + len(self._buffer) - self._at
        over = self.stopped is not None or self.ended
        while self._unjudged and (over or end - self._unjudged[0] >= LOOK):
            where = self._unjudged.popleft()
            start = self._at + where - self.position
            if where > self.position and self._is_start(bytes(memoryview(self._buffer)[start : start + LOOK])):
                self._seams.append(where)

    def _plain(self) -> Iterator[bytes | Member | Stop]:
        while data := self._file.read(PIECE):
            yield data

    def _gzip(self, offset: int) -> Iterator[bytes | Member | Stop]:
        data = b""
        while True:
            data = data or self._file.read(PIECE)
            stripped = data.lstrip(b"\0")  # tapes and some writers pad
            offset += len(data) - len(stripped)
            if not stripped:
                if not data:
                    return
                data = b""
                continue
            data = stripped
            if len(data) < 3:
                data += self._file.read(PIECE)
            if not data.startswith(_GZIP):
                yield Stop(offset, "no gzip member where one should begin", True)
                offset, data = self._next_member(offset)
                if not data:
                    return
                continue
            yield Member(offset)
            unpack = zlib.decompressobj(31)
            start, is_full = offset, False
            while not unpack.eof:
                if not data and not is_full:
                    data = self._file.read(PIECE)
                    if not data:
                        yield Stop(start, "the file ends in the middle of a gzip member", False)
                        return
                try:
                    out = unpack.decompress(data, PIECE)
                except zlib.error:
                    broken = self._file.tell()
                    yield Stop(start, "a gzip member is broken", True)
                    offset, data = self._next_member(max(start + 1, broken - _BACK))
                    break
                left = unpack.unconsumed_tail or unpack.unused_data
                offset += len(data) - len(left)
                data, is_full = left, len(out) == PIECE  # a full piece: there may be more without further input
                if out:
                    yield out
            else:
                continue
            if not data:
                return

    def _next_member(self, offset: int) -> tuple[int, bytes]:
        """The next place from `offset` on where a member begins that unpacks, and what was read from there."""
        self._file.seek(offset)
        data = self._file.read(PIECE)
        while data:
            at = data.find(_GZIP)
            while at >= 0:
                if len(data) - at < 1_024:
                    data += self._file.read(PIECE)
                if _unpacks(data[at : at + 1_024]):
                    return offset + at, data[at:]
                at = data.find(_GZIP, at + 1)
            more = self._file.read(PIECE)
            keep = min(2, len(data))
            offset += len(data) - keep
            data = data[len(data) - keep :] + more if more else b""
        return offset, b""

    def _zstd(self) -> Iterator[bytes | Member | Stop]:
        try:
            for event in frames(self._file, self.size, PIECE):
                yield Member(event) if isinstance(event, int) else event
        except BrokenFrame as broken:
            yield Stop(broken.offset, broken.reason, False)


def _unpacks(data: bytes) -> bool:
    """A gzip member begins here: its head is sane and its first bytes unpack."""
    if len(data) < 18 or data[3] & 0xE0:
        return False
    try:
        unpack = zlib.decompressobj(31)
        return bool(unpack.decompress(data, 512)) or unpack.eof
    except zlib.error:
        return False
