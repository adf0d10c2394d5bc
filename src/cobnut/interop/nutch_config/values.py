"""How is a property's text read, and in which unit does Cobnut keep it?

Each function takes the text and gives the value, or raises: `ValueError` when the text is none, `KeepsDefaultError`
when the value means something for which nothing has to be set here, with what it means.
"""

from __future__ import annotations

import math
from typing import Any


class KeepsDefaultError(Exception):
    """Nothing is to be set; the text says why."""


def number(text: str) -> float:
    """A number as Nutch reads it; hexadecimal whole numbers too."""
    text = text.strip()
    if len(text) > 40:
        raise ValueError("no number")
    try:
        value = float(int(text, 16)) if text.lower().startswith("0x") else float(text.replace("_", "x"))
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no number") from None
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is no finite number")
    return value


def milliseconds(text: str) -> float:
    """Milliseconds, as seconds."""
    return number(text) / 1000


def minutes(text: str) -> float:
    """Minutes, as seconds."""
    return number(text) * 60


def days(text: str) -> float:
    """Days, as seconds."""
    return number(text) * 86_400


def whether(text: str) -> bool:
    """True or false, in any case."""
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError(f"{text.strip()[:40]!r} is neither true nor false")
    return lowered == "true"


def words(text: str) -> str:
    """A text without blanks around it; an empty one sets nothing."""
    if not text.strip():
        raise KeepsDefaultError("it is empty")
    return text.strip()


def limit(text: str) -> float:
    """A number of which a negative one means: without limit."""
    value = number(text)
    return value if value >= 0 else math.inf


def count(text: str) -> float:
    """A greatest number, of which 0 and less mean that there is none: -1 here."""
    value = number(text)
    return value if value > 0 else -1


def limit_or_off(text: str) -> float:
    """A number of which a negative one means that there is no such rule."""
    value = number(text)
    if value < 0:
        raise KeepsDefaultError("negative: Nutch has no such limit then")
    return value


def positive(text: str) -> float:
    """A number that says something only above 0."""
    value = number(text)
    if value <= 0:
        raise KeepsDefaultError("0 or less sets nothing")
    return value


def depth_limit(text: str) -> float:
    """A greatest depth of which a seed has 1; here a seed has 0."""
    if number(text) < 1:
        raise KeepsDefaultError("0 or less sets nothing")
    return number(text) - 1


def fitted(value: Any, kind: Any, low: float, high: float) -> tuple[Any, str]:
    """A number in the type of its setting and within its range, and what had to be changed for that ("")."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value, ""
    inside = min(max(value, low), high)
    changed = "" if inside == value or math.isinf(value) else f"brought into the range {low:,.15g} to {high:,.15g}"
    if math.isinf(value):
        changed = "without limit: the greatest value there is"
    if kind is int:
        whole = math.ceil(inside)
        return whole, changed or ("" if whole == inside else "rounded up")
    return float(inside), changed
