"""How does a crawl forget a page, a folder of pages or a host?

Writes `forgotten`, which every stage that fetches or shows anything asks, and takes what is named there out of the
merged index at once, as a new generation. Before that generation there is no going back: `rollback` of the index would
show what is to be forgotten.

Works while a crawl runs: a round that is being fetched is not stopped, what it brings is not shown.

Not here: asking (`frontier.forgotten`, `urls.filters`); removing what lies in the segments (`storage.purge`).
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from cobnut.config.sections import Settings
from cobnut.frontier.forgotten import forgotten_of, key_test
from cobnut.index.document import split_doc_key
from cobnut.index.manifest import read_manifest
from cobnut.index.merge import merge_indexes
from cobnut.index.reader import IndexReader
from cobnut.records import catalogue as tables
from cobnut.records.steps import Job, Stage
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import TableDraft, TableStore
from cobnut.urls.filters import Forgotten
from cobnut.urls.keys import host_key, url_key

STAGE = Stage(
    "forget",
    "Records what is never to be fetched or shown again, and takes it out of the index.",
    inputs=(),
    steps=(Job("forget"),),
    reads=("forgotten",),
    writes=("forgotten",),
)

LONGEST_WAIT_S = 60.0
"""A merge that is at work is waited for: it may have begun before what is to be forgotten was known."""


class Entry(msgspec.Struct, frozen=True):
    """One thing to forget: `kind` is url, host or prefix, `value` its normalised form."""

    kind: str
    value: str


def remember(crawl: CrawlFolder, entries: Collection[Entry], reason: str | None, now_ms: int) -> None:
    """Adds entries to the table; one that holds already gets the new reason and time, or keeps both without one."""
    with _store(crawl).begin() as draft:
        rows = _rows(crawl)  # read under the lock
        for entry in entries:
            if reason is None and entry in rows and rows[entry]["undone_at"] is None:
                continue
            rows[entry] = {
                "kind": entry.kind, "value": entry.value, "reason": reason, "forgotten_at": now_ms, "undone_at": None
            }  # fmt: skip
        _publish(draft, rows)


def take_back(crawl: CrawlFolder, entries: Collection[Entry], now_ms: int) -> list[Entry]:
    """Marks entries as taken back; when some of them do not hold, these are given back and nothing is changed."""
    with _store(crawl).begin() as draft:
        rows = _rows(crawl)
        unknown = [e for e in entries if e not in rows or rows[e]["undone_at"] is not None]
        if unknown:
            return unknown
        for entry in entries:
            rows[entry] = {**rows[entry], "undone_at": now_ms}
        _publish(draft, rows)
    return []


def _store(crawl: CrawlFolder) -> TableStore:
    store = crawl.table(tables.FORGOTTEN)
    store.generations.lock_wait_s = max(store.generations.lock_wait_s, LONGEST_WAIT_S)
    return store


def _rows(crawl: CrawlFolder) -> dict[Entry, dict[str, object]]:
    return {Entry(row["kind"], row["value"]): row for row in crawl.table(tables.FORGOTTEN).read().to_pylist()}


def _publish(draft: TableDraft, rows: dict[Entry, dict[str, object]]) -> None:
    import pyarrow as pa

    ordered = [rows[entry] for entry in sorted(rows, key=lambda e: (e.kind, e.value))]
    draft.write_partition(0, [pa.Table.from_pylist(ordered, schema=tables.FORGOTTEN.schema())])
    draft.publish("forget")


def drop_from_index(crawl: CrawlFolder, settings: Settings) -> tuple[int, int | None]:
    """Takes what is to be forgotten out of the merged index: documents that went, and the generation made, if any."""
    store = crawl.index_generations()
    if store.current_number() is None:
        return 0, None
    store.lock_wait_s = max(store.lock_wait_s, LONGEST_WAIT_S)
    with store.begin() as draft:
        current = store.current()
        if current is None:
            return 0, None
        with current:
            drop = documents_to_forget(IndexReader(current.path), forgotten_of(crawl))
            if not drop:
                return 0, None
            former = read_manifest(current.path)
            # with another digest than its inputs have, the next merge makes it anew
            stats = merge_indexes(draft.path, [current.path], settings.index, drop=drop, inputs_digest="forgotten")
        left_out = dict(current.manifest.get("left_out", {}))
        left_out["forgotten"] = left_out.get("forgotten", 0) + len(drop)
        fields = {**read_manifest(draft.path).fields(), "sources": former.sources, "left_out": left_out}
        number = draft.publish({**fields, "parent": None})
        return stats.dropped_count, number


def documents_to_forget(index: IndexReader, forgotten: Forgotten) -> list[str]:
    """The keys of documents that are to be forgotten, in order."""
    beginnings = [url_key(url) + "\n" for url in forgotten.urls]
    beginnings += [host_key(host) + ")" for host in forgotten.hosts]
    beginnings += [url_key(prefix).partition(")")[0] + ")" for prefix in forgotten.prefixes]
    test = key_test(forgotten)
    found = {key for start in dict.fromkeys(beginnings) for key in index.doc_keys(start)}
    return sorted(key for key in found if test(split_doc_key(key)[0]))
