"""How does a file survive a power cut?

Every file that counts is written beside its place, fsynced, renamed over it, and its folder is fsynced.

Not here: which files there are (`storage.layout`), versions of a table (`storage.generations`).
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cobnut.errors import CobnutError, DataError, MachineError

TEMPORARY_PREFIX = ".tmp-"
"""Names that begin so are unfinished work; whoever holds the writer's lock of the folder may remove them."""

NOT_ALLOWED = {errno.EACCES, errno.EPERM}

ASK_DOCTOR = "restore it, or see what `cobnut doctor` says of it"
"""What helps with a file of which nothing more is known."""

_FULL = {errno.ENOSPC, errno.EDQUOT}


def temporary_name(name: str) -> str:
    """A name for unfinished work on `name`, unique to this process."""
    return f"{TEMPORARY_PREFIX}{name}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


@contextmanager
def io_errors(path: Path, doing: str) -> Iterator[None]:
    """Turns operating-system errors into a `MachineError` that says what was being done where."""
    try:
        yield
    except CobnutError:
        raise
    except OSError as error:
        raise machine_error(error, path, doing) from error


def machine_error(error: OSError, path: Path | str, doing: str) -> MachineError:
    """The clear error for an `OSError` met while `doing` something to `path`."""
    remedy = None
    if error.errno in _FULL:
        remedy = "free some space and run the command again; nothing acknowledged is lost"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        remedy = "choose a folder you may write to"
    return MachineError(f"cannot {doing} ({error.strerror or error})", where=str(path), remedy=remedy)


def fsync_file(path: Path) -> None:
    """Makes the bytes of a closed file durable."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def fsync_folder(path: Path) -> None:
    """Makes the names in a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def fsync_tree(path: Path) -> None:
    """Makes every file and folder below `path` durable."""
    for folder, _, names in os.walk(path):
        for name in names:
            fsync_file(Path(folder, name))
        fsync_folder(Path(folder))


def write_atomic(path: Path, data: bytes) -> None:
    """Replaces `path` by `data`: a reader sees the old bytes or the new ones, never a mixture, whatever happens."""
    temporary = path.with_name(temporary_name(path.name))
    with io_errors(path, "write"):
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        fsync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """`write_atomic` of a value as readable JSON."""
    write_atomic(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


def read_json(path: Path, remedy: str = "restore it") -> Any:
    """The JSON value of a file; a `DataError` names the file when it is damaged, and the remedy."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"damaged JSON ({error})", where=str(path), remedy=remedy) from error
    except OSError as error:
        raise cannot_read(path, error) from error


def cannot_read(path: Path, error: OSError) -> CobnutError:
    """The clear error for a file that cannot be opened for reading: not allowed is no damage."""
    if error.errno in NOT_ALLOWED:
        return not_allowed(path)
    return DataError(f"cannot be read ({error.strerror or error})", where=str(path), remedy=ASK_DOCTOR)


def not_allowed(path: Path) -> MachineError:
    """The clear error for what the user may not read."""
    return MachineError("it may not be read", where=str(path), remedy="run this as a user who may read it")


def unreadable(path: Path) -> Path | None:
    """The first of a folder and the files right in it (or a file alone) that the user may not read."""
    try:
        if not path.is_dir():
            with open(path, "rb"):
                return None
        for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
            if entry.is_file() and not entry.name.endswith(".lock"):
                path = Path(entry.path)
                with open(path, "rb"):
                    pass
    except PermissionError:
        return path
    except OSError:
        return None
    return None


def link_or_copy(source: Path, target: Path) -> None:
    """A second name for the same bytes; a copy where the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
            raise
        shutil.copyfile(source, target)


def remove_tree(path: Path) -> None:
    """Removes a folder, first hiding it under a temporary name so that no half of it is ever seen."""
    if not path.exists():
        return
    hidden = path if path.name.startswith(TEMPORARY_PREFIX) else path.with_name(temporary_name(path.name))
    if hidden is not path:
        try:
            os.rename(path, hidden)
        except FileNotFoundError:
            return
    shutil.rmtree(hidden, ignore_errors=True)


def sweep(folder: Path) -> list[str]:
    """Removes what killed runs left in `folder`; only for the holder of its writer's lock. Names of what went."""
    gone = []
    if folder.is_dir():
        for entry in sorted(folder.iterdir()):
            if entry.name.startswith(TEMPORARY_PREFIX):
                gone.append(entry.name)
                if entry.is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink(missing_ok=True)
    return gone


def maker_lives(name: str) -> bool:
    """Is the process whose number stands in a temporary name alive?"""
    pieces = name.rsplit("-", 2)
    if len(pieces) != 3 or not pieces[1].isdigit():
        return False
    try:
        os.kill(int(pieces[1]), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def this_machine() -> str:
    """The name of this machine, as it stands in locks and reports."""
    return socket.gethostname()
