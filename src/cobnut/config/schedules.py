"""How does one host's, or one media type's, schedule or pace differ?

An entry of `db.host_schedules` or `db.media_type_schedules` is a name and what differs, parted by spaces:
`news.example.org interval=1h min=10m max=1d`, `application/pdf increase=0.8 decrease=0.1`. One of `fetcher.host_delays`
is a host and its delay: `news.example.org 5s`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from cobnut.config.durations import parse_duration


class HostSchedule(msgspec.Struct, frozen=True):
    """What differs for the pages of one host; None is as everywhere. Seconds."""

    host: str
    interval_s: int | None = None
    min_interval_s: int | None = None
    max_interval_s: int | None = None


class MediaTypeSchedule(msgspec.Struct, frozen=True):
    """What differs for pages of one media type; None is as everywhere. Shares, as `db.increase` and `db.decrease`."""

    media_type: str
    increase: float | None = None
    decrease: float | None = None


LONGEST_DELAY_S = 3_600
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+", re.ASCII)  # RFC 6838, 4.2: no parameters


def parse_host_delay(text: str) -> tuple[str, float]:
    """The host of one entry of `fetcher.host_delays`, and its seconds; a `ValueError` says what is wrong.

    >>> parse_host_delay("News.example.org 1.5s")
    ('news.example.org', 1.5)
    """
    words = text.split()
    if len(words) != 2:
        raise ValueError(f"{text[:80]!r} is no host with its delay, such as news.example.org 5s")
    seconds = float(parse_duration(words[1]))
    if not 0 <= seconds <= LONGEST_DELAY_S:
        raise ValueError(f"{words[1]} is no delay between nothing and an hour")
    return _host(words[0]), seconds


def _host(name: str) -> str:
    """The name as the crawldb has it: in lower case, an international one in its ASCII form."""
    from cobnut.urls.resolve import forms

    if any(c in name for c in "/?#@*\\") or (":" in name and not (name.startswith("[") and name.endswith("]"))):
        raise ValueError(f"{name[:80]!r} is no host name: one host each, without scheme, port and path")
    found = forms(f"http://{name}/")
    if found is None:
        raise ValueError(f"{name[:80]!r} is no host name")
    return found.host


def parse_host_schedule(text: str) -> HostSchedule:
    """One entry of `db.host_schedules`; a `ValueError` says what is wrong."""
    name, found = _parts(text, ("interval", "min", "max"))
    host = _host(name)
    seconds = {}
    for key, value in found.items():
        amount = parse_duration(value)
        if not 1 <= amount <= 100 * 365 * 86_400:
            raise ValueError(f"{key}={value} is no time between a second and a hundred years")
        seconds[key] = int(amount)
    lowest, highest = seconds.get("min"), seconds.get("max")
    if lowest is not None and highest is not None and lowest > highest:
        raise ValueError("min is greater than max")
    return HostSchedule(host, seconds.get("interval"), lowest, highest)


def first_intervals(entries: Iterable[str]) -> dict[str, int]:
    """The interval in seconds that a page of each host begins with, where entries of `db.host_schedules` say one."""
    hosts = {host.host: host for host in map(parse_host_schedule, entries)}
    return {name: host.interval_s for name, host in hosts.items() if host.interval_s is not None}


def parse_media_type_schedule(text: str) -> MediaTypeSchedule:
    """One entry of `db.media_type_schedules`; a `ValueError` says what is wrong."""
    name, found = _parts(text, ("increase", "decrease"))
    if not _MEDIA_TYPE.fullmatch(name):
        raise ValueError(f"{name[:80]!r} is no media type such as text/html")
    shares = {}
    for key, value in found.items():
        try:
            shares[key] = float(value)
        except ValueError:
            raise ValueError(f"{key}={value} is no number") from None
        if not 0 <= shares[key] <= (10 if key == "increase" else 0.99):
            raise ValueError(f"{key}={value} is out of range")
    return MediaTypeSchedule(name.lower(), shares.get("increase"), shares.get("decrease"))


def _parts(text: str, known: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    words = text.split()
    if len(words) < 2:
        raise ValueError(f"{text[:80]!r} is no name with what differs, such as {known[0]}=…")
    found = {}
    for word in words[1:]:
        key, sign, value = word.partition("=")
        if key not in known or not sign:
            raise ValueError(f"{word[:40]!r} is none of {', '.join(f'{k}=…' for k in known)}")
        if key in found:
            raise ValueError(f"{key} is given twice")
        found[key] = value
    return words[0], found
