"""How are the values of one file read, whichever class they have?

`ValueReader` is made for a file's value class and called with every value: all bytes must be used up, and where the
class does not say in which layout it lies, the file's layout is found out and kept.
"""

from __future__ import annotations

from collections.abc import Callable

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import UnknownClassError
from cobnut.interop.hadoop.mapwritable import register, register_old, register_record
from cobnut.interop.nutch1.content import Content
from cobnut.interop.nutch1.crawldatum import CrawlDatum
from cobnut.interop.nutch1.hostdatum import HostDatum
from cobnut.interop.nutch1.layout import Layout, LayoutReader
from cobnut.interop.nutch1.links import Inlink, Inlinks, LaidRecord, Outlink
from cobnut.interop.nutch1.metadata import Metadata
from cobnut.interop.nutch1.parse import ParseData, ParseText
from cobnut.interop.nutch1.record import Record
from cobnut.interop.nutch1.statuses import ParseStatus, ProtocolStatus, read_protocol_status
from cobnut.interop.nutch1.webgraph import LinkDatum, Node

RECORDS: dict[str, type[Record]] = {
    record.JAVA_NAME: record
    for record in (
        CrawlDatum, Inlink, Inlinks, HostDatum, Metadata, Outlink, ParseData, ParseStatus, ParseText, Content,
        ProtocolStatus, LinkDatum, Node,
    )
}  # fmt: skip
"""The classes by the names that files have for them."""


class ValueReader:
    """Reads the values of one file; call it with each value."""

    __slots__ = ("_read", "record")

    def __init__(self, class_name: str) -> None:
        """*class_name* is the value class as the file names it; one that is not known is an error."""
        record = RECORDS.get(class_name)
        if record is None:
            raise UnknownClassError(f"records of a class that is not known, {class_name}", class_name)
        self.record = record
        self._read: Callable[[bytes], Record] = record.decode
        if issubclass(record, LaidRecord):
            self._read = record.value_reader()

    @property
    def layout(self) -> Layout | None:
        """The layout the file turned out to have; None where the class needs none, or nothing told it yet."""
        return self._read.layout if isinstance(self._read, LayoutReader) else None

    def __call__(self, value: bytes) -> Record:
        return self._read(value)


def _read_old_parse_data(data: DataInput) -> ParseData:
    """Within the maps of 0.8 and 0.9 outlinks have no flag yet."""
    old = data.left > 0 and data.buffer[data.position] < ParseData.CUR_VERSION
    return ParseData.read_as(data, Layout.UTF8 if old else Layout.TEXT)


def _write_old_parse_data(out: DataOutput, value: ParseData) -> None:
    value.write_as(out, Layout.TEXT)


_IN_MAPS: tuple[type[Record], ...] = (Content, Metadata, ParseStatus, ParseText)
for _record in _IN_MAPS:
    register_record(_record.JAVA_NAME, _record)
register(ProtocolStatus.JAVA_NAME, read_protocol_status, lambda out, value: value.write(out))
register_old(ParseData.JAVA_NAME, _read_old_parse_data, _write_old_parse_data)
