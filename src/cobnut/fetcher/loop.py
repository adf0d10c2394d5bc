"""What drives thousands of transfers, the name look-ups and the talk with the parent in one thread?

One epoll set: libcurl's sockets (through `socket_action`), c-ares' sockets, and descriptors added by the
worker. No threads but those of the lenient tries, no polling: the loop sleeps until a socket, a timer or a
host's time is due.

Not here: what is to be fetched (`fetcher.run`).
"""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import Any

import pycurl

from cobnut.fetcher.answer import Answer
from cobnut.fetcher.body import BodyBudget
from cobnut.fetcher.exchange import Exchange, HttpIdentity, HttpLimits, Request
from cobnut.fetcher.names import Resolver

LONGEST_SLEEP_S = 1.0
_IN, _OUT = select.EPOLLIN, select.EPOLLOUT
_CURL_TO_EPOLL = {pycurl.POLL_IN: _IN, pycurl.POLL_OUT: _OUT, pycurl.POLL_INOUT: _IN | _OUT}

Done = Callable[[Any, Answer], None]


class Loop:
    """The event loop of one worker."""

    def __init__(
        self, identity: HttpIdentity, limits: HttpLimits, connections: int, nameservers: tuple[str, ...],
        clock: Callable[[], float], spill_folder: str | None = None,
    ) -> None:  # fmt: skip
        self._identity, self._limits, self._clock = identity, limits, clock
        self._epoll = select.epoll()
        self._curl_fds: set[int] = set()
        self._dns_fds: set[int] = set()
        self._others: dict[int, Callable[[], None]] = {}
        self._timer_at: float | None = None
        self._idle: list[Exchange] = []
        self._budget = BodyBudget(spill_folder)
        self.in_flight = 0
        self.resolver = Resolver(self._watch_names, clock, nameservers)
        self._multi = multi = pycurl.CurlMulti()
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch_curl)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        multi.setopt(pycurl.M_MAXCONNECTS, max(16, connections))

    def add_reader(self, fd: int, callback: Callable[[], None]) -> None:
        """Calls back when `fd` is readable."""
        self._others[fd] = callback
        self._epoll.register(fd, _IN)

    def start(self, token: object, request: Request) -> None:
        """Sends a request; `token` comes back with its answer from `turn`."""
        exchange = self._idle.pop() if self._idle else Exchange(self._identity, self._limits, self._budget)
        exchange.token = token
        exchange.prepare(request)
        self._multi.add_handle(exchange.curl)
        self.in_flight += 1

    def turn(self, sleep_s: float, done: Done) -> None:
        """Waits at most `sleep_s` for something to happen, handles it, and gives finished answers to `done`."""
        for fd, events in self._epoll.poll(self._wait(sleep_s), 1024):
            if fd in self._curl_fds:
                mask = 0
                if events & _IN:
                    mask |= pycurl.CSELECT_IN
                if events & _OUT:
                    mask |= pycurl.CSELECT_OUT
                if events & ~(_IN | _OUT):
                    mask |= pycurl.CSELECT_ERR
                self._multi.socket_action(fd, mask)
            elif fd in self._dns_fds:
                self.resolver.ready(fd, bool(events & ~_OUT), bool(events & _OUT))
            else:
                callback = self._others.get(fd)
                if callback is not None:
                    callback()
        now = self._clock()
        if self._timer_at is not None and self._timer_at <= now:
            self._timer_at = None
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        names_wait = self.resolver.timeout()
        if names_wait is not None and names_wait <= 0:
            self.resolver.tick()
        self.resolver.deliver()
        self._collect(done)

    def close(self) -> None:
        """Ends everything."""
        self.resolver.close()
        self._multi.close()
        for exchange in self._idle:
            exchange.close()
        self._epoll.close()

    def _collect(self, done: Done) -> None:
        while True:
            left, good, bad = self._multi.info_read()
            for curl in good:
                self._finish(curl.exchange, 0, done)
            for curl, code, _message in bad:
                self._finish(curl.exchange, code, done)
            if not left:
                return

    def _finish(self, exchange: Exchange, code: int, done: Done) -> None:
        answer = exchange.finish(code)
        self._multi.remove_handle(exchange.curl)
        token, exchange.token = exchange.token, None
        self._idle.append(exchange)
        self.in_flight -= 1
        done(token, answer)

    def _wait(self, sleep_s: float) -> float:
        wait = min(sleep_s, LONGEST_SLEEP_S)
        if self._timer_at is not None:
            wait = min(wait, self._timer_at - self._clock())
        names_wait = self.resolver.timeout()
        if names_wait is not None:
            wait = min(wait, names_wait)
        return max(0.0, wait)

    def _set_timer(self, timeout_ms: int) -> None:
        self._timer_at = None if timeout_ms < 0 else self._clock() + timeout_ms / 1000

    def _watch_curl(self, what: int, fd: int, _multi: object, _data: object) -> None:
        if what == pycurl.POLL_REMOVE:
            if fd in self._curl_fds:
                self._curl_fds.discard(fd)
                self._unregister(fd)
            return
        events = _CURL_TO_EPOLL.get(what, 0)
        self._register(fd, events, fd in self._curl_fds)
        self._curl_fds.add(fd)

    def _watch_names(self, fd: int, readable: bool, writable: bool) -> None:
        events = (_IN if readable else 0) | (_OUT if writable else 0)
        if not events:
            if fd in self._dns_fds:
                self._dns_fds.discard(fd)
                self._unregister(fd)
            return
        self._register(fd, events, fd in self._dns_fds)
        self._dns_fds.add(fd)

    def _register(self, fd: int, events: int, known: bool) -> None:
        try:
            if known:
                self._epoll.modify(fd, events)
            else:
                self._epoll.register(fd, events)
        except FileNotFoundError:  # closed and opened again under the same number
            self._epoll.register(fd, events)
        except FileExistsError:
            self._epoll.modify(fd, events)

    def _unregister(self, fd: int) -> None:
        try:
            self._epoll.unregister(fd)
        except OSError:  # closed already: the kernel has forgotten it
            return
