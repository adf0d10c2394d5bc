"""How do the records of Nutch 0.7 lie on disk?

One module a family: `page`, `link`, `fetching`, `content`, `parsing`; `webdb` and `segment` are the folders they stand
in. Every record reads and writes itself.
"""

from cobnut.interop.hadoop.errors import VersionMismatchError, VersionMismatchException
from cobnut.interop.nutch07.content import PROTOCOL_CODES, Content, ProtocolStatus
from cobnut.interop.nutch07.fetching import FetcherOutput, FetchListEntry
from cobnut.interop.nutch07.link import MAX_ANCHOR_CHARS, Link
from cobnut.interop.nutch07.page import MAX_INTERVAL_DAYS, NEVER, Page
from cobnut.interop.nutch07.parsing import MAJOR_CODES, MINOR_CODES, Outlink, ParseData, ParseStatus, ParseText
from cobnut.interop.nutch07.record import Record, domain_id, half_digest, md5_of

RECORDS: dict[str, type[Record]] = {
    name: record
    for record in (Page, Link, FetchListEntry, FetcherOutput, Content, ParseData, ParseText)
    for name in (record.SHORT_NAME, record.JAVA_NAME)
}
"""The records by what the header of a file calls them: the short name of 0.7, or the full one."""

__all__ = [
    "MAJOR_CODES", "MAX_ANCHOR_CHARS", "MAX_INTERVAL_DAYS", "MINOR_CODES", "NEVER", "PROTOCOL_CODES", "RECORDS",
    "Content", "FetchListEntry", "FetcherOutput", "Link", "Outlink", "Page", "ParseData", "ParseStatus", "ParseText",
    "ProtocolStatus", "Record", "VersionMismatchError", "VersionMismatchException", "domain_id", "half_digest",
    "md5_of",
]  # fmt: skip
