"""Which host may be asked next, and when?

A host is asked by `connections_per_host` requests at once and not again before its delay has passed after the
end of the last one. What is known of a host (its next time, its delay, its failures) outlives its queue: a
queue that ran empty and fills again keeps its pace.

Time is whatever number the caller passes as `now` (seconds); nothing here reads a clock or sleeps.

Not here: where a delay comes from (`fetcher.run`), the request itself.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class HostState(Generic[Item]):
    """One host: its waiting items and everything that outlives them."""

    __slots__ = ("active", "delay_s", "heaped_at", "items", "name", "next_at", "resting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.items: deque[Item] = deque()
        self.active = 0
        self.next_at = 0.0
        self.delay_s = 0.0
        self.heaped_at: float | None = None
        self.resting = False


class HostQueues(Generic[Item]):
    """Queues of items by host, given out so that no host is asked too often."""

    def __init__(self, connections_per_host: int = 1) -> None:
        self._limit = max(1, connections_per_host)
        self._hosts: dict[str, HostState[Item]] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._ticket = 0
        self.waiting = 0

    def __len__(self) -> int:
        return self.waiting

    def host(self, name: str) -> HostState[Item]:
        """The state of a host, made when it is first named."""
        state = self._hosts.get(name)
        if state is None:
            state = self._hosts[name] = HostState(name)
        return state

    def hosts(self) -> Iterator[HostState[Item]]:
        """All hosts ever named."""
        return iter(self._hosts.values())

    def add(self, name: str, item: Item, *, first: bool = False) -> bool:
        """Puts an item into its host's queue, at its end or its head; False when the host rests for this round."""
        state = self.host(name)
        if state.resting:
            return False
        if first:
            state.items.appendleft(item)
        else:
            state.items.append(item)
        self.waiting += 1
        self._offer(state)
        return True

    def take(self, now: float) -> tuple[str, Item] | None:
        """The next item that may be requested at `now`, whose host is then busy until `done`; None when there
        is none."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            _, _, name = heapq.heappop(heap)
            state = self._hosts[name]
            state.heaped_at = None
            if not state.items or state.active >= self._limit:
                continue
            if state.next_at > now:
                self._offer(state)
                continue
            item = state.items.popleft()
            self.waiting -= 1
            state.active += 1
            if self._limit > 1:
                # without a delay several may run; with one, starts are spaced by it as well
                state.next_at = max(state.next_at, now + state.delay_s)
                self._offer(state)
            return name, item
        return None

    def done(self, name: str, now: float, *, requested: bool = True) -> None:
        """Ends the turn of an item of that host; a request that was really sent starts the delay."""
        state = self._hosts[name]
        state.active -= 1
        if requested:
            state.next_at = max(state.next_at, now + state.delay_s)
        self._offer(state)

    def pause(self, name: str, until: float) -> None:
        """No request to the host before `until`."""
        state = self.host(name)
        if until > state.next_at:
            state.next_at = until
            self._offer(state)

    def rest(self, name: str) -> list[Item]:
        """The host is left alone for the rest of the round; its waiting items are handed back."""
        state = self.host(name)
        state.resting = True
        left = list(state.items)
        self.waiting -= len(left)
        state.items.clear()
        return left

    def drain(self) -> list[tuple[str, Item]]:
        """Takes everything that waits out of the queues."""
        left = [(state.name, item) for state in self._hosts.values() for item in state.items]
        for state in self._hosts.values():
            state.items.clear()
            state.heaped_at = None
        self.waiting = 0
        self._heap.clear()
        return left

    def next_time(self) -> float | None:
        """When `take` is worth calling again; None when nothing waits that is not already running."""
        heap = self._heap
        while heap:
            at, _, name = heap[0]
            state = self._hosts[name]
            if state.items and state.active < self._limit and state.next_at <= at:
                return at
            heapq.heappop(heap)
            state.heaped_at = None
            self._offer(state)  # at its right time, when it has anything to offer
        return None

    def _offer(self, state: HostState[Item]) -> None:
        """Puts a host into the heap once; `next_at` only grows, so an entry made earlier is met too early,
        never late."""
        if state.heaped_at is None and state.items and state.active < self._limit:
            self._ticket += 1
            state.heaped_at = state.next_at
            heapq.heappush(self._heap, (state.next_at, self._ticket, state.name))
