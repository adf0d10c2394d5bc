"""Who hands pages to the parse workers, and what happens when a page kills one?

The supervisor starts worker processes once per crawl and gives each one batch at a time. A worker that dies
leaves the place of the page it was on in shared memory: that page is recorded as `parse_timeout` (the kernel's
CPU timer ended the worker) or `parse_crashed`, a new worker is started, and the batch is run again without that
page. Parts appear only when a batch is complete, so nothing is lost and nothing is there twice.

A worker that was killed from outside (SIGKILL) is no proof against a page: the page is blamed only when it
happens twice.

Not here: which pages there are (`stages.parse`), the work itself (`parsers.worker`).
"""

from __future__ import annotations

import contextlib
import mmap
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import IO

import msgspec

from cobnut.config.sections import Settings
from cobnut.errors import MachineError
from cobnut.parsers.extractor import require_extractor
from cobnut.parsers.tasks import (
    NO_PAGE,
    Answer,
    Batch,
    BatchDone,
    BatchFailed,
    WorkerStart,
    read_message,
    write_message,
)

_MAX_IDLE_DEATHS = 3
_MAX_IDLE_KILLS = 10
"""Deaths of workers on no page, over one batch, after which the machine is blamed; more when killed from outside."""
_STALL_FACTOR = 20
_STALL_LEAST_S = 120.0
_POLL_S = 0.5


class ParsePool:
    """Worker processes that parse batches. Use as a context manager, or call `close`."""

    def __init__(self, settings: Settings, *, workers: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        require_extractor(settings.parser.main_text)
        self.settings = settings
        self.count = workers or settings.parser.workers or len(os.sched_getaffinity(0))
        self.clock = clock
        self.workers: list[_Worker] = []

    def run(self, batches: Iterable[Batch], should_stop: Callable[[], bool] = lambda: False) -> Iterator[BatchDone]:
        """Parses all batches, in any order; gives the account of each as it is durable.

        Once `should_stop` says so no further batch is begun; those begun are finished.
        """
        waiting = deque[_Work]()
        source = iter(batches)
        ended = False
        with selectors.DefaultSelector() as selector:
            try:
                while True:
                    ended = ended or should_stop()
                    while len(self._busy()) < self.count:
                        if not waiting and not ended:
                            batch = next(source, None)
                            ended = batch is None
                            if batch is not None:
                                waiting.append(_Work(batch))
                        if not waiting:
                            break
                        worker = self._idle()
                        worker.begin(waiting.popleft(), self.clock())
                        selector.register(worker.answers, selectors.EVENT_READ, worker)
                    if not self._busy():
                        return
                    for key, _ in selector.select(_POLL_S):
                        worker = key.data
                        selector.unregister(worker.answers)
                        done = worker.finish()
                        if done is not None:
                            yield done
                        else:
                            waiting.appendleft(self._bury(worker))
                    self._kill_stalled()
            finally:
                self._drop_busy()

    def close(self) -> None:
        """Ends the workers; they leave at the end of their input."""
        for worker in self.workers:
            worker.close()
        self.workers.clear()

    def __enter__(self) -> ParsePool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that are there now."""
        return [w.process.pid for w in self.workers]

    def start(self, count: int) -> None:
        """Spawns workers ahead of the first batch, so that their start costs no time later."""
        while len(self.workers) < min(count, self.count):
            self.workers.append(_Worker(self.settings))

    def _busy(self) -> list[_Worker]:
        return [w for w in self.workers if w.work is not None]

    def _idle(self) -> _Worker:
        """A worker without work; a new one is started only when there is work for it."""
        for worker in self.workers:
            if worker.work is None:
                return worker
        worker = _Worker(self.settings)
        self.workers.append(worker)
        return worker

    def _bury(self, worker: _Worker) -> _Work:
        """What is left to do of a dead worker's batch."""
        work = worker.work
        assert work is not None
        self.workers.remove(worker)
        place, ended_by = worker.autopsy()
        worker.close()
        if place == NO_PAGE:
            work.idle_deaths += 1
            if work.idle_deaths >= (_MAX_IDLE_KILLS if ended_by == signal.SIGKILL else _MAX_IDLE_DEATHS):
                raise MachineError(
                    f"a parse worker ended {work.idle_deaths} times while it was on no page ({_name(ended_by)})",
                    where=work.batch.segment,
                    remedy="look at the messages above, and at the free memory and disk",
                )
            return work
        work.idle_deaths = 0
        if ended_by == signal.SIGKILL and place not in work.suspects:
            work.suspects.add(place)
            return work
        reason = "parse_timeout" if ended_by == signal.SIGPROF else "parse_crashed"
        work.batch = msgspec.structs.replace(work.batch, bad={**work.batch.bad, place: reason})
        return work

    def _kill_stalled(self) -> None:
        """Ends a worker that has not moved to another page for very long (stopped, or stuck without using CPU)."""
        limit = max(_STALL_LEAST_S, _STALL_FACTOR * self.settings.parser.page_timeout_s)
        now = self.clock()
        for worker in self._busy():
            if worker.stalled_since(now) > limit:
                worker.process.kill()

    def _drop_busy(self) -> None:
        """After an error or an early end: workers with work are ended, their batches leave no trace."""
        for worker in self._busy():
            worker.process.kill()
            worker.close()
            self.workers.remove(worker)


class _Work:
    """A batch and what happened to it so far."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.suspects: set[int] = set()
        self.idle_deaths = 0


class _Worker:
    """One worker process, its pipes, and the shared word that says which page it is on."""

    def __init__(self, settings: Settings) -> None:
        self.work: _Work | None = None
        with tempfile.TemporaryFile() as file:
            file.truncate(mmap.PAGESIZE)
            self.place = mmap.mmap(file.fileno(), mmap.PAGESIZE)
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "cobnut.parsers.worker", str(file.fileno()), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(file.fileno(),),
                bufsize=-1,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests: IO[bytes] = self.process.stdin
        self.answers: IO[bytes] = self.process.stdout
        self.seen = (NO_PAGE, 0.0)
        self._send(WorkerStart(settings))

    def begin(self, work: _Work, now: float) -> None:
        """Gives the worker a batch; if it is dead already, that shows when its answer is read."""
        self.work = work
        self.place[:4] = NO_PAGE.to_bytes(4, "little", signed=True)
        self.seen = (NO_PAGE, now)
        self._send(work.batch)

    def _send(self, message: msgspec.Struct) -> None:
        with contextlib.suppress(OSError):
            write_message(self.requests, message)

    def finish(self) -> BatchDone | None:
        """The account of the batch; None when the worker died. A `MachineError` when it could not be written."""
        message = read_message(self.answers)
        if message is None:
            return None
        self.work = None
        answer = msgspec.msgpack.decode(message, type=Answer)
        if isinstance(answer, BatchFailed):
            raise MachineError(answer.what, where=answer.where, remedy=answer.remedy)
        return answer

    def autopsy(self) -> tuple[int, int]:
        """Place of the page the dead worker was on, and the signal that ended it (0: it ended by itself)."""
        code = self.process.wait()
        return int.from_bytes(self.place[:4], "little", signed=True), max(0, -code)

    def stalled_since(self, now: float) -> float:
        """Seconds since the worker was last seen to move on."""
        place = int.from_bytes(self.place[:4], "little", signed=True)
        if place != self.seen[0]:
            self.seen = (place, now)
        return now - self.seen[1]

    def close(self) -> None:
        """Lets the worker end."""
        for pipe in (self.requests, self.answers):
            with contextlib.suppress(OSError):
                pipe.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.place.close()


def _name(signal_number: int) -> str:
    return signal.Signals(signal_number).name if signal_number else "it ended by itself"
