"""Who links to each page?

Reads the links of segments not yet inverted and the former linkdb; writes the next linkdb, with the anchors. Links of a
page parsed again replace its former ones; each page keeps its best inlinks up to `linkdb.max_inlinks`.
"""

from __future__ import annotations

from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Output, Sql, Stage, column

SOURCES = (column("url_key", "string"), column("segment", "string"))

STAGE = Stage(
    "invertlinks",
    "Turns the links of segments around: for each page, who links to it and with which words.",
    inputs=(
        Input("linkdb", tables.LINKDB, "current"),
        Input("links", tables.LINKS, "segments"),
        Input("parsed", tables.PARSED, "segments", partitioned=False),
    ),
    prelude=(Sql("links_sources", ("parsed",), "sources", SOURCES),),
    steps=(Sql("invertlinks", ("linkdb", "links", "sources", "params"), "next_linkdb", tables.LINKDB.columns),),
    outputs=(Output("next_linkdb", tables.LINKDB),),
    params=(column("max_inlinks", "int64"), column("ignore_internal", "bool")),
)
