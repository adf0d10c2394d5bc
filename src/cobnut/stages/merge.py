"""Which documents does a searcher see?

Reads the indexes of all segments, `duplicates`, the crawldb and `pages`; publishes the next generation of the merged
index. Of the versions of a URL the newest stays. Left out are duplicates whose representative is there; pages that the
crawldb now says are gone, redirect, cannot be parsed or forbid indexing; pages that are to be forgotten; pages that a
URL filter refuses now, or that were taken out of the crawldb; and orphans, when that is asked for. The scope says what
is fetched, not what is shown: what was fetched or imported stays when it becomes narrower. Documents of segments that
are no longer on disk are taken over from the merged index as it stands, so that it never needs a segment again.

A version is shown as long as it is what the page last said of itself in full. A failure of the network or the server
says nothing of the page: what was shown stays, and what was hidden (`pages` names no full answer any more, or one that
is newer than the document and brought none) stays hidden.

The same-URL rule is computed here from the indexes themselves: running dedup before or after index gives the same
result.

Not here: making a segment's index (`stages.index`), linking files (`index.merge`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import xxhash

from cobnut.config.sections import Settings
from cobnut.errors import DataError, MachineError
from cobnut.frontier.forgotten import forgotten_of, key_test
from cobnut.index.damage import damage, damaged_file
from cobnut.index.document import doc_key, split_doc_key
from cobnut.index.manifest import NAME as MANIFEST
from cobnut.index.manifest import IndexManifest, read_manifest
from cobnut.index.merge import Source, check_mergeable, merge_indexes
from cobnut.index.reader import IndexReader
from cobnut.index.writer import IndexStats, read_meta
from cobnut.observe.clock import Clock
from cobnut.records import catalogue as tables
from cobnut.records import outcomes
from cobnut.records.columns import Table
from cobnut.records.steps import Job, Stage
from cobnut.storage.conserve import check_rows
from cobnut.storage.generations import Generation
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import batches_of
from cobnut.urls.filters import Scope, compile_filter
from cobnut.urls.keys import key_to_url
from cobnut.urls.screening import surely_passing

STAGE = Stage(
    "merge",
    "Makes one index for searching out of the segments' indexes.",
    inputs=(),
    steps=(Job("merge"),),
    reads=("duplicates", "crawldb", "pages", "forgotten", "orphans"),
)

HIDDEN_STATUSES = frozenset({outcomes.GONE, outcomes.REDIRECT_TEMP, outcomes.REDIRECT_PERM, outcomes.PARSE_FAILED})
HIDDEN_REASONS = frozenset({"noindex", "media_type", "http_404", "http_410", "robots_denied"})
"""Reasons for which a page is not shown whatever its state; a single 404 already leaves the index."""


class MergeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of the stage did. `left_out` counts documents that are not shown, by reason."""

    generation: int | None
    doc_count: int
    segments: tuple[str, ...]
    left_out: dict[str, int] = {}
    index_segments: int = 0
    bytes: int = 0
    unchanged: bool = False
    elapsed_s: float = 0.0
    messages: tuple[str, ...] = ()


def run_merge(crawl: CrawlFolder, settings: Settings, *, clock: Clock) -> MergeReport:
    """Publish the merged index of all that is indexed; nothing is published when nothing has changed."""
    began = clock.monotonic()
    with crawl.index_generations().begin() as draft:
        on_disk = {s.name: s.index_path for s in crawl.segments() if (s.index_path / MANIFEST).exists()}
        current, mended = _standing(crawl, on_disk)
        try:
            former = None if current is None else read_manifest(current.path)
            sources = _sources(on_disk, None if current is None else current.path, former)
            keys = [key for source in sources for key in _keys(source)]
            newest = newest_versions(keys)
            indexed = {name for source in sources for name in read_manifest(source.path).segments}
            reasons = reasons_to_drop(
                keys,
                _duplicates(crawl),
                _hidden(crawl, newest, indexed),
                _forgotten(crawl, keys),
                _filtered(settings, newest) | _taken_out(crawl, newest),
                _orphans(crawl, settings, clock.now_ms()),
            )
            digests = {name: read_manifest(path).inputs_digest for name, path in sorted(on_disk.items())}
            digest = _digest(digests, reasons, on_disk)
            left_out = dict(sorted(Counter(reasons.values()).items()))
            if former is not None and current is not None and _is_unchanged(former, digest, reasons, on_disk):
                draft.abort()
                return MergeReport(
                    generation=current.number, doc_count=former.doc_count, segments=former.segments, left_out=left_out,
                    index_segments=former.index_segments, unchanged=True, elapsed_s=clock.monotonic() - began,
                )  # fmt: skip
            stats = merge_indexes(draft.path, sources, settings.index, drop=sorted(reasons), inputs_digest=digest)
            if stats.doc_count != len(set(keys) - reasons.keys()):
                raise MachineError(
                    f"the merged index would have {stats.doc_count:,} documents and should have "
                    f"{len(set(keys) - reasons.keys()):,}; nothing was written",
                    where=str(crawl.index_path), remedy=f"run `cobnut index {crawl.path}`, then this again",
                )  # fmt: skip
        finally:
            if current is not None:
                current.close()
        manifest = read_manifest(draft.path)
        known = {**({} if former is None else former.sources), **digests}
        fields = {**manifest.fields(), "sources": {n: d for n, d in known.items() if n in manifest.segments}}
        number = draft.publish({**fields, "left_out": left_out})
        messages = (*draft.messages, *mended)
        return _report(number, manifest, stats, left_out, clock.monotonic() - began, messages)


def _standing(crawl: CrawlFolder, on_disk: Mapping[str, Path]) -> tuple[Generation | None, tuple[str, ...]]:
    """The merged index as it stands, None when there is none or it is damaged; and what to say of that.

    A damaged one can be done without only when no page is in it alone.
    """
    current, alone = None, set[str]()
    try:
        current = crawl.index_generations().current()
        if current is None:
            return None, ()
        former = read_manifest(current.path)
        alone = set(former.segments)
        if (file := damaged_file(current.path)) is not None:
            raise damage(current.path, file.name)
        read_meta(current.path)
    except DataError as error:
        if current is not None:
            current.close()
        alone |= {entry["segment"] for entry in crawl.table(tables.CRAWLDB).manifest().get("applied", [])}
        if gone := sorted(alone - {s.name for s in crawl.segments()}):
            raise DataError(
                f"{error.what}, and pages of segments that are no longer on disk ({', '.join(gone[-3:])}) may be only "
                "in it",
                where=error.where,
                remedy=f"go back with `cobnut rollback {crawl.path} index`; or do without these pages: "
                f"remove {crawl.index_path} and run `cobnut index {crawl.path}` and `cobnut merge {crawl.path}`",
            ) from None
        for path in on_disk.values():  # the damage may be theirs: files are shared by links
            if (file := damaged_file(path)) is not None:
                raise damage(path, file.name) from None
        return None, ("the merged index was damaged; it is made anew from the segments' indexes",)
    except BaseException:
        if current is not None:
            current.close()
        raise
    return current, ()


def _report(
    number: int,
    manifest: IndexManifest,
    stats: IndexStats,
    left_out: dict[str, int],
    elapsed_s: float,
    messages: tuple[str, ...],
) -> MergeReport:
    return MergeReport(
        generation=number,
        doc_count=stats.doc_count,
        segments=manifest.segments,
        left_out=left_out,
        index_segments=stats.index_segments,
        bytes=stats.bytes,
        elapsed_s=elapsed_s,
        messages=messages,
    )


def _sources(on_disk: Mapping[str, Path], current: Path | None, former: IndexManifest | None) -> list[Source]:
    """The segments' indexes, and the merged index for the segments that are not on disk any more."""
    sources = [Source(path) for _, path in sorted(on_disk.items())]
    if current is not None and former is not None and set(former.segments) - set(on_disk):
        held = {split_doc_key(key)[1] for key in IndexReader(current).doc_keys()}
        if held - set(on_disk):
            sources.insert(0, Source(current, frozenset(former.segments) & frozenset(on_disk)))
    for source in sources:
        check_mergeable(source.path)
    return sources


def _keys(source: Source) -> list[str]:
    """The document keys a source brings in."""
    keys = IndexReader(source.path).doc_keys()
    if not source.without_segments:
        return keys
    return [key for key in keys if split_doc_key(key)[1] not in source.without_segments]


def newest_versions(keys: Iterable[str]) -> dict[str, str]:
    """url_key to the newest segment that has a document of it."""
    newest: dict[str, str] = {}
    for key in keys:
        url_key, segment = split_doc_key(key)
        newest[url_key] = max(segment, newest.get(url_key, ""))
    return newest


def reasons_to_drop(
    keys: Collection[str],
    duplicates: Iterable[tuple[str, str, str, str, str]],
    hidden: Collection[str],
    forgotten: Collection[str] = (),
    filtered: Collection[str] = (),
    orphans: Collection[str] = (),
) -> dict[str, str]:
    """Document key to reason, of every document that is not shown.

    `duplicates` are (url_key, segment, representative url_key, its segment, kind); the others are url_keys. A duplicate
    is dropped only when the version that stands for it is shown: what dedup decided about versions that have gone since
    does not lose a page.
    """
    newest = newest_versions(keys)
    reasons: dict[str, str] = {}
    for key in keys:
        url_key, segment = split_doc_key(key)
        if url_key in forgotten:
            reasons[key] = "forgotten"
        elif segment < newest[url_key]:
            reasons[key] = "superseded"
        elif url_key in hidden:
            reasons[key] = "hidden"
        elif url_key in filtered:
            reasons[key] = "filtered"
        elif url_key in orphans:
            reasons[key] = "orphan"
    left_out = frozenset(reasons)
    for url_key, segment, representative, representative_segment, kind in duplicates:
        if newest.get(url_key) != segment or newest.get(representative) != representative_segment:
            continue
        if kind == "same_url" or doc_key(representative, representative_segment) in left_out:
            continue
        reasons.setdefault(doc_key(url_key, segment), f"duplicate_{kind}")
    return reasons


def _duplicates(crawl: CrawlFolder) -> Iterator[Any]:
    return _rows(crawl, tables.DUPLICATES, "segment", "representative_key", "representative_segment", "kind")


def _hidden(crawl: CrawlFolder, newest: Mapping[str, str], indexed: Collection[str]) -> set[str]:
    """The url_keys among those of `newest` that are not to be shown, by the crawldb and `pages`."""
    if not newest:
        return set()
    found = {
        key
        for key, status, reason in _rows(crawl, tables.CRAWLDB, "status", "reason")
        if (status in HIDDEN_STATUSES or reason in HIDDEN_REASONS) and key in newest
    }
    for key, checked_at, segment in _rows(crawl, tables.PAGES, "checked_at", "segment"):
        if checked_at is not None and key in newest and _is_taken_back(newest[key], segment, indexed):
            found.add(key)
    return found


def _filtered(settings: Settings, newest: Mapping[str, str]) -> set[str]:
    """The url_keys that a URL filter other than the scope refuses now; most are let pass without a look at each."""
    import pyarrow as pa

    anywhere = Scope("web")
    keys = pa.array(newest, pa.string())
    if not len(keys):
        return set()
    passing = surely_passing(settings.urls, anywhere)(keys).to_pylist()
    refuses = compile_filter(settings.urls, anywhere)
    return {key for key, passes in zip(newest, passing, strict=True) if not passes and refuses(key_to_url(key))}


def _taken_out(crawl: CrawlFolder, newest: Mapping[str, str]) -> set[str]:
    """The url_keys that the crawldb no longer knows, though it has taken in their segment: they were screened out."""
    applied = {entry["segment"] for entry in crawl.table(tables.CRAWLDB).manifest().get("applied", [])}
    missing = {key for key, segment in newest.items() if segment in applied}
    if not missing:
        return missing
    known = 0
    for (key,) in _rows(crawl, tables.CRAWLDB):
        missing.discard(key)
        known += 1
    return missing if known else set()  # without a row it is lost, and says nothing


def _orphans(crawl: CrawlFolder, settings: Settings, now_ms: int) -> set[str]:
    """The url_keys of pages that no page has led to for so long that they are not to be shown."""
    if settings.db.orphan_after_s <= 0 or settings.linkdb.ignore_internal:
        return set()
    longest = now_ms - 1000 * settings.db.orphan_after_s
    return {key for key, since in _rows(crawl, tables.ORPHANS, "since") if since <= longest}


def _is_taken_back(document: str, full_answer: str | None, indexed: Collection[str]) -> bool:
    """Has a later answer taken back what the document says? Both are segments; a later one must be indexed already."""
    return full_answer is None or (document < full_answer and full_answer in indexed)


def _rows(crawl: CrawlFolder, table: Table, *columns: str) -> Iterator[tuple[Any, ...]]:
    """(url_key, columns…) of every row of a table as it stands."""
    version = crawl.table(table).current()
    if version is None:
        return
    with version:
        check_rows(table, version.generation.path, version.manifest)
        for batch in batches_of(table, version.files(), ["url_key", *columns], 65_536):
            yield from zip(*(batch.column(name).to_pylist() for name in ("url_key", *columns)), strict=True)


def _forgotten(crawl: CrawlFolder, keys: Iterable[str]) -> set[str]:
    """The url_keys of documents that are to be forgotten."""
    forgotten = forgotten_of(crawl)
    if not forgotten:
        return set()
    is_forgotten = key_test(forgotten)
    return {url_key for url_key in {split_doc_key(key)[0] for key in keys} if is_forgotten(url_key)}


def _digest(digests: Mapping[str, str], reasons: Mapping[str, str], on_disk: Mapping[str, Path]) -> str:
    """Changes when the documents that the segments on disk give to the merged index change."""
    digest = xxhash.xxh3_128()
    for name, value in digests.items():
        digest.update(f"{name} {value}\n".encode())
    for key in sorted(reasons):
        if split_doc_key(key)[1] in on_disk:
            digest.update(f"{key}\n\n".encode())
    return digest.hexdigest()


def _is_unchanged(former: IndexManifest, digest: str, reasons: Mapping[str, str], on_disk: Mapping[str, Path]) -> bool:
    """Is the merged index what it would become? Documents taken over from it must all stay."""
    if former.inputs_digest != digest or not set(on_disk) <= set(former.segments):
        return False
    return all(split_doc_key(key)[1] in on_disk for key in reasons)
