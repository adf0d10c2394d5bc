"""What does a page embed: images, styles, scripts, media, objects?

An *embed* is something a browser loads to show the page. Each is kept once a kind, as attributes name it (src, srcset,
poster, data, href), up to a limit; the words that stand for it are kept with it. Not kept is what stands in the page
itself (data:), and what scripts and style sheets load, which nobody knows without running them.

Not here: frames, which are links to pages (`parsers.html`), resolving (`parsers.page`).
Source: HTML standard, "parsing a srcset attribute".
"""

from __future__ import annotations

import re
from typing import Any, Final

MOST_SOURCES = 64
"""Candidates of one srcset, and children of one player, that are looked at."""
_MOST_HREF = 65_536
_SRCSET_URL: Final = re.compile(r"[^\s,]\S*")
_PRELOADED: Final = {
    "image": "image", "style": "style", "script": "script", "audio": "media", "video": "media", "track": "media",
}  # fmt: skip


class Embeds:
    """The embeds of one page, as parallel lists in document order; hrefs as they stand in the page."""

    def __init__(self, limit: int, max_words: int) -> None:
        self.hrefs: list[str] = []
        self.kinds: list[str] = []
        self.words: list[str | None] = []
        self.dropped = 0
        self._limit, self._max_words = limit, max_words
        self._known: set[tuple[str, str]] = set()

    def add(self, href: str | None, kind: str, words: str | None = None) -> None:
        """One more, the first time it is named."""
        if not href or not self._limit or (kind, href) in self._known or href[:5].lower() == "data:":
            return
        if len(self.hrefs) >= self._limit or len(href) > _MOST_HREF:
            self.dropped += 1
            return
        self._known.add((kind, href))
        self.hrefs.append(href)
        self.kinds.append(kind)
        self.words.append((" ".join(words.split())[: self._max_words] or None) if words else None)

    def add_image(self, attributes: dict[str, str | None]) -> None:
        """An img element, or a source of a picture."""
        words = attributes.get("alt")
        self.add(attributes.get("src"), "image", words)
        if "srcset" in attributes:
            for href in urls_of_srcset(attributes["srcset"] or ""):
                self.add(href, "image", words)

    def add_player(self, node: Any) -> None:
        """An audio or video element: what it plays, its tracks, and the picture it shows before."""
        attributes = node.attributes
        self.add(attributes.get("src"), "media", attributes.get("title"))
        self.add(attributes.get("poster"), "image")
        child, looked = node.first_child, 0
        while child is not None and looked < MOST_SOURCES:
            if child.tag in ("source", "track"):
                self.add(child.attributes.get("src"), "media")
            child, looked = child.next, looked + 1

    def add_object(self, attributes: dict[str, str | None]) -> None:
        """An object or embed element."""
        self.add(attributes.get("data") or attributes.get("src"), "object", attributes.get("title"))

    def add_linked(self, href: str, rel: list[str], attributes: dict[str, str | None]) -> None:
        """A link element that loads something: a style sheet, an icon, something preloaded."""
        if "stylesheet" in rel:
            self.add(href, "style")
        elif "icon" in rel or "apple-touch-icon" in rel:
            self.add(href, "image")
        elif "modulepreload" in rel:
            self.add(href, "script")
        elif "preload" in rel:
            kind = _PRELOADED.get((attributes.get("as") or "").strip().lower())
            if kind is not None:
                self.add(href, kind)


def urls_of_srcset(srcset: str) -> list[str]:
    """The URLs of a srcset, in order.

    A URL ends at white space, or at a comma that white space or the end follows: commas may stand in it.

    >>> urls_of_srcset("a.png, b,c.png 2x,d.png 100w")
    ['a.png', 'b,c.png', 'd.png']
    """
    found: list[str] = []
    place, end = 0, len(srcset)
    while place < end and len(found) < MOST_SOURCES:
        match = _SRCSET_URL.search(srcset, place)
        if match is None:
            break
        url, place = match[0], match.end()
        if url.endswith(","):
            url = url.rstrip(",")
        else:
            comma = srcset.find(",", place)
            place = end if comma < 0 else comma + 1
        if url:
            found.append(url)
    return found
