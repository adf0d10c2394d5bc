"""Who may write now?

`WriterLock` lets one process write, `GroupLock` those who do the same thing together.

An OS-level lock (flock) that the kernel drops when its owner dies, with a note of the owner inside, so that whoever is
refused reads who is at work, and whoever follows a dead owner says so.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from cobnut.errors import MachineError
from cobnut.storage.files import io_errors, this_machine

_BEGINNING_S = 2.0


class Owner(NamedTuple):
    """Who is named as a lock's owner: the process a person can see and end."""

    pid: int
    command: str


def this_process() -> Owner:
    """This process with the beginning of its command line."""
    program = Path(sys.argv[0])
    name = "cobnut" if program.name == "__main__.py" and "cobnut" in program.parts else program.name
    return Owner(os.getpid(), " ".join([name, *sys.argv[1:3]]))


class WriterLock:
    """Exclusive lock on one file; held from `acquire` to `release`, or until the process dies.

    `owner`: who is named as such, where that is not this process but the one it works for.
    """

    def __init__(self, path: Path, what: str, wait_s: float = 0.0, owner: Owner | None = None) -> None:
        self.path, self.what, self.wait_s = path, what, wait_s
        self._owner = owner or this_process()
        self.taken_over_from: str | None = None
        self.taken_over_at: float | None = None  # when its dead owner last touched it, in seconds since 1970
        self._fd: int | None = None

    def acquire(self) -> WriterLock:
        """Takes the lock; a `MachineError` names the owner when another process has it longer than `wait_s`."""
        with io_errors(self.path, "open the lock"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        deadline = time.monotonic() + self.wait_s
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    owner = _describe(os.pread(fd, 4096, 0))
                    os.close(fd)
                    raise MachineError(
                        f"another process is writing {self.what}",
                        where=owner,
                        remedy="wait until it is done, or set storage.lock_wait_s",
                    ) from None
                time.sleep(0.05)
        former = os.pread(fd, 4096, 0)
        if former.strip():
            self.taken_over_from, self.taken_over_at = _describe(former), os.fstat(fd).st_mtime
        self._fd = fd
        try:
            with io_errors(self.path, "write the lock"):
                os.ftruncate(fd, 0)
                os.pwrite(fd, _note(self._owner), 0)
        except BaseException:
            self.release()
            raise
        return self

    def release(self) -> None:
        """Gives the lock back; the note is wiped, so that a later owner sees that this one ended well."""
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> WriterLock:
        return self if self._fd is not None else self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class GroupLock:
    """A lock on one file that all hold together who name the same group; another group's are kept out.

    `owner_in` says who of a group holds it now; without an answer the first one of the group is named.
    """

    def __init__(
        self, path: Path, group: str, refusal: Callable[[str], str], wait_s: float = 0.0,
        owner_in: Callable[[str], str | None] = lambda _group: None,
    ) -> None:  # fmt: skip
        self.path, self.group, self.wait_s = path, group, wait_s
        self._refusal, self._owner_in = refusal, owner_in
        self._fd: int | None = None

    def acquire(self) -> GroupLock:
        """Joins the group, or begins it; a `MachineError` when another group is at work longer than `wait_s`."""
        with io_errors(self.path, "open the lock"):
            self._fd = fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        now = time.monotonic()
        # nobody holds it exclusively for longer than it takes to write the note
        deadline, beginning = now + self.wait_s, now + max(self.wait_s, _BEGINNING_S)
        try:
            while True:
                if _try(fd, fcntl.LOCK_EX):
                    with io_errors(self.path, "write the lock"):
                        os.ftruncate(fd, 0)
                        os.pwrite(fd, _note(this_process(), group=self.group), 0)
                shared = _try(fd, fcntl.LOCK_SH)  # from exclusive to shared another may slip in between
                note = os.pread(fd, 4096, 0)
                if shared and _group(note) == self.group:
                    return self
                if shared:
                    fcntl.flock(fd, fcntl.LOCK_UN)
                if time.monotonic() >= (deadline if shared else beginning):
                    other = _group(note)
                    raise MachineError(
                        self._refusal(other), where=self._owner_in(other) or _describe(note),
                        remedy="wait until it is done, or set storage.lock_wait_s",
                    )  # fmt: skip
                time.sleep(0.05)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Leaves the group."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> GroupLock:
        return self if self._fd is not None else self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _try(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _note(owner: Owner, **more: str) -> bytes:
    started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    note = {"pid": owner.pid, "host": this_machine(), "started_at": started_at, "command": owner.command, **more}
    return json.dumps(note).encode()


def _group(note: bytes) -> str:
    try:
        return str(json.loads(note)["group"])
    except (ValueError, KeyError, TypeError):
        return ""


def owner_of(path: Path) -> str | None:
    """Who holds the lock at `path` now; None when nobody does."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _describe(os.pread(fd, 4096, 0))
    finally:
        os.close(fd)
    return None


def _describe(note: bytes) -> str:
    try:
        value = json.loads(note)
        return f"process {value['pid']} on {value['host']} since {value['started_at']} ({value['command']})"
    except (ValueError, KeyError, TypeError):
        return "an unknown owner"
