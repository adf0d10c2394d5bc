"""How does time pass in a test? Only when the test, or what it tests, says so.

`VirtualClock` follows `observe.clock.Clock`: a sleep returns at once and moves the clock on by what was asked.
"""

from __future__ import annotations

import threading


class VirtualClock:
    """A clock that stands still until `sleep` or `advance` moves it; safe to share between threads.

    >>> clock = VirtualClock(now_ms=1_000)
    >>> clock.sleep(2.5)
    >>> clock.now_ms(), clock.monotonic()
    (3500, 2.5)
    """

    def __init__(self, now_ms: int = 1_767_225_600_000) -> None:
        self._start_ms = now_ms
        self._passed_s = 0.0
        self._lock = threading.Lock()
        self.slept: list[float] = []
        """Every sleep asked for, in seconds and in order."""

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        return self._start_ms + round(self._passed_s * 1000)

    def monotonic(self) -> float:
        """Seconds since this clock was made."""
        return self._passed_s

    def sleep(self, seconds: float) -> None:
        """Move on by `seconds` and return at once."""
        with self._lock:
            self.slept.append(seconds)
            self._passed_s += max(0.0, seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass without anybody having slept; never backwards."""
        if seconds < 0:
            raise ValueError("a clock does not run backwards")
        with self._lock:
            self._passed_s += seconds
