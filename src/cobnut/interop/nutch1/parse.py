"""What did the parser find in a page?

`ParseData` is its title, links and metadata, `ParseText` its text.

Versions of ParseData: 5 holds Text, and its outlinks have had a flag since 1.8 (`layout`); 3 and 4 (0.8) hold UTF8, 3
without the parser's own metadata; 1 and 2 (0.7) hold one set of properties, 1 without a status.
"""

from __future__ import annotations

from typing import ClassVar, Self

import msgspec

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.nutch1.layout import Layout, read_string, write_string
from cobnut.interop.nutch1.links import LaidRecord, Outlink, read_links
from cobnut.interop.nutch1.metadata import Metadata, read_metadata, read_pairs, write_metadata
from cobnut.interop.nutch1.record import Record, check_version
from cobnut.interop.nutch1.statuses import PARSE_SUCCESS, ParseStatus

_TEXT_VERSION = 5
"""Below it strings are UTF8."""


class ParseData(LaidRecord):
    """What was found in a page; `version` is the one it was read from, and no part of what it is."""

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.parse.ParseData"
    DIR_NAME: ClassVar[str] = "parse_data"
    CUR_VERSION: ClassVar[int] = 5

    status: ParseStatus = msgspec.field(default_factory=ParseStatus)
    title: str = ""
    outlinks: list[Outlink] = msgspec.field(default_factory=list)
    content_meta: Metadata = msgspec.field(default_factory=Metadata)
    parse_meta: Metadata = msgspec.field(default_factory=Metadata)
    version: int = CUR_VERSION

    def meta(self, name: str) -> str | None:
        """The first value of *name*: the parser's own, or else the one that came with the page."""
        found = self.parse_meta.get(name)
        return self.content_meta.get(name) if found is None else found

    @classmethod
    def read_as(cls, data: DataInput, layout: Layout) -> Self:
        at = data.position
        version = data.read_byte()
        check_version(version, cls.CUR_VERSION, "ParseData", at)
        if (version < _TEXT_VERSION) is not (layout is Layout.UTF8):
            raise FormatError(f"a ParseData of version {version} does not lie in this layout", offset=at)
        status = ParseStatus(PARSE_SUCCESS) if version == 1 else ParseStatus.read(data)
        title = read_string(data, layout)
        outlinks = read_links(Outlink, data, layout)
        content_meta = read_pairs(data) if version < 3 else read_metadata(data, layout)
        parse_meta = Metadata() if version < 4 else read_metadata(data, layout)
        return cls(status, title, outlinks, content_meta, parse_meta, version)

    def write_as(self, out: DataOutput, layout: Layout) -> None:
        """Version 5, or for `Layout.UTF8` version 4."""
        out.write_byte(_TEXT_VERSION - 1 if layout is Layout.UTF8 else _TEXT_VERSION)
        self.status.write(out)
        write_string(out, self.title, layout)
        out.write_int(len(self.outlinks))
        for outlink in self.outlinks:
            outlink.write_as(out, layout)
        write_metadata(out, self.content_meta, layout)
        write_metadata(out, self.parse_meta, layout)

    def leads_somewhere(self) -> bool:
        return all(outlink.to_url for outlink in self.outlinks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ParseData):
            return NotImplemented
        return self._parts() == other._parts()

    __hash__ = None  # type: ignore[assignment] # equal by value, and mutable

    def _parts(self) -> tuple[object, ...]:
        return self.status, self.title, self.outlinks, self.content_meta, self.parse_meta

    def _get(self, data: DataInput) -> None:
        # The version tells UTF8 apart; whether outlinks have a flag it does not.
        old = data.left > 0 and data.buffer[data.position] < _TEXT_VERSION
        self._become(self.read_as(data, Layout.UTF8 if old else Layout.FLAGGED))


class ParseText(Record):
    """The text of a page: compressed in version 1, as a Text in version 2."""

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.parse.ParseText"
    DIR_NAME: ClassVar[str] = "parse_text"
    HAS_BODY: ClassVar[bool] = True
    CUR_VERSION: ClassVar[int] = 2

    text: str = ""

    def _get(self, data: DataInput) -> None:
        at = data.position
        version = data.read_byte()
        check_version(version, self.CUR_VERSION, "ParseText", at)
        self.text = data.read_text() if version == 2 else data.read_compressed_string() or ""

    def _put(self, out: DataOutput) -> None:
        out.write_byte(self.CUR_VERSION)
        out.write_text(self.text)
