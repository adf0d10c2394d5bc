"""Which rows of the crawldb do the URL filters accept now?

Filters that were made stricter keep pages out of fetchlists; this stage takes their rows out of the crawldb and the
pages, as `inject --filter-existing` does before it adds seeds. It writes both tables whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Map, Output, Stage

if TYPE_CHECKING:
    import pyarrow as pa


class ScreenContext(msgspec.Struct, frozen=True):
    """What the map steps are given: the compiled URL filter, which names the rule that refuses, or None."""

    refuses: Callable[[str], str | None]


def accepted(batches: Iterable[pa.RecordBatch], context: ScreenContext) -> Iterator[pa.RecordBatch]:
    """The rows whose URL no rule refuses."""
    import pyarrow as pa

    from cobnut.urls.keys import key_to_url

    for batch in batches:
        keys = batch.column("url_key").to_pylist()
        yield batch.filter(pa.array([context.refuses(key_to_url(key)) is None for key in keys], pa.bool_()))


STAGE = Stage(
    "screen",
    "Takes rows out of the crawldb that the URL filters refuse now.",
    inputs=(Input("crawldb", tables.CRAWLDB, "current"), Input("pages", tables.PAGES, "current")),
    steps=(
        Map("screen_pages", accepted, "pages", "next_pages", tables.PAGES.columns),
        Map("screen_crawldb", accepted, "crawldb", "next_crawldb", tables.CRAWLDB.columns),
    ),
    outputs=(Output("next_pages", tables.PAGES), Output("next_crawldb", tables.CRAWLDB)),
)
