"""When was that, in ms since 1970 UTC?

WARC 1.1 allows any precision from the year to the nanosecond; ARC has 14 digits, sometimes fewer; real files have all
of these with and without zone, and HTTP dates.
"""

from __future__ import annotations

import calendar
import re
from datetime import datetime

from cobnut.text.dates import mail_s

_DIGITS = re.compile(r"(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d{1,9})?")
_W3C = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,18}))?)?\s*(Z|[+-]\d\d:?\d\d)?)?)?)?", re.I
)


def parse_date(text: str) -> int | None:
    """A date in any of these forms; None when it is none.

    >>> parse_date("2020-02-03T04:05:06.789Z"), parse_date("20200203040506"), parse_date("2020-02-31T00:00:00Z")
    (1580702706789, 1580702706000, None)
    """
    text = text.strip()
    if len(text) > 64 or not text.isascii():
        return None
    match = _W3C.fullmatch(text) if not text.isdigit() or len(text) == 4 else _DIGITS.fullmatch(text)
    try:
        if match is None:
            return _ms(mail_s(text))
        given = zip(match.groups()[:6], _LEAST, strict=True)
        year, month, day, hour, minute, second = (int(value) if value else least for value, least in given)
        fraction = match.group(7) or ""
        datetime(year, month, day, hour, minute, min(second, 59))  # is there such a day?
        seconds = calendar.timegm((year, month, day, hour, minute, second, 0, 0, 0))
        zone = match.group(8) if match.re is _W3C else None
        if zone and zone not in "Zz":
            minutes = int(zone[1:3]) * 60 + int(zone[-2:])
            seconds -= minutes * 60 if zone[0] == "+" else -minutes * 60
        return seconds * 1000 + int(f"{fraction:0<3}"[:3])
    except (ValueError, TypeError, IndexError, OverflowError, AttributeError):
        return None


_LEAST = (1, 1, 1, 0, 0, 0)


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
