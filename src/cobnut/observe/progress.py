"""How far is it? One line that stays in place on a terminal, a plain line every few seconds elsewhere.

It shows pages, pages per second, the queue, counts by reason and the time left. The crawl driver calls `update` as
often as it likes; drawing is limited to five times a second on a terminal, and to one line in five seconds elsewhere,
which is what a log file wants.

Not here: the summary at the end of a run (the crawl driver's), and logs (`events`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from cobnut.observe.clock import Clock

if TYPE_CHECKING:
    from rich.live import Live

TERMINAL_PERIOD_S = 0.2
PLAIN_PERIOD_S = 5.0
_RATE_WINDOW_S = 10.0
_REASONS_SHOWN = 4


@dataclass(frozen=True, slots=True)
class ProgressState:
    """What is known at one moment.

    `pages` fetched in this run; `queue` URLs known to be waiting; `page_limit` and `time_limit_s` of the run, None
    without; `reasons` how many were not fetched or failed, by reason; `doing` what the run is at (`fetch, round 3`).
    """

    pages: int = 0
    queue: int = 0
    page_limit: int | None = None
    time_limit_s: float | None = None
    reasons: Mapping[str, int] = field(default_factory=dict)
    doing: str = ""


class Progress:
    """Progress of one run on one stream.

    `is_terminal` decides between the two forms; the caller asks the stream. A stream that cannot be written to any more
    (its reader went away) ends the progress, not the run.
    """

    def __init__(self, stream: IO[str], clock: Clock, is_terminal: bool) -> None:
        self._stream, self._clock, self._is_terminal = stream, clock, is_terminal
        self._started_s = clock.monotonic()
        self._shown_s: float | None = None
        self._seen: list[tuple[float, int]] = [(self._started_s, 0)]
        self._pending: ProgressState | None = None
        self._live: Live | None = None
        self._broken = False

    def update(self, state: ProgressState) -> None:
        """Take a new state; it is shown when it is time to."""
        now = self._clock.monotonic()
        self._pending = state
        self._remember(now, state.pages)
        period = TERMINAL_PERIOD_S if self._is_terminal else PLAIN_PERIOD_S
        due = self._shown_s is None if self._is_terminal else now - self._started_s >= period
        if due if self._shown_s is None else now - self._shown_s >= period:
            self._show(now)

    def close(self) -> None:
        """Show the last state and leave the line."""
        if self._pending is not None and (self._is_terminal or self._shown_s is not None):
            self._show(self._clock.monotonic())
        if self._live is not None and not self._broken:
            with contextlib.suppress(OSError, ValueError):
                self._live.stop()
        self._live = None

    def _remember(self, now: float, pages: int) -> None:
        if now - self._seen[-1][0] >= TERMINAL_PERIOD_S or pages < self._seen[-1][1]:
            self._seen.append((now, pages))
        while len(self._seen) > 2 and now - self._seen[1][0] >= _RATE_WINDOW_S:
            del self._seen[0]

    def _rate(self, now: float, pages: int) -> float:
        since, before = self._seen[0]
        return max(0, pages - before) / (now - since) if now > since else 0.0

    def _show(self, now: float) -> None:
        state = self._pending
        if state is None or self._broken:
            return
        self._pending, self._shown_s = None, now
        line = render(state, now - self._started_s, self._rate(now, state.pages))
        try:
            if self._is_terminal:
                self._show_live(line)
            else:
                print(line, file=self._stream, flush=True)
        except (OSError, ValueError):
            self._broken = True

    def _show_live(self, line: str) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        text: Any = Text(line, overflow="ellipsis", no_wrap=True)
        if self._live is None:
            console = Console(file=self._stream, force_terminal=True)
            self._live = Live(text, console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
            self._live.start()
        self._live.update(text, refresh=True)


def render(state: ProgressState, elapsed_s: float, rate: float) -> str:
    """One line of progress.

    >>> render(ProgressState(pages=1200, queue=340, page_limit=2000, reasons={"http_404": 7}), 60, 20.0)
    '1,200 pages, 20/s, 340 waiting, 17 s left | http_404 7'
    """
    parts = [f"{state.pages:,} page{'' if state.pages == 1 else 's'}"]
    parts.append(f"{rate:,.0f}/s" if rate >= 10 or rate == 0 else f"{rate:.1f}/s")
    parts.append(f"{state.queue:,} waiting")
    left = time_left_s(state, elapsed_s, rate)
    if left is not None:
        parts.append(f"{duration(left)} left")
    line = ", ".join(parts)
    if state.doing:
        line = f"{state.doing}: {line}"
    ranked = sorted(state.reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    reasons = [f"{name} {count:,}" for name, count in ranked if count][:_REASONS_SHOWN]
    more = sum(count for _, count in ranked[_REASONS_SHOWN:])
    if more:
        reasons.append(f"other {more:,}")
    return f"{line} | {', '.join(reasons)}" if reasons else line


def time_left_s(state: ProgressState, elapsed_s: float, rate: float) -> float | None:
    """Seconds until the queue is empty or a limit is reached, whichever is first; None when nothing can be said.

    The queue of a crawl grows as it goes: without a limit this is a lower bound.
    """
    times = []
    if state.time_limit_s is not None:
        times.append(max(0.0, state.time_limit_s - elapsed_s))
    if rate > 0:
        remaining = state.queue
        if state.page_limit is not None:
            remaining = min(remaining, max(0, state.page_limit - state.pages))
        if remaining:
            times.append(remaining / rate)
    return min(times) if times else None


def duration(seconds: float) -> str:
    """A duration in the two units that matter.

    >>> duration(0.4), duration(59), duration(61), duration(7322), duration(200_000)
    ('1 s', '59 s', '1 min 1 s', '2 h 2 min', '2 d 7 h')
    """
    left = max(1, round(seconds))
    if left < 60:
        return f"{left} s"
    for unit, size, part, part_size in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if left >= size:
            rest = left % size // part_size
            return f"{left // size} {unit} {rest} {part}" if rest else f"{left // size} {unit}"
    raise AssertionError("unreachable")
