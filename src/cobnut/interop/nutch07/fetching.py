"""What was to be fetched, and what became of it?

A `FetchListEntry` (versions 1 and 2) is a page to fetch and the anchors that led to it. A `FetcherOutput` (versions 1
to 5) is that entry with the MD5 of what came, how it went, and when. Before version 5 one byte said how it went;
before version 4 title and outlinks stood here too: Nutch threw them away when it read such a record, here they are
kept in `title` and `outlinks`, and only a record written in such a version holds them again.

Not here: the body (`content`), what it says (`parsing`), the folder of all that (`segment`).
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.nutch07.content import ProtocolStatus
from cobnut.interop.nutch07.page import Page
from cobnut.interop.nutch07.parsing import Outlink, read_outlinks, write_outlinks
from cobnut.interop.nutch07.record import NO_MD5, Record, read_length, write_md5

OLD_STATUSES = {
    0: ProtocolStatus.RETRY,
    1: ProtocolStatus.SUCCESS,
    2: ProtocolStatus.NOTFOUND,
    3: ProtocolStatus.FAILED,
    4: ProtocolStatus.RETRY,
}
"""What the one byte before version 5 meant; 4 was a page that could not be parsed, to be tried again."""
_OLD_BYTES = {
    ProtocolStatus.SUCCESS: 1, ProtocolStatus.NOTFOUND: 2, ProtocolStatus.GONE: 2, ProtocolStatus.FAILED: 3,
}  # fmt: skip


class FetchListEntry(Record):
    """A page to fetch (`fetch`), or only to take over from an earlier segment; with the anchors that led to it."""

    CUR_VERSION: ClassVar[int] = 2
    SHORT_NAME: ClassVar[str] = "FetchListEntry"
    JAVA_NAME: ClassVar[str] = "org.apache.nutch.pagedb.FetchListEntry"
    DIR_NAME: ClassVar[str] = "fetchlist"

    fetch: bool = True
    page: Page = field(default_factory=Page)
    anchors: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.page.url

    def _get_as(self, data: DataInput, version: int) -> None:
        self.fetch = data.read_byte() != 0
        self.page = Page.read(data)
        self.anchors = []
        if version >= 2:
            self.anchors = [data.read_utf8() for _ in range(read_length(data, 2, "anchors"))]

    def _put_as(self, out: DataOutput, version: int) -> None:
        out.write_byte(1 if self.fetch else 0)
        self.page.write(out)
        if version >= 2:
            out.write_int(len(self.anchors))
            for anchor in self.anchors:
                out.write_utf8(anchor)


class FetcherOutput(Record):
    """How a fetch went; `fetch_date` is in milliseconds since 1970, 0 before version 2."""

    CUR_VERSION: ClassVar[int] = 5
    SHORT_NAME: ClassVar[str] = "FetcherOutput"
    JAVA_NAME: ClassVar[str] = "org.apache.nutch.fetcher.FetcherOutput"
    DIR_NAME: ClassVar[str] = "fetcher"
    DIR_NAME_NP: ClassVar[str] = "fetcher_output"
    """The part's name after a fetch without parsing, until the segment is parsed."""

    fetch_list_entry: FetchListEntry = field(default_factory=FetchListEntry)
    md5: bytes = NO_MD5
    protocol_status: ProtocolStatus = field(default_factory=ProtocolStatus)
    fetch_date: int = 0
    title: str = ""
    outlinks: list[Outlink] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.fetch_list_entry.page.url

    @property
    def anchors(self) -> list[str]:
        return self.fetch_list_entry.anchors

    def _get_as(self, data: DataInput, version: int) -> None:
        self.fetch_list_entry = FetchListEntry.read(data)
        self.md5 = data.read_bytes(16)
        self.protocol_status = ProtocolStatus.read(data) if version >= 5 else _read_old_status(data)
        self.title, self.outlinks = "", []
        if version < 4:
            self.title = data.read_utf8()
            self.outlinks = read_outlinks(data)
        self.fetch_date = data.read_long() if version >= 2 else 0

    def _put_as(self, out: DataOutput, version: int) -> None:
        self.fetch_list_entry.write(out)
        write_md5(out, self.md5)
        if version >= 5:
            self.protocol_status.write(out)
        else:
            out.write_byte(_OLD_BYTES.get(self.protocol_status.code, 0))
        if version < 4:
            out.write_utf8(self.title)
            write_outlinks(out, self.outlinks)
        if version >= 2:
            out.write_long(self.fetch_date)


def _read_old_status(data: DataInput) -> ProtocolStatus:
    at = data.position
    status = data.read_byte()
    if status not in OLD_STATUSES:
        raise FormatError(f"a fetch status of {status}, which never was", offset=at)
    return ProtocolStatus(OLD_STATUSES[status])
