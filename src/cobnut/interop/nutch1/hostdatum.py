"""What is known of a host?

`HostDatum` counts a host's pages by status, and its failures; `metadata` holds statistics of its pages' values.
"""

from __future__ import annotations

import struct
from typing import ClassVar

import msgspec

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.mapwritable import MapWritable
from cobnut.interop.nutch1.record import Record

_COUNTS = struct.Struct(">8q")


class HostDatum(Record):
    """A host's row; `last_check` in ms since 1970, 0 where it was never looked up."""

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.hostdb.HostDatum"

    score: float = 0.0
    last_check: int = 0
    homepage_url: str = ""
    dns_failures: int = 0
    connection_failures: int = 0
    unfetched: int = 0
    fetched: int = 0
    not_modified: int = 0
    redir_temp: int = 0
    redir_perm: int = 0
    gone: int = 0
    metadata: MapWritable = msgspec.field(default_factory=MapWritable)

    @property
    def known(self) -> int:
        """How many of the host's pages the crawldb knows."""
        return self.unfetched + self.fetched + self.not_modified + self.redir_temp + self.redir_perm + self.gone

    def _get(self, data: DataInput) -> None:
        self.score, self.last_check, self.homepage_url = data.read_float(), data.read_long(), data.read_text()
        (
            self.dns_failures, self.connection_failures, self.unfetched, self.fetched, self.not_modified,
            self.redir_temp, self.redir_perm, self.gone,
        ) = _COUNTS.unpack_from(data.buffer, data.take(_COUNTS.size))  # fmt: skip
        self.metadata = MapWritable.read(data)

    def _put(self, out: DataOutput) -> None:
        out.write_float(self.score)
        out.write_long(self.last_check)
        out.write_text(self.homepage_url)
        out.write(_COUNTS.pack(
            self.dns_failures, self.connection_failures, self.unfetched, self.fetched, self.not_modified,
            self.redir_temp, self.redir_perm, self.gone,
        ))  # fmt: skip
        self.metadata.write(out)
