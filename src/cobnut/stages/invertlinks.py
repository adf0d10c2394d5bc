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
        Sql("links_touched", ("linkdb", "fresh", "sources", "params"), "touched", TOUCHED),
        Sql("links_known", ("linkdb", "touched"), "known_inlinks", LINKDB),
        Lazy("invertlinks", ("known_inlinks", "sources", "fresh", "params"), "inlinks", LINKDB),
        Lazy("inlink_cap", ("inlinks", "params"), "changed_linkdb", LINKDB),
    ),
    outputs=(Output("changed_linkdb", tables.LINKDB, replaces="known_inlinks", removes=True),),
    # everything: what the present linkdb leaves out is by other settings than these
    params=(column("max_inlinks", "int64"), column("ignore_internal", "bool"), column("everything", "bool")),
)
