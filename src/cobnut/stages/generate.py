"""Which URLs does the next round fetch?

Reads crawldb, pages and hostdb; writes a segment with its fetchlist: what is due and not waiting in another segment,
best first, within limits per host, per domain and in all, a host in exactly one part.

*Best* is the higher sort value, then the smaller depth, then the key. The *sort value* of a page is its score, and
`ageing` for every whole day since it was due: what scores low comes later, not never.

A crawl that runs every day at the same hour would find yesterday's pages due some minutes later than it begins, and
come to them a day late. So a run that says when it began (`begun_ms`) also takes what is due within a tenth of its
interval, or with `refresh` whatever the crawldb holds; a page that was tried since the run began is not taken so.

The steps give what may be fetched of each partition; the best of it are gathered (`crawl.fetchlists`), and put into
segments and parts.

Not here: the rule in words (`frontier.turn` is the same as a function), what `--where` means (`crawl.condition`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Map, Sql, Stage, column

if TYPE_CHECKING:
    import pyarrow as pa

_KEY = column("url_key", "string")
_BEFORE = (_KEY, column("url", "string"), column("host", "string"), column("bucket", "int32"))
_VALUES = (column("sort_value", "int64"), column("score", "int64"), column("depth", "int32"))
_LATER = (column("signature", "binary"), column("fetched_before", "bool"))
DUE = (*_BEFORE, *_VALUES, *_LATER, column("held", "string"), column("ready_at", "int64"))
REFUSED = (_KEY, column("rule", "string"))
HELD = (column("held", "string"), column("pages", "int64"), column("ready_at", "int64"))
CANDIDATE = (
    *_BEFORE,
    column("domain", "string"),
    *_VALUES,
    column("etag", "string"),
    column("last_modified", "string"),
    *_LATER,
    column("metadata", "map"),
)
EARLY_PERMILLE = 100
"""Share of its interval by which a page may be fetched before it is due, once a run."""


class GenerateContext(msgspec.Struct, frozen=True):
    """What the map steps are given: the URL filters, of one URL (rule name or None) and of a column of url_keys (true
    where none refuses, false where each is to be asked)."""

    refuses: Callable[[str], str | None]
    passes: Callable[[pa.Array], pa.Array]


def screen(batches: Iterable[pa.RecordBatch], context: GenerateContext) -> Iterator[pa.RecordBatch]:
    """The pages that a filter keeps out now, each with the name of the rule."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from cobnut.urls.keys import key_to_url

    for batch in batches:
        keys = batch.column("url_key")
        refused = []
        for key in keys.filter(pc.invert(context.passes(keys))).to_pylist():
            rule = context.refuses(key_to_url(key))
            if rule is not None:
                refused.append((key, rule))
        columns = [pa.array([row[i] for row in refused], pa.string()) for i in range(2)]
        yield pa.RecordBatch.from_arrays(columns, names=["url_key", "rule"])


def domains(batches: Iterable[pa.RecordBatch], context: GenerateContext) -> Iterator[pa.RecordBatch]:
    """The registrable domain of each host."""
    import pyarrow as pa

    from cobnut.urls.hosts import domain_of

    for batch in batches:
        hosts = batch.column("host")
        found = pa.array([domain_of(host) for host in hosts.to_pylist()], pa.string())
        yield pa.RecordBatch.from_arrays([hosts, found], names=["host", "domain"])


STAGE = Stage(
    "generate",
    "Makes a segment with the fetchlist of the next round.",
    inputs=(
        Input("crawldb", tables.CRAWLDB, "current"),
        Input("pages", tables.PAGES, "current"),
        Input("hostdb", tables.HOSTDB, "current"),
        Input("waiting", tables.FETCHLIST, "files", partitioned=False),
        Input("matching", None, "given", partitioned=False, columns=(_KEY,)),
        Input("statuses", None, "given", partitioned=False, columns=(column("status", "string"),)),
    ),
    prelude=(Sql("generate_in_segments", ("waiting",), "in_segments", (_KEY, column("bucket", "int32"))),),
    split=("in_segments",),
    steps=(
        Sql(
            "generate_due", ("crawldb", "pages", "in_segments", "matching", "statuses", "hostdb", "params"), "due", DUE
        ),
        Sql("generate_held", ("due",), "held", HELD),
        Sql("generate_keys", ("due",), "keys", (_KEY,)),
        Map("screen", screen, "keys", "refused", REFUSED),
        Sql("generate_hosts", ("due", "params"), "hosts", (column("host", "string"),)),
        Map("domains", domains, "hosts", "domains", (column("host", "string"), column("domain", "string"))),
        Sql("generate_candidates", ("due", "refused", "domains", "pages"), "candidates", CANDIDATE),
    ),
    collected=("held",),
    params=(
        column("now_ms", "int64"),
        column("ahead_ms", "int64"),
        column("begun_ms", "int64"),
        column("refresh", "bool"),
        column("early_permille", "int64"),
        column("farthest_ms", "int64"),
        column("some_statuses", "bool"),
        column("some_pages", "bool"),
        column("min_score", "int64"),
        column("max_depth", "int64"),
        column("ageing", "int64"),
        column("by_domain", "bool"),
    ),
    writes=("fetchlist",),
)
