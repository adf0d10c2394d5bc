"""How does a record read and write itself?

`Writable` is the base of all records: fields with defaults, `read` makes one from bytes, `read_fields` fills one anew,
`write` adds its bytes. Source and target are a `DataInput` and `DataOutput`, or any binary stream: a stream is left
right behind the record, if it can seek; one that cannot is read to its end.
"""

from __future__ import annotations

from typing import Any, BinaryIO, Protocol, Self

import msgspec

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import CutError

FIRST_BYTES = 1 << 13
"""Read of a stream at first; a record that is longer asks for more."""


class ByteSink(Protocol):
    """What takes bytes: a file, a `BytesIO`, a `DataOutput`."""

    def write(self, data: bytes, /) -> Any: ...


Source = DataInput | bytes | bytearray | memoryview | BinaryIO


class Writable(msgspec.Struct):
    """A record. Subclasses say how their fields lie in bytes: `_get` reads them all, `_put` writes them."""

    @classmethod
    def read(cls, source: Source) -> Self:
        """The record that stands next in *source*."""
        record = cls()
        record.read_fields(source)
        return record

    def read_fields(self, source: Source) -> None:
        """Replace all fields by those of the record that stands next in *source*."""
        if isinstance(source, DataInput):
            self._get(source)
        elif isinstance(source, bytes | bytearray | memoryview):
            self._get(DataInput(source))
        elif source.seekable():
            self._get_here(source)
        else:
            self._get(DataInput(source.read()))

    def _get_here(self, stream: BinaryIO) -> None:
        """Read no more of *stream* than about what the record takes: millions of them may stand in it."""
        start = stream.tell()
        raw, want = stream.read(FIRST_BYTES), FIRST_BYTES
        while True:
            data = DataInput(raw)
            try:
                self._get(data)
                break
            except CutError:
                more = stream.read(want)
                if not more:
                    raise
                raw, want = raw + more, want * 4
        if len(raw) != data.position:
            stream.seek(start + data.position)

    def write(self, target: ByteSink) -> None:
        """Add the record's bytes to *target*."""
        if isinstance(target, DataOutput):
            self._put(target)
            return
        target.write(self.to_bytes())

    def to_bytes(self) -> bytes:
        out = DataOutput()
        self._put(out)
        return out.getvalue()

    def _get(self, data: DataInput) -> None:
        raise NotImplementedError

    def _put(self, out: DataOutput) -> None:
        raise NotImplementedError
