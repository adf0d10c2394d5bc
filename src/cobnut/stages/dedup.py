"""Which stored versions of pages are not shown?

Reads what every segment parsed, with scores; writes `duplicates`. The rule which one stays is one SQL text.
"""

from __future__ import annotations

from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Output, Sql, Stage, column

STAGE = Stage(
    "dedup",
    "Finds the same URL in several segments, and the same content under several URLs.",
    inputs=(
        Input("parsed", tables.PARSED, "segments"),
        Input("crawldb", tables.CRAWLDB, "current"),
        Input("pages", tables.PAGES, "current"),
        Input("ranks", tables.RANKS, "current"),
        Input("forgotten_pages", None, "given", partitioned=False, columns=(column("url_key", "string"),)),
    ),
    steps=(
        Sql("dedup_concerned", ("parsed",), "concerned", (column("url_key", "string"),)),
        Sql(
            "dedup", ("parsed", "concerned", "crawldb", "pages", "ranks", "forgotten_pages"), "next_duplicates",
            tables.DUPLICATES.columns,
        ),
    ),
    outputs=(Output("next_duplicates", tables.DUPLICATES),),
    whole=True,
)  # fmt: skip
