"""What was this crawl told to forget?

The table `forgotten` as one value, and as a test of url_keys.

Not here: the filter rule (`urls.filters`), writing the table (`stages.forget`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder
from cobnut.urls.filters import NOTHING_FORGOTTEN, Forgotten, is_forgotten
from cobnut.urls.hosts import host_of
from cobnut.urls.keys import key_to_host, key_to_url

if TYPE_CHECKING:
    import pyarrow as pa

URL, HOST, PREFIX = "url", "host", "prefix"


def forgotten_of(crawl: CrawlFolder) -> Forgotten:
    """All that is to be forgotten now; false when there is nothing."""
    version = crawl.table(tables.FORGOTTEN).current()
    if version is None:
        return NOTHING_FORGOTTEN
    with version:
        rows = version.read(["kind", "value", "undone_at"]).to_pylist()
    return _together([(row["kind"], row["value"]) for row in rows if row["undone_at"] is None])


def taken_back(crawl: CrawlFolder) -> tuple[Forgotten, int]:
    """All that was to be forgotten and is not any more, and when the last of it was taken back."""
    rows = crawl.table(tables.FORGOTTEN).read(["kind", "value", "undone_at"]).to_pylist()
    undone = [row for row in rows if row["undone_at"] is not None]
    entries = _together([(row["kind"], row["value"]) for row in undone])
    return entries, max((row["undone_at"] for row in undone), default=0)


def one_entry(kind: str, value: str) -> Forgotten:
    """One row of the table by itself."""
    return _together([(kind, value)])


def _together(entries: list[tuple[str, str]]) -> Forgotten:
    urls, hosts, prefixes = (
        tuple(sorted(value for kind, value in entries if kind == wanted)) for wanted in (URL, HOST, PREFIX)
    )
    return Forgotten(urls, hosts, prefixes)


def key_test(forgotten: Forgotten) -> Callable[[str], bool]:
    """Is the page of this url_key to be forgotten? Keys of hosts that are not concerned are told quickly."""
    if not forgotten:
        return lambda key: False
    hosts = concerned_hosts(forgotten)
    refuses = is_forgotten(forgotten)
    return lambda key: key_to_host(key) in hosts and refuses(key_to_url(key))


def concerned_hosts(forgotten: Forgotten) -> frozenset[str]:
    """The hosts that have any page to forget."""
    return frozenset(forgotten.hosts) | {host_of(url) for url in (*forgotten.urls, *forgotten.prefixes)}


def forgotten_rows(forgotten: Forgotten, rows: pa.Table | pa.RecordBatch, key: str = "url_key") -> pa.Array:
    """Which rows are of pages to forget, as a mask."""
    import pyarrow as pa

    test = key_test(forgotten)
    return pa.array([value is not None and test(value) for value in rows.column(key).to_pylist()], pa.bool_())
