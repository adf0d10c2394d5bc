"""Which URLs does the next round fetch?

Reads crawldb, pages and hostdb; writes a segment with its fetchlist: what is due and not waiting in another segment,
best score first, within limits per host and in all, a host in exactly one part.

A crawl that runs every day at the same hour would find yesterday's pages due some minutes later than it begins, and
come to them a day late. So a run that says when it began (`begun_ms`) also takes what is due within a tenth of its
interval, or with `refresh` whatever the crawldb holds; a page that was tried since the run began is not taken so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Map, Sql, Stage, column

if TYPE_CHECKING:
    import pyarrow as pa

READY = (
    column("url_key", "string"),
    column("url", "string"),
    column("host", "string"),
    column("bucket", "int32"),
    column("score", "int64"),
    column("depth", "int32"),
    column("signature", "binary"),
    column("fetched_before", "bool"),
)
DUE = (*READY, column("held", "string"), column("ready_at", "int64"))
SCREENED = (*READY, column("requested", "string"), column("rule", "string"))
HELD = (column("held", "string"), column("pages", "int64"), column("ready_at", "int64"))
BEST = (
    *READY[:6],
    column("etag", "string"),
    column("last_modified", "string"),
    column("signature", "binary"),
    column("fetched_before", "bool"),
    column("metadata", "map"),
)
NO_LIMIT = 2**62
EARLY_PERMILLE = 100
"""Share of its interval by which a page may be fetched before it is due, once a run."""


class GenerateContext(msgspec.Struct, frozen=True):
    """What the map step is given: the compiled URL filter (rule name or None), and the depth limit (-1: none)."""

    refuses: Callable[[str], str | None]
    max_depth: int


def screen(batches: Iterable[pa.RecordBatch], context: GenerateContext) -> Iterator[pa.RecordBatch]:
    """Adds the URL to request, and the name of the rule that keeps the page out now, if one does."""
    import pyarrow as pa

    from cobnut.urls.keys import key_to_url

    for batch in batches:
        requested: list[str] = []
        rules: list[str | None] = []
        columns = (batch.column(n).to_pylist() for n in ("url_key", "url", "depth"))
        for key, url, depth in zip(*columns, strict=True):
            normalized = key_to_url(key)
            requested.append(normalized if url is None else url)
            rules.append("max_depth" if 0 <= context.max_depth < depth else context.refuses(normalized))
        yield pa.RecordBatch.from_arrays(
            [*batch.columns, pa.array(requested, pa.string()), pa.array(rules, pa.string())],
            names=[*batch.schema.names, "requested", "rule"],
        )


STAGE = Stage(
    "generate",
    "Makes a segment with the fetchlist of the next round.",
    inputs=(
        Input("crawldb", tables.CRAWLDB, "current"),
        Input("pages", tables.PAGES, "current"),
        Input("hostdb", tables.HOSTDB, "current"),
        Input("waiting", None, "given", partitioned=False, columns=(column("url_key", "string"),)),
    ),
    steps=(
        Sql("generate_due", ("crawldb", "pages", "waiting", "hostdb", "params"), "due", DUE),
        Sql("generate_held", ("due",), "held", HELD),
        Sql("generate_ready", ("due",), "ready", READY),
        Map("screen", screen, "ready", "screened", SCREENED),
        Sql("generate_best", ("screened", "pages", "params"), "best", BEST),
    ),
    collected=("held", "best"),
    finale=(Sql("generate_top", ("best", "params"), "top", BEST),),
    params=(
        column("now_ms", "int64"),
        column("begun_ms", "int64"),
        column("refresh", "bool"),
        column("early_permille", "int64"),
        column("farthest_ms", "int64"),
        column("min_score", "int64"),
        column("max_per_host", "int64"),
        column("top_n", "int64"),
    ),
    writes=("fetchlist",),
)


def parts_by_host(hosts: Iterable[str], count: int) -> dict[str, int]:
    """Which part takes each host: the largest hosts first, each to the part that has least so far.

    `hosts` holds one entry a URL. Equal input gives equal parts, whatever its order.
    """
    sizes: dict[str, int] = {}
    for host in hosts:
        sizes[host] = sizes.get(host, 0) + 1
    loads = [0] * max(1, count)
    parts = {}
    for host, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        part = loads.index(min(loads))
        loads[part] += size
        parts[host] = part
    return parts
