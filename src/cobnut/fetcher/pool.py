"""How does the parent run the fetch workers?

Workers are spawned once per crawl and get their parts round by round: worker k of N takes the parts k, k+N, …
A redirect to a host of another worker comes here and is passed on to the owner in the same round. A round
ends when every worker is idle and no hop is on its way.

A limit of pages is shared out among the workers; what one has no use for goes to those that have, so that the limit
is reached where there are pages enough, and never exceeded.

A worker that dies is replaced once per round; its parts go on from what is on disk. When the parent dies its
workers end, since their end of the socket pair is closed.

Not here: what a worker does (`fetcher.worker`), what a round is (`stages.fetch`).
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable

import msgspec

from cobnut.errors import CobnutError, DataError, InputError, MachineError
from cobnut.fetcher.messages import (
    Allow,
    Begin,
    Channel,
    Counts,
    Done,
    Failed,
    FetchSpec,
    Finish,
    Idle,
    Passed,
    Progress,
    RobotsAsk,
    RobotsTold,
    Stop,
)

POLL_S = 0.2


class PoolProgress(msgspec.Struct, frozen=True):
    """How a round stands: sums over all workers."""

    counts: Counts
    in_flight: int
    queued: int
    hosts: tuple[str, ...]
    elapsed_s: float


class PoolReport(msgspec.Struct, frozen=True):
    """What a round came to."""

    counts: Counts
    cpu_s: float
    elapsed_s: float
    stopped: bool
    replaced_workers: int
    unpassed_hops: int


class _Child:
    """One worker process as the parent sees it."""

    def __init__(self) -> None:
        mine, theirs = socket.socketpair()
        with theirs:
            # its own process group: an interrupt typed at the terminal goes to the parent alone
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "cobnut.fetcher.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, process_group=0,
            )  # fmt: skip
        self.channel = Channel(mine, at_worker=False)
        self.parts: tuple[int, ...] = ()
        self.latest: Progress | None = None
        self.idle: tuple[int, int] | None = None
        self.done: Done | None = None
        self.passed_to = self.passed_from = 0
        self.starved = False
        self.pages: int | None = None
        self.kept: int | None = None
        self.cpu_before_s = 0.0

    def begin(self, spec: FetchSpec, parts: tuple[int, ...], pages: int | None = None, kept: int | None = None) -> None:
        """Hands out parts for a round, with the pages they may bring."""
        self.parts, self.latest, self.idle, self.done = parts, None, None, None
        self.passed_to = self.passed_from = 0
        self.starved, self.pages, self.kept = False, pages, kept
        self.channel.send(Begin(spec, parts, pages, kept))

    def allow(self, pages: int) -> None:
        """Lets a starved worker fetch more."""
        self.pages = (self.pages or 0) + pages
        self.passed_to += 1
        self.idle, self.starved = None, False
        self.channel.send(Allow(pages))

    def end(self) -> None:
        """Closes the channel, which ends the process."""
        self.channel.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class FetchPool:
    """The fetch workers of one crawl. Close it, or use it as a context manager."""

    def __init__(self, workers: int = 0) -> None:
        self._size = workers or len(os.sched_getaffinity(0))
        self._children: list[_Child] = []

    @property
    def size(self) -> int:
        """Workers at most."""
        return self._size

    @property
    def pids(self) -> tuple[int, ...]:
        """Processes that run now."""
        return tuple(child.process.pid for child in self._children)

    def start(self, count: int | None = None) -> None:
        """Spawns the workers ahead of the first round, so that their start costs no time later."""
        while len(self._children) < min(self._size, count or self._size):
            self._children.append(_Child())

    def run(
        self, spec: FetchSpec, parts: Iterable[int], clock: Callable[[], float], *,
        owner_of: Callable[[str], int | None] = lambda _host: None,
        on_progress: Callable[[PoolProgress], None] = lambda _progress: None,
        should_stop: Callable[[], bool] = lambda: False,
        max_pages: int | None = None,
    ) -> PoolReport:  # fmt: skip
        """Fetches parts of a segment. `clock` gives seconds; `owner_of` the part that a host is in, which another
        process may have, None when in none."""
        return _Round(self, spec, sorted(parts), clock, owner_of, on_progress, should_stop, max_pages).go()

    def replace(self, child: _Child) -> _Child:
        """A fresh worker in the place of a dead one."""
        child.end()
        fresh = _Child()
        self._children[self._children.index(child)] = fresh
        return fresh

    def children(self, count: int) -> list[_Child]:
        """Living workers for a round."""
        for child in list(self._children):
            if child.process.poll() is not None or child.channel.closed:
                child.end()
                self._children.remove(child)
        self.start(count)
        return self._children[: min(self._size, count)]

    def close(self) -> None:
        """Ends all workers."""
        for child in self._children:
            child.channel.close()
        for child in self._children:
            child.end()
        self._children = []

    def __enter__(self) -> FetchPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Round:
    """One round as the parent sees it."""

    def __init__(
        self, pool: FetchPool, spec: FetchSpec, parts: list[int], clock: Callable[[], float],
        owner_of: Callable[[str], int | None], on_progress: Callable[[PoolProgress], None],
        should_stop: Callable[[], bool], max_pages: int | None,
    ) -> None:  # fmt: skip
        self._pool, self._spec, self._parts, self._clock = pool, spec, parts, clock
        self._owner_of, self._on_progress, self._should_stop = owner_of, on_progress, should_stop
        self._max_pages, self._spare = max_pages, 0
        self._began = clock()
        self._children = pool.children(len(parts))
        self._by_part: dict[int, _Child] = {}
        self._replaced: set[int] = set()
        self._replacements = 0
        self._unpassed = 0
        self._stopping = self._stopped = self._finishing = False

    def go(self) -> PoolReport:
        """Runs the round to its end."""
        count = len(self._children)
        for number, child in enumerate(self._children):
            pages = None if self._max_pages is None else _share(self._max_pages, count, number)
            self._begin(child, tuple(self._parts[number::count]), pages)
        try:
            while not all(child.done for child in self._children):
                self._turn()
        except BaseException:
            self._pool.close()  # no half of a round goes on alone
            raise
        report = self._report()
        self._on_progress(PoolProgress(report.counts, 0, 0, (), report.elapsed_s))
        return report

    def _begin(self, child: _Child, parts: tuple[int, ...], pages: int | None, kept: int | None = None) -> None:
        spec = self._spec
        if spec.deadline_s is not None:
            left_s = max(0.0, spec.deadline_s - (self._clock() - self._began))
            spec = msgspec.structs.replace(spec, deadline_s=left_s)
        child.begin(spec, parts, pages, kept)
        for part in parts:
            self._by_part[part] = child
        if self._stopping:
            child.channel.send(Stop())

    def _turn(self) -> None:
        poll = select.poll()
        by_fd = {}
        for child in self._children:
            if not child.done:
                poll.register(child.channel.fileno(), select.POLLIN | (select.POLLOUT if child.channel.unsent else 0))
                by_fd[child.channel.fileno()] = child
        for fd, _ in poll.poll(POLL_S * 1000):
            child = by_fd[fd]
            child.channel.flush()
            for message in child.channel.receive():
                self._hear(child, message)
            if child.channel.closed and not child.done:
                self._died(child)
        if not self._stopping and self._should_stop():
            self._stop()
        self._share_out()
        if not self._finishing and self._all_idle():
            if not self._stopping and any(child.starved for child in self._children):
                self._stop()  # as many pages came as may come
            self._finishing = True
            for child in self._children:
                child.channel.send(Finish())
        self._on_progress(self._progress())

    def _stop(self) -> None:
        self._stopping = self._stopped = True
        for child in self._children:
            child.channel.send(Stop())

    def _share_out(self) -> None:
        """Pages that idle workers gave back go to those that could fetch more."""
        starved = [c for c in self._children if c.starved and c.idle == (c.passed_to, c.passed_from)]
        if self._spare and starved and not self._stopping:
            spare, self._spare = self._spare, 0
            for number, child in enumerate(starved[:spare]):
                child.allow(_share(spare, min(spare, len(starved)), number))

    def _hear(self, child: _Child, message: object) -> None:
        if isinstance(message, Progress):
            child.latest = message
            if child.kept is None:
                child.kept = message.counts.kept
        elif isinstance(message, Idle):
            child.idle = (message.passed_in, message.passed_out)
            child.starved = message.starved
            self._spare += message.unused
            child.pages = None if child.pages is None else child.pages - message.unused
        elif isinstance(message, Passed):
            child.passed_from += 1
            self._pass_on(message)
        elif isinstance(message, Done):
            child.done = message
        elif isinstance(message, Failed):
            raise _error(message)

    def _pass_on(self, message: Passed) -> None:
        part: int | None
        if isinstance(message, RobotsTold):
            part = message.asked_by
        else:
            part = self._owner_of(message.host)
            if part is None:  # a host that is in no part: any worker may ask it, but always the same one
                part = self._parts[message.bucket % len(self._parts)]
        to = self._by_part.get(part) if part is not None else None
        if to is None and isinstance(message, RobotsAsk):
            # another process has that part: its hosts are not asked from here
            told = RobotsTold(message.origin, "disallow_all", "host_backoff", None, b"", message.asked_by)
            to, message = self._by_part[message.asked_by], told
        if to is None or self._finishing:
            self._unpassed += 1
            return
        to.passed_to += 1
        to.idle = None
        to.channel.send(message)

    def _all_idle(self) -> bool:
        return all(child.idle == (child.passed_to, child.passed_from) for child in self._children)

    def _died(self, child: _Child) -> None:
        code = child.process.wait()
        if any(part in self._replaced for part in child.parts):
            raise MachineError(
                f"a fetch worker ended twice (code {code})", where=f"parts {', '.join(map(str, child.parts))}",
                remedy="what it fetched is kept; run the command again, and look into the system's log for its reason",
            )  # fmt: skip
        self._replaced.update(child.parts)
        self._replacements += 1
        at = self._children.index(child)
        fresh = self._children[at] = self._pool.replace(child)
        self._begin(fresh, child.parts, child.pages, child.kept)
        if self._finishing:
            fresh.channel.send(Finish())

    def _progress(self) -> PoolProgress:
        counts, in_flight, queued = Counts(), 0, 0
        hosts: list[str] = []
        for child in self._children:
            if child.latest is not None:
                counts.add(child.latest.counts)
                in_flight += child.latest.in_flight
                queued += child.latest.queued
                hosts += child.latest.hosts
        return PoolProgress(counts, in_flight, queued, tuple(hosts), self._clock() - self._began)

    def _report(self) -> PoolReport:
        counts, cpu_s = Counts(), 0.0
        for child in self._children:
            if child.done is not None:
                counts.add(child.done.counts)
                cpu_s += child.done.cpu_s - child.cpu_before_s
                child.cpu_before_s = child.done.cpu_s
        return PoolReport(counts, cpu_s, self._clock() - self._began, self._stopped, self._replacements, self._unpassed)


def _share(whole: int, among: int, number: int) -> int:
    """The share of one of several: whole numbers that differ by one at most and add up."""
    return whole // among + (number < whole % among)


def _error(message: Failed) -> CobnutError:
    kinds: dict[str, type[CobnutError]] = {"InputError": InputError, "DataError": DataError}
    return kinds.get(message.kind, MachineError)(message.what, where=message.where, remedy=message.remedy)
