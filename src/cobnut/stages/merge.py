"""Which documents does a searcher see?

Reads the indexes of all segments, `duplicates` and the crawldb; publishes the next generation of the merged index. Of
the versions of a URL the newest stays; left out are duplicates whose representative is there, and pages that the
crawldb now says are gone, redirect, cannot be parsed or forbid indexing. Documents of segments that are no longer on
disk are taken over from the merged index as it stands, so that it never needs a segment again.

The same-URL rule is computed here from the indexes themselves: running dedup before or after index gives the same
result.

Not here: making a segment's index (`stages.index`), linking files (`index.merge`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
import xxhash

from cobnut.config.sections import Settings
from cobnut.index.document import doc_key, split_doc_key
from cobnut.index.manifest import NAME as MANIFEST
from cobnut.index.manifest import IndexManifest, read_manifest
from cobnut.index.merge import Source, check_mergeable, merge_indexes
from cobnut.index.reader import IndexReader
from cobnut.index.writer import IndexStats
from cobnut.observe.clock import Clock
from cobnut.records import catalogue as tables
from cobnut.records import outcomes
from cobnut.records.steps import Job, Stage
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import batches_of

STAGE = Stage(
    "merge",
    "Makes one index for searching out of the segments' indexes.",
    inputs=(),
    steps=(Job("merge"),),
    reads=("duplicates", "crawldb"),
)

HIDDEN_STATUSES = frozenset({outcomes.GONE, outcomes.REDIRECT_TEMP, outcomes.REDIRECT_PERM, outcomes.PARSE_FAILED})
HIDDEN_REASONS = frozenset({"noindex", "media_type", "http_404", "http_410", "not_found_once", "robots_denied"})
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
        current = crawl.index_generations().current()
        try:
            former = None if current is None else read_manifest(current.path)
            sources = _sources(on_disk, None if current is None else current.path, former)
            versions = {path: _keys(source) for path, source in ((s.path, s) for s in sources)}
            reasons = reasons_to_drop(
                (key for keys in versions.values() for key in keys), _duplicates(crawl), _hidden(crawl, versions)
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
        finally:
            if current is not None:
                current.close()
        manifest = read_manifest(draft.path)
        known = {**({} if former is None else former.sources), **digests}
        fields = {**manifest.fields(), "sources": {n: d for n, d in known.items() if n in manifest.segments}}
        number = draft.publish({**fields, "left_out": left_out})
        return _report(number, manifest, stats, left_out, clock.monotonic() - began, tuple(draft.messages))


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


def reasons_to_drop(
    keys: Iterable[str], duplicates: Iterable[tuple[str, str, str, str, str]], hidden: Collection[str]
) -> dict[str, str]:
    """Document key to reason, of every document that is not shown.

    `duplicates` are (url_key, segment, representative url_key, its segment, kind); `hidden` are url_keys. A duplicate
    is dropped only when the version that stands for it is shown: what dedup decided about versions that have gone
    since does not lose a page.
    """
    newest: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for key in keys:
        url_key, segment = split_doc_key(key)
        former = newest.get(url_key)
        if former is None or segment > former:
            newest[url_key] = segment
        if former is not None:
            reasons[doc_key(url_key, min(former, segment))] = "superseded"
    for url_key in hidden:
        if url_key in newest:
            reasons[doc_key(url_key, newest[url_key])] = "hidden"
    for url_key, segment, representative, representative_segment, kind in duplicates:
        if newest.get(url_key) != segment or newest.get(representative) != representative_segment:
            continue
        if kind == "same_url" or representative in hidden:
            continue
        reasons.setdefault(doc_key(url_key, segment), f"duplicate_{kind}")
    return reasons


def _duplicates(crawl: CrawlFolder) -> Iterator[tuple[str, str, str, str, str]]:
    version = crawl.table(tables.DUPLICATES).current()
    if version is None:
        return
    columns = ["url_key", "segment", "representative_key", "representative_segment", "kind"]
    with version:
        for batch in batches_of(tables.DUPLICATES, version.files(), columns):
            yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


def _hidden(crawl: CrawlFolder, versions: Mapping[Path, list[str]]) -> set[str]:
    """The url_keys in the sources that are not to be shown, by the crawldb."""
    wanted = {split_doc_key(key)[0] for keys in versions.values() for key in keys}
    version = crawl.table(tables.CRAWLDB).current()
    if version is None or not wanted:
        return set()
    with version:
        rows = batches_of(tables.CRAWLDB, version.files(), ["url_key", "status", "reason"], 65_536)
        return {
            key
            for batch in rows
            for key, status, reason in zip(*(column.to_pylist() for column in batch.columns), strict=True)
            if (status in HIDDEN_STATUSES or reason in HIDDEN_REASONS) and key in wanted
        }


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
