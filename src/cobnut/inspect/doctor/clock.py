"""Does the clock stand before what was written?

Not here: times in rows (`tables`, which asks `asked_files`).
"""

from __future__ import annotations

import time
from pathlib import Path

from cobnut.inspect.doctor.visit import CLOCK_SLACK_MS, Visit
from cobnut.storage.layout import MOST_CLOCK_STEP_S, seconds_of

REMEDY = (
    "set the clock right (`date -u` shows it); if it was wrong when this was written, go back to before with "
    "`rollback` or a backup"
)


CONSEQUENCE = "times in the crawl are not to be relied on: what is due, and which version is newer"


def check_time(visit: Visit, what: str, where: Path, at_ms: int) -> None:
    """Something that is said to have happened later than now."""
    if at_ms > visit.now_ms + CLOCK_SLACK_MS:
        visit.find("clock", f"{what} at {_shown(at_ms)}, which is in the future", where, CONSEQUENCE, REMEDY)


def check_segment_names(visit: Visit, names: list[str]) -> None:
    """Segments are named by their time, and no later one may be older."""
    newest = max(names, default="")
    if seconds_of(newest) * 1000 > visit.now_ms + MOST_CLOCK_STEP_S * 1000:
        visit.find(
            "clock", f"the clock stands before the newest segment ({newest})", visit.crawl.segments_path / newest,
            "`cobnut generate` makes no segment before that time", REMEDY,
        )  # fmt: skip


def _shown(at_ms: int) -> str:
    if not 0 <= at_ms < 253_402_300_800_000:
        return str(at_ms)
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at_ms / 1000))
