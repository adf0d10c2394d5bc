"""Which pages does no page lead to any more?

Reads pages, linkdb and seeds; writes `orphans`: each page that was found through another, that stands (its last full
answer holds), and that no standing page links or redirects to now, with since when. A page that is linked to again is
no orphan any more, and begins anew should it become one. Seeds, and pages that no page ever led to, are never orphans.

Nothing is taken from the crawldb: an orphan is fetched when it is due, as any page. Whether and after what time it
leaves the index is for `stages.merge` to say (`db.orphan_after_s`).

Not here: islands, pages that link to each other and that no way leads to from a seed: they are no orphans.
"""

from __future__ import annotations

from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Output, Sql, Stage, column

KEYS = (column("url_key", "string"),)

STAGE = Stage(
    "orphans",
    "Finds the pages that no page leads to any more.",
    inputs=(
        Input("pages", tables.PAGES, "current"),
        Input("linkdb", tables.LINKDB, "current"),
        Input("orphans", tables.ORPHANS, "current"),
        Input("seeds", tables.SEEDS, "current", partitioned=False),
        Input("every_page", tables.PAGES, "current", partitioned=False),
    ),
    prelude=(
        Sql("orphans_standing", ("every_page",), "standing", KEYS),
        Sql("orphans_redirected", ("every_page",), "redirected", KEYS),
    ),
    steps=(
        Sql(
            "orphans", ("pages", "linkdb", "orphans", "seeds", "standing", "redirected", "params"), "next_orphans",
            tables.ORPHANS.columns,
        ),
    ),
    outputs=(Output("next_orphans", tables.ORPHANS),),
    params=(column("now_ms", "int64"),),
)  # fmt: skip
