"""What happened, in order? An append-only log of one JSON object a line.

Every line has `at` (UTC, ISO 8601 with milliseconds), `event` (a stage's name, or `<stage>.<what>`) and whatever else
is said about it. A line is written with one call, so that a killed process leaves at most one line cut off; the next
writer ends it, and readers skip it.

Not here: the report of a finished stage, which is a file of its own, and what became of single URLs (in tables).
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from cobnut.observe.clock import Clock, SystemClock


class EventLog:
    """A log in one file; several processes may append to it at once."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or SystemClock()
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            os.write(self._descriptor, b"\n")

    def write(self, event: str, /, **fields: Any) -> None:
        """Append one event; values JSON does not know are written as text."""
        record = {"at": iso_time(self._clock.now_ms()), "event": event, **fields}
        line = json.dumps(record, ensure_ascii=False, default=str, separators=(",", ":"))
        os.write(self._descriptor, line.encode("utf-8", "backslashreplace") + b"\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def __enter__(self) -> EventLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a log; a line that is no JSON object (cut off by a kill) is skipped."""
    with path.open("rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def iso_time(ms: int) -> str:
    """Milliseconds since 1970 as ISO 8601 in UTC.

    >>> iso_time(1_767_225_600_123)
    '2026-01-01T00:00:00.123Z'
    """
    moment = datetime.datetime.fromtimestamp(ms // 1000, datetime.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"
