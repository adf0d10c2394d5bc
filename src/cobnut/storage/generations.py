"""Which version of a table is current?

A table is a folder of generations. A writer makes a complete new generation in a temporary folder, makes it durable,
gives it its number, and then replaces the one-line file `CURRENT`. A reader always sees the last complete generation
and holds a shared lock on it, so that it is not removed under it. The previous one stays for `rollback`.

States of a generation: temporary (only its writer knows it), complete (has a number), current (named by CURRENT),
previous (parent of the current one), superseded (removed once its grace time is over and nobody reads it).

Not here: Parquet tables (`storage.tables`), the search index (`index`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import cobnut
from cobnut.errors import CobnutError, DataError, InputError
from cobnut.records.catalogue import FORMAT_VERSION
from cobnut.storage.files import (
    ASK_DOCTOR,
    cannot_read,
    fsync_folder,
    fsync_tree,
    io_errors,
    not_allowed,
    read_json,
    remove_tree,
    sweep,
    temporary_name,
    write_atomic,
    write_json,
)
from cobnut.storage.locks import WriterLock

CURRENT = "CURRENT"
MANIFEST = "manifest.json"
LOCK = "LOCK"

_NUMBERED = re.compile(r"g([0-9]{6,18})")


class Generation:
    """One complete version; `manifest` says what is in it. Use as a context manager: it holds a shared lock."""

    def __init__(self, path: Path, number: int, manifest: dict[str, Any], fd: int) -> None:
        self.path, self.number, self.manifest, self._fd = path, number, manifest, fd

    def close(self) -> None:
        """Lets the generation be removed when it is superseded."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Generation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Draft:
    """A generation being made under the writer's lock: fill the fresh folder `path`, then `publish` or `abort`."""

    def __init__(self, store: GenerationStore, lock: WriterLock, path: Path, parent: int | None) -> None:
        self.store, self.path, self.parent, self._lock = store, path, parent, lock
        self.messages: list[str] = []

    def publish(self, manifest: dict[str, Any]) -> int:
        """Makes the draft the current generation; its number. Writer, versions and parent complete the manifest."""
        number = self.store.newest_number() + 1
        complete = {
            "generation": number,
            "parent": self.parent,
            "format_version": FORMAT_VERSION,
            "written_by": f"cobnut {cobnut.__version__}",
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **manifest,
        }
        with io_errors(self.store.path, "publish a generation"):
            write_json(self.path / MANIFEST, complete)
            fsync_tree(self.path)
            target = self.store.path / _name(number)
            os.rename(self.path, target)
            fsync_folder(self.store.path)
            write_atomic(self.store.path / CURRENT, f"{_name(number)}\n".encode())
        with contextlib.suppress(OSError):  # it is published; what cannot be removed now is removed next time
            if self.parent is not None:
                os.utime(self.store.path / _name(self.parent))  # its grace time begins now
            self.store.remove_superseded()
        self._lock.release()
        return number

    def abort(self) -> None:
        """Leaves the current generation as it is."""
        remove_tree(self.path)
        self._lock.release()

    def __enter__(self) -> Draft:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()  # after `publish` there is nothing left to undo


class GenerationStore:
    """The generations of one table, or of the merged index, below `path`."""

    def __init__(self, path: Path, what: str, *, lock_wait_s: float = 0.0, grace_s: float = 60.0) -> None:
        self.path, self.what, self.lock_wait_s, self.grace_s = path, what, lock_wait_s, grace_s

    def current_number(self) -> int | None:
        """Number of the current generation; None when the table was never written."""
        try:
            text = (self.path / CURRENT).read_text()
        except FileNotFoundError:
            return self._unrecorded()
        except PermissionError:
            raise not_allowed(self.path / CURRENT) from None
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(
                f"cannot read which generation of {self.what} is current", where=str(self.path / CURRENT),
                remedy=f"make it a file with the newest folder's name, {_name((self.numbers() or [1])[-1])}",
            ) from error  # fmt: skip
        name = text.strip()
        found = _NUMBERED.fullmatch(name)
        if found is None:
            raise DataError(
                f"{name[:40]!r} names no generation", where=str(self.path / CURRENT),
                remedy=f"write the newest folder's name, {_name((self.numbers() or [1])[-1])}, into it",
            )  # fmt: skip
        return int(found[1])

    def _unrecorded(self) -> int | None:
        """Which generation is current where `CURRENT` is missing: none, or the only one there is.

        The first publication may have been killed between the folder's name and `CURRENT`: its generation is complete.
        Where there are several, only a person can say which one was current.
        """
        numbers = self.numbers()
        if len(numbers) > 1:
            raise DataError(
                f"CURRENT of {self.what} is missing, and there are generations {_name(numbers[0])} to "
                f"{_name(numbers[-1])}",
                where=str(self.path / CURRENT),
                remedy=f"write the newest folder's name, {_name(numbers[-1])}, into it",
            )
        return numbers[0] if numbers else None

    def numbers(self) -> list[int]:
        """Numbers of all complete generations, oldest first."""
        if not self.path.is_dir():
            return []
        found = (_NUMBERED.fullmatch(p.name) for p in self.path.iterdir())
        return sorted(int(match[1]) for match in found if match is not None)

    def newest_number(self) -> int:
        """Highest number given so far; 0 when there is none."""
        numbers = self.numbers()
        return max(numbers[-1] if numbers else 0, self.current_number() or 0)

    def current(self) -> Generation | None:
        """The current generation, held against removal; None when the table was never written."""
        while True:
            number = self.current_number()
            if number is None:
                return None
            path = self.path / _name(number)
            try:
                fd = os.open(path / MANIFEST, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                if self.current_number() != number:
                    continue
                raise DataError(
                    f"generation {_name(number)} of {self.what} is missing", where=str(path),
                    remedy=self._remedy(),
                ) from None  # fmt: skip
            except OSError as error:
                raise cannot_read(path / MANIFEST, error) from error
            fcntl.flock(fd, fcntl.LOCK_SH)
            if not path.exists():  # removed between the two lines: a newer one is current by now
                os.close(fd)
                continue
            try:
                manifest = read_json(path / MANIFEST, self._remedy())
                check_version(manifest, path)
                if (nonsense := fault_in(manifest)) is not None:
                    raise DataError(
                        f"the manifest is damaged ({nonsense})", where=str(path / MANIFEST), remedy=self._remedy()
                    )
            except BaseException:
                os.close(fd)
                raise
            return Generation(path, number, manifest, fd)

    def _remedy(self) -> str:
        """What helps when the current generation is damaged or missing."""
        if self.what == "index" and not (self.path.parent / "cobnut.toml").is_file():
            return "publish it here once more"
        if self.what == "index":
            return f"run `cobnut merge {self.path.parent}`, which makes it anew, or `cobnut rollback` to the former one"
        return f"use `cobnut rollback {self.path.parent} {self.what}`, or restore it"

    def begin(self) -> Draft:
        """Takes the writer's lock, sweeps what killed writers left, and gives a fresh folder to fill."""
        with io_errors(self.path, "create"):
            self.path.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(self.path / LOCK, self.what, self.lock_wait_s).acquire()
        try:
            swept = sweep(self.path)
            path = self.path / temporary_name("generation")
            with io_errors(path, "create"):
                path.mkdir()
            draft = Draft(self, lock, path, self.current_number())
        except BaseException:
            lock.release()
            raise
        if lock.taken_over_from:
            draft.messages.append(
                f"the lock on {self.what} was left by {lock.taken_over_from}, which is gone; taken over"
            )
        if swept:
            draft.messages.append(f"{len(swept)} unfinished folders of {self.what} removed")
        return draft

    def rollback(self) -> tuple[int, int]:
        """Makes the previous generation current again: (from, to). An `InputError` when there is none."""
        with (
            WriterLock(self.path / LOCK, self.what, self.lock_wait_s).acquire()
            if self.path.is_dir()
            else _nothing(self.what)
        ):
            number = self.current_number()
            target = None if number is None else self.previous(number)
            if number is None or target is None:
                raise InputError(f"{self.what} has no previous generation to go back to", where=str(self.path))
            check_version(read_json(self.path / _name(target) / MANIFEST), self.path / _name(target))
            write_atomic(self.path / CURRENT, f"{_name(target)}\n".encode())
            return number, target

    def previous(self, number: int) -> int | None:
        """The generation that `number` was made from, if it is still there.

        Not simply the one numbered before: that may have been complete without ever having been current, when its
        writer was killed between the two, or may be what a rollback left.
        """
        older = [n for n in self.numbers() if n < number]
        try:
            parent = read_json(self.path / _name(number) / MANIFEST)["parent"]
        except (CobnutError, KeyError, TypeError):  # the current one is damaged: rollback is what it needs
            return older[-1] if older else None
        return parent if parent in older else None

    def remove_superseded(self) -> None:
        """Removes generations older than the current one, but for the previous, past their grace time and unread."""
        number = self.current_number()
        if number is None:
            return
        keep = {number, self.previous(number)}
        for old in self.numbers():
            path = self.path / _name(old)
            if old not in keep and old < number and _age_s(path) >= self.grace_s:
                _remove_unread(path)

    def surplus(self, keep_previous: bool = True) -> list[int]:
        """Generations that are not current, and (with `keep_previous`) not to be gone back to, whatever their age."""
        number = self.current_number()
        if number is None:
            return []
        keep = {number, self.previous(number) if keep_previous else None}
        return [n for n in self.numbers() if n not in keep]

    def prune(self, keep_previous: bool = True) -> list[int]:
        """Removes them, but for those that somebody reads, and what killed writers left; numbers of what went."""
        if not self.path.is_dir():
            return []
        with WriterLock(self.path / LOCK, self.what, self.lock_wait_s).acquire():
            sweep(self.path)
            wanted = self.surplus(keep_previous)
            for number in wanted:
                _remove_unread(self.path / _name(number))
            return sorted(set(wanted) - set(self.numbers()))


def _nothing(what: str) -> WriterLock:
    raise InputError(f"{what} was never written")


def _name(number: int) -> str:
    return f"g{number:06d}"


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _remove_unread(path: Path) -> None:
    """Removes a generation that nobody reads; a reader that comes meanwhile waits, and then finds that it is gone."""
    try:
        fd = os.open(path / MANIFEST, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        remove_tree(path)
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(path)  # under the lock: between a look and the removal a reader could come
    except BlockingIOError:
        return
    finally:
        os.close(fd)


def version_of(manifest: Any, path: Path) -> int:
    """The format version that a manifest names; a `DataError` when there can be no such version."""
    version = manifest.get("format_version") if isinstance(manifest, dict) else None
    if version is None:
        raise DataError("the manifest names no format version", where=str(path), remedy=ASK_DOCTOR)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DataError(
            f"no released Cobnut wrote format version {str(version)[:40]}", where=str(path), remedy="restore it"
        )
    return version


def fault_in(manifest: dict[str, Any]) -> str | None:
    """What in a manifest cannot be, of what readers go by; None when all of it can."""
    for name, least, end in (("rows", 0, 2**63), ("partitions", 1, 2**16)):
        if not _is_count(manifest.get(name, 1)) or not least <= manifest.get(name, 1) < end:
            return f"{name} is no number of {name}"
    entries = {"files": "name", "applied": "segment"}
    for name, field in entries.items():
        listed = manifest.get(name, [])
        if not isinstance(listed, list) or not all(
            isinstance(e, dict) and isinstance(e.get(field), str) for e in listed
        ):
            return f"{name} is no list of {name}"
    for entry in manifest.get("files", []):
        if (
            entry["name"].startswith("/")
            or ".." in entry["name"].split("/")
            or not all(_is_count(entry.get(n, 0)) for n in ("partition", "rows", "replaced"))
            or not isinstance(entry.get("gone", False), bool)
        ):
            return f"a file of it cannot be: {entry['name'][:60]!r}"
    return None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def check_version(manifest: Any, path: Path) -> None:
    """Refuses what a newer Cobnut wrote, and what is no manifest."""
    version = version_of(manifest, path)
    if version > FORMAT_VERSION:
        raise DataError(
            f"format version {version} is newer than this program knows ({FORMAT_VERSION})", where=str(path),
            remedy="use a newer Cobnut",
        )  # fmt: skip


Publish = Callable[[dict[str, Any]], int]
