"""What is to be found of the pages of a segment?

Reads what one segment fetched and parsed, and what the whole crawl says of its pages (`linked`: scores and anchors,
which may be missing); writes the segment's own index, which can be searched by itself. A page is in it when it was
fetched with success, parsed, does not forbid indexing, and does not send on to another at once. A segment whose inputs
and settings have not changed is left as it is.

Not here: which version of a page is shown, and duplicates (`stages.merge`, `stages.dedup`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import xxhash

from cobnut.config.sections import IndexSettings, Settings
from cobnut.errors import DataError, MachineError
from cobnut.frontier.scoring import IndexBoost, IndexedPage, told
from cobnut.index.damage import damaged_file
from cobnut.index.document import Document
from cobnut.index.manifest import NAME as MANIFEST
from cobnut.index.manifest import IndexManifest, read_manifest
from cobnut.index.schema import SCHEMA_DIGEST
from cobnut.index.writer import read_meta, write_index
from cobnut.observe.clock import Clock
from cobnut.records import catalogue as tables
from cobnut.records.columns import Table
from cobnut.records.steps import Job, Stage
from cobnut.storage.files import fsync_folder, io_errors, remove_tree, temporary_name
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.locks import WriterLock
from cobnut.storage.tables import batches_of, checksum, read_files
from cobnut.text.dates import date_ms
from cobnut.urls.hosts import domain_of

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

STAGE = Stage(
    "index",
    "Makes the search index of a segment's pages.",
    inputs=(),
    steps=(Job("index"),),
    reads=("parsed", "fetched", "linked"),
)

_BATCH_ROWS = 512
_PARSED_COLUMNS = [
    "url_key", "url", "host", "parse_status", "title", "text", "main_text", "headings", "description", "language",
    "media_type", "noindex", "noarchive", "fetched_at", "score", "refresh_key",
]  # fmt: skip
_FETCHED_COLUMNS = ["url_key", "outcome", "last_modified", "warc_file", "warc_offset", "depth"]
_LINKED_COLUMNS = [
    "url_key", "score", "page_rank", "host_rank", "inlink_count", "inlink_host_count", "shown_url", "anchors",
]  # fmt: skip


class SegmentIndexed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one segment. `left_out` counts parsed pages without a document, by reason."""

    segment: str
    doc_count: int
    unchanged: bool = False
    left_out: dict[str, int] = {}
    bytes: int = 0
    elapsed_s: float = 0.0


class IndexReport(msgspec.Struct, frozen=True):
    """What one run of the stage did."""

    segments: tuple[SegmentIndexed, ...]
    messages: tuple[str, ...] = ()

    @property
    def doc_count(self) -> int:
        """Documents in the indexes of all segments of the run."""
        return sum(s.doc_count for s in self.segments)


def run_index(
    crawl: CrawlFolder,
    settings: Settings,
    *,
    clock: Clock,
    segments: Iterable[SegmentFolder | str] | None = None,
    without_links_from: frozenset[str] = frozenset(),
    on_progress: Callable[[SegmentIndexed], None] | None = None,
) -> IndexReport:
    """Index the segments (all that have parsed pages, when none are named), oldest first.

    Anchors that stand on a page of `without_links_from` (url_keys) are left out, for fair scores of relevance.
    """
    if segments is None:
        chosen = [s for s in crawl.segments() if s.part_files(tables.PARSED)]
    else:
        chosen = [crawl.segment(s) if isinstance(s, str) else s for s in segments]
    boost = IndexBoost(settings.scoring)
    done = []
    for segment in sorted(chosen, key=lambda s: s.name):
        done.append(index_segment(segment, settings.index, clock, without_links_from, boost))
        if on_progress is not None:
            on_progress(done[-1])
    return IndexReport(tuple(done), tuple(told(boost.failures, "pages, which keep their boost")))


def index_segment(
    segment: SegmentFolder,
    settings: IndexSettings,
    clock: Clock,
    without_links_from: frozenset[str] = frozenset(),
    boost: IndexBoost | None = None,
) -> SegmentIndexed:
    """Make the index of one segment, if anything it is made from has changed; it appears whole or not at all."""
    began = clock.monotonic()
    with WriterLock(segment.path / ".index.lock", f"the index of segment {segment.name}").acquire():
        _sweep(segment)
        boost = boost if boost is not None and boost.needed else None
        digest = inputs_digest(segment, settings, without_links_from, () if boost is None else boost.versions())
        if (segment.index_path / MANIFEST).exists():
            manifest = _whole_manifest(segment.index_path)
            if manifest is not None and manifest.inputs_digest == digest:
                return SegmentIndexed(segment=segment.name, doc_count=manifest.doc_count, unchanged=True)
        left_out: Counter[str] = Counter()
        draft = segment.path / temporary_name("index")
        with io_errors(draft, "write the index"):
            try:
                stats = write_index(
                    draft,
                    documents_of(segment, without_links_from, left_out, boost),
                    settings,
                    segments=(segment.name,),
                    inputs_digest=digest,
                )
                _check_all_told(segment, stats.doc_count, left_out)
                if segment.index_path.exists():
                    os.rename(segment.index_path, segment.path / temporary_name("index-old"))
                os.rename(draft, segment.index_path)
                fsync_folder(segment.path)
            finally:
                remove_tree(draft)
                _sweep(segment)
    return SegmentIndexed(
        segment=segment.name,
        doc_count=stats.doc_count,
        left_out=dict(sorted(left_out.items())),
        bytes=stats.bytes,
        elapsed_s=clock.monotonic() - began,
    )


def _check_all_told(segment: SegmentFolder, doc_count: int, left_out: Counter[str]) -> None:
    """Every parsed page is a document, or left out for a reason."""
    import pyarrow.parquet as pq

    rows = sum(pq.read_metadata(path).num_rows for path in segment.part_files(tables.PARSED))
    if doc_count + left_out.total() != rows:
        raise MachineError(
            f"{rows:,} parsed pages gave {doc_count:,} documents, and {left_out.total():,} were left out; nothing was "
            "written",
            where=str(segment.path), remedy="run it again: if it stays so, this is a fault of Cobnut; report it",
        )  # fmt: skip


def _whole_manifest(folder: Path) -> IndexManifest | None:
    """The manifest of an index none of whose files is damaged."""
    try:
        manifest = read_manifest(folder)
        return manifest if damaged_file(folder) is None and read_meta(folder) else None
    except DataError:
        return None


def _sweep(segment: SegmentFolder) -> None:
    """Remove what killed runs left of an index; the caller holds the lock."""
    for entry in segment.path.glob(".tmp-index-*"):
        remove_tree(entry)


def inputs_digest(
    segment: SegmentFolder,
    settings: IndexSettings,
    without_links_from: frozenset[str],
    boosted_by: tuple[str, ...] = (),
) -> str:
    """Changes when the index of a segment would. `boosted_by` names the rules that say a boost, and their versions."""
    digest = xxhash.xxh3_128()
    digest.update(SCHEMA_DIGEST.encode())
    digest.update(msgspec.json.encode((settings, sorted(without_links_from))))
    if boosted_by:
        digest.update(msgspec.json.encode(boosted_by))
    for table in (tables.PARSED, tables.FETCHED, tables.LINKED):
        for path in segment.part_files(table):
            digest.update(f"{table.name}/{path.name} {checksum(path)}\n".encode())
    return digest.hexdigest()


def documents_of(
    segment: SegmentFolder,
    without_links_from: frozenset[str],
    left_out: Counter[str],
    boost: IndexBoost | None = None,
) -> Iterator[Document]:
    """The documents of a segment, batch by batch; pages that get none are counted in `left_out`.

    What was fetched and what is linked are kept by key while the pages pass, which is small beside their text.
    """
    fetched = _Rows(segment, tables.FETCHED, _FETCHED_COLUMNS)
    linked = _Linked(segment, without_links_from)
    seen: set[str] = set()
    for batch in batches_of(tables.PARSED, segment.part_files(tables.PARSED), _PARSED_COLUMNS, _BATCH_ROWS):
        rows = batch.to_pydict()
        links = linked.of(rows["url_key"])
        for i, url_key in enumerate(rows["url_key"]):
            answer = fetched.get(url_key)
            reason = _why_not(rows["parse_status"][i], rows["noindex"][i], rows["refresh_key"][i], answer)
            if reason is None and url_key in seen:
                reason = "parsed_twice"
            if reason is not None:
                left_out[reason] += 1
                continue
            seen.add(url_key)
            document = _document(segment.name, {name: column[i] for name, column in rows.items()}, answer, links[i])
            yield document if boost is None else _boosted(document, boost)


def _why_not(parse_status: str, noindex: bool, refresh_key: str | None, answer: dict[str, Any] | None) -> str | None:
    """Why a parsed page gets no document; None when it gets one."""
    if parse_status != "ok":
        return f"parse_{parse_status}"
    if noindex:
        return "noindex"
    if answer is not None and answer["outcome"] != "success":
        return str(answer["outcome"])
    if refresh_key is not None:  # a redirect, as any other
        return "refresh"
    return None


def _document(
    segment: str, page: dict[str, Any], answer: dict[str, Any] | None, link: dict[str, Any] | None
) -> Document:
    host = page["host"]
    answer, link = answer or {}, link or {}
    return Document(
        url_key=page["url_key"],
        url=page["url"],
        host=host,
        domain=domain_of(host),
        segment=segment,
        title=page["title"] or "",
        text=page["text"] or "",
        main_text=page["main_text"],
        headings=tuple(h for h in page["headings"] or () if h),
        description=page["description"] or "",
        anchors=link.get("anchors", ()),
        language=page["language"],
        media_type=page["media_type"],
        fetched_at=page["fetched_at"],
        modified_at=date_ms(answer.get("last_modified") or ""),
        score=link.get("score", page["score"]),
        page_rank=link.get("page_rank", 0),
        host_rank=link.get("host_rank", 0),
        inlink_count=link.get("inlink_count", 0),
        inlink_host_count=link.get("inlink_host_count", 0),
        depth=answer.get("depth", 0),
        warc_file=answer.get("warc_file"),
        warc_offset=answer.get("warc_offset"),
        noarchive=page["noarchive"],
        shown_url=link.get("shown_url"),
    )


def _boosted(document: Document, boost: IndexBoost) -> Document:
    """The document with the boost that the scoring rules give it."""
    page = IndexedPage(
        document.url, document.host, document.score, document.page_rank, document.host_rank, document.inlink_count,
        document.inlink_host_count, document.depth, document.language, document.media_type,
    )  # fmt: skip
    return msgspec.structs.replace(document, boost=boost(page))


class _Rows:
    """The rows of a small segment table by key, as columns."""

    def __init__(self, segment: SegmentFolder, table: Table, columns: list[str]) -> None:
        read = read_files(table, segment.part_files(table), columns)
        self._columns: dict[str, list[Any]] = {name: read[name].to_pylist() for name in columns if name != "url_key"}
        self._places: dict[str, int] = {}
        outcomes = self._columns.get("outcome")
        for place, key in enumerate(read["url_key"].to_pylist()):
            former = self._places.get(key)
            # of two answers, a success tells more than what was not fetched again
            if former is None or outcomes is None or outcomes[place] == "success" or outcomes[former] != "success":
                self._places[key] = place

    def get(self, key: str) -> dict[str, Any] | None:
        """The row of a key."""
        place = self._places.get(key)
        return None if place is None else {name: column[place] for name, column in self._columns.items()}


class _Linked:
    """Scores and anchors by key; anchors stay in Arrow until their page passes."""

    def __init__(self, segment: SegmentFolder, without_links_from: frozenset[str]) -> None:
        read = read_files(tables.LINKED, segment.part_files(tables.LINKED), _LINKED_COLUMNS)
        self._without = without_links_from
        self._places: dict[str, int] = {key: i for i, key in enumerate(read["url_key"].to_pylist())}
        self._numbers: dict[str, list[int]] = {
            name: read[name].to_pylist() for name in _LINKED_COLUMNS if name not in ("url_key", "anchors")
        }
        self._anchors = read["anchors"].combine_chunks()

    def of(self, keys: list[str]) -> list[dict[str, Any] | None]:
        """What is known of each key, in order."""
        import pyarrow as pa

        places = [self._places.get(key) for key in keys]
        if not any(place is not None for place in places):
            return [None] * len(keys)
        taken = self._anchors.take(pa.array(places, pa.int64()))
        anchors = _pairs(taken, self._without)
        return [
            None
            if place is None
            else {"anchors": anchors[i], **{name: column[place] for name, column in self._numbers.items()}}
            for i, place in enumerate(places)
        ]


def _pairs(lists: pa.Array, without: frozenset[str]) -> list[tuple[tuple[str, str], ...]]:
    """(words, url_key) of each row's anchors."""
    if hasattr(lists, "num_chunks"):
        lists = lists.combine_chunks()
    ends = lists.offsets.to_pylist()
    values = lists.values
    words, sources = values.field("anchor").to_pylist(), values.field("from_key").to_pylist()
    return [
        tuple((words[i], sources[i]) for i in range(ends[row], ends[row + 1]) if words[i] and sources[i] not in without)
        for row in range(len(lists))
    ]
