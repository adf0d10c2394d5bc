"""When is a page visited again?

Two schedules of the line: *default* keeps an interval; *adaptive* lets it shrink when a page has changed and grow when
it has not (`grow`, `shrink` are factors), within bounds. With `sync` the adaptive one follows a page's own rhythm: one
that has not changed for longer than its interval is visited after as long a time again, less a share of it.

These are the rules for one page in words; `stages/updatedb.sql` has them for all rows at once, and a contract test
holds the two together. Times are ms since 1970 UTC.

Not here: what an answer means for a page (`frontier.transition`), which pages are taken (`stages.generate`).
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import msgspec

State = Literal["unknown", "modified", "not_modified"]


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a page's interval changes. `sync_rate`: share of the time since its last change, 0 to 1."""

    adaptive: bool
    interval_s: int
    min_interval_s: int
    max_interval_s: int
    grow: float
    shrink: float
    gone_grow: float
    sync: bool = False
    sync_rate: float = 0.3


class Visit(NamedTuple):
    """The next visit, and the interval that led to it."""

    interval_s: int
    due_at: int


def after_success(interval_s: int, fetched_at: int, modified_at: int | None, state: State, pace: Pace) -> Visit:
    """The next visit to a page that answered. `modified_at` is its last change, this one included; None is now.

    An interval of 0 counts as none. The default schedule does not bound what it is given.
    """
    interval_s = interval_s or pace.interval_s
    if not pace.adaptive:
        return Visit(interval_s, fetched_at + 1000 * interval_s)
    if state == "modified":
        interval_s = _nearest(interval_s * pace.shrink)
    elif state == "not_modified":
        interval_s = _nearest(interval_s * pace.grow)
    offset_ms = 0
    if pace.sync:
        unchanged_ms = max(fetched_at - (fetched_at if modified_at is None else modified_at), 0)
        interval_s = max(interval_s, unchanged_ms // 1000)
        offset_ms = _nearest(unchanged_ms * pace.sync_rate)
        if offset_ms > 1000 * pace.max_interval_s:
            # as the line has it: more than the longest interval counts as the longest, when all of it is taken
            offset_ms = 1000 * pace.max_interval_s if offset_ms >= unchanged_ms else 0
    interval_s = min(max(interval_s, min(pace.min_interval_s, pace.max_interval_s)), pace.max_interval_s)
    return Visit(interval_s, fetched_at - offset_ms + 1000 * interval_s)


def after_gone(interval_s: int, fetched_at: int, pace: Pace) -> Visit:
    """The next visit to a page that is gone, or cannot be parsed: later each time, and never given up."""
    if interval_s < pace.max_interval_s:
        interval_s = _nearest(interval_s * pace.gone_grow)
    else:
        interval_s = _nearest(pace.max_interval_s * 0.9)
    return Visit(interval_s, fetched_at + 1000 * interval_s)


def after_failure(interval_s: int, fetched_at: int, delay_s: int) -> Visit:
    """The next try after one that failed."""
    return Visit(interval_s, fetched_at + 1000 * delay_s)


def is_due(due_at: int, now: int, max_interval_s: int) -> bool:
    """Whether a page is to be fetched. A time farther away than the longest interval was never set: it is due."""
    return due_at <= now or due_at - now > 1000 * max_interval_s


def _nearest(value: float) -> int:
    """Halves upwards, as the SQL rounds."""
    return math.floor(value + 0.5)
