"""What becomes of the linkdb when links of another crawl come in?

Reads *adopted* links, each with the page it stands on, or with the digest of that page's content (as Nutch 0.7 has
them: it then stands on every page with that content), and the crawldb, which knows scores and digests. Merges them into
the linkdb, where they stay until their page is parsed here: the links of a page that was parsed here already are left
out. Rows that were adopted carry `IMPORTED` in place of a segment.

Not here: links of segments that came along (`stages.invertlinks` takes them in like any others).
"""

from __future__ import annotations

from cobnut.records import catalogue as tables
from cobnut.records.columns import Column, Table
from cobnut.records.steps import Input, Lazy, Output, Sql, Stage, column

IMPORTED = "imported"
"""What stands for the segment of a link that no segment here has brought. It is no segment's name."""

ADOPTED_LINKS = Table(
    "adopted_links", "segment", ("to_key", "from_key"), "to_bucket", (),
    "A link as another crawl knows it. Never kept in a crawl.",
    (
        Column("to_key", "string", "The page linked to.", nullable=False),
        Column("to_host", "string", "Its host.", nullable=False),
        Column("to_bucket", "int32", "Host bucket of `to_host`.", nullable=False),
        Column("from_key", "string", "The page that links; NULL where only the digest of its content is known."),
        Column("from_host", "string", "Its host; NULL like `from_key`."),
        Column("from_signature", "binary", "Digest of the content the link stands in; NULL where the page is known."),
        Column("anchor", "string", "The words of the link; NULL when it has none."),
        Column("nofollow", "bool", "The link said nofollow.", nullable=False),
        Column("kind", "string", "As in the linkdb.", nullable=False),
    ),
)  # fmt: skip

LINKS = (
    column("to_key", "string", nullable=False),
    column("from_key", "string", nullable=False),
    column("to_host", "string", nullable=False),
    column("bucket", "int32", nullable=False),
    column("from_host", "string", nullable=False),
    column("anchor", "string"),
    column("nofollow", "bool", nullable=False),
    column("kind", "string", nullable=False),
    column("from_score", "int64", nullable=False),
)

STAGE = Stage(
    "adoptlinks",
    "Merges the links that another crawl knows into the linkdb.",
    inputs=(
        Input("adopted_links", ADOPTED_LINKS, "files", partitioned=False),
        Input("crawldb", tables.CRAWLDB, "current", partitioned=False),
        Input("known_links", tables.LINKDB, "current", partitioned=False),
        Input("linkdb", tables.LINKDB, "current"),
    ),
    prelude=(Sql("adopt_links", ("adopted_links", "crawldb", "known_links", "params"), "adopted_inlinks", LINKS),),
    split=("adopted_inlinks",),
    steps=(
        Sql("adopt_touched", ("linkdb", "adopted_inlinks", "params"), "touched", (column("to_key", "string"),)),
        Sql("adopt_known", ("linkdb", "touched"), "known_inlinks", tables.LINKDB.columns),
        Lazy("adopt_linkdb", ("known_inlinks", "adopted_inlinks", "params"), "inlinks", tables.LINKDB.columns),
        Lazy("inlink_cap", ("inlinks", "params"), "changed_linkdb", tables.LINKDB.columns),
    ),
    outputs=(Output("changed_linkdb", tables.LINKDB, replaces="known_inlinks", removes=True),),
    # everything: more or fewer inlinks were kept of a page until now
    params=(column("max_inlinks", "int64"), column("imported", "string"), column("everything", "bool")),
)
