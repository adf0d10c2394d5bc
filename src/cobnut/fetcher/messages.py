"""What do the parent and a fetch worker say to each other?

Length-prefixed msgpack over a socket pair. The parent sends `Begin`, `Hop`, `RobotsAsk`, `RobotsTold`,
`Allow`, `Stop`, `Finish`; the worker sends `Progress`, `Hop`, `Idle`, `Done`, `Failed`. A closed socket means the
other side is dead."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import msgspec

from cobnut.config.sections import FetcherSettings, UrlSettings
from cobnut.storage.locks import Owner
from cobnut.urls.addresses import AddressGuard
from cobnut.urls.filters import Scope
from cobnut.urls.overrides import ResolveRule


class FetchSpec(msgspec.Struct, frozen=True):
    """All that a worker needs to know for one round.

    `deadline_s`: seconds from now after which nothing new is started (None: without). `robots_files` and
    `hostdb_files`: Parquet files of what earlier rounds learned; `hosts_files`: of what segments learned that these
    do not hold yet; `asked_files`: of what segments learned a moment ago that they hold, which say when hosts were
    asked last. `asked_until_ms`: until then any host may have been asked, by
    a run that was killed. `owner`: the process that locks name as theirs. `crawldb_files`: those of each partition.
    """

    segment_path: str
    fetcher: FetcherSettings
    urls: UrlSettings
    scope: Scope
    guard: AddressGuard
    rules: tuple[ResolveRule, ...]
    proxy: str
    software: str
    deadline_s: float | None = None
    robots_files: tuple[str, ...] = ()
    hostdb_files: tuple[str, ...] = ()
    hosts_files: tuple[str, ...] = ()
    asked_files: tuple[str, ...] = ()
    asked_until_ms: int = 0
    owner: Owner | None = None
    crawldb_files: tuple[tuple[str, ...], ...] = ()


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """Fetch these parts of the fetchlist, and no more than `pages` pages (None: without limit). Of the rows that are
    there already, what is more than `kept` successes counts: a worker that died fetched them in this round."""

    spec: FetchSpec
    parts: tuple[int, ...]
    pages: int | None = None
    kept: int | None = None


class Hop(msgspec.Struct, frozen=True, tag="hop"):
    """A redirect target for the worker that owns its host. `chain`: the url_keys that led here, the first one
    first."""

    url: str
    score: int
    depth: int
    chain: tuple[str, ...]
    host: str
    bucket: int


class RobotsAsk(msgspec.Struct, frozen=True, tag="robots_ask"):
    """The robots.txt of `origin` is redirected to `url`, on a host of another worker: `asked_by` is a part of
    the asker."""

    url: str
    chain: tuple[str, ...]
    origin: str
    asked_by: int
    host: str
    bucket: int


class RobotsTold(msgspec.Struct, frozen=True, tag="robots_told"):
    """What such a request brought for `origin`. `asked_by` None: it was not asked by another worker."""

    origin: str
    state: str
    reason: str | None
    http_status: int | None
    body: bytes
    asked_by: int | None = None


class Allow(msgspec.Struct, frozen=True, tag="allow"):
    """So many pages more may be fetched: another worker has no use for them."""

    pages: int


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """Start nothing new; finish what is in flight."""


class Finish(msgspec.Struct, frozen=True, tag="finish"):
    """No more hops will come: write everything and say `Done`."""


class Counts(msgspec.Struct, tag="counts"):
    """What has been done so far: sums over the parts of a worker, or over all workers."""

    outcomes: dict[str, int] = {}
    reasons: dict[str, int] = {}
    left: dict[str, int] = {}
    requests: int = 0
    robots: int = 0
    body_bytes: int = 0
    warc_bytes: int = 0
    recovered: int = 0
    kept: int = 0  # successes among the recovered rows
    refused_addresses: dict[str, int] = {}

    def add(self, other: Counts) -> None:
        """Adds another's counts to these."""
        for mine, theirs in (
            (self.outcomes, other.outcomes), (self.reasons, other.reasons), (self.left, other.left),
            (self.refused_addresses, other.refused_addresses),
        ):  # fmt: skip
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0) + count
        self.requests += other.requests
        self.robots += other.robots
        self.body_bytes += other.body_bytes
        self.warc_bytes += other.warc_bytes
        self.recovered += other.recovered
        self.kept += other.kept


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """How it stands."""

    counts: Counts
    in_flight: int
    queued: int
    hosts: tuple[str, ...]


class Idle(msgspec.Struct, frozen=True, tag="idle"):
    """Nothing is left to do, after so many messages that came from other workers and went to them. `unused` pages
    are given back; `starved`: there would be something to do, were more pages allowed."""

    passed_in: int
    passed_out: int
    unused: int = 0
    starved: bool = False


class Done(msgspec.Struct, frozen=True, tag="done"):
    """Everything is on disk."""

    counts: Counts
    cpu_s: float


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The worker cannot go on; an error for the user."""

    kind: str
    what: str
    where: str | None
    remedy: str | None


Passed = Hop | RobotsAsk | RobotsTold
"""What goes from one worker to another, through the parent."""

ToWorker = Begin | Hop | RobotsAsk | RobotsTold | Allow | Stop | Finish
ToParent = Progress | Hop | RobotsAsk | RobotsTold | Idle | Done | Failed

_ENCODER = msgspec.msgpack.Encoder()
_TO_WORKER: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)
_TO_PARENT: msgspec.msgpack.Decoder[ToParent] = msgspec.msgpack.Decoder(ToParent)


class Channel:
    """One end of the talk. Reading never blocks beyond what is there; `closed` says that the other side is gone."""

    def __init__(self, link: socket.socket, at_worker: bool) -> None:
        self._link = link
        self._decoder = _TO_WORKER if at_worker else _TO_PARENT
        self._buffer = bytearray()
        self._out = bytearray()
        self.closed = False
        link.setblocking(False)

    def fileno(self) -> int:
        """The descriptor to watch for reading."""
        return self._link.fileno()

    @property
    def unsent(self) -> bool:
        """Bytes wait for the other side to read."""
        return bool(self._out)

    def send(self, message: ToWorker | ToParent) -> None:
        """Sends a message, now or with a later `flush`: neither side ever waits for the other."""
        data = _ENCODER.encode(message)
        self._out += len(data).to_bytes(4, "big") + data
        self.flush()

    def flush(self) -> None:
        """Sends what waits, as far as it goes."""
        try:
            while self._out and not self.closed:
                sent = self._link.send(self._out)
                del self._out[:sent]
        except BlockingIOError:
            return
        except OSError:
            self.closed = True

    def receive(self) -> Iterator[ToWorker | ToParent]:
        """The messages that have come whole."""
        while not self.closed:
            try:
                data = self._link.recv(1 << 16)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                self.closed = True
                break
            self._buffer += data
        while len(self._buffer) >= 4:
            size = int.from_bytes(self._buffer[:4], "big")
            if len(self._buffer) < 4 + size:
                return
            message = self._decoder.decode(bytes(self._buffer[4 : 4 + size]))
            del self._buffer[: 4 + size]
            yield message

    def close(self) -> None:
        """Closes this end."""
        self.closed = True
        with contextlib.suppress(OSError):
            self._link.close()
