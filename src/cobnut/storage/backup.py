"""How is a crawl copied while it is at work, so that the copy is whole?

Every version of a table, and everything acknowledged in a segment, lies on disk before the mark that names it: CURRENT,
state.json, a `.done` file, a part of `fetched` (whose WARC records are durable), a part of `parsed` (whose links are).
So marks are copied first and what they name later: a copied mark then names nothing that is missing. Among the tables
the crawldb's mark comes first, because the crawldb is published last: the copy never holds a round in the crawldb that
it lacks elsewhere. What came after the marks were copied is left out, and a crawl that goes on in the copy fetches it.

Generations named by a copied mark are held against removal meanwhile. Left out are locks, unfinished work, and indexes
of segments that were replaced meanwhile, which the copy makes again when it goes on.

Not here: copying an index alone (`index.publish`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from cobnut.errors import CobnutError, DataError, InputError
from cobnut.records import catalogue as tables
from cobnut.storage.files import (
    TEMPORARY_PREFIX,
    cannot_read,
    fsync_tree,
    io_errors,
    maker_lives,
    remove_tree,
    temporary_name,
)
from cobnut.storage.generations import CURRENT, MANIFEST, Generation, GenerationStore
from cobnut.storage.layout import PURGING, SETTINGS_FILE, STATE_FILE, CrawlFolder, SegmentFolder
from cobnut.urls.rules import FOLDER as RULES_FOLDER

_MARKS_FIRST = (tables.FETCHLIST.name, tables.FETCHED.name, tables.HOSTS.name, tables.PARSED.name)
_THEN = (tables.LINKS.name, tables.LINKED.name, "warc")


class Backup(msgspec.Struct):
    """What one backup came to. `linked`: files that share their bytes with the crawl's."""

    files: int = 0
    linked: int = 0
    bytes: int = 0
    segments: int = 0


def back_up(
    crawl: CrawlFolder, target: Path, *, link: bool = False, on_copied: Callable[[Path], None] | None = None
) -> Backup:
    """Copies a crawl, which may be at work, to a folder that does not exist yet; it appears whole or not at all.

    `link`: files that never change once written get a second name instead of a copy, where the disk is the same. WARC
    files and settings are always copied: these change in place.
    """
    if target.exists():
        raise InputError("the target exists already", where=str(target), remedy="name a new folder")
    if target.absolute().is_relative_to(crawl.path.absolute()):
        raise InputError("the target lies in the crawl", where=str(target), remedy="name a folder elsewhere")
    draft = target.with_name(temporary_name(target.name))
    copier = _Copier(link, on_copied or (lambda path: None))
    with io_errors(target, "back up"), ExitStack() as stack:
        _sweep(target)
        draft.mkdir(parents=True)
        try:
            for name in (SETTINGS_FILE, PURGING):
                if (crawl.path / name).exists():
                    copier.copy(crawl.path / name, draft / name)
            for file in sorted((crawl.path / RULES_FOLDER).glob("*")):
                if file.is_file():
                    (draft / RULES_FOLDER).mkdir(exist_ok=True)
                    copier.copy(file, draft / RULES_FOLDER / file.name)
            held = [(store.path.name, stack.enter_context(version)) for store, version in _current(crawl)]
            for segment, marks in [(s, _marks(s)) for s in crawl.segments()]:
                _segment(segment, marks, draft / "segments" / segment.name, copier)
                copier.done.segments += 1
            for name, version in held:
                _generation(version, draft / name, copier)
            (draft / "segments").mkdir(exist_ok=True)
            (draft / "reports").mkdir(exist_ok=True)
            fsync_tree(draft)
            os.rename(draft, target)
        except BaseException:
            remove_tree(draft)
            raise
    return copier.done


def _sweep(target: Path) -> None:
    """Removes what killed backups to the same target left beside it; one that is at work stays."""
    beginning = temporary_name(target.name).rsplit("-", 2)[0]
    for entry in target.parent.iterdir() if target.parent.is_dir() else ():
        pieces = entry.name.rsplit("-", 2)
        if len(pieces) == 3 and pieces[0] == beginning and pieces[1].isdigit() and not maker_lives(entry.name):
            remove_tree(entry)


def _current(crawl: CrawlFolder) -> Iterable[tuple[GenerationStore, Generation]]:
    """The present generation of every table, the crawldb's first, and of the index; each held against removal."""
    crawl_tables = sorted((t for t in tables.TABLES if t.scope == "crawl"), key=lambda t: t is not tables.CRAWLDB)
    for store in [*(crawl.table(t).generations for t in crawl_tables), crawl.index_generations()]:
        version = store.current()
        if version is not None:
            yield store, version


def _generation(version: Generation, target: Path, copier: _Copier) -> None:
    copier.tree(version.path, target / version.path.name)
    (target / CURRENT).write_text(f"{version.path.name}\n")


def _marks(segment: SegmentFolder) -> dict[str, bytes]:
    """What says how far the segment has come, as it stands now."""
    names = [STATE_FILE, *(f"fetching/{p.name}" for p in segment.path.glob("fetching/*.done"))]
    return {name: _bytes(segment.path / name) for name in names}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _cannot_copy(path, error) from error


def _segment(segment: SegmentFolder, marks: dict[str, bytes], target: Path, copier: _Copier) -> None:
    target.mkdir(parents=True)
    for folder in (*_MARKS_FIRST, *_THEN):
        if (segment.path / folder).is_dir():
            copier.tree(segment.path / folder, target / folder)
    _index(segment, target / segment.index_path.name, copier)
    for name, data in marks.items():
        (target / name).parent.mkdir(exist_ok=True)
        (target / name).write_bytes(data)


def _index(segment: SegmentFolder, target: Path, copier: _Copier) -> None:
    """The segment's own index, unless another takes its place while it is copied."""
    before = _identity(segment.index_path / MANIFEST)
    if before is None:
        return
    with suppress(DataError, OSError):
        copier.tree(segment.index_path, target)
        if _identity(segment.index_path / MANIFEST) == before:
            return
    remove_tree(target)


def _identity(path: Path) -> int | None:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot_read(path, error) from error


def _cannot_copy(source: Path, error: OSError) -> CobnutError | OSError:
    """What kept a file from being copied, the source first: what cannot be read there is no fault of the target."""
    if not os.path.lexists(source):
        return DataError(
            "a file went while it was copied", where=str(source), remedy="back up again, without `clean` beside it"
        )
    try:
        with open(source, "rb"):
            return error
    except OSError as broken:
        return cannot_read(source, broken)


class _Copier:
    """Copies or links files, and counts them."""

    def __init__(self, link: bool, on_copied: Callable[[Path], None]) -> None:
        self.link, self.on_copied, self.done = link, on_copied, Backup()

    def tree(self, source: Path, target: Path) -> None:
        """A folder with all its finished files as they stand now."""
        target.mkdir(parents=True)
        for entry in sorted(source.iterdir()):
            if entry.name.startswith((TEMPORARY_PREFIX, ".tantivy-")):
                continue
            if entry.is_dir():
                self.tree(entry, target / entry.name)
            else:
                self.copy(entry, target / entry.name)

    def copy(self, source: Path, target: Path) -> None:
        """One file."""
        try:
            # a second name of a symbolic link would lead elsewhere, or nowhere, from another folder
            if self.link and source.suffix not in (".gz", ".toml", ".txt") and not source.is_symlink():
                try:
                    os.link(source, target)
                    self.done.linked += 1
                except OSError:
                    shutil.copy2(source, target)
            else:
                shutil.copy2(source, target)
        except OSError as error:
            if (clear := _cannot_copy(source, error)) is error:
                raise
            raise clear from error
        self.done.files += 1
        self.done.bytes += target.stat().st_size
        self.on_copied(source)
