"""Whose turn is it, and what keeps a page out of the next fetchlist?

Takes a row of the crawldb and what else is known of its page; gives what `generate` says of it: what *holds* it (None
when nothing does), when it is ready, and its *sort value*, by which the best are chosen. That is its score, and what
its age adds: `ageing` for every whole day since it was due, so that what scores low comes later, not never.

This is the rule in words that can be read and tested; `stages/generate_due.sql` is the same rule for all rows at once,
and a contract test holds the two together. Of several things that hold a page the first in this order is named:
in_segment, not_due, min_score, host_backoff, max_depth; URL filters are asked last of all.

Not here: conditions and statuses that a user asks for, limits in number (`crawl.fetchlists`), scoring rules, which may
change the sort value (`frontier.scoring`).
"""

from __future__ import annotations

import msgspec

from cobnut.config.schedules import parse_host_schedule
from cobnut.config.sections import Settings
from cobnut.records.columns import MOST_SCORE

DAY_MS = 86_400_000
MICRO = 1_000_000
NO_LIMIT = 2**62


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A page that may want to be fetched. Times are ms UTC, the score is in millionths.

    `in_segment`: it stands in a fetchlist that the crawldb has not taken in. `checked_at`: when it was tried last.
    `rests_until`: its host is not asked before.
    """

    due_at: int
    interval_s: int
    fixed_interval_s: int | None
    score: int
    depth: int
    in_segment: bool = False
    checked_at: int | None = None
    rests_until: int | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What `generate` is told.

    `ahead_ms`: what is due within this time is due. `farthest_ms`: the longest time that any rule puts a visit off.
    `begun_ms` is when the run began that the round belongs to, 0 when it belongs to none; `early_permille` and
    `refresh` then say what comes early.
    """

    now_ms: int
    farthest_ms: int
    min_score: int
    max_depth: int
    ageing: int
    ahead_ms: int = 0
    begun_ms: int = 0
    early_permille: int = 0
    refresh: bool = False


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps the page out of a fetchlist, when it is ready, how many whole days it has waited, and its place."""

    held: str | None
    ready_at: int
    waited_days: int
    sort_value: int


def limits_of(settings: Settings, now_ms: int) -> Limits:
    """What the settings tell a step that is typed by hand."""
    db, depth = settings.db, settings.crawl.depth
    of_hosts = (parse_host_schedule(text).max_interval_s or 0 for text in db.host_schedules)
    return Limits(
        now_ms=now_ms,
        # a seed's fixed interval may be longer
        farthest_ms=1000 * max(db.max_interval_s, db.retry_delay_s, *of_hosts),
        min_score=round(settings.generate.min_score * MICRO),
        max_depth=depth if depth >= 0 else NO_LIMIT,
        ageing=round(settings.generate.ageing * MICRO),
    )


def turn(page: Waiting, limits: Limits) -> Turn:
    """Whether it is the page's turn now."""
    waited_days = _waited_ms(page, limits) // DAY_MS
    due = is_due(page, limits)
    rests_until = page.rests_until
    ready_at = page.due_at
    if rests_until is not None and (rests_until > page.due_at or (due and rests_until > limits.now_ms)):
        ready_at = rests_until
    return Turn(
        held=_held(page, limits, due),
        ready_at=ready_at,
        waited_days=waited_days,
        sort_value=max(-MOST_SCORE, min(page.score, MOST_SCORE)) + limits.ageing * waited_days,
    )


def is_due(page: Waiting, limits: Limits) -> bool:
    """Whether the page is to be fetched. A time farther away than any rule sets was never meant: it is due.

    A run that knows when it began takes what is nearly due too, and with `refresh` all, but what it has tried already.
    """
    away_ms = page.due_at - limits.now_ms
    if away_ms <= limits.ahead_ms:
        return True
    if away_ms > limits.farthest_ms and away_ms > 1000 * (page.fixed_interval_s or 0):
        return True
    if page.checked_at is None or page.checked_at >= limits.begun_ms:
        return False
    return limits.refresh or away_ms <= page.interval_s * limits.early_permille


def _held(page: Waiting, limits: Limits, due: bool) -> str | None:
    if page.in_segment:
        return "in_segment"
    if not due:
        return "not_due"
    if page.score < limits.min_score:
        return "min_score"
    if page.rests_until is not None and page.rests_until > limits.now_ms:
        return "host_backoff"
    return "max_depth" if page.depth > limits.max_depth else None


def _waited_ms(page: Waiting, limits: Limits) -> int:
    """How long it has been due; a time before 1970 counts as 1970."""
    return max(0, limits.now_ms - max(page.due_at, 0))
