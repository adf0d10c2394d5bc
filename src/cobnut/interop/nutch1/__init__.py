"""How do the records of Nutch 0.8 to 1.23 read and write themselves?

One module a family of records; `reading.ValueReader` reads the values of one file, whichever class they have.
"""

from cobnut.interop.hadoop.errors import VersionMismatchError, VersionMismatchException
from cobnut.interop.hadoop.mapwritable import MapWritable, TypedValue
from cobnut.interop.nutch1.content import Content
from cobnut.interop.nutch1.crawldatum import CrawlDatum
from cobnut.interop.nutch1.hostdatum import HostDatum
from cobnut.interop.nutch1.layout import Layout
from cobnut.interop.nutch1.links import Inlink, Inlinks, Outlink
from cobnut.interop.nutch1.metadata import Metadata
from cobnut.interop.nutch1.parse import ParseData, ParseText
from cobnut.interop.nutch1.reading import RECORDS, ValueReader
from cobnut.interop.nutch1.record import Record
from cobnut.interop.nutch1.statuses import ParseStatus, ProtocolStatus
from cobnut.interop.nutch1.webgraph import LinkDatum, Node

__all__ = [
    "RECORDS", "Content", "CrawlDatum", "HostDatum", "Inlink", "Inlinks", "Layout", "LinkDatum", "MapWritable",
    "Metadata", "Node", "Outlink", "ParseData", "ParseStatus", "ParseText", "ProtocolStatus",
    "Record", "TypedValue", "ValueReader", "VersionMismatchError", "VersionMismatchException",
]  # fmt: skip
