"""Which part of a file is in memory, and how far is it sound?

A `Window` holds a stretch of a file and slides forward. It knows where the next sync marker stands in it (`marker`) and
which of its bytes fail their checksum (`wrong`). A file of any size is read with the memory of a few chunks, or of one
record that is larger.

Positions are those of the file, everywhere.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from pathlib import Path

from cobnut.interop.hadoop.checksums import SideSums
from cobnut.interop.hadoop.errors import FormatError
from cobnut.storage.files import cannot_read, io_errors

FIRST_CHUNK_BYTES = 1 << 15
CHUNK_BYTES = 1 << 20
ESCAPE = b"\xff\xff\xff\xff"
"""Stands before a sync marker, in the place of a record's length."""


class RawFile:
    """A file opened for reading at any place; `sums` are the checksums beside it."""

    def __init__(self, path: Path, check_crc: bool) -> None:
        self.path = path
        self.fd = -1
        try:
            # a pipe would block for ever when it is opened
            mode = os.stat(path).st_mode
            if stat.S_ISDIR(mode):
                raise FormatError("a folder, where a file of records should be", path=str(path))
            if not stat.S_ISREG(mode):
                raise FormatError("it is no regular file", path=str(path))
            self.fd = os.open(path, os.O_RDONLY)
            self.size = os.fstat(self.fd).st_size
        except OSError as error:
            raise cannot_read(path, error) from error
        self.sums = SideSums(path, self.size) if check_crc else None

    def read(self, start: int, count: int) -> bytes:
        """The bytes from *start*, fewer than *count* only at the file's end."""
        parts = []
        with io_errors(self.path, "read"):
            while count > 0:
                part = os.pread(self.fd, count, start)
                if not part:
                    break
                parts.append(part)
                start += len(part)
                count -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        if self.sums is not None:
            self.sums.close()


class Window:
    """Bytes `start` to `end` of *file*; *sync* is its sync marker, empty if it has none.

    *chunk_bytes* are read at once, fewer at first: who seeks to a record wants no more than that.
    """

    def __init__(self, file: RawFile, at: int, sync: bytes, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._file = file
        self._sync = ESCAPE + sync if sync else b""
        self._most = chunk_bytes
        self._chunk = min(FIRST_CHUNK_BYTES, chunk_bytes)
        self.data = b""
        self.file_size = file.size
        step = file.sums.step if file.sums is not None else 0
        # a checksum needs its whole stretch
        self.start = self.end = at - at % step if step else at
        self.wrong: deque[tuple[int, int]] = deque()
        self.marker: int | None = None

    def settle(self, at: int) -> None:
        """Go on at *at*, not before where it was: forget damage that was passed, and find the next marker."""
        while self.wrong and self.wrong[0][1] <= at:
            self.wrong.popleft()
        # without a marker there is none in all that is held
        if self.marker is not None and self.marker < at:
            self._find(at)

    def _find(self, at: int) -> None:
        found = self.data.find(self._sync, max(at - self.start, 0))
        self.marker = None if found < 0 else self.start + found

    @property
    def limit(self) -> int:
        """Up to here the bytes are there and sound, and no marker begins."""
        limit = self.end if self.marker is None else self.marker
        return min(limit, self.wrong[0][0]) if self.wrong else limit

    def more(self, at: int) -> bool:
        """Take in the next chunk, and let go what lies before *at*. False at the end of the file."""
        if self.end >= self.file_size:
            return False
        held = self.end - at
        count = self._chunk
        self._chunk = min(2 * count, self._most)
        # a record much larger than a chunk would else be copied once for every chunk
        count = max(count, held)
        sums = self._file.sums
        if sums is not None and sums.step:
            count += -(self.end + count) % sums.step
        read = self._file.read(self.end, count)
        if not read:
            self.file_size = self.end  # it became shorter while it was read
            return False
        if sums is not None:
            self.wrong += sums.wrong(read, self.end)
        self.data = self.data[at - self.start :] + read if held > 0 else read
        self.start = at if held > 0 else self.end
        self.end += len(read)
        if self._sync and self.marker is None:
            self._find(max(at, self.end - len(read) - len(self._sync) + 1))
        return True

    def reach(self, at: int, end: int) -> bool:
        """Have the bytes from *at* to *end* in memory: false if the file ends or a marker begins before."""
        while self.end < end and self.marker is None:
            if not self.more(at):
                return False
        return self.marker is None or self.marker >= end

    def damaged(self, end: int) -> bool:
        """Does any byte from where the window was settled to *end* fail its checksum?"""
        return bool(self.wrong) and self.wrong[0][0] < end

    def bytes_at(self, at: int, end: int) -> bytes:
        return self.data[at - self.start : end - self.start]

    def next_marker(self, at: int) -> int | None:
        """Where the first marker from *at* on stands; the window slides to it."""
        self.settle(at)
        while self.marker is None:
            keep = max(at, self.end - len(self._sync) + 1)
            if not self._sync or not self.more(min(keep, self.end)):
                return None
        return self.marker
