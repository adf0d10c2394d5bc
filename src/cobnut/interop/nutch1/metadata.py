"""What do header fields and a parser's findings look like?

`Metadata` holds several values a name, in the order in which they were written. Names are compared as they are: that
`Content-Type` and `content-type` are one field is for the parser to say.

Not here: typed values (`hadoop.mapwritable`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import msgspec

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.nutch1.layout import Layout, write_string
from cobnut.interop.nutch1.record import MAX_ITEMS, Record, read_size


class Metadata(Record):
    """Names with their values; `values` maps each name to all of its values."""

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.metadata.Metadata"

    values: dict[str, list[str]] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Metadata:
        """Metadata of (name, value); a name may come several times."""
        metadata = cls()
        for name, value in pairs:
            metadata.add(name, value)
        return metadata

    def get(self, name: str, default: str | None = None) -> str | None:
        """The first value of *name*."""
        values = self.values.get(name)
        return values[0] if values else default

    def get_values(self, name: str) -> list[str]:
        return self.values.get(name, [])

    def add(self, name: str, value: str) -> None:
        self.values.setdefault(name, []).append(value)

    def __len__(self) -> int:
        return len(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Every (name, value)."""
        for name, values in self.values.items():
            for value in values:
                yield name, value

    def _get(self, data: DataInput) -> None:
        self.values = read_metadata(data).values

    def _put(self, out: DataOutput) -> None:
        write_metadata(out, self)


def read_metadata(data: DataInput, layout: Layout = Layout.TEXT) -> Metadata:
    """The metadata next in *data*; the strings are UTF8 in 0.8 (`Layout.UTF8`)."""
    string_bytes = 2 if layout is Layout.UTF8 else 1
    read = data.read_utf8 if layout is Layout.UTF8 else data.read_text
    values: dict[str, list[str]] = {}
    most = MAX_ITEMS
    for _ in range(read_size(data, string_bytes + 4)):
        name = read()
        count = read_size(data, string_bytes, most)
        most -= count
        found = [read() for _ in range(count)]
        if name in values:
            values[name] += found
        else:
            values[name] = found
    return Metadata(values)


def read_pairs(data: DataInput) -> Metadata:
    """An int count and so many pairs of UTF8, as `java.util.Properties` lay in 0.7."""
    values: dict[str, list[str]] = {}
    for _ in range(read_size(data, 4)):
        name = data.read_utf8()
        values[name] = [data.read_utf8()]
    return Metadata(values)


def write_metadata(out: DataOutput, metadata: Metadata, layout: Layout = Layout.TEXT) -> None:
    out.write_int(len(metadata.values))
    for name, values in metadata.values.items():
        write_string(out, name, layout)
        out.write_int(len(values))
        for value in values:
            write_string(out, value, layout)
