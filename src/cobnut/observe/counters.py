"""How many of what? Named counters of one run, added up over processes.

A counter's name is `<stage>.<what>`, or `<stage>.<what>:<reason>` where a reason belongs to it, such as
`fetch.failed:http_404`. Each process counts for itself and hands a snapshot to its parent, which adds it; a counter is
never shared memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


class Counters:
    """Named counters.

    >>> counters = Counters()
    >>> counters.add("fetch.failed", reason="http_404")
    >>> counters.add("fetch.failed", 2, reason="timeout")
    >>> counters.total("fetch.failed"), counters.by_reason("fetch.failed")
    (3, {'timeout': 2, 'http_404': 1})
    """

    def __init__(self, values: Mapping[str, int] | None = None) -> None:
        self._values: Counter[str] = Counter(values or {})

    def add(self, name: str, count: int = 1, *, reason: str | None = None) -> None:
        """Count; `reason` keeps a number of its own below the name."""
        self._values[name if reason is None else f"{name}:{reason}"] += count

    def merge(self, values: Mapping[str, int]) -> None:
        """Add what another process has counted."""
        self._values.update(values)

    def total(self, name: str) -> int:
        """The number of a name over all its reasons."""
        prefix = name + ":"
        return sum(count for key, count in self._values.items() if key == name or key.startswith(prefix))

    def by_reason(self, name: str) -> dict[str, int]:
        """The reasons of a name, most frequent first, equals by name."""
        prefix = name + ":"
        found = [(key[len(prefix) :], count) for key, count in self._values.items() if key.startswith(prefix)]
        return dict(sorted(found, key=lambda pair: (-pair[1], pair[0])))

    def snapshot(self) -> dict[str, int]:
        """All numbers, sorted by name, ready for JSON."""
        return dict(sorted(self._values.items()))
