"""How does a stream of documents become an index folder?

`write_index` fills a fresh folder and writes its manifest last, everything fsynced: a killed run leaves a folder that
no reader takes for an index. Whoever calls it renames the folder into place.

Not here: joining tables into documents (`stages.index`), putting indexes together (`index.merge`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
import tantivy

from cobnut.config.sections import IndexSettings, MiB
from cobnut.errors import MachineError
from cobnut.index import schema as cut
from cobnut.index.damage import checksums, damage
from cobnut.index.document import Document, clipped, doc_key, encode, stored
from cobnut.index.manifest import NAME as MANIFEST
from cobnut.index.manifest import IndexManifest, write_manifest
from cobnut.records.catalogue import FORMAT_VERSION
from cobnut.storage.files import fsync_tree, machine_error, not_allowed
from cobnut.text.cjk import spaced_bigrams

_FEW = 2_000  # documents up to which one thread makes one index segment
_LEAST_HEAP = 15 * MiB  # the engine refuses less per thread


class IndexStats(msgspec.Struct, frozen=True):
    """What `write_index` and `merge_indexes` made."""

    doc_count: int
    index_segments: int
    bytes: int
    dropped_count: int = 0


def write_index(
    folder: Path,
    documents: Iterable[Document],
    settings: IndexSettings,
    *,
    segments: Iterable[str] = (),
    inputs_digest: str = "",
    threads: int = 0,
) -> IndexStats:
    """Make a complete index in `folder`, which must not exist or be empty.

    `segments` are recorded beside those the documents name, so that an empty crawl segment is known to be indexed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stream = iter(documents)
    head = list(islice(stream, _FEW + 1))
    if threads <= 0:
        threads = 1 if len(head) <= _FEW else min(4, os.cpu_count() or 1)
    heap = max(settings.writer_heap_mib * MiB, _LEAST_HEAP * threads)
    seen = set(segments)
    try:
        index = cut.register(tantivy.Index(cut.schema(), str(folder), reuse=False))
        writer = index.writer(heap, threads)
        for document in chain(head, stream):
            seen.add(document.segment)
            writer.add_document(cut.fields_of(_values(document, settings)))
        del head
        writer.commit()
        writer.wait_merging_threads()
    except (ValueError, OSError) as error:
        raise _write_error(error, folder) from error
    return seal(folder, tuple(sorted(seen)), inputs_digest)


def seal(folder: Path, segments: tuple[str, ...], inputs_digest: str, dropped_count: int = 0) -> IndexStats:
    """Make the files durable, count, and write the manifest."""
    for name in (".tantivy-writer.lock", ".tantivy-meta.lock"):
        with suppress(FileNotFoundError):
            (folder / name).unlink()
    fsync_tree(folder)
    doc_count, index_segments = count(folder)
    write_manifest(
        folder,
        IndexManifest(
            format_version=FORMAT_VERSION,
            schema_digest=cut.SCHEMA_DIGEST,
            doc_count=doc_count,
            segments=segments,
            inputs_digest=inputs_digest,
            dropped_count=dropped_count,
            index_segments=index_segments,
            checksums=checksums(folder),
        ),
    )
    mode = (folder / MANIFEST).stat().st_mode & 0o777
    for name in ("meta.json", ".managed.json"):  # the engine keeps these to the owner; a server may be another user
        (folder / name).chmod(mode)
    size = sum(entry.stat().st_size for entry in os.scandir(folder) if entry.is_file())
    return IndexStats(doc_count, index_segments, size, dropped_count)


def count(folder: Path) -> tuple[int, int]:
    """(documents that are not deleted, index segments) of an index folder."""
    segments = read_meta(folder)["segments"]
    alive = sum(s["max_doc"] - ((s.get("deletes") or {}).get("num_deleted_docs", 0)) for s in segments)
    return alive, len(segments)


def read_meta(folder: Path) -> dict[str, Any]:
    """The engine's own list of index segments."""
    path = folder / "meta.json"
    try:
        meta: dict[str, Any] = msgspec.json.decode(path.read_bytes())
        meta["segments"]
    except PermissionError:
        raise not_allowed(path) from None
    except (OSError, msgspec.MsgspecError, KeyError, TypeError) as error:
        raise damage(folder, f"{path.name}: {error}") from None
    return meta


def _write_error(error: Exception, folder: Path) -> MachineError:
    if isinstance(error, OSError) and error.errno:
        return machine_error(error, folder, "write the index")
    return MachineError(f"the index could not be written ({error})", where=str(folder))


def _values(document: Document, settings: IndexSettings) -> dict[str, Any]:
    """The engine's fields of a document; empty ones are left out."""
    anchors = list(dict.fromkeys(words for words, _ in document.anchors if words))[: settings.max_anchors]
    body = document.text
    if document.description and document.description not in body:
        body = f"{body[: settings.max_text_chars]}\n{document.description}"
    values: dict[str, Any] = {
        "doc": doc_key(document.url_key, document.segment),
        "url_key": document.url_key,
        "segment": document.segment,
        "site": cut.sites_of(document.host),
        "exact": _exact(document, anchors),
        "title": _text(document.title, 1_000),
        "headings": [_text(heading, 500) for heading in document.headings[:200]],
        "body": _text(body, settings.max_text_chars + 1_000),
        "anchors": [_text(words, 300) for words in anchors],
        "url": cut.url_words(document.url),
        "page_rank": max(0, document.page_rank),
        "host_rank": max(0, document.host_rank),
        "inlink_count": max(0, document.inlink_count),
        "inlink_host_count": max(0, document.inlink_host_count),
        "url_length": len(document.url),
        "title_words": document.title.count(" ") + 1 if document.title else 0,
        "body_words": body.count(" ") + 1 if body else 0,
        "blob": encode(stored(document, settings)),
    }
    if document.boost != 1_000_000:
        values["boost"] = max(1, document.boost)
    if document.language:
        values["language"] = document.language
    return values


def _text(text: str, limit: int) -> str:
    return spaced_bigrams(clipped(text, limit))


def _exact(document: Document, anchors: list[str]) -> list[str]:
    """Whole titles, anchors and the URL's name, as the `exact` field takes them."""
    return list(dict.fromkeys(_exact_forms(document, anchors)))


def _exact_forms(document: Document, anchors: list[str]) -> Iterator[str]:
    sources = chain(
        (("t", part) for part in cut.title_parts(document.title)),
        (("a", words) for words in anchors),
        (("u", cut.url_name(document.url)),),
    )
    for kind, text in sources:
        form = cut.exact_form(kind, clipped(text, 300)) if text else None
        if form is not None:
            yield form
