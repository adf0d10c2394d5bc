"""May this client ask once more, or too soon?

A token bucket per client, in the form of the generic cell rate algorithm (ITU-T I.371): all that is kept of a client is
one number, the time at which its bucket would be full again. The numbers lie in a table of fixed size that all worker
processes share, so a client is counted once, whichever worker answers it, and no flood of addresses makes it grow.

A client's place in the table is a keyed hash; where a set of places is full, the client that has been quiet longest
makes way. Workers do not lock: when two write the same place at once, one request goes uncounted.
"""

from __future__ import annotations

import ctypes
import hashlib
import multiprocessing
import secrets
from array import array
from dataclasses import dataclass
from typing import Any

PLACES = 65_536
"""Clients that are counted at a time: 1 MiB."""

WAYS = 8
"""Places among which a client may stand."""

DEFAULT_RATE_PER_S = 10.0
"""Requests a second per client where others than this machine reach the page and nothing is set."""


@dataclass(frozen=True)
class Table:
    """The table: who stands where (hash), and when that client's bucket is full again (seconds of the clock)."""

    tags: Any
    full_at: Any
    secret: bytes

    @staticmethod
    def shared(places: int = PLACES) -> Table:
        """One that goes to worker processes with their arguments. Its memory ends with the last of them."""
        context = multiprocessing.get_context("spawn")
        tags, full_at = context.RawArray(ctypes.c_uint64, places), context.RawArray(ctypes.c_double, places)
        return Table(tags, full_at, secrets.token_bytes(16))

    @staticmethod
    def private(places: int = PLACES) -> Table:
        """One of this process alone."""
        return Table(array("Q", bytes(8 * places)), array("d", bytes(8 * places)), secrets.token_bytes(16))

    def place_of(self, client: str) -> int:
        """Where a client's number stands; a client that is not there yet gets a place."""
        digest = hashlib.blake2b(client.encode(errors="replace"), key=self.secret, digest_size=8).digest()
        tag = int.from_bytes(digest, "little") or 1
        first = tag % (len(self.tags) // WAYS) * WAYS
        quietest = first
        for place in range(first, first + WAYS):
            if self.tags[place] == tag:
                return place
            if self.full_at[place] < self.full_at[quietest]:
                quietest = place
        self.full_at[quietest] = 0.0
        self.tags[quietest] = tag
        return quietest

    def mark(self, what: str, until: float) -> None:
        """Remembers something until then, as long as there is room. Good for a favour, not for a proof (see above)."""
        self.full_at[self.place_of(what)] = until

    def is_marked(self, what: str, now: float) -> bool:
        """Whether something is remembered."""
        return bool(self.full_at[self.place_of(what)] > now)


class Limiter:
    """Lets each client make `burst` requests at once, and `rate_per_s` in the long run; a rate of 0 is no limit."""

    def __init__(self, table: Table, rate_per_s: float, burst: int) -> None:
        self._table = table
        self._each = 1.0 / rate_per_s if rate_per_s > 0 else 0.0
        self._room = self._each * burst

    def take(self, client: str, now: float) -> float:
        """Counts one request: 0.0 when it may be answered, else the seconds after which the next one may."""
        if not self._each:
            return 0.0
        place = self._table.place_of(client)
        full_at = max(now, self._table.full_at[place]) + self._each
        wait: float = full_at - now - self._room
        if wait > self._each * 1e-6:
            return wait
        self._table.full_at[place] = full_at
        return 0.0

    def charge(self, client: str, now: float, requests: float) -> None:
        """Counts more, for an answer that cost more, or gives back (below 0). Never more than the bucket holds."""
        if self._each:
            place = self._table.place_of(client)
            full_at = max(now, self._table.full_at[place]) + self._each * requests
            self._table.full_at[place] = min(full_at, now + self._room)


def rate_in_force(rate_per_s: float, is_exposed: bool) -> float:
    """The rate that the setting stands for: -1 is a default one where others reach the page, and none otherwise."""
    if rate_per_s >= 0:
        return rate_per_s
    return DEFAULT_RATE_PER_S if is_exposed else 0.0
