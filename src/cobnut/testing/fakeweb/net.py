"""Who answers for a host, and what was asked of it? The handlers, the request log and the figures of one fake web.

The figures per host are what a judge of politeness needs: requests, the smallest and mean gap between two of them, the
most under way at once.

Not here: bytes on sockets (`server`).
"""

from __future__ import annotations

import asyncio
import collections
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

from cobnut.testing.fakeweb.authority import Authority
from cobnut.testing.fakeweb.messages import Handler, Request, Response


@dataclass(slots=True)
class LogEntry:
    """One request in the order of arrival. `status` is None until the answer was sent, and for one dropped without."""

    at_s: float
    """Time of arrival on this machine's monotonic clock."""
    scheme: str
    method: str
    host: str
    target: str
    headers: dict[str, str]
    proxy: bool
    status: int | None = None
    body_bytes: int = 0

    @property
    def url(self) -> str:
        """The URL asked for, without port."""
        return f"{self.scheme}://{self.host}{self.target}"

    @property
    def agent(self) -> str:
        """The User-Agent sent."""
        return self.headers.get("user-agent", "-")


class HostStats:
    """The figures of one host. Gaps are in seconds, None before the second request."""

    __slots__ = (
        "_first_s", "_last_s", "agents", "at_once", "bytes_sent", "min_gap_s", "most_at_once", "requests", "statuses",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests = self.at_once = self.most_at_once = self.bytes_sent = 0
        self._first_s = self._last_s = 0.0
        self.min_gap_s: float | None = None
        self.statuses: collections.Counter[int] = collections.Counter()
        self.agents: collections.Counter[str] = collections.Counter()

    def enter(self, now_s: float, agent: str) -> None:
        """A request has come in."""
        if self.requests:
            gap = now_s - self._last_s
            if self.min_gap_s is None or gap < self.min_gap_s:
                self.min_gap_s = gap
        else:
            self._first_s = now_s
        self._last_s = now_s
        self.requests += 1
        self.at_once += 1
        self.agents[agent] += 1
        if self.at_once > self.most_at_once:
            self.most_at_once = self.at_once

    def leave(self, status: int | None, byte_count: int) -> None:
        """Its answer has been handed to the socket; `status` None: there was none."""
        self.at_once -= 1
        self.bytes_sent += byte_count
        if status is not None:
            self.statuses[status] += 1

    @property
    def mean_gap_s(self) -> float | None:
        """Mean time between two requests."""
        return (self._last_s - self._first_s) / (self.requests - 1) if self.requests > 1 else None

    def as_dict(self) -> dict[str, Any]:
        """All figures, ready for JSON."""
        return {
            "requests": self.requests,
            "min_gap_s": self.min_gap_s,
            "mean_gap_s": self.mean_gap_s,
            "most_at_once": self.most_at_once,
            "bytes": self.bytes_sent,
            "status": dict(self.statuses),
            "agents": dict(self.agents.most_common(5)),
        }


class Net:
    """All handlers and all figures of one server. The first handler that knows a host and has an answer gives it.

    `keep_log`: keep every request in `log`; `log_file`: write one tab-separated line per answer. `stats_host` answers
    /stats, /hosts and /reset.
    """

    def __init__(
        self,
        handlers: Sequence[Handler],
        *,
        stats_host: str = "fakeweb.invalid",
        keep_log: bool = True,
        log_file: IO[str] | None = None,
        authority: Authority | None = None,
    ) -> None:
        self.handlers, self.stats_host = list(handlers), stats_host
        self.keep_log, self.log_file, self.authority = keep_log, log_file, authority
        self.stats: dict[str, HostStats] = {}
        self.transports: set[asyncio.Transport] = set()
        """The open connections; those that are left are cut when the server ends."""
        self.log: list[LogEntry] = []

    def has(self, host: str) -> bool:
        """Whether anybody answers for this host."""
        return any(handler.has(host) for handler in self.handlers)

    def enter(self, request: Request, now_s: float) -> tuple[HostStats, LogEntry | None]:
        """Count and log a request."""
        stats = self.stats.get(request.host)
        if stats is None:
            stats = self.stats[request.host] = HostStats()
        stats.enter(now_s, request.headers.get("user-agent", "-"))
        if not self.keep_log:
            return stats, None
        entry = LogEntry(
            now_s, request.scheme, request.method, request.host, request.target, request.headers, request.proxy
        )
        self.log.append(entry)
        return stats, entry

    def answer(self, request: Request) -> Response:
        """The answer of whoever knows the host."""
        known = False
        for handler in self.handlers:
            if handler.has(request.host):
                known = True
                response = handler.respond(request)
                if response is not None:
                    return response
        if known:
            return Response(404, "text/html; charset=utf-8", b"<title>404</title><h1>Not found</h1>")
        if request.host == self.stats_host:
            return self._own(request)
        return Response(502 if request.proxy else 421, "text/plain", b"no such host in this fake web\n", close=True)

    def _own(self, request: Request) -> Response:
        if request.path == "/reset":
            self.reset()
            return Response(200, "text/plain", b"ok")
        if request.path == "/hosts":
            names = "\n".join(name for handler in self.handlers for name in sorted(handler.hosts))
            return Response(200, "text/plain", names.encode())
        if request.path == "/stats":
            hosts = {host: stats.as_dict() for host, stats in sorted(self.stats.items())}
            total = sum(stats.requests for stats in self.stats.values())
            return Response(200, "application/json", json.dumps({"requests": total, "hosts": hosts}, indent=1).encode())
        return Response(404, "text/plain", b"/stats /hosts /reset")

    def reset(self) -> None:
        """Forget all figures and the log."""
        self.stats.clear()
        self.log.clear()
