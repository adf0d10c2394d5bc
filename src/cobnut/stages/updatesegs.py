"""What does the whole crawl say of the pages of each segment?

Reads crawldb, ranks and linkdb; writes `linked` into every segment: scores, counts of inlinks, anchors with their
sources. What is said of a page that redirects is said of the page it leads to.

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
LINKED_ROWS = (
    column("segment", "string"),
    *(c for c in tables.LINKED.columns if c.name not in ("anchors", "shown_url")),
)
REDIRECTED = (
    column("url_key", "string", nullable=False),
    column("final_key", "string", nullable=False),
    column("host", "string", nullable=False),
    column("bucket", "int32", nullable=False),
)
"""Pages that redirect, and where they lead in the end: its key, host and bucket."""

PASSED = (
    column("to_key", "string"),
    column("from_key", "string"),
    column("to_host", "string"),
    column("bucket", "int32"),
    column("from_host", "string"),
    column("anchor", "string"),
    column("from_score", "int64"),
)

STAGE = Stage(
    "updatesegs",
    "Writes scores and anchors into the segments.",
    inputs=(
        Input("parsed", tables.PARSED, "segments"),
        Input("crawldb", tables.CRAWLDB, "current"),
        Input("ranks", tables.RANKS, "current"),
        Input("linkdb", tables.LINKDB, "current"),
        Input("all_links", tables.LINKDB, "current", partitioned=False),
        Input("redirected", None, "given", partitioned=False, columns=REDIRECTED),
    ),
    prelude=(Sql("updatesegs_passed", ("all_links", "redirected"), "passed", PASSED),),
    split=("passed",),
    steps=(
        Sql("updatesegs", ("parsed", "crawldb", "ranks", "linkdb", "passed"), "linked_rows", LINKED_ROWS),
        Sql("updatesegs_anchors", ("parsed", "linkdb", "passed", "params"), "anchor_rows", ANCHOR_ROWS),
    ),
    params=(column("max_anchors", "int64"),),
    writes=("linked",),
)
