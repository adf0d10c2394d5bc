"""Where is the index that is to be searched?

A path may name a crawl, the folder of the merged index's generations, one generation or another index folder by
itself, or a segment of a crawl. A source that follows generations sees a new one at its next `refresh_if_changed`.
"""

from __future__ import annotations

import os
from pathlib import Path

from cobnut.config.sections import SearchSettings
from cobnut.errors import DataError, InputError
from cobnut.index.manifest import NAME as MANIFEST
from cobnut.index.reader import IndexReader
from cobnut.records.catalogue import TABLES
from cobnut.search.searcher import IndexSource, Searcher
from cobnut.storage.files import not_allowed
from cobnut.storage.generations import CURRENT, Generation, GenerationStore
from cobnut.storage.layout import SETTINGS_FILE

_TABLES = frozenset(table.name for table in TABLES if table.scope == "crawl")


class FolderSource:
    """One index folder that does not change."""

    def __init__(self, folder: Path) -> None:
        self._reader: IndexReader | None = IndexReader(folder)

    def reader(self) -> IndexReader | None:
        """The index."""
        return self._reader

    def refresh_if_changed(self) -> bool:
        """It never does."""
        return False

    def close(self) -> None:
        """Let go of the index."""
        self._reader = None


class GenerationSource:
    """The current generation of a merged index, held against removal, and the next one when it is there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = GenerationStore(folder, "index")
        self._reader: IndexReader | None = None
        self._held: Generation | None = None
        self._seen: tuple[int, int, int] | None = None
        self.refresh_if_changed()

    def reader(self) -> IndexReader | None:
        """The index of the generation last seen; None while there is none."""
        return self._reader

    def refresh_if_changed(self) -> bool:
        """One `stat` when nothing changed."""
        now = _stamp(self._folder / CURRENT)
        if now is None or now == self._seen:
            return False
        generation = self._store.current()
        if generation is None:
            return False
        if self._held is not None and generation.number == self._held.number:
            generation.close()
            self._seen = now
            return False
        try:
            reader = IndexReader(generation.path)
        except BaseException:
            generation.close()
            raise
        former, self._held, self._reader, self._seen = self._held, generation, reader, now
        if former is not None:
            former.close()  # the files stay mapped for searches that are still running
        return True

    def close(self) -> None:
        """Let go of the index."""
        self._reader = None
        if self._held is not None:
            self._held.close()
            self._held = None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def find_source(path: Path, *, missing_ok: bool = False) -> IndexSource:
    """The source of an index at `path`; see the module for what a path may name.

    A crawl without any segment has nothing indexed yet: its source is empty. A crawl with segments but no merged
    index is a `DataError`, unless `missing_ok` (a server may be started before the first index is there).
    """
    path = Path(path)
    if not path.exists():
        raise InputError("no such folder", where=str(path), remedy="name a crawl or an index folder")
    if not path.is_dir():
        raise InputError("not a folder", where=str(path), remedy="name a crawl or an index folder")
    try:
        os.scandir(path).close()
        os.stat(path / CURRENT)
    except PermissionError:
        raise not_allowed(path) from None
    except OSError:
        pass
    if (path / CURRENT).exists() and not _is_table(path):
        return GenerationSource(path)
    if (path / MANIFEST).exists() and not any(path.glob("part-*.parquet")):
        return FolderSource(path)
    if (path / SETTINGS_FILE).exists():
        merged = path / "index"
        if (merged / CURRENT).exists() or missing_ok or not _has_segments(path):
            return GenerationSource(merged)
        raise DataError(
            "no index yet",
            where=str(path),
            remedy=f"run `cobnut index {path}` and `cobnut merge {path}` first",
        )
    if (path / "index" / MANIFEST).exists():
        return FolderSource(path / "index")
    raise DataError(
        "not an index",
        where=str(path),
        remedy="name a crawl or an index folder; `cobnut index` and `cobnut merge` make one",
    )


def _is_table(path: Path) -> bool:
    """Are these the generations of one of a crawl's tables?"""
    return path.name in _TABLES and (path.parent / SETTINGS_FILE).exists()


def _has_segments(crawl: Path) -> bool:
    try:
        return any(not entry.name.startswith(".") for entry in os.scandir(crawl / "segments"))
    except OSError:
        return False


def open_searcher(path: Path, settings: SearchSettings | None = None, *, missing_ok: bool = False) -> Searcher:
    """A searcher of the index at `path`."""
    return Searcher(find_source(path, missing_ok=missing_ok), settings)
