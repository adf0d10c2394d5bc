"""What does a page forbid, and where does it send its reader?

Robots directives (meta tags and X-Robots-Tag headers have the same force, and the most restrictive value wins),
refresh targets, and Link headers. Pure functions over strings.

Not here: robots.txt (`fetcher`).
Sources: the robots meta tag as the large engines document it; HTML standard, "shared declarative refresh steps";
RFC 8288 (Link).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec


class Robots(msgspec.Struct, frozen=True):
    """What a page forbids."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False

    def __or__(self, other: Robots) -> Robots:
        return Robots(self.noindex or other.noindex, self.nofollow or other.nofollow, self.noarchive or other.noarchive)


ALLOWED = Robots()

_PARTED = re.compile(r"[,;\s]+")
_AGENT_PREFIX = re.compile(r"^\s*([A-Za-z0-9_.\-]+)\s*:(.*)$", re.DOTALL)
_VALUED = frozenset(
    ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview", "noindex", "nofollow", "none")
)


def robots_of(content: str) -> Robots:
    """One list of directives, as it stands in a meta tag; unknown words are ignored.

    >>> robots_of("NOINDEX, Follow")
    Robots(noindex=True, nofollow=False, noarchive=False)
    """
    words = set(_PARTED.split(content.lower()))
    none = "none" in words
    return Robots(none or "noindex" in words, none or "nofollow" in words, "noarchive" in words or "nocache" in words)


def robots_of_header(value: str, agent: str) -> Robots:
    """One X-Robots-Tag header; `agent: directives` counts only if it is ours.

    Several headers may have been joined by commas: a later `name:` begins the directives of that agent.

    >>> robots_of_header("otherbot: noindex, cobnut: nofollow", "cobnut")
    Robots(noindex=False, nofollow=True, noarchive=False)
    """
    ours = True
    found = ALLOWED
    for item in value[:4096].split(","):
        prefixed = _AGENT_PREFIX.match(item)
        if prefixed and prefixed[1].lower() not in _VALUED:
            ours = agent_matches(prefixed[1], agent)
            item = prefixed[2]
        if ours:
            found |= robots_of(item)
    return found


def agent_matches(name: str, agent: str) -> bool:
    """Whether directives for `name` are meant for us: for all robots, or for our product token."""
    name = name.strip().lower()
    return name in ("robots", "*") or (bool(agent) and name == agent.partition("/")[0].strip().lower())


def robots_of_page(metas: Iterable[tuple[str, str]], headers: Iterable[str], agent: str) -> Robots:
    """Everything a page says, united: pairs of meta name and content, and X-Robots-Tag values."""
    found = ALLOWED
    for name, content in metas:
        if agent_matches(name, agent):
            found |= robots_of(content)
    for value in headers:
        found |= robots_of_header(value, agent)
    return found


_REFRESH = re.compile(r"[\t\n\f\r ]*(\d{0,9})\d*(\.[\d.]*)?")
_REFRESH_URL = re.compile(r"[\t\n\f\r ]*url[\t\n\f\r ]*=[\t\n\f\r ]*", re.IGNORECASE)


def refresh_of(content: str) -> tuple[int, str] | None:
    """Delay in seconds and target of a refresh; an empty target reloads the page. None: no refresh at all.

    >>> refresh_of("5; url='/next'"), refresh_of("0,/x"), refresh_of("3"), refresh_of("soon")
    ((5, '/next'), (0, '/x'), (3, ''), None)
    """
    content = content[:8192]
    number = _REFRESH.match(content)
    if number is None or not (number[1] or number[2]):
        return None
    delay = int(number[1] or 0)
    rest = content[number.end() :]
    if not rest.strip():
        return delay, ""
    if rest[0] not in ";, \t\n\f\r":
        return None
    rest = rest.lstrip("\t\n\f\r ")
    if rest[:1] in (";", ","):
        rest = rest[1:].lstrip("\t\n\f\r ")
    named = _REFRESH_URL.match(rest)
    if named:
        rest = rest[named.end() :]
    if rest[:1] in ("'", '"'):
        quote = rest[0]
        rest = rest[1:].partition(quote)[0]
    return delay, rest.strip()


_LINK_VALUE = re.compile(r"\s*<([^<>]{0,4096})>([^,<]{0,1000})")
_LINK_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]{0,200})\"|([^\s;,\"]{1,200}))", re.IGNORECASE)


def links_of_header(value: str) -> list[tuple[str, str]]:
    """Pairs of target and relation (lower case) of one Link header.

    >>> links_of_header('</a>; rel="canonical", </b>; rel=next')
    [('/a', 'canonical'), ('/b', 'next')]
    """
    found: list[tuple[str, str]] = []
    for target, parameters in _LINK_VALUE.findall(value[:16_384]):
        rel = _LINK_REL.search(parameters)
        if rel:
            found.extend((target.strip(), word) for word in (rel[1] or rel[2]).lower().split()[:8])
    return found[:64]
