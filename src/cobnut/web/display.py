"""How is a URL of the web shown to a person, so that it reads well and cannot lie?

Percent escapes and internationalised host names are decoded only where what comes out is visible and means itself: no
control, format or space characters (they could reorder or hide text), no second `/` or `%`, and a host label only when
its letters are of one script and are not all look-alikes of Latin letters (compare Unicode UTS 39).

Not here: links themselves always carry the URL as stored.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, unquote_to_bytes

import ada_url

MAX_PART = 48
MAX_PARTS = 5

_NOT_IN_LINKS = re.compile(r"[\x00-\x20\x7f]")
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_MEANS_SOMETHING = " /%?#&=+;›…"
_SPACE = re.compile(r"\s")
_SCRIPT_END = re.compile("[ -]")
_WITHIN_WORDS = "\u00ad\u200c\u200d"
_LOOK_LATIN = frozenset("асԁеһіјӏорԛѕѵԝхуүҽνοαρτικυхωѡ")
_TOGETHER = (frozenset({"CJK", "HIRAGANA", "KATAKANA", "LATIN"}), frozenset({"CJK", "HANGUL", "LATIN"}))


def safe_href(url: str) -> str | None:
    """The URL when it may stand in a link: http or https, without white space or control characters; else None."""
    if not url[:8].lower().startswith(("http://", "https://")):
        return None
    return None if _NOT_IN_LINKS.search(url) else url


def one_line(text: str) -> str:
    """Text of the web in one visible line: white space and control characters become one space, invisible format
    characters (which can reorder text) go; those that join or part letters within a word stay.
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() or c in _WITHIN_WORDS else _instead_of(c) for c in text)
    return " ".join(text.split())


def _instead_of(c: str) -> str:
    return "" if unicodedata.category(c) == "Cf" else " "


def breadcrumb(url: str) -> tuple[str, list[str]]:
    """The host as shown, and the path's parts as shown; long ones cut, many ones thinned out in the middle.

    >>> breadcrumb("https://xn--bcher-kva.example/a%20b/caf%C3%A9.html?x=1")
    ('bücher.example', ['a%20b', 'café.html?x=1'])
    """
    _, _, rest = url.partition("://")
    rest = rest.partition("#")[0]
    end = min((i for i in (rest.find("/"), rest.find("?")) if i >= 0), default=len(rest))
    host = shown_host(rest[:end].rpartition("@")[2])
    path, mark, query = rest[end:].partition("?")
    parts = [shown_part(part) for part in path.split("/") if part]
    if mark and query:
        last = parts.pop() if parts else ""
        parts.append(_cut(f"{last}?{shown_part(query)}"))
    if len(parts) > MAX_PARTS:
        parts = [*parts[:2], "…", *parts[-2:]]
    return host, parts


def shown_part(part: str) -> str:
    """A part of a path or a query with its percent escapes decoded where that is safe, and cut."""
    part = part[: MAX_PART * 12]  # a character may be four escapes long
    shown = _ESCAPES.sub(_decoded, part) if "%" in part else part
    if not shown.isprintable() or _SPACE.search(shown):
        shown = "".join(c if c.isprintable() and not c.isspace() else _escaped(c) for c in shown)
    return _cut(shown)


def _decoded(match: re.Match[str]) -> str:
    try:
        text = unquote_to_bytes(match[0]).decode()
    except UnicodeDecodeError:
        return match[0]
    return "".join(c if c.isprintable() and c not in _MEANS_SOMETHING else _escaped(c) for c in text)


def _escaped(c: str) -> str:
    return quote(c, safe="", errors="replace")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_PART else text[: MAX_PART - 1] + "…"


def shown_host(authority: str) -> str:
    """A host (and port) with its labels in their own script where that is safe."""
    if "xn--" not in authority:
        return authority[:255]
    host, colon, port = authority.partition(":")
    return ".".join(_shown_label(label) for label in host[:255].split(".")) + colon + port


def _shown_label(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        shown = str(ada_url.idna.decode(label))
    except (ValueError, TypeError):
        return label
    return shown if _reads_as_itself(shown) else label


def _reads_as_itself(label: str) -> bool:
    letters = [c for c in label if c not in "-0123456789"]
    if not letters or not all(c.isprintable() and unicodedata.category(c)[0] in "LM" for c in letters):
        return False
    names = [unicodedata.name(c, "UNKNOWN") for c in letters if unicodedata.category(c)[0] == "L"]
    scripts = {_SCRIPT_END.split(name)[0] for name in names}
    if len(scripts) != 1 and not any(scripts <= allowed for allowed in _TOGETHER):
        return False
    return not all(c in _LOOK_LATIN for c in letters)
