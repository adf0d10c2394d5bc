"""What does a round change in the crawldb?

Reads one segment's answers and links, and the former tables; writes the next hostdb and robots, and the rows of crawldb
and pages that change. A
segment is applied once: each table's manifest names the segments it holds, and applying one again changes nothing.

Not here: when a page is due again in words (`frontier.transition` is the rule as a function), which links may enter
(`urls.filters`, called by the map step `admit`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Map, Output, Sql, Stage, column

if TYPE_CHECKING:
    import pyarrow as pa

TARGETS = (
    column("url_key", "string"),
    column("url", "string"),
    column("host", "string"),
    column("bucket", "int32"),
    column("depth", "int32"),
    column("discovered_from", "string"),
    column("discovered_via", "string"),
    column("contribution", "int64"),
    column("changed_at", "int64"),
)
KNOWN = (
    *tables.CRAWLDB.columns,
    column("links_depth", "int32"),
    column("links_contribution", "int64"),
    column("listed_at", "int64"),
)
ADMITTED = (*TARGETS, column("rule", "string"))
LINKED = (
    column("url_key", "string"),
    column("depth", "int32"),
    column("contribution", "int64"),
    column("contribution_if_new", "int64"),
    column("changed_at", "int64"),
)

ANSWERS = (
    column("url_key", "string"),
    column("url", "string"),
    column("host", "string"),
    column("bucket", "int32"),
    column("segment", "string"),
    column("outcome", "string"),
    column("reason", "string"),
    column("http_status", "int32"),
    column("fetched_at", "int64"),
    column("redirect_key", "string"),
    column("etag", "string"),
    column("last_modified", "string"),
    column("last_modified_at", "int64"),
    column("warc_file", "string"),
    column("warc_offset", "int64"),
    column("depth", "int32"),
    column("score", "int64"),
    column("hop_from", "string"),
    column("parse_status", "string"),
    column("parse_reason", "string"),
    column("media_type", "string"),
    column("canonical_key", "string"),
    column("fingerprint", "int64"),
    column("noindex", "bool"),
    column("outlink_count", "int32"),
    column("host_failed", "bool"),
    column("signature", "binary"),
)

PACES = (
    column("kind", "string"),  # host or media_type
    column("name", "string"),
    column("interval_s", "int64"),
    column("min_interval_s", "int64"),
    column("max_interval_s", "int64"),
    column("grow", "double"),
    column("shrink", "double"),
)
"""What differs from the parameters for one host, or one media type; NULL where nothing does."""

PARAMS = (
    column("now_ms", "int64"),
    column("interval_s", "int64"),
    column("min_interval_s", "int64"),
    column("max_interval_s", "int64"),
    column("grow", "double"),
    column("shrink", "double"),
    column("gone_grow", "double"),
    column("sync", "bool"),
    column("sync_rate", "double"),
    column("retry_max", "int64"),
    column("retry_delay_s", "int64"),
)


class UpdateContext(msgspec.Struct, frozen=True):
    """What the map step is given: the compiled URL filter, which names the rule that refuses, or None."""

    refuses: Callable[[str], str | None]


def admit(batches: Iterable[pa.RecordBatch], context: UpdateContext) -> Iterator[pa.RecordBatch]:
    """Adds to each new page the name of the rule that keeps it out; known pages stay whatever the rules say now.

    A page deeper than `crawl.depth` enters and is held back by generate: a greater depth, set later, finds it.
    """
    import pyarrow as pa

    from cobnut.urls.keys import key_to_url

    for batch in batches:
        rules = [context.refuses(key_to_url(key)) for key in batch.column("url_key").to_pylist()]
        yield pa.RecordBatch.from_arrays(
            [*batch.columns, pa.array(rules, pa.string())], names=[*batch.schema.names, "rule"]
        )


STAGE = Stage(
    "updatedb",
    "Merges a segment's answers and links into the crawldb.",
    inputs=(
        Input("crawldb", tables.CRAWLDB, "current"),
        Input("pages", tables.PAGES, "current"),
        Input("hostdb", tables.HOSTDB, "current"),
        Input("robots", tables.ROBOTS, "current"),
        Input("fetched", tables.FETCHED, "segments"),
        Input("parsed", tables.PARSED, "segments"),
        Input("links", tables.LINKS, "segments"),
        Input("hosts", tables.HOSTS, "segments"),
        Input("refetched", None, "given", partitioned=False, columns=(column("url_key", "string"),)),
        Input("paces", None, "given", partitioned=False, columns=PACES),
    ),
    steps=(
        Sql("updatedb_linked", ("links", "refetched"), "linked", LINKED),
        Sql("updatedb_known", ("crawldb", "linked", "fetched"), "known", KNOWN),
        Sql("updatedb_known_pages", ("pages", "fetched"), "known_pages", tables.PAGES.columns),
        Sql("updatedb_targets", ("links", "linked", "known"), "found", TARGETS),
        Map("admit", admit, "found", "targets", ADMITTED),
        Sql("updatedb_answers", ("fetched", "parsed", "known_pages", "hostdb"), "answers", ANSWERS),
        Sql(
            "updatedb", ("known", "answers", "targets", "paces", "params"), "changed_crawldb",
            tables.CRAWLDB.columns,
        ),
        Sql(
            "updatedb_pages", ("known_pages", "answers", "targets", "params"), "changed_pages",
            tables.PAGES.columns,
        ),
        Sql("updatedb_hostdb", ("hostdb", "hosts", "params"), "next_hostdb", tables.HOSTDB.columns),
        Sql("updatedb_robots", ("robots", "hosts"), "next_robots", tables.ROBOTS.columns),
    ),
    outputs=(
        Output("changed_pages", tables.PAGES, replaces="known_pages", keeps="pages"),
        Output("next_hostdb", tables.HOSTDB, keeps="hostdb"),
        Output("next_robots", tables.ROBOTS, keeps="robots"),
        # last: a segment counts as applied once the crawldb says so
        Output("changed_crawldb", tables.CRAWLDB, replaces="known", keeps="crawldb"),
    ),
    params=PARAMS,
    once=("fetched", "parsed"),
)  # fmt: skip
