"""Which addresses does a host name have?

Asks name servers through c-ares inside the worker's event loop, keeps answers as long as their TTL says
(within bounds) and failures for a minute. `localhost` and /etc/hosts come first. IPv6 is asked for only where
a name has no IPv4 address.

Not here: which address may be connected to (`urls.addresses`), `--resolve` (`fetcher.endpoints`).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from cobnut.fetcher.endpoints import read_hosts_file
from cobnut.urls.hosts import is_loopback_host

SHORTEST_TTL_S, LONGEST_TTL_S = 30.0, 86_400.0
FAILURE_TTL_S = 60.0
MAX_CACHED = 200_000
MAX_ADDRESSES = 16


class Names(NamedTuple):
    """Addresses of a name, or the reason why there are none."""

    addresses: tuple[str, ...]
    reason: str | None = None


Callback = Callable[[Names], None]


class Resolver:
    """Looks names up; answers come through callbacks, at once when known.

    `watch(fd, readable, writable)` is called when a socket of the resolver is to be watched; the loop calls
    `ready` when something happened and `timeout` for how long it may sleep.
    """

    def __init__(
        self, watch: Callable[[int, bool, bool], None], clock: Callable[[], float], nameservers: tuple[str, ...] = ()
    ) -> None:
        self._watch, self._clock, self._servers = watch, clock, nameservers
        self._channel: Any = None
        self._cache: OrderedDict[str, tuple[float, Names]] = OrderedDict()
        self._waiting: dict[str, list[Callback]] = {}
        self._ready: deque[tuple[Callback, Names]] = deque()
        self._fixed = {name: Names(tuple(found)) for name, found in read_hosts_file().items()}
        self.queries = 0

    @property
    def pending(self) -> int:
        """Names being looked up."""
        return len(self._waiting)

    def lookup(self, name: str, callback: Callback) -> None:
        """Finds the addresses of `name` and gives them to `callback`."""
        name = name.rstrip(".").lower()
        known = self._known(name)
        if known is not None:
            callback(known)
            return
        waiting = self._waiting.get(name)
        if waiting is not None:
            waiting.append(callback)
            return
        self._waiting[name] = [callback]
        self._query(name, 4)

    def ready(self, fd: int, readable: bool, writable: bool) -> None:
        """Something happened on a watched socket."""
        if self._channel is not None:
            self._channel.process_fd(fd if readable else -1, fd if writable else -1)

    def timeout(self) -> float | None:
        """Seconds until `tick` is due; None when nothing is pending."""
        if self._ready:
            return 0.0
        if self._channel is None or not self._waiting:
            return None
        return max(0.0, float(self._channel.timeout()))

    def tick(self) -> None:
        """Lets the resolver notice what has timed out."""
        if self._channel is not None and self._waiting:
            self._channel.process_fd(-1, -1)

    def deliver(self) -> None:
        """Gives the answers that have come to those who asked: here and not in c-ares' callback, where an exception
        would be lost."""
        while self._ready:
            callback, names = self._ready.popleft()
            callback(names)

    def close(self) -> None:
        """Ends all look-ups."""
        if self._channel is not None:
            self._waiting.clear()
            self._channel.close()
            self._channel = None

    def _known(self, name: str) -> Names | None:
        if is_loopback_host(name):
            return self._fixed.get(name) or Names(("127.0.0.1", "::1"))
        fixed = self._fixed.get(name)
        if fixed is not None:
            return fixed
        entry = self._cache.get(name)
        if entry is None:
            return None
        if entry[0] <= self._clock():
            del self._cache[name]
            return None
        return entry[1]

    def _query(self, name: str, version: int) -> None:
        import pycares

        if self._channel is None:
            self._channel = pycares.Channel(
                timeout=3.0, tries=3, sock_state_cb=self._watch, servers=list(self._servers) or None
            )
        self.queries += 1
        kind = pycares.QUERY_TYPE_A if version == 4 else pycares.QUERY_TYPE_AAAA

        def answered(result: Any, error: int | None) -> None:
            self._answered(name, version, result, error)

        try:
            self._channel.query(name, kind, callback=answered)
        except (pycares.AresError, UnicodeError, ValueError):
            self._finish(name, Names((), "dns_failed"), FAILURE_TTL_S)

    def _answered(self, name: str, version: int, result: Any, error: int | None) -> None:
        import pycares
        from pycares import errno as e

        if name not in self._waiting:
            return
        if error is None:
            wanted = pycares.QUERY_TYPE_A if version == 4 else pycares.QUERY_TYPE_AAAA
            records = [r for r in result.answer if r.type == wanted][:MAX_ADDRESSES]
            if records:
                ttl = min([LONGEST_TTL_S, *(float(r.ttl) for r in result.answer)])
                addresses = tuple(dict.fromkeys(str(r.data.addr) for r in records))
                self._finish(name, Names(addresses), max(SHORTEST_TTL_S, ttl))
                return
        nothing = error is None or error in (e.ARES_ENODATA, e.ARES_ENOTFOUND, e.ARES_EBADNAME, e.ARES_EBADRESP)
        if nothing and version == 4 and error != e.ARES_ENOTFOUND:
            self._query(name, 6)
            return
        self._finish(name, Names((), "dns_failed" if nothing else "dns_timeout"), FAILURE_TTL_S)

    def _finish(self, name: str, names: Names, ttl_s: float) -> None:
        self._cache[name] = (self._clock() + ttl_s, names)
        if len(self._cache) > MAX_CACHED:
            self._cache.popitem(last=False)
        self._ready.extend((callback, names) for callback in self._waiting.pop(name, ()))
