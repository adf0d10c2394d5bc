"""Which URLs belong to this crawl?

The scope is made of the seeds and of where the seeds redirect to: a seed that answers with a redirect to another host
means that host. What the crawl was told to forget belongs to no scope.

Not here: the filter rules themselves (`urls.filters`).
"""

from __future__ import annotations

from collections.abc import Callable

from cobnut.config.sections import Settings
from cobnut.frontier.forgotten import forgotten_of
from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.tables import read_files
from cobnut.urls.filters import Scope, compile_filter
from cobnut.urls.keys import key_to_url

MOST_HOPS = 5


def scope_of(crawl: CrawlFolder, settings: Settings, segment: SegmentFolder | None = None) -> Scope:
    """The crawl's scope as its tables stand now, with what `segment`, not applied yet, says of the seeds."""
    forgotten = forgotten_of(crawl)
    if settings.crawl.scope == "web":
        return Scope("web", forgotten=forgotten)
    known = dict.fromkeys(crawl.table(tables.SEEDS).read(["url_key"]).column("url_key").to_pylist())
    step = list(known)
    for _ in range(MOST_HOPS):
        if not step:
            break
        found = crawl.table(tables.PAGES).read(["redirect_key"], filters=[("url_key", "in", step)])
        step = [k for k in found.column("redirect_key").to_pylist() if k is not None and k not in known]
        known.update(dict.fromkeys(step))
    if segment is not None:
        import pyarrow as pa
        import pyarrow.compute as pc

        # a redirect's target has the depth of its source: depth 0 is a seed, or where one leads
        rows = read_files(
            tables.FETCHED, segment.part_files(tables.FETCHED), ["redirect_key"], filters=[("depth", "==", 0)]
        )
        known.update(dict.fromkeys(k for k in rows.column("redirect_key").to_pylist() if k is not None))
        refreshes = read_files(
            tables.PARSED, segment.part_files(tables.PARSED), ["url_key", "refresh_key"],
            filters=pc.field("refresh_key").is_valid() & pc.field("url_key").isin(pa.array(list(known), pa.string())),
        )  # fmt: skip
        known.update(dict.fromkeys(refreshes.column("refresh_key").to_pylist()))
    return Scope(settings.crawl.scope, tuple(key_to_url(key) for key in known), forgotten)


def refusal(
    crawl: CrawlFolder, settings: Settings, segment: SegmentFolder | None = None
) -> Callable[[str], str | None]:
    """One function: the name of the filter rule that keeps a normalised URL out, or None."""
    return compile_filter(settings.urls, scope_of(crawl, settings, segment))
