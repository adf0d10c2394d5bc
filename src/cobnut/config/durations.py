"""How long is "1h30m"?

A duration is a number of seconds, or numbers with the units s, m, h, d, w, largest first or not: `90`, `10m`, `1.5h`,
`1h 30m`.
"""

from __future__ import annotations

import re

UNITS_S: dict[str, int] = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}

_PIECE = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([smhdw])", re.ASCII)
_PLAIN = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,6})?", re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds of a duration; a `ValueError` says what was expected.

    >>> parse_duration("10m"), parse_duration("1h30m"), parse_duration("45")
    (600, 5400, 45)
    """
    text = text.strip().lower()
    if _PLAIN.fullmatch(text):
        return _whole(float(text))
    position, total, used = 0, 0.0, set[str]()
    while position < len(text):
        piece = _PIECE.match(text, position)
        if piece is None or piece[2] in used:
            break
        used.add(piece[2])
        total += float(piece[1]) * UNITS_S[piece[2]]
        position = piece.end()
    if not text or position < len(text):
        raise ValueError(f"{text[:40]!r} is no duration; write seconds, or 45s, 10m, 2h, 1d, 1h30m")
    return _whole(total)


def show_duration(seconds: float) -> str:
    """A duration as a person would write it, to two units.

    >>> show_duration(5400), show_duration(0.5), show_duration(90061)
    ('1h30m', '0.5s', '1d1h')
    """
    if seconds < 0:
        return "-" + show_duration(-seconds)
    if seconds < 60:
        return f"{round(seconds, 1):g}s"
    rest, pieces = round(seconds), []
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, UNITS_S[unit])
        if count:
            pieces.append(f"{count}{unit}")
        elif pieces:
            break
    return "".join(pieces[:2])


def _whole(seconds: float) -> float:
    return int(seconds) if seconds == int(seconds) else seconds
