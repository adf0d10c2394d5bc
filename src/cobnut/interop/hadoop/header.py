"""What does a SequenceFile say of itself?

Its first bytes: `SEQ`, a version, the classes of keys and values, from version 3 on whether values are compressed, from
4 on whether in blocks, from 5 on with which codec, from 6 on a map of texts, and from 2 on the 16 bytes of the file's
sync marker. Classes have the names of the file: Nutch 0.7 has short ones (`full_class_name`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cobnut.interop.hadoop.codecs import DEFAULT_CODEC
from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import FormatError, VersionMismatchError

Compression = Literal["none", "record", "block"]
MAGIC = b"SEQ"
NEWEST_VERSION = 6
SYNC_BYTES = 16
MAX_HEADER_BYTES = 1 << 20
"""A header that is longer is taken for damage."""
LONG = "org.apache.hadoop.io.LongWritable"
TEXT = "org.apache.hadoop.io.Text"

_SHORT_07 = {
    "null": "org.apache.nutch.io.NullWritable",
    "long": "org.apache.nutch.io.LongWritable",
    "UTF8": "org.apache.nutch.io.UTF8",
    "MD5Hash": "org.apache.nutch.io.MD5Hash",
    "Page": "org.apache.nutch.db.Page",
    "Link": "org.apache.nutch.db.Link",
    "FetchListEntry": "org.apache.nutch.pagedb.FetchListEntry",
    "FetcherOutput": "org.apache.nutch.fetcher.FetcherOutput",
    "Content": "org.apache.nutch.protocol.Content",
    "ParseText": "org.apache.nutch.parse.ParseText",
    "ParseData": "org.apache.nutch.parse.ParseData",
}
_SHORT_08 = {
    "null": "org.apache.hadoop.io.NullWritable",
    "long": LONG,
    "UTF8": "org.apache.hadoop.io.UTF8",
    "MD5Hash": "org.apache.hadoop.io.MD5Hash",
}


def full_class_name(name: str, version: int) -> str:
    """The class that a file of *version* calls *name*: short names of Nutch 0.7 and early Hadoop become whole."""
    return (_SHORT_07 if version <= 2 else _SHORT_08).get(name, name)


def short_class_name(name: str) -> str:
    """What Nutch 0.7 writes into its files for the class *name*."""
    for short, full in _SHORT_07.items():
        if name in (full, short):
            return short
    return name


@dataclass(frozen=True)
class Header:
    """What stands before the first record, which begins at byte `end`; `sync` is empty in version 1."""

    version: int
    key_class: str
    value_class: str
    compression: Compression = "none"
    codec: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    sync: bytes = b""
    end: int = 0


def parse_header(data: bytes) -> Header:
    """The header that *data* begins with."""
    if data[:3] != MAGIC[: len(data)] or not data:
        raise FormatError("it does not begin with SEQ, so it is no SequenceFile", offset=0)
    source = DataInput(data, min(len(MAGIC), len(data)))
    version = source.read_unsigned_byte()
    if version > NEWEST_VERSION:
        raise VersionMismatchError(NEWEST_VERSION, version, record="SequenceFile", offset=3)
    if version < 1:
        raise FormatError(f"a SequenceFile of version {version}, which there never was", offset=3)
    read_name = source.read_text if version >= 4 else source.read_utf8
    key_class, value_class = read_name(), read_name()
    compressed = version >= 3 and source.read_boolean()
    in_blocks = version >= 4 and source.read_boolean()
    compression: Compression = "block" if in_blocks else "record" if compressed else "none"
    codec = (source.read_text() if version >= 5 else DEFAULT_CODEC) if compressed else None
    if in_blocks and not compressed:
        raise FormatError("a header that says compressed in blocks and not compressed", offset=source.position - 1)
    metadata = {}
    if version >= 6:
        for _ in range(source.read_count(2)):
            name = source.read_text()
            metadata[name] = source.read_text()
    sync = source.read_bytes(SYNC_BYTES) if version >= 2 else b""
    return Header(version, key_class, value_class, compression, codec, metadata, sync, source.position)


def header_bytes(header: Header) -> bytes:
    """The bytes of *header*: the mirror of `parse_header`."""
    out = DataOutput()
    out.write(MAGIC)
    out.write_byte(header.version)
    write_name = out.write_text if header.version >= 4 else out.write_utf8
    write_name(header.key_class)
    write_name(header.value_class)
    if header.version >= 3:
        out.write_boolean(header.compression != "none")
    if header.version >= 4:
        out.write_boolean(header.compression == "block")
    if header.version >= 5 and header.codec is not None:
        out.write_text(header.codec)
    if header.version >= 6:
        out.write_int(len(header.metadata))
        for name, value in header.metadata.items():
            out.write_text(name)
            out.write_text(value)
    out.write(header.sync)
    return out.getvalue()
