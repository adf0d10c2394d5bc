"""What does a fetched page say?

`ParseData` (versions 1 and 2) holds title, outlinks and metadata, and since version 2 how the parse went; `ParseText`
the text, stored as gzip; `ParseStatus` how it went; an `Outlink` is a URL and its anchor, without a version.

Not here: `Link`, what the web database makes of an outlink (`link`).
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.writable import Writable
from cobnut.interop.nutch07.record import Record, read_arguments, read_length, read_properties, write_properties


class Outlink(Writable):
    """A link on a page: where to, and its text."""

    to_url: str = ""
    anchor: str = ""

    def __hash__(self) -> int:
        return hash((self.to_url, self.anchor))

    def _get(self, data: DataInput) -> None:
        self.to_url = data.read_utf8()
        self.anchor = data.read_utf8()

    def _put(self, out: DataOutput) -> None:
        out.write_utf8(self.to_url)
        out.write_utf8(self.anchor)


def read_outlinks(data: DataInput) -> list[Outlink]:
    return [Outlink(data.read_utf8(), data.read_utf8()) for _ in range(read_length(data, 4, "outlinks"))]


def write_outlinks(out: DataOutput, outlinks: list[Outlink]) -> None:
    out.write_int(len(outlinks))
    for outlink in outlinks:
        outlink.write(out)


class ParseStatus(Record):
    """How a parse went: a major code, a minor one that says more, and what that is about.

    With `SUCCESS_REDIRECT` the arguments are the URL to go to and the seconds to wait.
    """

    SHORT_NAME: ClassVar[str] = "ParseStatus"
    JAVA_NAME: ClassVar[str] = "org.apache.nutch.parse.ParseStatus"

    NOTPARSED: ClassVar[int] = 0
    SUCCESS: ClassVar[int] = 1
    FAILED: ClassVar[int] = 2
    SUCCESS_OK: ClassVar[int] = 0
    SUCCESS_REDIRECT: ClassVar[int] = 100
    FAILED_EXCEPTION: ClassVar[int] = 200
    FAILED_TRUNCATED: ClassVar[int] = 202
    FAILED_INVALID_FORMAT: ClassVar[int] = 203
    FAILED_MISSING_PARTS: ClassVar[int] = 204
    FAILED_MISSING_CONTENT: ClassVar[int] = 205

    major: int = 1
    minor: int = 0
    args: list[str | None] | None = None

    @property
    def name(self) -> str:
        """The names of the codes as Nutch has them, e.g. `success/redirect`."""
        major = MAJOR_CODES.get(self.major, f"unknown {self.major}")
        minor = MINOR_CODES.get(self.minor, f"unknown {self.minor}")
        return f"{major}/{minor}"

    @property
    def is_success(self) -> bool:
        return self.major == self.SUCCESS

    def _get_as(self, data: DataInput, version: int) -> None:
        self.major = data.read_byte()
        self.minor = data.read_short()
        self.args = read_arguments(data)

    def _put_as(self, out: DataOutput, version: int) -> None:
        out.write_signed_byte(self.major)
        out.write_short(self.minor)
        out.write_compressed_string_array(self.args)


MAJOR_CODES = {0: "notparsed", 1: "success", 2: "failed"}
MINOR_CODES = {
    0: "ok", 100: "redirect", 200: "exception", 202: "truncated", 203: "invalid_format", 204: "missing_parts",
    205: "missing_content",
}  # fmt: skip


class ParseData(Record):
    """What a parse found out about a page, without its text. Before version 2 every parse counts as a success."""

    CUR_VERSION: ClassVar[int] = 2
    SHORT_NAME: ClassVar[str] = "ParseData"
    JAVA_NAME: ClassVar[str] = "org.apache.nutch.parse.ParseData"
    DIR_NAME: ClassVar[str] = "parse_data"

    status: ParseStatus = field(default_factory=ParseStatus)
    title: str = ""
    outlinks: list[Outlink] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)

    def _get_as(self, data: DataInput, version: int) -> None:
        self.status = ParseStatus.read(data) if version >= 2 else ParseStatus()
        self.title = data.read_utf8()
        self.outlinks = read_outlinks(data)
        self.metadata = read_properties(data)

    def _put_as(self, out: DataOutput, version: int) -> None:
        if version >= 2:
            self.status.write(out)
        out.write_utf8(self.title)
        write_outlinks(out, self.outlinks)
        write_properties(out, self.metadata)


class ParseText(Record):
    """The text of a page; None is Java's null."""

    SHORT_NAME: ClassVar[str] = "ParseText"
    JAVA_NAME: ClassVar[str] = "org.apache.nutch.parse.ParseText"
    DIR_NAME: ClassVar[str] = "parse_text"

    text: str | None = ""

    def _get_as(self, data: DataInput, version: int) -> None:
        self.text = data.read_compressed_string()

    def _put_as(self, out: DataOutput, version: int) -> None:
        out.write_compressed_string(self.text)
