"""What was fetched?

`Content` is the body as it was received, with the address asked for and the one that relative links hang on.

Layouts: since 1.0 the record begins with the version as an int, -1. Before, it begins with the length of a zlib stream
that holds version 0 or 1 (0.8: strings in UTF8) or 2 (0.9: Text).
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from cobnut.interop.hadoop.data import DataInput, DataOutput, inflate
from cobnut.interop.hadoop.errors import VersionMismatchError
from cobnut.interop.nutch1.layout import Layout, read_string
from cobnut.interop.nutch1.metadata import Metadata, read_metadata, write_metadata
from cobnut.interop.nutch1.record import Record, check_version

_NEWEST_COMPRESSED = 2


class Content(Record):
    """One fetched body; `metadata` are the header fields and the crawler's own notes."""

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.protocol.Content"
    DIR_NAME: ClassVar[str] = "content"
    HAS_BODY: ClassVar[bool] = True
    CUR_VERSION: ClassVar[int] = -1
    """Counted downwards, so that it cannot be taken for the length with which older ones begin."""

    url: str = ""
    base: str = ""
    content: bytes = b""
    content_type: str = ""
    metadata: Metadata = msgspec.field(default_factory=Metadata)

    def _get(self, data: DataInput) -> None:
        at = data.position
        marker = data.read_int()
        if marker < self.CUR_VERSION:
            raise VersionMismatchError(self.CUR_VERSION, marker, record="Content", offset=at)
        if marker < 0:
            self._get_fields(data, Layout.TEXT)
            return
        start = data.position
        plain = DataInput(inflate(data.read_bytes(marker), 15, start))
        version = plain.read_byte()
        check_version(version, _NEWEST_COMPRESSED, "compressed Content", start, oldest=0)
        self._get_fields(plain, Layout.TEXT if version == 2 else Layout.UTF8)
        plain.finish("compressed Content")

    def _get_fields(self, data: DataInput, layout: Layout) -> None:
        self.url, self.base = read_string(data, layout), read_string(data, layout)
        self.content = data.read_bytes(data.read_int())
        self.content_type = read_string(data, layout)
        self.metadata = read_metadata(data, layout)

    def _put(self, out: DataOutput) -> None:
        out.write_int(self.CUR_VERSION)
        out.write_text(self.url)
        out.write_text(self.base)
        out.write_int(len(self.content))
        out.write(self.content)
        out.write_text(self.content_type)
        write_metadata(out, self.metadata)
