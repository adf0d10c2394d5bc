"""Is an index folder whole, and what helps when it is not?

Each file of the engine ends in a footer with a checksum of what stands before it. The engine itself does not look at it
when it opens a file, and breaks off in the midst of a search (a *panic*) or finds nothing where a file has rotted. The
manifest has each file's checksum too: a file that is whole and in another's place is found by that.

Not here: the rest of the manifest (`manifest`), building an index again (`stages.index`, `stages.merge`).
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import zlib
from pathlib import Path

import msgspec

from cobnut.errors import CobnutError, DataError, MachineError
from cobnut.storage.files import unreadable
from cobnut.storage.layout import SETTINGS_FILE

MANIFEST = "manifest.json"
ENDINGS = (".fast", ".fieldnorm", ".idx", ".pos", ".term", ".store", ".del")
_MAGIC = 1337
_LONGEST_FOOTER = 4_096
_BLOCK = 1 << 20


def damaged_file(folder: Path, most_bytes: int | None = None) -> Path | None:
    """The first file of the index whose content is not what its checksum says; None when all are whole.

    Nothing is looked at when the files are larger than `most_bytes` together.
    """
    files = sorted(path for path in folder.iterdir() if path.suffix in ENDINGS)
    if most_bytes is not None and sum(path.lstat().st_size for path in files) > most_bytes:
        return None
    announced = _announced(folder)
    missing = sorted(announced.keys() - {path.name for path in files})
    if missing:
        return folder / missing[0]
    return next((p for p in files if not _can_be_opened(p) or not _is_whole(p, announced.get(p.name))), None)


def checksums(folder: Path) -> dict[str, int]:
    """Each file's checksum by its name, as the files' own footers have them."""
    found = {path.name: _footer(path) for path in folder.iterdir() if path.suffix in ENDINGS}
    return {name: footer[0] for name, footer in sorted(found.items()) if footer is not None}


class _Announced(msgspec.Struct):
    checksums: dict[str, int] = {}


def _announced(folder: Path) -> dict[str, int]:
    """The checksums that the manifest has; none where it cannot be read, which is told by who reads it."""
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=_Announced).checksums
    except (OSError, ValueError, RecursionError):
        return {}


def _can_be_opened(path: Path) -> bool:
    """Is a name of the folder a file: no link that leads nowhere or to itself, and no folder?"""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
            return False
        raise


def _is_whole(path: Path, announced: int | None) -> bool:
    """Do the file's bytes, its footer and what the manifest has of it agree?"""
    footer = _footer(path)
    if footer is None or announced not in (None, footer[0]):
        return False
    expected, left = footer
    found = 0
    with open(path, "rb") as file:
        while left and (block := file.read(min(_BLOCK, left))):
            found, left = zlib.crc32(block, found), left - len(block)
    return found == expected


def _footer(path: Path) -> tuple[int, int] | None:
    """The checksum that a file ends in, and how many bytes it is of; None when there is none."""
    size = path.stat().st_size
    if size < 8:
        return None
    with open(path, "rb") as file:
        file.seek(size - 8)
        length, magic = struct.unpack("<II", file.read(8))
        if magic != _MAGIC or length > min(_LONGEST_FOOTER, size - 8):
            return None
        file.seek(size - 8 - length)
        try:
            return int(msgspec.json.decode(file.read(length))["crc"]), size - 8 - length
        except (ValueError, KeyError, TypeError):
            return None


def is_panic(error: BaseException) -> bool:
    """Has the engine broken off? Its exception is no `Exception`, and its class cannot be imported."""
    return type(error).__name__ == "PanicException"


def fault(folder: Path) -> CobnutError | None:
    """The clear error for what an engine stumbled over in a folder; None when the folder is not to blame."""
    if (closed := unreadable(folder)) is not None:
        return MachineError("the index may not be read", where=str(closed))
    try:
        path = damaged_file(folder)
    except FileNotFoundError:
        path = folder
    except OSError as broken:
        return DataError(f"the index is damaged ({broken.strerror})", where=str(folder), remedy=remedy(folder))
    if path is None:
        return None
    return damage(folder, path.name if path != folder else "files are missing")


def damage(folder: Path, what: str) -> DataError:
    """The clear error for a damaged index."""
    line = what.splitlines()[0][:200] if what else "unknown fault"
    return DataError(f"the index is damaged ({line})", where=str(folder), remedy=remedy(folder))


def remedy(folder: Path) -> str:
    """How the index in a folder is made anew; that depends on what it belongs to."""
    folder = Path(os.path.abspath(folder))
    crawl = next((above for above in list(folder.parents)[:3] if (above / SETTINGS_FILE).is_file()), None)
    if crawl is None:
        return "publish or copy it here once more"
    return f"run `cobnut index {crawl}` and then `cobnut merge {crawl}`, which make it anew"
