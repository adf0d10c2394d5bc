"""Is a generation whole: its manifest, and the files that it names?

Not here: which generation is current (`generations`), the rows in the files (`tables`).
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import msgspec

from cobnut.errors import CobnutError, MachineError
from cobnut.records.catalogue import FORMAT_VERSION
from cobnut.storage.files import NOT_ALLOWED, read_json
from cobnut.storage.generations import MANIFEST, version_of
from cobnut.storage.layers import layer_of, rows_held
from cobnut.storage.tables import MOST_PARTITIONS, checksum

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,120}")


class FileEntry(msgspec.Struct):
    """One file of a table, as the manifest names it. `replaced` makes it a delta, `gone` a file of keys alone."""

    name: str
    rows: int
    bytes: int
    xxh3: str
    partition: int
    replaced: int | None = None
    gone: bool = False


class AppliedEntry(msgspec.Struct):
    """A segment that the table holds."""

    segment: str
    digest: str | None = None


class TableManifest(msgspec.Struct):
    """What the manifest of a table's generation says."""

    format_version: int
    rows: int
    partitions: int
    files: list[FileEntry]
    applied: list[AppliedEntry] = []
    created_at: str = ""
    stage: str = ""


class Fault(msgspec.Struct, frozen=True):
    """What is wrong with a generation, and in which file. `is_newer`: another program may read it."""

    what: str
    where: Path
    is_newer: bool = False


def read_manifest(folder: Path) -> TableManifest | Fault:
    """The manifest of a table's generation, or what is wrong with it."""
    path = folder / MANIFEST
    try:
        raw = read_json(path)
        version = version_of(raw, path)
    except MachineError:
        raise
    except CobnutError as error:
        return Fault(error.what, path)
    if version > FORMAT_VERSION:
        return Fault(f"format version {version} is newer than this program knows ({FORMAT_VERSION})", path, True)
    try:
        manifest = msgspec.convert(raw, TableManifest)
    except (msgspec.ValidationError, OverflowError) as error:
        return Fault(f"the manifest is damaged ({str(error)[:120]})", path)
    wrong = _nonsense(manifest)
    return manifest if wrong is None else Fault(f"the manifest is damaged ({wrong})", path)


def _nonsense(manifest: TableManifest) -> str | None:
    """What of a manifest cannot be."""
    count = manifest.partitions
    if not 1 <= count <= MOST_PARTITIONS or count & (count - 1):
        return f"{count} partitions"
    base = _base_rows(manifest)
    for entry in manifest.files:
        if _NAME.fullmatch(entry.name) is None or entry.name.startswith(".."):
            return f"a file called {entry.name[:60]!r}"
        if not 0 <= entry.partition < count:
            return f"{entry.name} is of partition {entry.partition} of {count}"
        if entry.rows < 0 or not 0 <= (entry.replaced or 0) <= base[entry.partition]:
            return f"{entry.name} has {entry.rows} rows and replaces {entry.replaced}"
        if entry.gone and entry.replaced is not None:
            return f"{entry.name} replaces rows, and names some that are gone"
    if len({entry.name for entry in manifest.files}) < len(manifest.files):
        return "it names a file twice"
    rows = sum(rows_held(msgspec.structs.asdict(entry)) for entry in manifest.files)
    if rows != manifest.rows:
        return f"it has {manifest.rows:,} rows, its files have {rows:,}"
    if len({entry.segment for entry in manifest.applied}) < len(manifest.applied):
        return "it holds a segment twice"
    return None


def _base_rows(manifest: TableManifest) -> Counter[int]:
    """The rows of each partition's base."""
    found: Counter[int] = Counter()
    for entry in manifest.files:
        if layer_of(msgspec.structs.asdict(entry)) == "base":
            found[entry.partition] += entry.rows
    return found


def damaged_files(folder: Path, manifest: TableManifest) -> list[Fault]:
    """Which files of a generation are missing or not what they were when they were written."""
    found = []
    for entry in manifest.files:
        path = folder / entry.name
        try:
            size = path.stat().st_size
            if size != entry.bytes:
                found.append(Fault(f"it has {size:,} bytes and should have {entry.bytes:,}", path))
            elif checksum(path) != entry.xxh3:
                found.append(Fault("its checksum differs", path))
        except FileNotFoundError:
            found.append(Fault("it is missing", path))
        except OSError as error:
            if error.errno in NOT_ALLOWED:
                found.append(Fault("it may not be read; run this as a user who may", path))
            else:
                found.append(Fault(f"it cannot be read ({error.strerror or error})", path))
    return found


def is_whole(folder: Path) -> bool:
    """Can a table go back to this generation?"""
    try:
        manifest = read_manifest(folder)
    except MachineError:
        return False
    return isinstance(manifest, TableManifest) and not damaged_files(folder, manifest)
