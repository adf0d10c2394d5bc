"""Who may write now?

An OS-level lock (flock) that the kernel drops when its owner dies, with a note of the owner inside, so that whoever is
refused reads who is at work, and whoever follows a dead owner says so.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from pathlib import Path
from types import TracebackType

from cobnut.errors import MachineError
from cobnut.storage.files import io_errors, this_machine


class WriterLock:
    """Exclusive lock on one file; held from `acquire` to `release`, or until the process dies."""

    def __init__(self, path: Path, what: str, wait_s: float = 0.0) -> None:
        self.path, self.what, self.wait_s = path, what, wait_s
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
        note = {
            "pid": os.getpid(),
            "host": this_machine(),
            "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "command": " ".join(os.path.basename(a) if i == 0 else a for i, a in enumerate(sys.argv[:3])),
        }
        self._fd = fd
        try:
            with io_errors(self.path, "write the lock"):
                os.ftruncate(fd, 0)
                os.pwrite(fd, json.dumps(note).encode(), 0)
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
