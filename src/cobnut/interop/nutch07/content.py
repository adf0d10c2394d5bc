"""What came when a page was fetched?

`Content` (versions 0 and 1) is the body, stored as gzip, with its type and the headers it came with; `ProtocolStatus`
says how the fetch went. The metadata keep the order they have in the file, so that a record written again is the same
byte for byte.

Not here: `FetcherOutput` (`fetching`); Content of later releases (`nutch1`).
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from cobnut.interop.hadoop.data import DataInput, DataOutput, inflate
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.nutch07.record import Record, read_arguments, read_properties, write_properties

_GZIP_MAGIC = b"\x1f\x8b\x08"


class Content(Record):
    """The body of a page; `base` is the URL its relative links start from."""

    CUR_VERSION: ClassVar[int] = 1
    OLDEST_VERSION: ClassVar[int] = 0
    SHORT_NAME: ClassVar[str] = "Content"
    JAVA_NAME: ClassVar[str] = "org.apache.nutch.protocol.Content"
    DIR_NAME: ClassVar[str] = "content"

    url: str = ""
    base: str = ""
    content: bytes = b""
    content_type: str = ""
    metadata: dict[str, str] = field(default_factory=dict)

    def _get_as(self, data: DataInput, version: int) -> None:
        self.url = data.read_utf8()
        self.base = data.read_utf8()
        at = data.position
        length = data.read_int()
        stored = data.read_bytes(length) if length != -1 else b""
        self.content = _body(stored, version, at)
        self.content_type = data.read_utf8()
        self.metadata = read_properties(data)

    def _put_as(self, out: DataOutput, version: int) -> None:
        out.write_utf8(self.url)
        out.write_utf8(self.base)
        out.write_compressed_bytes(self.content)
        out.write_utf8(self.content_type)
        write_properties(out, self.metadata)


def _body(stored: bytes, version: int, at: int) -> bytes:
    """The plain body; version 0 is also met with a body that was never compressed."""
    if not stored:
        return b""
    if version == 0:
        if not stored.startswith(_GZIP_MAGIC):
            return stored
        try:
            return inflate(stored, 31, at)
        except FormatError:
            return stored
    return inflate(stored, 31, at)


class ProtocolStatus(Record):
    """How a fetch went: a code, when the page was last changed (ms, 0 if unknown), and what the code is about."""

    SHORT_NAME: ClassVar[str] = "ProtocolStatus"
    JAVA_NAME: ClassVar[str] = "org.apache.nutch.protocol.ProtocolStatus"

    SUCCESS: ClassVar[int] = 1
    FAILED: ClassVar[int] = 2
    PROTO_NOT_FOUND: ClassVar[int] = 10
    GONE: ClassVar[int] = 11
    MOVED: ClassVar[int] = 12
    TEMP_MOVED: ClassVar[int] = 13
    NOTFOUND: ClassVar[int] = 14
    RETRY: ClassVar[int] = 15
    EXCEPTION: ClassVar[int] = 16
    ACCESS_DENIED: ClassVar[int] = 17
    ROBOTS_DENIED: ClassVar[int] = 18
    REDIR_EXCEEDED: ClassVar[int] = 19
    NOTFETCHING: ClassVar[int] = 20
    NOTMODIFIED: ClassVar[int] = 21
    WOULDBLOCK: ClassVar[int] = 22
    BLOCKED: ClassVar[int] = 23

    code: int = 1
    last_modified: int = 0
    args: list[str | None] | None = None

    @property
    def name(self) -> str:
        """The code's name as Nutch has it, e.g. `notfound`."""
        return PROTOCOL_CODES.get(self.code, f"unknown {self.code}")

    @property
    def is_success(self) -> bool:
        return self.code == self.SUCCESS

    def _get_as(self, data: DataInput, version: int) -> None:
        self.code = data.read_byte()
        self.last_modified = data.read_long()
        self.args = read_arguments(data)

    def _put_as(self, out: DataOutput, version: int) -> None:
        out.write_signed_byte(self.code)
        out.write_long(self.last_modified)
        out.write_compressed_string_array(self.args)


PROTOCOL_CODES = {
    1: "success", 2: "failed", 10: "proto_not_found", 11: "gone", 12: "moved", 13: "temp_moved", 14: "notfound",
    15: "retry", 16: "exception", 17: "access_denied", 18: "robots_denied", 19: "redir_exceeded", 20: "notfetching",
    21: "notmodified", 22: "wouldblock", 23: "blocked",
}  # fmt: skip
"""The names of the codes."""
