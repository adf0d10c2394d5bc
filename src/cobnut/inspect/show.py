"""How is a value shown to a person?

What a crawl holds was written by strangers: whatever could move a terminal's cursor, ring its bell or turn the
direction of writing is shown as an escape.
"""

from __future__ import annotations

import re
import time
from typing import Any

from cobnut.records.columns import SCORES
from cobnut.records.outcomes import REASONS

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_YEAR_10000_MS = 253_402_300_800_000


def plain(text: str, limit: int | None = None) -> str:
    """Text on one line that is safe to show on a terminal, cut to `limit` characters.

    >>> plain("a\\x1b[31m\\nb")
    'a\\\\x1b[31m b'
    """
    if limit is not None and len(text) > limit:
        text = text[: max(0, limit - 1)] + "…"
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in "\n\t\r":
        return " "
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def iso_time(ms: int | None) -> str | None:
    """Milliseconds since 1970 as ISO 8601 in UTC, to the second; what lies outside the calendar stays a number."""
    if ms is None:
        return None
    if not 0 <= ms < _YEAR_10000_MS:
        return str(ms)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms // 1000))


def score_text(millionths: int | None) -> str | None:
    """A score as a number: 1_000_000 is 1.0."""
    return None if millionths is None else f"{millionths / 1_000_000:.6g}"


def cell(column: str, value: Any) -> str:
    """One value of a table as a person reads it: times as ISO 8601, scores as numbers, bytes as hex."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (bytes, bytearray)):
        return value.hex() if len(value) <= 64 else f"{value[:32].hex()}… ({len(value)} bytes)"
    if isinstance(value, int) and column.endswith("_at"):
        return iso_time(value) or "-"
    if isinstance(value, int) and column in SCORES:
        return score_text(value) or "-"
    if isinstance(value, dict):
        return ", ".join(f"{plain(str(k))}={cell('', v)}" for k, v in value.items()) or "-"
    if isinstance(value, (list, tuple)):
        return "; ".join(cell("", v) for v in value) or "-"
    return plain(str(value))


def data(value: Any) -> Any:
    """One value as JSON holds it: bytes as hex, maps as objects; times and scores stay the numbers they are."""
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, dict):
        return {str(k): data(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(v, tuple) and len(v) == 2 for v in value):
            return {str(k): data(v) for k, v in value}
        return [data(v) for v in value]
    return value


_RULES = {
    "scheme": "Neither http nor https (urls.filters: scheme).",
    "length": "Longer than urls.max_length (urls.filters: length).",
    "suffix": "Its path ends in one of urls.deny_suffixes (urls.filters: suffix).",
    "repeat": "A part of its path repeats itself, as in a trap (urls.filters: repeat).",
    "scope": "Outside what the crawl is about (crawl.scope).",
}


def reason_text(reason: str | None) -> str | None:
    """The documented sentence of a reason; a number or a rule's name in it is taken into account.

    >>> reason_text("http_404"), reason_text("filtered_by:scope")
    ('The server answered 404 (Not Found).', 'Outside what the crawl is about (crawl.scope).')
    """
    if reason is None:
        return None
    name, _, rule = reason.partition(":")
    if name == "filtered_by" and rule:
        return _RULES.get(rule, f"The URL filter `{plain(rule)}` refuses it.")
    if name in REASONS:
        return REASONS[name]
    if name.startswith("http_") and name[5:].isdecimal():
        return f"The server answered {name[5:]}{_phrase(int(name[5:8]))}."
    return None


def _phrase(status: int) -> str:
    import http

    try:
        return f" ({http.HTTPStatus(status).phrase})"
    except ValueError:
        return ""
