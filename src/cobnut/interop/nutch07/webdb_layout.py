"""What lies in the folder of a Nutch 0.7 web database, and what do its `stats` say?"""

from __future__ import annotations

import struct
from typing import NamedTuple

from cobnut.interop.hadoop.errors import CutError, FormatError, VersionMismatchError

WEBDB, WEBDB_OLD, WEBDB_NEW = "webdb", "webdb.old", "webdb.new"
PAGES_BY_URL, PAGES_BY_MD5, LINKS_BY_URL, LINKS_BY_MD5 = "pagesByURL", "pagesByMD5", "linksByURL", "linksByMD5"
TABLES = (PAGES_BY_URL, PAGES_BY_MD5, LINKS_BY_URL, LINKS_BY_MD5)
LOCKS = ("dbreadlock", "dbwritelock")
STATS = "stats"
STATS_VERSION = 0
_STATS = struct.Struct(">bqq")
STATS_BYTES = _STATS.size


class Stats(NamedTuple):
    """How many pages and links the database says it holds."""

    pages: int
    links: int

    def to_bytes(self) -> bytes:
        return _STATS.pack(STATS_VERSION, self.pages, self.links)

    @classmethod
    def of_bytes(cls, data: bytes) -> Stats:
        if data and data[0] != STATS_VERSION:
            raise VersionMismatchError(STATS_VERSION, data[0], record="stats file", offset=0)
        if len(data) < _STATS.size:
            raise CutError(f"{_STATS.size} bytes should be there, and {len(data)} are", offset=len(data))
        if len(data) > _STATS.size:
            raise FormatError(f"{len(data) - _STATS.size} bytes are left over after the counts", offset=_STATS.size)
        _, pages, links = _STATS.unpack(data)
        if pages < 0 or links < 0:
            raise FormatError(f"counts that are negative, {pages} pages and {links} links", offset=1)
        return cls(pages, links)
