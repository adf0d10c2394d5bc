"""What does the whole crawl say of the pages of each segment?

Reads crawldb, ranks and linkdb; writes `linked` into every segment: scores, counts of inlinks, anchors with their
sources.

Not here: indexing them (`stages.index`).
"""

from __future__ import annotations

from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Sql, Stage, column

ANCHOR_ROWS = (
    column("url_key", "string"),
    column("from_key", "string"),
    column("anchor", "string"),
    column("place", "int64"),
)
LINKED_ROWS = (column("segment", "string"), *(c for c in tables.LINKED.columns if c.name != "anchors"))

STAGE = Stage(
    "updatesegs",
    "Writes scores and anchors into the segments.",
    inputs=(
        Input("parsed", tables.PARSED, "segments"),
        Input("crawldb", tables.CRAWLDB, "current"),
        Input("ranks", tables.RANKS, "current"),
        Input("linkdb", tables.LINKDB, "current"),
    ),
    steps=(
        Sql("updatesegs", ("parsed", "crawldb", "ranks", "linkdb"), "linked_rows", LINKED_ROWS),
        Sql("updatesegs_anchors", ("parsed", "linkdb", "params"), "anchor_rows", ANCHOR_ROWS),
    ),
    params=(column("max_anchors", "int64"),),
    writes=("linked",),
)
