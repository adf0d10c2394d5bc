"""Where do the frames of a zstd file begin, and what is in them?

Each frame is unpacked by itself, so that it is known where it begins. A dictionary may lie in a skippable frame at the
beginning, itself packed or not.

Source: RFC 8878 section 3 (frames, blocks, skippable frames); the dictionary frame is that of "Use of Zstandard
Compression for WARC Files 1.0". Not here: gzip and the stream (`interop.warc.source`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, Any

ZSTD = b"\x28\xb5\x2f\xfd"
DICTIONARY = b"\x5d\x2a\x4d\x18"

MOST_DICTIONARY_BYTES = 16 << 20
_ID_BYTES = (0, 1, 2, 4)
_SIZE_BYTES = (0, 2, 4, 8)
_RLE, _RESERVED = 1, 3


class BrokenFrame(Exception):
    """What is wrong, and where in the file."""

    def __init__(self, offset: int, reason: str) -> None:
        self.offset, self.reason = offset, reason
        super().__init__(reason)


def frames(file: IO[bytes], size: int, piece: int) -> Iterator[int | bytes]:
    """For each frame its offset, and then its content in pieces. `BrokenFrame` ends it."""
    offset, options = _dictionary(file, size)
    while offset < size:
        end, is_content = _end_of(file, offset, size)
        if is_content:
            yield offset
            yield from _unpacked(_Slice(file, offset, end), options, offset, piece)
        offset = end


def _dictionary(file: IO[bytes], size: int) -> tuple[int, dict[str, Any]]:
    file.seek(0)
    head = file.read(8)
    if not head.startswith(DICTIONARY):
        return 0, {}
    length = int.from_bytes(head[4:8], "little")
    if length > min(size - 8, MOST_DICTIONARY_BYTES):
        raise BrokenFrame(0, "the zstd dictionary is longer than the file, or than 16 MiB")
    dictionary = file.read(length)
    if dictionary.startswith(ZSTD):
        pieces, held = [], 0
        for data in _unpacked(io.BytesIO(dictionary), {}, 8, 1 << 16):
            pieces.append(data)
            held += len(data)
            if held > MOST_DICTIONARY_BYTES:
                raise BrokenFrame(0, "the zstd dictionary is longer than 16 MiB")
        dictionary = b"".join(pieces)
    return 8 + length, {"dictionary": dictionary}


def _unpacked(packed: Any, options: dict[str, Any], offset: int, piece: int) -> Iterator[bytes]:
    from fastwarc.stream_io import ZstdReader

    try:
        reader = ZstdReader(packed, **options)
        while data := reader.read(piece):
            yield data
    except (OSError, ValueError, EOFError, RuntimeError, MemoryError, TypeError) as error:
        raise BrokenFrame(offset, "a zstd frame is broken") from error


def _end_of(file: IO[bytes], offset: int, size: int) -> tuple[int, bool]:
    """Where a frame ends, and whether it has content."""
    file.seek(offset)
    head = file.read(18)
    if len(head) >= 8 and head[1:4] == DICTIONARY[1:] and head[0] & 0xF0 == 0x50:
        end = offset + 8 + int.from_bytes(head[4:8], "little")
        if end > size:
            raise BrokenFrame(offset, "the file ends in the middle of a zstd frame")
        return end, False
    if not head.startswith(ZSTD) or len(head) < 6:
        raise BrokenFrame(offset, "no zstd frame where one should begin")
    flags = head[4]
    is_single = flags >> 5 & 1
    at = offset + 5 + (not is_single) + _ID_BYTES[flags & 3] + (_SIZE_BYTES[flags >> 6] or is_single)
    while True:
        file.seek(at)
        block = file.read(3)
        value = int.from_bytes(block, "little")
        kind = value >> 1 & 3
        at += 3 + (1 if kind == _RLE else value >> 3)
        if len(block) < 3 or at > size:
            raise BrokenFrame(offset, "the file ends in the middle of a zstd frame")
        if kind == _RESERVED:
            raise BrokenFrame(offset, "a zstd frame is broken")
        if value & 1:
            break
    at += 4 * (flags >> 2 & 1)
    if at > size:
        raise BrokenFrame(offset, "the file ends in the middle of a zstd frame")
    return at, True


class _Slice(io.RawIOBase):
    """A part of a file as a file by itself."""

    def __init__(self, file: IO[bytes], start: int, end: int) -> None:
        self._file, self._start, self._at, self._end = file, start, start, end

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at - self._start

    def seek(self, offset: int, whence: int = 0) -> int:
        base = (self._start, self._at, self._end)[whence]
        self._at = min(max(base + offset, self._start), self._end)
        return self.tell()

    def read(self, size: int = -1) -> bytes:
        left = self._end - self._at
        self._file.seek(self._at)
        data = self._file.read(left if size is None or size < 0 else min(size, left))
        self._at += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
