"""How does a story look that is told of a URL or of a host?

One line an item, its title in a column of its own; times in UTC, reasons with their documented sentence.

Not here: the stories (`inspect.why`, `inspect.why_host`).
"""

from __future__ import annotations

from typing import Any

from cobnut.inspect.show import iso_time, plain, reason_text

_WIDTH = 13


def titled(title: str, text: str) -> str:
    """A line with its title; one without goes on with what the line before it told."""
    return f"  {title:<{_WIDTH}} {text}"


def moment(ms: Any) -> str:
    """A time, or `never`."""
    return iso_time(ms if isinstance(ms, int) else None) or "never"


def explained(reason: str | None) -> str:
    """A reason and its documented sentence; empty when there is none."""
    sentence = reason_text(reason)
    return f"{plain(reason or '')}: {sentence.rstrip('.')}" if sentence else plain(reason or "")
