"""What is known of a URL?

`CrawlDatum` is the one record of crawldb, fetchlist and fetch: a status, when the page is due or was fetched, how often
it failed, its interval, score, signature and metadata.

Versions: 7 has Hadoop's map of metadata, 4 to 6 Nutch's own, 1 to 3 none; below 6 the interval is a float of days and
becomes seconds; below 5 the statuses have other numbers and are translated; 1 and 2 end behind the score. What is read
is always what version 7 says; `write` writes version 7.
"""

from __future__ import annotations

import struct
from typing import ClassVar, Self

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.hadoop.mapwritable import MapWritable
from cobnut.interop.nutch1.record import MAX_VALUE_BYTES, Record, check_version, read_flag

STATUS_NAMES = {
    0x01: "db_unfetched", 0x02: "db_fetched", 0x03: "db_gone", 0x04: "db_redir_temp", 0x05: "db_redir_perm",
    0x06: "db_notmodified", 0x07: "db_duplicate", 0x08: "db_orphan", 0x09: "db_parse_failed",
    0x21: "fetch_success", 0x22: "fetch_retry", 0x23: "fetch_redir_temp", 0x24: "fetch_redir_perm",
    0x25: "fetch_gone", 0x26: "fetch_notmodified",
    0x41: "signature", 0x42: "injected", 0x43: "linked", 0x44: "parse_metadata", 0x45: "parse_failed",
}  # fmt: skip
STATUS_CODES = {name: code for code, name in STATUS_NAMES.items()}
DB_MAX, FETCH_MAX = 0x1F, 0x3F
_OLD_STATUSES = {0: 0x41, 1: 0x01, 2: 0x02, 3: 0x03, 4: 0x43, 5: 0x21, 6: 0x22, 7: 0x25}
"""What the codes below version 5 are today; any other is a page that was not fetched."""
_UNFETCHED = 0x01
DAY_S = 86_400
_INT_MAX, _INT_MIN = (1 << 31) - 1, -(1 << 31)
SIGNATURE_MAX_BYTES = 127
"""Its length is a signed byte."""

_WHOLE = struct.Struct(">bbqbifqB")
"""Since version 6: version, status, fetch time, retries, interval, score, modified time, length of the signature."""
_BEGIN = struct.Struct(">bqb")
_NEWEST = 7


class CrawlDatum(Record):
    """What is known of a URL; times are ms since 1970, `fetch_interval` is seconds.

    In a crawldb `fetch_time` is when the page is due next, in a segment's crawl_fetch when it was fetched.
    """

    JAVA_NAME: ClassVar[str] = "org.apache.nutch.crawl.CrawlDatum"
    CUR_VERSION: ClassVar[int] = _NEWEST
    GENERATE_DIR_NAME: ClassVar[str] = "crawl_generate"
    FETCH_DIR_NAME: ClassVar[str] = "crawl_fetch"
    PARSE_DIR_NAME: ClassVar[str] = "crawl_parse"

    status: int = 0
    fetch_time: int = 0
    modified_time: int = 0
    retries: int = 0
    fetch_interval: int = 0
    score: float = 0.0
    signature: bytes | None = None
    metadata: MapWritable | None = None

    @property
    def status_name(self) -> str:
        return STATUS_NAMES.get(self.status, "unknown")

    @property
    def has_db_status(self) -> bool:
        """Is it a row of a crawldb?"""
        return self.status <= DB_MAX

    @property
    def has_fetch_status(self) -> bool:
        """Does it say how a fetch ended?"""
        return DB_MAX < self.status <= FETCH_MAX

    @classmethod
    def decode(cls, value: bytes) -> Self:
        # The newest version is nearly all there is: read at one go.
        if len(value) > _WHOLE.size and value[0] == _NEWEST:
            _, status, fetched, retries, interval, score, modified, size = _WHOLE.unpack_from(value)
            at = _WHOLE.size + size
            signature = value[_WHOLE.size : at] if size else None
            left = len(value) - at
            if left == 1 and not value[at]:
                return cls(status, fetched, modified, retries, interval, score, signature)
            if 1 < left < MAX_VALUE_BYTES and value[at] == 1:
                data = DataInput(value, at + 1)
                metadata = MapWritable.read(data)
                data.finish("CrawlDatum")
                return cls(status, fetched, modified, retries, interval, score, signature, metadata)
        return super().decode(value)

    def _get(self, data: DataInput) -> None:
        at = data.position
        version = data.read_byte()
        check_version(version, _NEWEST, "CrawlDatum", at)
        self.status, self.fetch_time, self.retries = _BEGIN.unpack_from(data.buffer, data.take(_BEGIN.size))
        if version < 5:
            self.status = _OLD_STATUSES.get(self.status, _UNFETCHED)
        self.fetch_interval = data.read_int() if version > 5 else seconds_of_days(data.read_float())
        self.score = data.read_float()
        self.modified_time, self.signature, self.metadata = 0, None, None
        if version > 2:
            self.modified_time = data.read_long()
            self.signature = data.read_bytes(data.read_unsigned_byte()) or None
        if version > 3 and read_flag(data):
            self.metadata = MapWritable.read(data) if version == _NEWEST else MapWritable.read_nutch(data)

    def _put(self, out: DataOutput) -> None:
        signature, metadata = self.signature or b"", self.metadata
        if len(signature) > SIGNATURE_MAX_BYTES:
            raise FormatError(f"a signature of {len(signature)} bytes, and {SIGNATURE_MAX_BYTES} is the most")
        out.buffer += _WHOLE.pack(
            _NEWEST, self.status, self.fetch_time, self.retries, self.fetch_interval, self.score,
            self.modified_time, len(signature),
        )  # fmt: skip
        out.buffer += signature
        if metadata:
            out.buffer.append(1)
            metadata.write(out)
        else:
            out.buffer.append(0)

    def __eq__(self, other: object) -> bool:
        """No metadata and empty metadata are the same."""
        if not isinstance(other, CrawlDatum):
            return NotImplemented
        return self._parts() == other._parts() and (self.metadata or None) == (other.metadata or None)

    __hash__ = None  # type: ignore[assignment] # equal by value, and mutable

    def _parts(self) -> tuple[object, ...]:
        return (
            self.status, self.fetch_time, self.modified_time, self.retries, self.fetch_interval, self.score,
            self.signature or None,
        )  # fmt: skip

    def __lt__(self, other: CrawlDatum) -> bool:
        return self.order < other.order

    @property
    def order(self) -> tuple[float, ...]:
        """Java's `compareTo` as a sort key: the higher score first, the lower status, then what is later or longer.

        Signature and metadata do not take part.
        """
        return (
            -self.score, self.status, -self.fetch_time, -self.retries, -self.fetch_interval, -self.modified_time,
        )  # fmt: skip


def seconds_of_days(days: float) -> int:
    """An interval of days as whole seconds, within 32 bits; what is no number becomes 0."""
    seconds = days * DAY_S
    if seconds != seconds:
        return 0
    return round(max(_INT_MIN, min(_INT_MAX, seconds)))
