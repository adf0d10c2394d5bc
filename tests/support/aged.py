"""How does time pass for a crawl whose servers are real? Everything that it knows becomes older instead."""

import os
import time

import pyarrow as pa
import pyarrow.compute as pc

from cobnut.records.catalogue import CRAWLDB, HOSTDB, HOSTS, PAGES, ROBOTS
from cobnut.testing.tables import write_table


def pass_time(crawl, seconds):
    """Moves the times in the crawl's tables back, and those of its segments' files."""
    for table in (CRAWLDB, PAGES, HOSTDB, ROBOTS):
        rows = crawl.table(table).read()
        for place, field in enumerate(rows.schema):
            if field.name.endswith("_at"):
                moved = pc.subtract(rows.column(place), pa.scalar(int(seconds * 1000), pa.int64()))
                rows = rows.set_column(place, field, moved)
        write_table(crawl, table, rows)
    for segment in crawl.segments():
        os.utime(segment.folder(HOSTS), (time.time() - seconds,) * 2)
