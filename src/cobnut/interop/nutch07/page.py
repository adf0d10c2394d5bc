"""What does Nutch 0.7's web database know of a page?

A page is known by its URL and by the MD5 of its content. One that was never fetched has the MD5 of its URL instead;
one that is never to be fetched again is due at the end of time (`NEVER`). Versions 1 to 4; the order is by MD5, then
URL. The interval is counted in days and lies in one byte.

Not here: the tables the pages stand in (`webdb`).
"""

from __future__ import annotations

from typing import ClassVar, Self

from cobnut.interop.hadoop.data import DataInput, DataOutput, encode_modified, float32
from cobnut.interop.hadoop.errors import CutError
from cobnut.interop.nutch07.record import NO_MD5, Record, md5_of, write_md5

NEVER = (1 << 63) - 1
"""`next_fetch` of a page that is not fetched again: Java's largest long."""
MAX_INTERVAL_DAYS = 127
"""What a signed byte holds."""


class Page(Record):
    """A page of the web database; times are in milliseconds since 1970."""

    CUR_VERSION: ClassVar[int] = 4
    SHORT_NAME: ClassVar[str] = "Page"
    JAVA_NAME: ClassVar[str] = "org.apache.nutch.db.Page"

    url: str = ""
    md5: bytes = NO_MD5
    next_fetch: int = 0
    retries: int = 0
    fetch_interval_days: int = 30
    num_outlinks: int = 0
    score: float = 1.0
    next_score: float = 1.0

    @classmethod
    def for_url(
        cls,
        url: str,
        *,
        next_fetch: int = 0,
        fetch_interval_days: int = 30,
        score: float = 1.0,
        next_score: float = 1.0,
    ) -> Self:
        """A page that was never fetched: its MD5 is the one of its URL. An interval too long for a byte is cut."""
        days = min(max(fetch_interval_days, 1), MAX_INTERVAL_DAYS)
        return cls(url, md5_of(url), next_fetch, 0, days, 0, score, next_score)

    @property
    def is_never_due(self) -> bool:
        """It is not to be fetched again."""
        return self.next_fetch == NEVER

    @property
    def was_fetched(self) -> bool:
        """Its MD5 is the one of a content: it is not the one of its URL."""
        return self.md5 != md5_of(self.url)

    def sort_key(self) -> tuple[bytes, bytes]:
        """By MD5, then by the bytes of the URL."""
        return self.md5, encode_modified(self.url)

    def __lt__(self, other: Page) -> bool:
        return self.sort_key() < other.sort_key()

    def __le__(self, other: Page) -> bool:
        return self.sort_key() <= other.sort_key()

    def __gt__(self, other: Page) -> bool:
        return self.sort_key() > other.sort_key()

    def __ge__(self, other: Page) -> bool:
        return self.sort_key() >= other.sort_key()

    def __hash__(self) -> int:
        return hash((self.md5, self.url))

    def _get_as(self, data: DataInput, version: int) -> None:
        self.url = data.read_utf8()
        self.md5 = data.read_bytes(16)
        self.next_fetch = data.read_long()
        self.retries = data.read_byte()
        self.fetch_interval_days = data.read_byte()
        self.num_outlinks = data.read_int() if version >= 3 else 0
        self.score = data.read_float() if version >= 2 else 1.0
        self.next_score = data.read_float() if version >= 4 else 1.0

    def _put_as(self, out: DataOutput, version: int) -> None:
        out.write_utf8(self.url)
        write_md5(out, self.md5)
        out.write_long(self.next_fetch)
        out.write_signed_byte(self.retries)
        out.write_signed_byte(self.fetch_interval_days)
        if version >= 3:
            out.write_int(self.num_outlinks)
        if version >= 2:
            out.write_float(float32(self.score))
        if version >= 4:
            out.write_float(float32(self.next_score))


def page_order(key: bytes) -> tuple[bytes, bytes]:
    """Where a page, as bytes, stands in a table of pages: all versions begin with URL and MD5."""
    end = 3 + int.from_bytes(key[1:3], "big")
    md5 = key[end : end + 16]
    if len(md5) < 16:
        raise CutError("a page that ends within its URL or MD5", offset=len(key))
    return md5, key[3:end]
