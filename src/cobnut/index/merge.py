"""How do several indexes become one without indexing again?

The engine's files never change once written, so the merged index *links* the index segments of its sources under new
names (a copy where the file system has no hard links) and gets its own list of them. Deletes are written beside the
links. The sources stay as they are, and the result needs none of them. Above `max_index_segments` the engine
compacts.

Not here: which documents are to be dropped (`stages.merge`), publishing (`storage.generations`).
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import tantivy

from cobnut.config.sections import IndexSettings, MiB
from cobnut.errors import DataError, MachineError
from cobnut.index import schema as cut
from cobnut.index.damage import fault, is_panic, remedy
from cobnut.index.manifest import read_manifest
from cobnut.index.writer import IndexStats, count, read_meta, seal
from cobnut.storage.files import io_errors, link_or_copy, remove_tree, temporary_name, write_atomic

_HEAP = 15 * MiB


class Source(msgspec.Struct, frozen=True):
    """One index to merge, without the documents of some crawl segments."""

    path: Path
    without_segments: frozenset[str] = frozenset()


def merge_indexes(
    target: Path,
    sources: Sequence[Source | Path],
    settings: IndexSettings,
    *,
    drop: Iterable[str] = (),
    inputs_digest: str = "",
) -> IndexStats:
    """Make a complete index in `target` (fresh or empty) out of `sources`, without the documents whose key is in
    `drop`.
    """
    wanted = [source if isinstance(source, Source) else Source(source) for source in sources]
    segments: set[str] = set()
    for source in wanted:
        segments |= set(check_mergeable(source.path).segments) - source.without_segments
    target.mkdir(parents=True, exist_ok=True)
    reduced: list[Path] = []
    try:
        with io_errors(target, "merge indexes"):
            tantivy.Index(cut.schema(), str(target), reuse=False)
            paths = []
            for source in wanted:
                if source.without_segments:
                    reduced.append(target.parent / temporary_name("reduced"))
                    _reduce(source, reduced[-1])
                    paths.append(reduced[-1])
                else:
                    paths.append(source.path)
            link_segments(target, paths)
            dropped = _delete(target, (("doc", key) for key in drop))
            if count(target)[1] > settings.max_index_segments:
                _compact(target, settings)
    except ValueError as error:
        raise MachineError(f"the indexes could not be merged ({error})", where=str(target)) from error
    except BaseException as error:
        if not is_panic(error):
            raise
        for source in wanted:
            if (broken := fault(source.path)) is not None:
                raise broken from None
        raise RuntimeError(f"the search engine broke off ({str(error)[:200]})") from None
    finally:
        for path in reduced:
            remove_tree(path)
    return seal(target, tuple(sorted(segments)), inputs_digest, dropped)


def check_mergeable(path: Path) -> Any:
    """The manifest of an index that can be merged with those this program makes."""
    manifest = read_manifest(path)
    if manifest.schema_digest != cut.SCHEMA_DIGEST:
        raise DataError(
            "the index was made with other fields and cannot be merged", where=str(path), remedy=remedy(path)
        )
    return manifest


def link_segments(target: Path, sources: Iterable[Path]) -> None:
    """Add the index segments of `sources` to the index at `target`, under new names."""
    meta = read_meta(target)
    managed = set(msgspec.json.decode((target / ".managed.json").read_bytes()))
    for source in sources:
        theirs = read_meta(source)
        if not _has_fields_of(meta.get("schema"), theirs.get("schema")):
            raise DataError("the index has other fields", where=str(source), remedy=remedy(source))
        meta["opstamp"] = max(meta.get("opstamp", 0), theirs.get("opstamp", 0))
        for segment in theirs["segments"]:
            fresh = uuid.uuid4()
            old = segment["segment_id"].replace("-", "")
            names = [name for name in os.listdir(source) if name.startswith(old + ".")]
            if not names and segment["max_doc"]:
                raise DataError("files of the index are missing", where=str(source), remedy=remedy(source))
            for name in names:
                new = fresh.hex + name[len(old) :]
                link_or_copy(source / name, target / new)
                managed.add(new)
            meta["segments"].append({**segment, "segment_id": str(fresh)})
    write_atomic(target / ".managed.json", msgspec.json.encode(sorted(managed)))
    write_atomic(target / "meta.json", msgspec.json.encode(meta))


def _has_fields_of(ours: Any, theirs: Any) -> bool:
    """Whether an index's fields are ours, or ours without those that came later."""
    if not isinstance(ours, list) or not isinstance(theirs, list):
        return False
    return theirs == ours[: len(theirs)] and len(ours) - len(theirs) <= len(cut.LATER_FIELDS)


def _reduce(source: Source, folder: Path) -> None:
    """A copy, by links, of a source without the documents of some crawl segments."""
    folder.mkdir(parents=True)
    tantivy.Index(cut.schema(), str(folder), reuse=False)
    link_segments(folder, [source.path])
    _delete(folder, (("segment", name) for name in sorted(source.without_segments)))


def _delete(folder: Path, terms: Iterable[tuple[str, str]]) -> int:
    """Delete the documents that hold one of the terms; how many went."""
    before, writer = count(folder)[0], None
    for field, value in terms:
        if writer is None:
            index = cut.register(tantivy.Index.open(str(folder)))
            writer = index.writer(_HEAP, 1)
        writer.delete_documents_by_term(field, value)
    if writer is None:
        return 0
    writer.commit()
    writer.wait_merging_threads()
    return before - count(folder)[0]


def _compact(folder: Path, settings: IndexSettings) -> None:
    """Let the engine merge index segments: it does so of itself at a commit."""
    for _ in range(4):
        before = count(folder)[1]
        index = cut.register(tantivy.Index.open(str(folder)))
        writer = index.writer(max(settings.writer_heap_mib * MiB, _HEAP), 1)
        writer.commit()
        writer.wait_merging_threads()
        now = count(folder)[1]
        if now <= settings.max_index_segments or now == before:
            break
    index = cut.register(tantivy.Index.open(str(folder)))
    writer = index.writer(_HEAP, 1)
    writer.garbage_collect_files()
    writer.wait_merging_threads()


def copy_index(source: Path, target: Path) -> None:
    """A second index folder of the same files; used where one is to be kept apart from its source."""
    shutil.copytree(source, target, copy_function=lambda a, b: link_or_copy(Path(a), Path(b)))
