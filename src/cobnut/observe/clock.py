"""What time is it?

Code that waits or reads the time takes a `Clock`; commands pass `SystemClock`, tests a virtual one
(`cobnut.testing.clock`). `now_ms` is the wall clock and may jump; `monotonic` measures durations and never does.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A source of time that can be waited on."""

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; a number below zero does not wait."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait; a number below zero does not wait."""
        if seconds > 0:
            time.sleep(seconds)
