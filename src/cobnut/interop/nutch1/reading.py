"""How are the values of one file read, whichever class they have?

`ValueReader` is made for a file's value class and called with every value: all bytes must be used up, and where the
class does not say in which layout it lies, the file's layout is found out and kept.
"""

from __future__ import annotations

from collections.abc import Callable

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import UnknownClassError
from cobnut.interop.hadoop.mapwritable import register_old, register_record
from cobnut.interop.hadoop.writable import Writable
from cobnut.interop.nutch1.content import Content
from cobnut.interop.nutch1.crawldatum import CrawlDatum
from cobnut.interop.nutch1.hostdatum import HostDatum
from cobnut.interop.nutch1.layout import Layout, LayoutReader
from cobnut.interop.nutch1.links import Inlink, Inlinks, LaidRecord, Outlink
from cobnut.interop.nutch1.metadata import Metadata
from cobnut.interop.nutch1.parse import ParseData, ParseText
from cobnut.interop.nutch1.statuses import ParseStatus, ProtocolStatus
from cobnut.interop.nutch1.webgraph import LinkDatum, Node

RECORDS: dict[str, type[Writable]] = {
    "org.apache.nutch.crawl.CrawlDatum": CrawlDatum,
    "org.apache.nutch.crawl.Inlink": Inlink,
    "org.apache.nutch.crawl.Inlinks": Inlinks,
    "org.apache.nutch.hostdb.HostDatum": HostDatum,
    "org.apache.nutch.metadata.Metadata": Metadata,
    "org.apache.nutch.parse.Outlink": Outlink,
    "org.apache.nutch.parse.ParseData": ParseData,
    "org.apache.nutch.parse.ParseStatus": ParseStatus,
    "org.apache.nutch.parse.ParseText": ParseText,
    "org.apache.nutch.protocol.Content": Content,
    "org.apache.nutch.protocol.ProtocolStatus": ProtocolStatus,
    "org.apache.nutch.scoring.webgraph.LinkDatum": LinkDatum,
    "org.apache.nutch.scoring.webgraph.Node": Node,
}
"""The classes by the names that files have for them."""
CLASS_NAMES = {record: name for name, record in RECORDS.items()}


class ValueReader:
    """Reads the values of one file; call it with each value."""

    __slots__ = ("_read", "record")

    def __init__(self, class_name: str) -> None:
        """*class_name* is the value class as the file names it; one that is not known is an error."""
        record = RECORDS.get(class_name)
        if record is None:
            raise UnknownClassError(f"records of a class that is not known, {class_name}", class_name)
        self.record = record
        self._read: Callable[[bytes], Writable]
        if issubclass(record, LaidRecord):
            self._read = LayoutReader(record.read_as, record.__name__)
        elif record is CrawlDatum:
            self._read = CrawlDatum.of_value
        else:
            self._read = self._exactly

    @property
    def layout(self) -> Layout | None:
        """The layout the file turned out to have; None where the class needs none, or nothing told it yet."""
        return self._read.layout if isinstance(self._read, LayoutReader) else None

    def __call__(self, value: bytes) -> Writable:
        return self._read(value)

    def _exactly(self, value: bytes) -> Writable:
        data = DataInput(value)
        record = self.record.read(data)
        data.finish(self.record.__name__)
        return record


def _read_old_parse_data(data: DataInput) -> ParseData:
    """Within the maps of 0.8 and 0.9 outlinks have no flag yet."""
    old = data.left > 0 and data.buffer[data.position] < ParseData.CUR_VERSION
    return ParseData.read_as(data, Layout.UTF8 if old else Layout.TEXT)


def _write_old_parse_data(out: DataOutput, value: ParseData) -> None:
    value.write_as(out, Layout.TEXT)


for _record in (Content, Metadata, ParseStatus, ParseText, ProtocolStatus):
    register_record(CLASS_NAMES[_record], _record)
register_old(CLASS_NAMES[ParseData], _read_old_parse_data, _write_old_parse_data)
