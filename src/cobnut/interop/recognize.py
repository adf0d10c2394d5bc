"""What of Nutch lies at a path?

`recognize` looks at names and at the first bytes of files, nothing more, and gives a `Found`: what it is (`kind`), in
which layout ("0.7" or "1.x"), its files (`parts`: SequenceFiles, MapFiles, ArrayFiles) and what it is made of
(`members`: the segments of a folder of segments, the databases of a crawl). Kinds are named as Nutch names its folders:

* `crawldb`, `linkdb`, `hostdb`, `webgraphdb`, `segment`, `segments`, `crawl` (a folder with several of them),
* `webdb`, and `db` around it, of 0.7,
* of files by themselves: `content`, `crawl_fetch`, `fetchlist`, `pagesByURL`, … , `index` (of a MapFile), `records`.

What is strange but can be read is a `Note`; what cannot be read a note that is `damage`. The walk goes only where Nutch
puts things and never deeper, so links in circles lead it nowhere, and it ends after `MAX_NAMES` names.

Not here: reading records (`listing`, `hadoop`), what they become (`nutch_import`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from cobnut.errors import CobnutError, InputError
from cobnut.interop.found import (
    FOREIGN,
    SEGMENT_07,
    SEGMENT_PARTS,
    WEBDB_TABLES,
    WEBGRAPH,
    Found,
    Header,
    Note,
    Part,
    kind_of,
    read_header,
    short_class,
)
from cobnut.interop.hadoop import FormatError
from cobnut.storage.files import cannot_read

__all__ = ["Found", "Header", "Note", "Part", "read_header", "recognize", "short_class"]

MAX_NAMES = 500_000
"""Names that are looked at in all: Nutch's folders have a few each, a folder of segments some thousands."""
_MARKERS = {"fetcher.done", "index.done", "stats", "dbreadlock", "dbwritelock"}
_DATABASES = {"crawldb", "linkdb", "hostdb", "webgraphdb", *WEBGRAPH}
_TOLD = 5
_LOOKED_FOR = (
    "looked for a crawldb, linkdb or hostdb (current/part-*), a webgraphdb, segments (crawl_generate, content, … or "
    "fetchlist, fetcher, …), 0.7's db or webdb (pagesByURL, …), a MapFile (data, index), a SequenceFile (begins SEQ)"
)


def recognize(path: Path | str, *, max_names: int = MAX_NAMES) -> Found:
    """What lies at *path*; *max_names* in all are looked at.

    An `InputError` says that there is nothing, or nothing of Nutch; a `FormatError` that a single file is damaged.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InputError("no such file or folder", where=str(path)) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be opened ({_reason(error)})", where=repr(str(path))) from None
    if stat.S_ISREG(mode):
        return _single_file(path)
    if not stat.S_ISDIR(mode):
        raise InputError("neither a file nor a folder", where=str(path))
    try:
        os.scandir(path).close()
    except OSError as error:
        raise cannot_read(path, error) from None
    found = _Walk(max_names).folder(path, 2)
    if found is None:
        raise InputError("no files of Nutch", where=str(path), remedy=_LOOKED_FOR)
    return found


def _single_file(path: Path) -> Found:
    try:
        header = read_header(path)
    except FormatError as error:
        if error.what == FOREIGN:
            raise InputError("no file of Nutch", where=str(path), remedy=_LOOKED_FOR) from None
        raise
    except OSError as error:
        raise cannot_read(path, error) from None
    kind = kind_of(header, path)
    if path.name != "data":
        return Found(kind, header.layout, path, (Part(kind, "SequenceFile", path, path, header),))
    has_index = _is_file(path.parent / "index")
    container = "ArrayFile" if header.is_numbered else "MapFile"
    notes = () if has_index else (_no_index(path.parent),)
    return Found(kind, header.layout, path, (Part(kind, container, path.parent, path, header, has_index),), (), notes)


class _Names(msgspec.Struct, frozen=True):
    """The names in a folder, apart by what they are (links are followed), and what was strange about them."""

    folders: tuple[str, ...]
    files: tuple[str, ...]
    notes: tuple[Note, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return self.folders + self.files

    @property
    def is_map_file(self) -> bool:
        return "data" in self.files or ("index" in self.files and not self.folders)

    def strange(self, path: Path, known: Collection[str]) -> tuple[Note, ...]:
        """A note on the names that are not known here; one on jobs that are at work or were ended."""
        names = [name for name in self.all if name not in known and name not in _MARKERS]
        names = [name for name in names if not name.startswith((".", "_")) and not name.endswith(".crc")]
        notes = []
        if names:
            more = f" and {len(names) - _TOLD:,} more" if len(names) > _TOLD else ""
            notes.append(Note(f"not known and left out: {', '.join(names[:_TOLD])}{more}", path))
        for leftover in (".locked", "_temporary"):
            if leftover in self.all:
                notes.append(Note(f"`{leftover}` is present: a job is writing, or was interrupted", path))
        return tuple(notes)


class _Gathered(msgspec.Struct):
    """Parts and notes as they are found."""

    path: Path
    parts: list[Part]
    notes: list[Note]

    @property
    def is_there(self) -> bool:
        """Whether there is a file, or something that once was one."""
        return bool(self.parts) or any(note.damage and FOREIGN not in note.text for note in self.notes)

    def note(self, text: str, path: Path | None = None, damage: bool = False) -> None:
        self.notes.append(Note(text, self.path if path is None else path, damage))

    def add(self, other: _Gathered) -> None:
        self.parts += other.parts
        self.notes += other.notes

    def header(self, path: Path) -> Header | None:
        """The header of *path*, or None and a note."""
        try:
            return read_header(path)
        except FormatError as error:
            where = "" if error.offset is None else f" at byte {error.offset}"
            self.note(f"cannot be read: {error.what}{where}", path, damage=True)
        except CobnutError as error:
            self.note(f"cannot be read: {error.what}", path, damage=True)
        except OSError as error:
            self.note(f"cannot be opened ({_reason(error)})", path, damage=True)
        return None

    def found(self, kind: str, layout: str = "1.x") -> Found:
        """All together; *layout* is taken where no part tells it."""
        return Found(kind, _layout((p.layout for p in self.parts), layout), self.path, tuple(self.parts), (),
                     tuple(self.notes))  # fmt: skip


class _Walk:
    """One look around; `left` is how many names may still be looked at."""

    def __init__(self, max_names: int) -> None:
        self.max_names = self.left = max_names

    def names(self, path: Path) -> _Names:
        """What stands in the folder."""
        folders: list[str] = []
        files: list[str] = []
        notes: list[Note] = []
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    self.left -= 1
                    if self.left < 0:
                        notes.append(
                            Note(f"more than {self.max_names:,} names: the rest is left out", path, damage=True)
                        )
                        break
                    try:
                        if entry.is_dir():
                            folders.append(entry.name)
                        elif entry.is_file():
                            files.append(entry.name)
                        elif entry.is_symlink() and len(notes) < _TOLD:
                            notes.append(Note("a link that leads nowhere: left out", path / entry.name))
                    except OSError as error:
                        if len(notes) < _TOLD:
                            notes.append(Note(f"cannot be opened ({_reason(error)}): left out", path / entry.name))
        except OSError as error:
            notes.append(Note(f"cannot be opened ({_reason(error)})", path, damage=True))
        return _Names(tuple(sorted(folders)), tuple(sorted(files)), tuple(notes))

    def folder(self, path: Path, depth: int) -> Found | None:
        """What this folder is, judged by the names in it; None: nothing of Nutch. *depth*: levels to go down."""
        names = self.names(path)
        if names.is_map_file or any(map(_is_part, names.all)):
            gathered = self.table(path, names)
            return (
                gathered.found(gathered.parts[0].kind if gathered.parts else "records") if gathered.is_there else None
            )
        for look in (self.webdb, self.segment, self.webgraph, self.database):
            found = look(path, names)
            if found is not None:
                return found
        if {"webdb", "webdb.old", "webdb.new"} & set(names.folders):
            return self.db(path, names)
        return self.several(path, names, depth) if depth else None

    def table(self, path: Path, names: _Names, place: str | None = None) -> _Gathered:
        """A folder that is a MapFile, or has files or MapFiles `part-*`; *place* is what it is called."""
        gathered = _Gathered(path, [], list(names.notes))
        if names.is_map_file:
            self.map_file(path, names, place, gathered)
            gathered.notes += names.strange(path, ("data", "index"))
            return gathered
        for name in sorted(filter(_is_part, names.all)):
            if name in names.folders:
                inside = self.names(path / name)
                gathered.notes += inside.notes
                if inside.all or not inside.notes:  # else it could not be looked into
                    self.map_file(path / name, inside, place, gathered)
                gathered.notes += inside.strange(path / name, ("data", "index"))
            elif header := gathered.header(path / name):
                file = path / name
                gathered.parts.append(Part(kind_of(header, file, place), "SequenceFile", file, file, header))
        gathered.notes += names.strange(path, set(filter(_is_part, names.all)))
        _tell_differences(gathered)
        return gathered

    def map_file(self, path: Path, names: _Names, place: str | None, gathered: _Gathered) -> None:
        if "data" not in names.files:
            if "index" not in names.files:
                gathered.note("half-written: a MapFile without `data` and `index`", path, damage=True)
            elif gathered.header(path / "index") is not None:
                gathered.note("half-written: a MapFile without `data`", path, damage=True)
            return
        header = gathered.header(path / "data")
        if header is None:
            return
        has_index = "index" in names.files
        if not has_index:
            gathered.notes.append(_no_index(path))
        container = "ArrayFile" if header.is_numbered else "MapFile"
        data = path / "data"
        gathered.parts.append(Part(kind_of(header, data, place), container, path, data, header, has_index))

    def webdb(self, path: Path, names: _Names) -> Found | None:
        if not set(WEBDB_TABLES) & set(names.folders):
            return None
        gathered = _Gathered(path, [], list(names.notes))
        for name in WEBDB_TABLES:
            if name in names.folders:
                gathered.add(self.table(path / name, self.names(path / name), name))
            else:
                gathered.note(f"a webdb without {name}")
        gathered.notes += names.strange(path, WEBDB_TABLES)
        _tell_layouts(gathered)
        return gathered.found("webdb", "0.7")

    def db(self, path: Path, names: _Names) -> Found | None:
        """The folder around a webdb: with locks, and `webdb.new` and `webdb.old` while it is updated."""
        chosen = next(name for name in ("webdb", "webdb.old", "webdb.new") if name in names.folders)
        webdb = self.webdb(path / chosen, self.names(path / chosen))
        if webdb is None:
            return None
        gathered = _Gathered(path, [], list(names.notes))
        if chosen != "webdb":
            gathered.note(f"an update was interrupted: `webdb` is missing, `{chosen}` is read")
        elif "webdb.new" in names.folders:
            gathered.note("an update is under way or was interrupted: `webdb.new` is left out")
        gathered.notes += names.strange(path, ("webdb", "webdb.old", "webdb.new"))
        return msgspec.structs.replace(gathered.found("db", webdb.layout), members=(webdb,))

    def segment(self, path: Path, names: _Names) -> Found | None:
        present = [name for name in SEGMENT_PARTS if name in names.folders]
        if not present:
            return None
        gathered = _Gathered(path, [], list(names.notes))
        for name in present:
            found = self.table(path / name, self.names(path / name), name)
            if not found.parts and not found.notes:
                found.note(f"half-written: {name} is empty")
            gathered.add(found)
        if not gathered.is_there and not _is_segment_name(path.name):
            return None  # a folder called content or fetcher may be anything
        _tell_missing(gathered, set(present))
        gathered.notes += names.strange(path, (*SEGMENT_PARTS, "index"))
        _tell_layouts(gathered)
        return gathered.found("segment", "0.7" if set(present) & set(SEGMENT_07) else "1.x")

    def webgraph(self, path: Path, names: _Names) -> Found | None:
        gathered = _Gathered(path, [], list(names.notes))
        for name in WEBGRAPH:
            if name in names.folders:
                inside = self.names(path / name)
                found = self.version(path / name, inside, name)
                gathered.add(self.table(path / name, inside, name) if found is None else found)
        if not gathered.is_there:
            return None
        gathered.notes += names.strange(path, WEBGRAPH)
        return gathered.found("webgraphdb")

    def database(self, path: Path, names: _Names) -> Found | None:
        """A crawldb, linkdb or hostdb, or one folder of a webgraphdb."""
        gathered = self.version(path, names)
        if gathered is None or not (gathered.is_there or path.name in _DATABASES):
            return None
        kind = gathered.parts[0].kind if gathered.parts else path.name
        if kind == "records" and path.name in _DATABASES:
            kind = path.name  # of a class that is not known: reading it says so
        return gathered.found(kind)

    def version(self, path: Path, names: _Names, place: str | None = None) -> _Gathered | None:
        """The table in `current`, its present version, or in `old` where that is all there is."""
        version = next((name for name in ("current", "old") if name in names.folders), None)
        if version is None:
            return None
        gathered = _Gathered(path, [], list(names.notes))
        if version == "old":
            gathered.note("an update was interrupted: `current` is missing, `old` is read")
        gathered.notes += names.strange(path, ("current", "old"))
        table = self.table(path / version, self.names(path / version), place)
        if not table.parts and not table.notes:
            gathered.note(f"`{version}` is empty")
        gathered.add(table)
        return gathered

    def several(self, path: Path, names: _Names, depth: int) -> Found | None:
        """A folder of segments, or a crawl: whatever of Nutch lies in its folders."""
        members: list[Found] = []
        others: list[str] = []
        for name in names.folders:
            found = None if name.startswith(".") or self.left < 0 else self.folder(path / name, depth - 1)
            if found is None or found.kind == "records":
                others.append(name)
            else:
                members.append(found)
        if not members:
            return None
        gathered = _Gathered(path, [], list(names.notes))
        gathered.notes += _Names(tuple(others), names.files).strange(path, ())
        layout = _layout(member.layout for member in members)
        if layout == "mixed":
            gathered.note("files of Nutch 0.7 and of later versions in one folder")
        kind = "segments" if all(member.kind == "segment" for member in members) else "crawl"
        return msgspec.structs.replace(gathered.found(kind, layout), members=tuple(members))


def _tell_missing(segment: _Gathered, present: set[str]) -> None:
    """What a segment lacks that a finished one has."""
    if not present & {"crawl_fetch", "fetcher", "fetcher_output", "content", "parse_data", "parse_text"}:
        segment.note("half-written: generated and not fetched")
    elif not present & {"parse_data", "parse_text"}:
        segment.note("half-written: fetched and not parsed")
    else:
        first = "fetcher" if present & set(SEGMENT_07) else "crawl_fetch"
        missing = [name for name in (first, "content", "parse_data", "parse_text") if name not in present]
        if missing:
            segment.note(f"half-written: without {', '.join(missing)}")


def _tell_differences(table: _Gathered) -> None:
    """Files of one table that differ in what they hold, or in who wrote them."""
    classes = sorted({short_class(part.header.value_class) for part in table.parts})
    versions = sorted({part.header.version for part in table.parts})
    if len(classes) > 1:
        table.note(f"files of different kinds in one folder: {', '.join(classes)}")
    if len(versions) > 1:
        table.note(f"files of different versions in one folder: SequenceFile {' and '.join(map(str, versions))}")


def _tell_layouts(gathered: _Gathered) -> None:
    if len({part.layout for part in gathered.parts}) > 1:
        gathered.note("files of Nutch 0.7 and of later versions in one folder")


def _layout(layouts: Iterable[str], default: str = "1.x") -> str:
    different = set(layouts)
    if len(different) > 1:
        return "mixed"
    return different.pop() if different else default


def _is_part(name: str) -> bool:
    return name.startswith("part-") and not name.endswith(".crc")


def _is_segment_name(name: str) -> bool:
    return len(name) == 14 and name.isdecimal()


def _no_index(path: Path) -> Note:
    return Note("no index: read from the start", path)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
