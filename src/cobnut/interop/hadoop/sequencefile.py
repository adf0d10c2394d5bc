"""Which records are in a SequenceFile, and how is one written?

`SequenceFileReader` gives the records of versions 1 to 6, plain or compressed by value or in blocks, one after the
other and with the memory of a few chunks. Damage ends nothing: the reader goes on at the next record that can be
trusted, at the latest behind the next sync marker, and `skipped` tells what was passed over. `SequenceFileWriter` (in
`sequencefile_writer`) is its mirror.

What counts as damage: lengths that cannot be, a record that runs over a sync marker or the file's end, a value that
cannot be unpacked, bytes whose checksum in the side file differs.

Not here: what keys and values mean (`nutch07`, `nutch1`); looking up a key (`mapfile`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from cobnut.interop.hadoop.codecs import Codec, codec_of
from cobnut.interop.hadoop.data import MAX_INFLATED_BYTES, DataInput
from cobnut.interop.hadoop.errors import CutError, FormatError
from cobnut.interop.hadoop.header import MAX_HEADER_BYTES, SYNC_BYTES, Compression, Header, parse_header
from cobnut.interop.hadoop.sequencefile_writer import SequenceFileWriter
from cobnut.interop.hadoop.window import CHUNK_BYTES, ESCAPE, RawFile, Window

__all__ = ["RawRecord", "SequenceFileReader", "SequenceFileWriter", "Skipped", "read_header"]

MAX_RECORD_BYTES = MAX_INFLATED_BYTES
"""A record that says it is longer is taken for damage."""
MAX_SKIPPED = 10_000
"""So many stretches of damage are listed one by one; the last entry stands for all the rest."""
MAX_BLOCK_RECORDS = 1 << 22
_WRONG_SUM = "the bytes are not those that were written: their checksum differs"
_LENGTHS = struct.Struct(">ii")
_MARKER_BYTES = len(ESCAPE) + SYNC_BYTES


class RawRecord(NamedTuple):
    """Bytes of a key and a value, unpacked. `position`: where to seek to for it; in a block that of the block."""

    position: int
    key: bytes
    value: bytes


class Skipped(NamedTuple):
    """Bytes `start` to `end` of a file that could not be read, and why."""

    start: int
    end: int
    reason: str


def read_header(path: str | Path) -> Header:
    """What a SequenceFile says of itself; nothing else of it is read, and its codec need not be known."""
    file = RawFile(Path(path), check_crc=False)
    try:
        return _header(file)
    finally:
        file.close()


def _header(file: RawFile) -> Header:
    data = file.read(0, 4096)
    try:
        try:
            return parse_header(data)
        except CutError:
            if len(data) == file.size:
                raise
            return parse_header(file.read(0, MAX_HEADER_BYTES))
    except FormatError as error:
        raise error.in_file(str(file.path)) from None


class SequenceFileReader:
    """The records of one file; `skipped` grows while they are read, `warnings` says what could not be checked."""

    def __init__(
        self, path: str | Path, *, check_crc: bool = True, unpack: bool = True, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        """With *unpack* false, values stay packed as they lie in the file; not for files packed in blocks.

        *chunk_bytes* are read at once, and so is about the memory that is needed.
        """
        self.path = Path(path)
        self.skipped: list[Skipped] = []
        self.warnings: list[str] = []
        self._known_damage: set[int] = set()
        self._file = RawFile(self.path, check_crc)
        try:
            self.header = _header(self._file)
            codec = self.header.codec
            self._codec = None if codec is None else codec_of(codec, str(self.path))
        except BaseException:
            self.close()
            raise
        sums = self._file.sums
        if sums is not None and sums.warning is not None:
            self.warnings.append(sums.warning)
        self._unpack = self._codec.unpack if unpack and self._codec is not None else None
        self._next = self.header.end
        self._chunk_bytes = chunk_bytes

    @property
    def version(self) -> int:
        return self.header.version

    @property
    def key_class(self) -> str:
        """The name as it stands in the file; `header.full_class_name` makes short ones whole."""
        return self.header.key_class

    @property
    def value_class(self) -> str:
        return self.header.value_class

    @property
    def compression(self) -> Compression:
        return self.header.compression

    @property
    def codec(self) -> str | None:
        return self.header.codec

    @property
    def metadata(self) -> Mapping[str, str]:
        return self.header.metadata

    @property
    def sync(self) -> bytes:
        return self.header.sync

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._file.size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def seek(self, position: int) -> None:
        """Let the next `records` begin at *position*: that of a record, or the header's end."""
        if not self.header.end <= position <= self._file.size:
            raise FormatError(f"there is no record at byte {position}", path=str(self.path), offset=position)
        self._next = position

    def seek_to_marker(self, position: int) -> bool:
        """Let the next `records` begin at the first sync marker at or after *position*; false if none follows."""
        start = max(position, self.header.end)
        found = Window(self._file, start, self.header.sync).next_marker(start)
        self._next = self._file.size if found is None else found
        return found is not None

    def records(self) -> Iterator[RawRecord]:
        """All records from where `seek` said, by default from the first; calling it again begins there again."""
        window = Window(self._file, self._next, self.header.sync, self._chunk_bytes)
        if self.header.compression == "block":
            return self._in_blocks(window, self._next)
        return self._one_by_one(window, self._next)

    def _skip(self, start: int, end: int, reason: str) -> None:
        if start in self._known_damage:
            return
        if len(self.skipped) < MAX_SKIPPED:
            self._known_damage.add(start)
            self.skipped.append(Skipped(start, end, reason))
        elif end > self.skipped[-1].end:
            self.skipped[-1] = Skipped(self.skipped[-1].start, end, "more damage than is listed one by one")

    def _end(self, window: Window) -> None:
        """The file has been read to its end: is that the end it had when it was written?"""
        sums = self._file.sums
        if sums is not None and sums.least_size > window.file_size:
            self._skip(window.file_size, sums.least_size, "the file is shorter than when it was written")

    def _resume(self, window: Window, at: int, reason: str) -> int:
        """Where to go on after damage at *at*: the next marker, or the end."""
        # the marker that stands right here belongs to what is damaged
        found = window.next_marker(min(at + 1, window.file_size))
        end = window.file_size if found is None else found
        self._skip(at, end, reason)
        return end

    def _one_by_one(self, window: Window, at: int) -> Iterator[RawRecord]:
        """The fast lane is all that a sound record takes: whatever is unusual is seen by one comparison of its end."""
        read, new, kind, unpack = _LENGTHS.unpack_from, tuple.__new__, RawRecord, self._unpack
        data, base, limit = window.data, window.start, window.limit
        back = 0
        while True:
            start = at - base + 8
            if at + 8 <= limit:
                length, key_length = read(data, start - 8)
                end = at + 8 + length
                if 0 <= key_length <= length and end <= limit:
                    middle = start + key_length
                    value = data[middle : start + length]
                    if unpack is not None:
                        try:
                            value = unpack(value)
                        except FormatError as error:
                            self._skip(at - back, end, error.what)
                            at, back = end, 0
                            continue
                    yield new(kind, (at - back, data[start:middle], value))
                    at, back = end, 0
                    continue
            if at == window.marker:
                at += _MARKER_BYTES
                window.settle(at)
                back = _MARKER_BYTES
            else:
                found = self._slow(window, at)
                if found is None:
                    self._end(window)
                    return
                if found != at:
                    at, back = found, 0
                    window.settle(at)
            data, base, limit = window.data, window.start, window.limit

    def _slow(self, window: Window, at: int) -> int | None:
        """Bring the record at *at* into the window, or pass over what is no record: where to go on, None at the end."""
        window.settle(at)
        if at >= window.file_size:
            return None
        if not window.reach(at, at + 8):
            if window.marker == at:
                return at
            if window.marker is None:
                self._skip(at, window.file_size, "the file ends within the lengths of a record")
                return None
            return self._resume(window, at, "no record ends where the next sync marker begins")
        if window.damaged(at + 8):
            return self._resume(window, at, _WRONG_SUM)
        length: int
        key_length: int
        length, key_length = _LENGTHS.unpack(window.bytes_at(at, at + 8))
        if length == -1 and self.header.sync:
            # the marker is seen only once all of it is there
            window.reach(at, at + _MARKER_BYTES)
            if window.marker == at:
                return at
            cut = window.file_size - at < _MARKER_BYTES
            what = "the file ends within a sync marker" if cut else "a sync marker that is not the one of this file"
            return self._resume(window, at, what)
        if not 0 <= key_length <= length:
            return self._resume(window, at, f"a record of {length} bytes with a key of {key_length}")
        if length > MAX_RECORD_BYTES:
            return self._resume(window, at, f"a record of {length} bytes, more than any may have")
        end = at + 8 + length
        if end > window.file_size:
            left = window.file_size - at - 8
            return self._resume(window, at, f"a record of {length} bytes, and {left} are left in the file")
        if not window.reach(at, end):
            return self._resume(window, at, f"a record of {length} bytes that would run over a sync marker")
        if window.damaged(end):
            self._skip(at, end, _WRONG_SUM)
            return end
        return at

    def _in_blocks(self, window: Window, at: int) -> Iterator[RawRecord]:
        new, codec = tuple.__new__, self._codec
        assert codec is not None, "a header says both or none"
        while at < window.file_size:
            window.settle(at)
            reached = window.reach(at, at + _MARKER_BYTES)
            if window.marker != at:
                reason = "a block must begin with the sync marker" if reached else "the file ends within a block"
                at = self._resume(window, at, reason)
                continue
            window.settle(at + 1)
            try:
                end, buffers = self._block(window, at)
                records = _unpack_block(buffers, codec)
            except FormatError as error:
                at = self._resume(window, at, error.what)
                continue
            for key, value in records:
                yield new(RawRecord, (at, key, value))
            at = end
        self._end(window)

    def _block(self, window: Window, at: int) -> tuple[int, tuple[int, list[bytes]]]:
        """Where the block at *at* ends, how many records it says it has, and its four packed buffers."""

        def vint(cursor: int) -> tuple[int, int]:
            window.reach(at, min(cursor + 9, window.file_size))
            source = DataInput(window.bytes_at(cursor, cursor + 9))
            return source.read_vint(), cursor + source.position

        count, cursor = vint(at + _MARKER_BYTES)
        if not 0 <= count <= MAX_BLOCK_RECORDS:
            raise FormatError(f"a block of {count} records")
        buffers: list[bytes] = []
        for _ in range(4):
            length, cursor = vint(cursor)
            if not 0 <= length <= MAX_RECORD_BYTES:
                raise FormatError(f"a part of a block of {length} bytes")
            if cursor + length > window.file_size:
                raise CutError(f"a part of a block of {length} bytes, and the file ends before")
            if not window.reach(at, cursor + length):
                raise FormatError(f"a part of a block of {length} bytes that would run over a sync marker")
            buffers.append(window.bytes_at(cursor, cursor + length))
            cursor += length
        if window.damaged(cursor):
            raise FormatError(_WRONG_SUM)
        return cursor, (count, buffers)


def _unpack_block(block: tuple[int, list[bytes]], codec: Codec) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block, all checked before the first is given."""
    count, (key_lengths, packed_keys, value_lengths, packed_values) = block
    most_lengths = 5 * count
    keys = _cut(codec.unpack(packed_keys), _vints(codec.unpack(key_lengths, most_lengths), count))
    most_values = MAX_RECORD_BYTES - sum(map(len, keys))
    values = _cut(codec.unpack(packed_values, most_values), _vints(codec.unpack(value_lengths, most_lengths), count))
    return zip(keys, values, strict=True)


def _vints(data: bytes, count: int) -> list[int]:
    """*count* VInts, which must be all of *data*."""
    if count > len(data):
        raise FormatError(f"a block of {count} records with {len(data)} bytes of lengths")
    if len(data) == count and data.isascii():
        return list(data)
    source = DataInput(data)
    lengths = [source.read_vint() for _ in range(count)]
    source.finish("block's lengths")
    return lengths


def _cut(data: bytes, lengths: list[int]) -> list[bytes]:
    """*data* in pieces of these lengths, which must use all of it."""
    if lengths and min(lengths) < 0:
        raise FormatError(f"a negative length, {min(lengths)}, in a block")
    if sum(lengths) != len(data):
        raise FormatError(f"a block of {len(data)} bytes, and its lengths make {sum(lengths)}")
    ends = list(accumulate(lengths))
    return [data[end - length : end] for end, length in zip(ends, lengths, strict=True)]
