"""How did a fetch and a parse end?

`ProtocolStatus` has a code and when the page was modified, `ParseStatus` a major and a minor code; both have arguments
(an address, a message). Arguments lay compressed in version 1 and plain in version 2; None is an array that is null.
"""

from __future__ import annotations

import struct
from typing import ClassVar

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.nutch1.record import Record, check_version

PROTOCOL_NAMES = {
    1: "success", 2: "failed", 10: "proto_not_found", 11: "gone", 12: "moved",
    13: "temp_moved", 14: "notfound", 15: "retry", 16: "exception", 17: "access_denied", 18: "robots_denied",
    19: "redir_exceeded", 20: "notfetching", 21: "notmodified", 22: "wouldblock", 23: "blocked",
}  # fmt: skip
PARSE_NAMES = {0: "notparsed", 1: "success", 2: "failed"}
PARSE_MINOR_NAMES = {
    0: "ok", 100: "success_redirect", 200: "failed_exception", 202: "failed_truncated", 203: "failed_invalid_format",
    204: "failed_missing_parts", 205: "failed_missing_content",
}  # fmt: skip
PROTOCOL_SUCCESS = 1
PARSE_NOTPARSED, PARSE_SUCCESS, PARSE_FAILED = 0, 1, 2
PARSE_SUCCESS_REDIRECT = 100
MAX_ARGUMENT_CHARS = 1 << 24
"""All compressed arguments together: each by itself may be small, and grow a thousandfold."""
_PLAIN = struct.Struct(">bbqi")
Arguments = list[str | None]


class ProtocolStatus(Record):
    """How a fetch ended: `code` (names in `PROTOCOL_NAMES`), `last_modified` in ms since 1970, `args`."""

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.protocol.ProtocolStatus"
    CUR_VERSION: ClassVar[int] = 2

    code: int = 0
    last_modified: int = 0
    args: Arguments | None = None

    @property
    def name(self) -> str:
        return PROTOCOL_NAMES.get(self.code, f"unknown_{self.code}")

    @property
    def is_success(self) -> bool:
        return self.code == PROTOCOL_SUCCESS

    def _get(self, data: DataInput) -> None:
        version = _read_version(data, self.CUR_VERSION, "ProtocolStatus")
        self.code, self.last_modified = data.read_byte(), data.read_long()
        self.args = _read_arguments(data, version)

    def _put(self, out: DataOutput) -> None:
        out.write_byte(self.CUR_VERSION)
        out.write_signed_byte(self.code)
        out.write_long(self.last_modified)
        out.write_string_array(self.args)


def read_protocol_status(data: DataInput) -> ProtocolStatus:
    """The status next in *data*; nearly all are of version 2 and have no arguments, and are read at one go."""
    if data.left >= _PLAIN.size:
        version, code, last_modified, count = _PLAIN.unpack_from(data.buffer, data.position)
        if version == ProtocolStatus.CUR_VERSION and count == -1:
            data.position += _PLAIN.size
            return ProtocolStatus(code, last_modified)
    return ProtocolStatus.read(data)


class ParseStatus(Record):
    """How a parse ended: `major` (names in `PARSE_NAMES`), `minor` (in `PARSE_MINOR_NAMES`), `args`."""

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.parse.ParseStatus"
    CUR_VERSION: ClassVar[int] = 2

    major: int = 0
    minor: int = 0
    args: Arguments | None = None

    @property
    def name(self) -> str:
        return PARSE_NAMES.get(self.major, f"unknown_{self.major}")

    @property
    def is_success(self) -> bool:
        return self.major == PARSE_SUCCESS

    @property
    def redirect(self) -> tuple[str, str] | None:
        """Where a page refreshes itself to, and after how many seconds, as both stand there; None where it does not."""
        if not self.is_success or self.minor != PARSE_SUCCESS_REDIRECT or not self.args or self.args[0] is None:
            return None
        return self.args[0], (self.args[1] if len(self.args) > 1 else None) or "0"

    def _get(self, data: DataInput) -> None:
        version = _read_version(data, self.CUR_VERSION, "ParseStatus")
        self.major, self.minor = data.read_byte(), data.read_short()
        self.args = _read_arguments(data, version)

    def _put(self, out: DataOutput) -> None:
        out.write_byte(self.CUR_VERSION)
        out.write_signed_byte(self.major)
        out.write_short(self.minor)
        out.write_string_array(self.args)


def _read_version(data: DataInput, newest: int, record: str) -> int:
    at = data.position
    version = data.read_byte()
    check_version(version, newest, record, at)
    return version


def _read_arguments(data: DataInput, version: int) -> Arguments | None:
    if version != 1:
        return data.read_string_array()
    at = data.position
    count = data.read_count(4)
    if count < 0:
        return None
    arguments: Arguments = []
    chars_left = MAX_ARGUMENT_CHARS
    for _ in range(count):
        argument = data.read_compressed_string()
        chars_left -= len(argument or "")
        if chars_left < 0:
            raise FormatError(f"compressed arguments of more than {MAX_ARGUMENT_CHARS} characters", offset=at)
        arguments.append(argument)
    return arguments
