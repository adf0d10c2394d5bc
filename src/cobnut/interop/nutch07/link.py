"""What does Nutch 0.7's web database know of a link?

A link leads from a content, named by its MD5, to a URL. `domain_id` tells from which host, and `target_has_outlink`
whether the page there has links of its own: both serve the link analysis. Versions 1 to 5. Two orders: by URL, then
MD5 (the one of the class), and by MD5, then URL.

Not here: the tables (`webdb`); which links are kept.
"""

from __future__ import annotations

from typing import ClassVar, Self

from cobnut.interop.hadoop.data import DataInput, DataOutput, encode_modified
from cobnut.interop.hadoop.errors import CutError
from cobnut.interop.nutch07.record import NO_MD5, Record, domain_id, write_md5

MAX_ANCHOR_CHARS = 100
"""Nutch cuts longer anchors when it takes a link into the database."""


class Link(Record):
    """A link of the web database."""

    CUR_VERSION: ClassVar[int] = 5
    SHORT_NAME: ClassVar[str] = "Link"
    JAVA_NAME: ClassVar[str] = "org.apache.nutch.db.Link"

    from_id: bytes = NO_MD5
    url: str = ""
    domain_id: int = 0
    anchor: str = ""
    target_has_outlink: bool = False

    @classmethod
    def between(
        cls, from_id: bytes, from_host: str, url: str, anchor: str = "", target_has_outlink: bool = False
    ) -> Self:
        """The link from the content *from_id* of a page on *from_host* to *url*; a long anchor is cut."""
        return cls(from_id, url, domain_id(from_host), anchor[:MAX_ANCHOR_CHARS], target_has_outlink)

    def url_key(self) -> tuple[bytes, bytes]:
        """The order of linksByURL: by the bytes of the URL, then by MD5."""
        return encode_modified(self.url), self.from_id

    def md5_key(self) -> tuple[bytes, bytes]:
        """The order of linksByMD5: by MD5, then by the bytes of the URL."""
        return self.from_id, encode_modified(self.url)

    sort_key = url_key

    def __lt__(self, other: Link) -> bool:
        return self.url_key() < other.url_key()

    def __le__(self, other: Link) -> bool:
        return self.url_key() <= other.url_key()

    def __gt__(self, other: Link) -> bool:
        return self.url_key() > other.url_key()

    def __ge__(self, other: Link) -> bool:
        return self.url_key() >= other.url_key()

    def __hash__(self) -> int:
        return hash((self.from_id, self.url))

    def _get_as(self, data: DataInput, version: int) -> None:
        self.from_id = data.read_bytes(16)
        self.url = data.read_utf8()
        self.domain_id = data.read_long() if version >= 5 else 0
        self.anchor = data.read_utf8()
        self.target_has_outlink = data.read_boolean() if version >= 4 else False

    def _put_as(self, out: DataOutput, version: int) -> None:
        write_md5(out, self.from_id)
        out.write_utf8(self.url)
        if version >= 5:
            out.write_long(self.domain_id)
        out.write_utf8(self.anchor)
        if version >= 4:
            out.write_boolean(self.target_has_outlink)


def link_url_order(key: bytes) -> tuple[bytes, bytes]:
    """Where a link, as bytes, stands in linksByURL."""
    md5, url = link_md5_order(key)
    return url, md5


def link_md5_order(key: bytes) -> tuple[bytes, bytes]:
    """Where a link, as bytes, stands in linksByMD5: all versions begin with MD5 and URL."""
    end = 19 + int.from_bytes(key[17:19], "big")
    if len(key) < max(end, 19):
        raise CutError("a link that ends within its MD5 or URL", offset=len(key))
    return key[1:17], key[19:end]
