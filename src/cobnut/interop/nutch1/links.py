"""Which links leave a page, and which come in?

`Outlink` is one of a page's links, `Inlink` one that points to it, `Inlinks` all of the latter. None says in which
layout it lies (`layout`): `read` of whole bytes tries all of them, `read` from a stream takes today's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Self, TypeVar

import msgspec

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.mapwritable import MapWritable
from cobnut.interop.hadoop.writable import Source
from cobnut.interop.nutch1.layout import Layout, LayoutReader, read_string, write_string
from cobnut.interop.nutch1.record import Record, read_flag, read_size

LEAST_LINK_BYTES = {Layout.FLAGGED: 3, Layout.TEXT: 2, Layout.UTF8: 4}
"""The size of a link whose two strings are empty."""


class LaidRecord(Record):
    """A record whose layout nothing tells."""

    @classmethod
    def read_as(cls, data: DataInput, layout: Layout) -> Self:
        """The record next in *data*, which lies in *layout*."""
        raise NotImplementedError

    def write_as(self, out: DataOutput, layout: Layout) -> None:
        """Add the bytes of *layout*; an older one has no room for metadata, which is left out."""
        raise NotImplementedError

    @classmethod
    def decode(cls, value: bytes) -> Self:
        return cls.value_reader()(value)

    @classmethod
    def value_reader(cls) -> LayoutReader[Self]:
        """What reads the values of one file and finds out their layout."""
        return LayoutReader(cls.read_as, cls.leads_somewhere, cls.__name__, cls.names_schemes)

    def leads_somewhere(self) -> bool:
        """Has every link here an address? Links of Nutch do."""
        raise NotImplementedError

    def names_schemes(self) -> bool:
        """Is every address here one with a scheme? Bytes read in a wrong layout seldom are."""
        return self.leads_somewhere()

    def read_fields(self, source: Source) -> None:
        if isinstance(source, bytes | bytearray | memoryview):
            self._become(self.decode(bytes(source)))
        else:
            super().read_fields(source)

    def _become(self, other: Self) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(other, name))

    def _get(self, data: DataInput) -> None:
        self._become(self.read_as(data, Layout.FLAGGED))

    def _put(self, out: DataOutput) -> None:
        self.write_as(out, Layout.FLAGGED)


class Outlink(LaidRecord):
    """One link of a page; `metadata` is None where there is none."""

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.parse.Outlink"

    to_url: str = ""
    anchor: str = ""
    metadata: MapWritable | None = None

    @classmethod
    def read_as(cls, data: DataInput, layout: Layout) -> Self:
        return cls(read_string(data, layout), read_string(data, layout), _read_metadata(data, layout))

    def write_as(self, out: DataOutput, layout: Layout) -> None:
        _write_link(out, self.to_url, self.anchor, self.metadata, layout)

    def leads_somewhere(self) -> bool:
        return bool(self.to_url)

    def names_schemes(self) -> bool:
        return ":" in self.to_url


class Inlink(LaidRecord):
    """One link to a page; `metadata` is None where there is none."""

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.crawl.Inlink"

    from_url: str = ""
    anchor: str = ""
    metadata: MapWritable | None = None

    @classmethod
    def read_as(cls, data: DataInput, layout: Layout) -> Self:
        return cls(read_string(data, layout), read_string(data, layout), _read_metadata(data, layout))

    def write_as(self, out: DataOutput, layout: Layout) -> None:
        _write_link(out, self.from_url, self.anchor, self.metadata, layout)

    def leads_somewhere(self) -> bool:
        return bool(self.from_url)

    def names_schemes(self) -> bool:
        return ":" in self.from_url


class Inlinks(LaidRecord):
    """All links to a page, in the order in which they lie, which means nothing: equality is that of sets."""

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.crawl.Inlinks"

    inlinks: list[Inlink] = msgspec.field(default_factory=list)

    @classmethod
    def read_as(cls, data: DataInput, layout: Layout) -> Self:
        return cls(read_links(Inlink, data, layout))

    def write_as(self, out: DataOutput, layout: Layout) -> None:
        out.write_int(len(self.inlinks))
        for inlink in self.inlinks:
            inlink.write_as(out, layout)

    def leads_somewhere(self) -> bool:
        return all(inlink.from_url for inlink in self.inlinks)

    def names_schemes(self) -> bool:
        return all(":" in inlink.from_url for inlink in self.inlinks)

    @property
    def anchors(self) -> list[str]:
        """The anchors that say something."""
        return [inlink.anchor for inlink in self.inlinks if inlink.anchor]

    def add(self, inlink: Inlink) -> None:
        self.inlinks.append(inlink)

    def __len__(self) -> int:
        return len(self.inlinks)

    def __iter__(self) -> Iterator[Inlink]:
        return iter(self.inlinks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Inlinks):
            return NotImplemented
        return _as_counts(self.inlinks) == _as_counts(other.inlinks)

    __hash__ = None  # type: ignore[assignment] # equal by value, and mutable


Link = TypeVar("Link", Outlink, Inlink)


def read_links(record: type[Link], data: DataInput, layout: Layout) -> list[Link]:
    """An int count and so many links of class *record*."""
    count = read_size(data, LEAST_LINK_BYTES[layout])
    if layout is Layout.UTF8:
        return [record.read_as(data, layout) for _ in range(count)]
    buffer, end, flag = data.buffer, data.end, 1 if layout is Layout.FLAGGED else 0
    links: list[Link] = []
    for _ in range(count):
        # Strings of less than 128 bytes and no metadata are nearly all there is; the rest, and what is cut, is read
        # with more care.
        at = data.position
        middle = at + 1 + buffer[at] if at < end else end
        behind = middle + 1 + buffer[middle] if middle < end else end
        short = middle < end and buffer[at] | buffer[middle] < 128 and behind + flag <= end
        if short and not (flag and buffer[behind]):
            data.position = behind + flag
            url = str(buffer[at + 1 : middle], "utf-8", "replace")
            links.append(record(url, str(buffer[middle + 1 : behind], "utf-8", "replace")))
        else:
            links.append(record.read_as(data, layout))
    return links


def _as_counts(inlinks: list[Inlink]) -> list[tuple[str, str, bytes]]:
    return sorted(
        (link.from_url, link.anchor, b"" if link.metadata is None else link.metadata.to_bytes()) for link in inlinks
    )


def _read_metadata(data: DataInput, layout: Layout) -> MapWritable | None:
    return MapWritable.read(data) if layout is Layout.FLAGGED and read_flag(data) else None


def _write_link(out: DataOutput, url: str, anchor: str, metadata: MapWritable | None, layout: Layout) -> None:
    write_string(out, url, layout)
    write_string(out, anchor, layout)
    if layout is Layout.FLAGGED:
        out.write_boolean(bool(metadata))
        if metadata:
            metadata.write(out)
