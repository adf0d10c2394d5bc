"""Is an index folder whole, and what helps when it is not?

Each file of the engine ends in a footer with a checksum of what stands before it. The engine itself does not look at it
when it opens a file, and breaks off in the midst of a search (a *panic*) or finds nothing where a file has rotted.

Not here: the manifest (`manifest`), building an index again (`stages.index`, `stages.merge`).
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
    return next((path for path in files if not _can_be_opened(path) or not _is_whole(path)), None)


def _can_be_opened(path: Path) -> bool:
    """Is a name of the folder a file: no link that leads nowhere or to itself, and no folder?"""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
            return False
        raise


def _is_whole(path: Path) -> bool:
    """Does the file's checksum agree?"""
    size = path.stat().st_size
    if size < 8:
        return False
    with open(path, "rb") as file:
        file.seek(size - 8)
        length, magic = struct.unpack("<II", file.read(8))
        if magic != _MAGIC or length > min(_LONGEST_FOOTER, size - 8):
            return False
        file.seek(size - 8 - length)
        try:
            expected = msgspec.json.decode(file.read(length))["crc"]
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError):
            return False
        file.seek(0)
        found, left = 0, size - 8 - length
        while left and (block := file.read(min(_BLOCK, left))):
            found, left = zlib.crc32(block, found), left - len(block)
    return bool(found == expected)


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
