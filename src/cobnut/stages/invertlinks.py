"""Who links to each page?

Reads the links of segments not yet inverted and the linkdb; writes the inlinks, with their words, of every page that is
*touched*: that pages of these segments link to, or linked to before. All other rows stay. Links of a page parsed again
replace its former ones; each page keeps its best inlinks up to `linkdb.max_inlinks`.

A page of which no inlink is left is gone from the linkdb. An inlink over the limit is forgotten: it does not come back
when a better one vanishes, until its page is parsed again.
"""

from __future__ import annotations

from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Lazy, Output, Sql, Stage, column

SOURCES = (column("url_key", "string"), column("segment", "string"))
TOUCHED = (column("to_key", "string"),)
LINKDB = tables.LINKDB.columns
KNOWN = (*LINKDB, column("is_former", "bool", nullable=False))

STAGE = Stage(
    "invertlinks",
    "Turns the links of segments around: for each page, who links to it and with which words.",
    inputs=(
        Input("linkdb", tables.LINKDB, "current"),
        Input("links", tables.LINKS, "segments"),
        Input("parsed", tables.PARSED, "segments", partitioned=False),
    ),
    prelude=(
        Sql("links_sources", ("parsed",), "sources", SOURCES),
        Sql("links_outdated", ("parsed", "sources"), "outdated", SOURCES),
    ),
    steps=(
        Sql("links_fresh", ("links", "outdated"), "fresh", LINKDB),
        Sql("links_touched", ("fresh", "linkdb", "sources", "params"), "touched", TOUCHED),
        Sql("invertlinks_known", ("linkdb", "touched", "sources"), "known_inlinks", KNOWN),
        Lazy("invertlinks", ("known_inlinks", "fresh", "params"), "inlinks", LINKDB),
        Lazy("inlink_cap", ("inlinks", "params"), "changed_linkdb", LINKDB),
    ),
    outputs=(Output("changed_linkdb", tables.LINKDB, replaces="known_inlinks", removes=True),),
    params=(
        column("max_inlinks", "int64"),
        column("ignore_internal", "bool"),
        column("has_links", "bool"),  # there is a linkdb
        column("everything", "bool"),  # what it leaves out is by other settings than these
    ),
)
