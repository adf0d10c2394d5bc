"""Could this page hold the HTML parser for seconds, and how is that taken out of it?

An HTML tree builder is quadratic in two things: how deep elements nest, and how many attributes one tag has. A
cheap look tells the many harmless pages from the few that need a closer one. What is too deep loses the tags
that nest too deep, what has too many attributes loses the rest of them; text and links stay.

Not here: time and memory, which the kernel limits (`parsers.worker`).
"""

from __future__ import annotations

import re

MAX_ATTRIBUTES = 500
_LONG_TAG = 16_384
"""A tag shorter than this cannot have enough attributes to matter."""

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:_-]{0,30})|<!--")
_COMMENT_END = re.compile("--!?>")
_ATTRIBUTE = re.compile(r"[\s/]*[^\s/>=][^\s/>=]*(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>\"'][^\s>]*))?")
_TAG_START = re.compile(r"<[a-zA-Z][^\s/>]*")
_FLAT = frozenset((
    "a", "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "caption", "option",
    "optgroup", "colgroup", "html", "head", "body", "rp", "rt",
))  # fmt: skip
"""Void elements, and those that a parser closes by itself: they nest no deeper than what they stand in."""
_RAW = frozenset(("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript"))
_WALLS = frozenset(("table", "object", "marquee", "applet", "template", "select", "svg", "math", "button"))
"""An end tag does not reach through these."""
_BLOCKS = _WALLS | frozenset((
    "address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl",
    "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hgroup", "listing", "main", "menu", "nav", "ol", "pre", "section", "summary", "ul",
))  # fmt: skip
"""The end tag of one of these closes what is open inside; any other end tag closes one element."""
_REACH = 16
"""How many open elements an end tag is looked for; beyond that it is ignored, and the count errs to the safe side."""


def tame(html: str, max_depth: int) -> str:
    """The page with what is too deep, and attributes beyond the limit, left out; almost always the page itself."""
    opening = html.count("<")
    if opening > max_depth and opening - html.count("</") > max_depth:
        html = flatten(html, max_depth)
    if len(html) > _LONG_TAG and (html.count(">") > opening + MAX_ATTRIBUTES or _has_long_tag(html)):
        html = shorten_tags(html)
    return html


def _has_long_tag(html: str) -> bool:
    """Whether a tag may be longer than is usual; a long script is not one.

    Values that hold `>` hide it, but then there are more `>` than `<`.
    """
    for piece in html.split(">"):
        if len(piece) > _LONG_TAG and 0 <= piece.find("<") < len(piece) - _LONG_TAG:
            tag = _TAG_START.search(piece)
            if tag is not None and len(piece) - tag.start() > _LONG_TAG:
                return True
    return False


def flatten(html: str, max_depth: int) -> str:
    """Leaves out tags that nest deeper than `max_depth`; where nesting is unclear it is counted, not trusted.

    >>> flatten("<div><div><div><a href=x>deep</a></div></div></div>", 2)
    '<div><div><a href=x>deep</a></div></div>'
    """
    open_tags: list[str] = []
    too_deep = start = position = 0
    kept: list[str] = []
    search = _TAG.search
    while (tag := search(html, position)) is not None:
        position = tag.end()
        name = tag[2]
        if name is None:
            end = _COMMENT_END.search(html, tag.start() + 2)
            if end is None:
                break
            position = end.end()
            continue
        name = name.lower()
        if name in _FLAT:
            continue
        if tag[1]:
            if too_deep:
                too_deep -= 1
                start = position = _leave_out(html, kept, start, tag.start())
            else:
                _close(open_tags, name)
        elif name in _RAW:
            position = _raw_end(html, name, position)
            if position < 0:
                break
        elif len(open_tags) >= max_depth:
            too_deep += 1
            start = position = _leave_out(html, kept, start, tag.start())
        else:
            open_tags.append(name)
    if not kept:
        return html
    kept.append(html[start:])
    return "".join(kept)


def _close(open_tags: list[str], name: str) -> None:
    """What an end tag closes, at least: never more than the real tree builder does."""
    for i in range(len(open_tags) - 1, max(-1, len(open_tags) - 1 - _REACH), -1):
        if open_tags[i] == name:
            if name in _BLOCKS:
                del open_tags[i:]
            else:
                del open_tags[i]
            return
        if open_tags[i] in _WALLS:
            return


def _leave_out(html: str, kept: list[str], start: int, tag_start: int) -> int:
    """Keeps what stands before the tag; gives the place behind it."""
    kept.append(html[start:tag_start])
    end = html.find(">", tag_start)
    return len(html) if end < 0 else end + 1


def _raw_end(html: str, name: str, position: int) -> int:
    """Start of the end tag of an element whose content is not markup; -1 when it never ends."""
    end = re.compile("</" + name, re.IGNORECASE).search(html, position)
    return -1 if end is None else end.end()


def shorten_tags(html: str) -> str:
    """Leaves out the attributes of every tag beyond the limit.

    >>> len(shorten_tags("<a " + "b='>' " * 10_000 + ">x")) < 4_000
    True
    """
    kept: list[str] = []
    start = position = 0
    while (tag := _TAG_START.search(html, position)) is not None:
        position = tag.end()
        count = 0
        cut = -1
        while (attribute := _ATTRIBUTE.match(html, position)) is not None:
            count += 1
            position = attribute.end()
            if count == MAX_ATTRIBUTES:
                cut = position
        if 0 <= cut < position:
            kept.append(html[start:cut])
            start = position
    if not kept:
        return html
    kept.append(html[start:])
    return "".join(kept)
