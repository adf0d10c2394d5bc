"""Which time does a date on the web mean?

Sitemaps and Atom write W3C dates, HTTP and RSS those of mail; both are read leniently: without a zone they are UTC.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC
from email.utils import parsedate_to_datetime

_W3C = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[Tt ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?"
    r"\s*([Zz]|[+-]\d{2}:?\d{2})?)?)?)?"
)


UNREADABLE = (ValueError, TypeError, IndexError, OverflowError, OSError)
"""What `mail_s` raises for a text that is no date."""


def mail_s(text: str) -> float:
    """A date as mail and HTTP write it, in seconds since 1970 UTC."""
    found = parsedate_to_datetime(text)
    # one without a zone would be in that of this machine
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def date_ms(text: str) -> int | None:
    """A date of a sitemap or a feed in ms since 1970 UTC; None when it is none.

    >>> date_ms("2024-01-08"), date_ms("2024-01-08T01:00+01:00"), date_ms("yesterday")
    (1704672000000, 1704672000000, None)
    """
    match = _W3C.fullmatch(text.strip())
    if match is None:
        try:
            return round(mail_s(text) * 1000)
        except UNREADABLE:
            return None
    year, month, day, hour, minute, second = (int(part) if part else None for part in match.groups()[:6])
    month, day, hour, minute, second = month or 1, day or 1, hour or 0, minute or 0, second or 0
    assert year is not None
    last = calendar.monthrange(year, month)[1] if year and 1 <= month <= 12 else 0
    if not (1 <= day <= last and hour <= 24 and minute < 60 and second <= 60):
        return None
    zone = match[7] or "Z"
    offset_s = 0 if zone in "Zz" else (int(zone[1:3]) * 60 + int(zone[-2:])) * (60 if zone[0] == "+" else -60)
    return (calendar.timegm((year, month, day, hour, minute, second)) - offset_s) * 1000


def past_ms(text: str | None, not_after: int) -> int | None:
    """A date in ms since 1970 UTC; None when it is none, before 1970 or later than *not_after*."""
    at = None if not text else date_ms(text)
    return at if at is not None and 0 < at <= not_after else None
