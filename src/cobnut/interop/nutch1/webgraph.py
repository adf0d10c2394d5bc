"""What do the link graph's tables hold?

`LinkDatum` is one link seen from one of its ends, `Node` a page with its number of links and its score.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from cobnut.interop.hadoop.data import DataInput, DataOutput, float32
from cobnut.interop.nutch1.metadata import Metadata, read_metadata, write_metadata
from cobnut.interop.nutch1.record import Record


class LinkDatum(Record):
    """One link: the page at its other end, the anchor, a score, when it was seen (ms since 1970), which end this is."""

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.scoring.webgraph.LinkDatum"
    INLINK: ClassVar[int] = 1
    OUTLINK: ClassVar[int] = 2

    url: str = ""
    anchor: str = ""
    score: float = 0.0
    timestamp: int = 0
    link_type: int = 0

    def _get(self, data: DataInput) -> None:
        self.url, self.anchor = data.read_text(), data.read_text()
        self.score, self.timestamp, self.link_type = data.read_float(), data.read_long(), data.read_byte()

    def _put(self, out: DataOutput) -> None:
        out.write_text(self.url)
        out.write_text(self.anchor)
        out.write_float(self.score)
        out.write_long(self.timestamp)
        out.write_signed_byte(self.link_type)


class Node(Record):
    """A page of the link graph."""

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.scoring.webgraph.Node"

    num_inlinks: int = 0
    num_outlinks: int = 0
    inlink_score: float = 1.0
    metadata: Metadata = msgspec.field(default_factory=Metadata)

    @property
    def outlink_score(self) -> float:
        """What each of the page's links passes on."""
        return float32(self.inlink_score / self.num_outlinks) if self.num_outlinks > 0 else self.inlink_score

    def _get(self, data: DataInput) -> None:
        self.num_inlinks, self.num_outlinks = data.read_int(), data.read_int()
        self.inlink_score = data.read_float()
        self.metadata = read_metadata(data)

    def _put(self, out: DataOutput) -> None:
        out.write_int(self.num_inlinks)
        out.write_int(self.num_outlinks)
        out.write_float(self.inlink_score)
        write_metadata(out, self.metadata)
