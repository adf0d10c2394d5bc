"""Which answers are at hand already?

The bodies of result pages and API answers that were asked for last, in each search process, up to a number of bytes.
A key names the version of the index, so an answer from a former index is never given; its memory goes as others come.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

OVERHEAD = 1_200
"""Bytes an entry costs beside its body: key, query, places in the table. Measured, and rounded up."""

LARGEST_SHARE = 8
"""A body larger than this part of the memory is not kept."""


class AnswerCache:
    """Bodies by key, the least recently used go first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bodies: OrderedDict[Hashable, bytes] = OrderedDict()
        self.bytes = 0
        """Memory in use."""

    def get(self, key: Hashable) -> bytes | None:
        """The body, if it is kept."""
        body = self._bodies.get(key)
        if body is not None:
            self._bodies.move_to_end(key)
        return body

    def put(self, key: Hashable, body: bytes) -> None:
        """Keeps a body, as far as there is room for it."""
        size = len(body) + OVERHEAD
        if size * LARGEST_SHARE > self._max_bytes:
            return
        former = self._bodies.pop(key, None)
        if former is not None:
            self.bytes -= len(former) + OVERHEAD
        self._bodies[key] = body
        self.bytes += size
        while self.bytes > self._max_bytes:
            _, gone = self._bodies.popitem(last=False)
            self.bytes -= len(gone) + OVERHEAD

    def __len__(self) -> int:
        return len(self._bodies)
