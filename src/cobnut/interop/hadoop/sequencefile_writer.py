"""How is a SequenceFile written, so that Hadoop and Nutch read it?

Given the same sync marker, what is written equals byte for byte what Nutch 0.7 (version 2) and Hadoop (version 6)
write: version 2 puts a marker before every tenth record; later versions where `sync_interval` bytes have passed
since the last one, 102,400 in today's Hadoop, 2,000 before it; blocks each begin with one, and hold a million bytes.

A file is complete only after `close`. It is written in its place: who needs it whole or not at all writes into a folder
of another name and renames that.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from cobnut.interop.hadoop.checksums import SumWriter
from cobnut.interop.hadoop.codecs import DEFAULT_CODEC, codec_of
from cobnut.interop.hadoop.data import DataOutput
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.hadoop.header import NEWEST_VERSION, SYNC_BYTES, Compression, Header, header_bytes
from cobnut.interop.hadoop.window import ESCAPE
from cobnut.storage.files import io_errors

SYNC_INTERVAL_BYTES = 102_400
OLD_SYNC_INTERVAL_BYTES = 2_000
RECORDS_PER_MARKER = 10
"""Of version 2."""
BLOCK_BYTES = 1_000_000
_FLUSH_BYTES = 1 << 18
_LENGTHS = struct.Struct(">ii")
_MOST = (1 << 31) - 1


class SequenceFileWriter:
    """Writes records to *path*. `position` is where the next one, or the block it comes into, will begin."""

    def __init__(
        self,
        path: str | Path,
        key_class: str,
        value_class: str,
        *,
        version: int = NEWEST_VERSION,
        compression: Compression = "none",
        codec: str = DEFAULT_CODEC,
        metadata: Mapping[str, str] | None = None,
        sync: bytes | None = None,
        sync_interval: int | None = None,
        block_bytes: int = BLOCK_BYTES,
        crc: bool | None = None,
    ) -> None:
        """Class names are written as they are given. *crc*: the side file, by default from version 3 on."""
        _check(version, compression, codec, metadata)
        self.path = Path(path)
        self._codec = None if compression == "none" else codec_of(codec)
        self._sync = os.urandom(SYNC_BYTES) if sync is None else sync
        if len(self._sync) != SYNC_BYTES:
            raise ValueError(f"a sync marker has {SYNC_BYTES} bytes")
        self._marker = ESCAPE + self._sync
        self._by_count = version == 2
        if sync_interval is None:
            sync_interval = SYNC_INTERVAL_BYTES if version >= 6 else OLD_SYNC_INTERVAL_BYTES
        self._interval = RECORDS_PER_MARKER if self._by_count else sync_interval
        # version 2: records since the last marker; later: the byte from which on the next one is due
        self._since = 0
        self._due = self._interval
        self._blocks = _Block(block_bytes) if compression == "block" else None
        self._buffer = bytearray()
        self._written = 0
        self.count = 0
        with io_errors(self.path, "write"):
            self._file = open(self.path, "wb", buffering=0)  # noqa: SIM115 - closed by close and discard
        self._closed = False
        self._sums = SumWriter(self.path) if (version >= 3 if crc is None else crc) else None
        named = None if compression == "none" else codec
        self._buffer += header_bytes(
            Header(version, key_class, value_class, compression, named, metadata or {}, self._sync)
        )

    @property
    def position(self) -> int:
        """Where the next record begins, before a sync marker if one is due; in blocks where the present block does."""
        return self._written + len(self._buffer)

    def append(self, key: bytes, value: bytes) -> None:
        """Add a record; its value is packed if the file is compressed."""
        if self._closed:
            raise ValueError("the file is closed")
        if self._blocks is not None:
            self.count += 1
            if self._blocks.add(key, value):
                self._end_block()
        else:
            self.append_packed(key, value if self._codec is None else self._codec.pack(value))

    def append_packed(self, key: bytes, value: bytes) -> None:
        """Add a record whose value is packed already, as a reader that does not unpack gives it; not in blocks."""
        if self._closed:
            raise ValueError("the file is closed")
        if self._blocks is not None:
            raise ValueError("a file packed in blocks takes plain values only")
        length = len(key) + len(value)
        if length > _MOST:
            raise FormatError(f"a record of {length} bytes does not fit a SequenceFile", path=str(self.path))
        buffer = self._buffer
        if self._by_count:
            self._since += 1
            if self._since == self._interval:
                buffer += self._marker
                self._since = 0
        elif self._written + len(buffer) >= self._due:
            buffer += self._marker
            self._due = self._written + len(buffer) + self._interval
        buffer += _LENGTHS.pack(length, len(key))
        buffer += key
        buffer += value
        self.count += 1
        if len(buffer) >= _FLUSH_BYTES:
            self._flush()

    def end_block(self) -> None:
        """End the present block of a file packed in blocks, if anything is in it."""
        if self._blocks is not None and self._blocks.count:
            self._end_block()

    def _end_block(self) -> None:
        assert self._blocks is not None
        assert self._codec is not None
        self._buffer += self._marker
        self._blocks.write(self._buffer, self._codec.pack)
        self._flush()

    def _flush(self) -> None:
        with io_errors(self.path, "write"):
            view = memoryview(self._buffer)
            while view:
                view = view[self._file.write(view) or 0 :]
        if self._sums is not None:
            self._sums.add(self._buffer)
        self._written += len(self._buffer)
        self._buffer = bytearray()

    def close(self) -> None:
        """Write what is left, make the file durable, and close it."""
        if self._closed:
            return
        try:
            self.end_block()
            self._flush()
            with io_errors(self.path, "write"):
                os.fsync(self._file.fileno())
                self._file.close()
            if self._sums is not None:
                self._sums.close()
        except BaseException:
            self.discard()
            raise
        self._closed = True

    def discard(self) -> None:
        """Give up: the unfinished file and its side file are removed."""
        if self._closed:
            return
        self._closed = True
        self._file.close()
        self.path.unlink(missing_ok=True)
        if self._sums is not None:
            self._sums.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


class _Block:
    """The records of one block, until it is full."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self.start()

    def start(self) -> None:
        self.count = 0
        self._key_lengths, self._value_lengths = DataOutput(), DataOutput()
        self._keys, self._values = bytearray(), bytearray()

    def add(self, key: bytes, value: bytes) -> bool:
        """Take in a record: true when the block is full."""
        self.count += 1
        self._key_lengths.write_vint(len(key))
        self._keys += key
        self._value_lengths.write_vint(len(value))
        self._values += value
        return len(self._keys) + len(self._values) >= self._most

    def write(self, target: bytearray, pack: Callable[[bytes], bytes]) -> None:
        """Add the packed block to *target* and begin a new one."""
        out = DataOutput()
        out.write_vint(self.count)
        lengths = self._key_lengths.getvalue(), self._value_lengths.getvalue()
        for part in (lengths[0], bytes(self._keys), lengths[1], bytes(self._values)):
            packed = pack(part)
            out.write_vint(len(packed))
            out.write(packed)
        target += out.buffer
        self.start()


def _check(version: int, compression: Compression, codec: str, metadata: Mapping[str, str] | None) -> None:
    """What a version cannot say is an error of the caller."""
    if not 2 <= version <= NEWEST_VERSION:
        raise ValueError(f"SequenceFiles of version {version} are not written")
    if version < {"none": 2, "record": 3, "block": 4}[compression]:
        raise ValueError(f"version {version} has no compression by {compression}")
    if compression != "none" and version < 5 and codec != DEFAULT_CODEC:
        raise ValueError(f"version {version} knows the default codec only")
    if metadata and version < 6:
        raise ValueError(f"version {version} has no metadata")
