"""Which segments does each table hold, and which come next?

Not here: applying one (`crawl.updatedb`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cobnut.records import catalogue as tables
from cobnut.records.columns import Table
from cobnut.storage.layout import GENERATED, PARSED, CrawlFolder, SegmentFolder
from cobnut.storage.tables import checksum

if TYPE_CHECKING:
    pass


def applied_segments(crawl: CrawlFolder, table: Table = tables.CRAWLDB) -> list[str]:
    """Names of the segments a table holds, in the order in which they were applied."""
    return [entry["segment"] for entry in crawl.table(table).manifest().get("applied", [])]


def pending_segments(crawl: CrawlFolder) -> tuple[list[SegmentFolder], str | None]:
    """Segments the crawldb is to take in next, in name order; and what stands in the way of the others, if anything."""
    applied = set(applied_segments(crawl))
    found: list[SegmentFolder] = []
    for segment in crawl.segments():
        if segment.name in applied:
            continue
        state = segment.state()
        if state != PARSED:
            step = "fetch" if state == GENERATED else "parse"
            return (
                found,
                f"segment {segment.name} is only {state}: run `cobnut {step} {crawl.path}`, or remove it",
            )
        found.append(segment)
    return found, None


def parsed_segments(crawl: CrawlFolder) -> list[SegmentFolder]:
    """Segments whose pages are parsed, oldest first."""
    return [s for s in crawl.segments() if s.state() == PARSED]


def rows_in(path: Path) -> int:
    """Rows of a Parquet file, read off its foot."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def segment_digest(segment: SegmentFolder) -> str:
    """xxh3-128 over the names and contents of the parts that updatedb reads."""
    import xxhash

    digest = xxhash.xxh3_128()
    for table in (tables.FETCHED, tables.PARSED, tables.LINKS, tables.HOSTS):
        for path in segment.part_files(table):
            digest.update(f"{table.name}/{path.name}:{checksum(path)}\n".encode())
    return digest.hexdigest()
