"""Which pages does a feed or a sitemap list?

Reads RSS (0.9 to 2.0, RDF), Atom, sitemaps and sitemap indexes as a stream, in pieces, and leniently: prefixes
are taken as written, unknown named entities are skipped, and what was read before an error counts. A file that is
not well-formed is read once more with ampersands escaped that are none of XML's, and without control characters: the
two faults that most broken files have.

Not here: fetching the listed sitemaps, resolving the links (`parsers.page`).
Sources: RFC 4287, RSS 2.0, sitemaps.org protocol 0.9, XML Base.
"""

from __future__ import annotations

import re
from xml.parsers import expat

import msgspec

MAX_LISTED = 50_000
"""Links read of one file: the limit of the sitemap protocol."""

FEED, SITEMAP = "feed", "sitemap"

_PIECE = 1 << 16
_MAX_CHARS = 16_384
_MAX_DEPTH = 256
_MAX_ENTITIES = 300
_ROOTS = {"rss": FEED, "RDF": FEED, "feed": FEED, "urlset": SITEMAP, "sitemapindex": SITEMAP}
_ITEMS = frozenset(("item", "entry", "url", "sitemap"))
_WANTED = frozenset(("link", "title", "guid", "loc", "lastmod", "pubDate", "updated", "date"))
_ROOT = re.compile(
    r"\s*(?:<\?xml[^>]{0,300}\?>)?(?:\s+|<!--.{0,4000}?-->|<\?[^>]{0,500}\?>|<!DOCTYPE[^>\[]{0,500}(?:\[[^\]]{0,8000}\]\s*)?>)*"
    r"<(?:[A-Za-z0-9_-]+:)?([A-Za-z0-9_-]+)",
    re.DOTALL,
)
_DECLARATION = re.compile(r"\A<\?xml[\s?][^>]{0,300}>")
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_BARE = re.compile(
    r"<!\[CDATA\[(?:(?!\]\]>).)*+|&(?!(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)", re.DOTALL
)
_FOREIGN = b'<!DOCTYPE x SYSTEM "x">'
"""A document type that is never read: named entities may be declared there, so expat skips them instead of stopping."""


class Listed(msgspec.Struct):
    """What a file lists, as parallel lists: hrefs as written, the bases they stand under, titles, dates as written."""

    kind: str
    hrefs: list[str]
    bases: list[str | None]
    titles: list[str | None]
    dates: list[str | None]
    dropped: int = 0
    broken: bool = False
    repaired: bool = False


def root_name(text: str) -> str | None:
    """Local name of the root element, from the first few thousand characters.

    >>> root_name("<?xml version='1.0'?><!-- x --><rdf:RDF>")
    'RDF'
    """
    found = _ROOT.match(text.lstrip("\ufeff")[:16_384])
    return found[1] if found else None


def read_listed(text: str, *, max_links: int = MAX_LISTED) -> Listed | None:
    """What a feed or sitemap lists; None when it is neither."""
    kind = _ROOTS.get(root_name(text) or "")
    if kind is None:
        return None
    text = _DECLARATION.sub("", text.lstrip("\ufeff \t\r\n"), count=1)
    try:
        listed = _read(text, kind, max_links)
        if listed.broken:
            better = _repaired(text)
            if better != text:
                again = _read(better, kind, max_links)
                if not again.broken or len(again.hrefs) > len(listed.hrefs):
                    again.repaired = True
                    return again
    except _HostileError as hostile:
        return hostile.listed
    return listed


def _read(text: str, kind: str, max_links: int) -> Listed:
    """One pass over a document without its XML declaration."""
    reader = _Reader(kind, max_links)
    parser = expat.ParserCreate(encoding="utf-8")
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.EntityDeclHandler = reader.entity
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    try:
        if "<!DOCTYPE" not in text[:16_384]:
            parser.Parse(_FOREIGN, False)
        for start in range(0, len(text), _PIECE):
            parser.Parse(text[start : start + _PIECE].encode("utf-8", "replace"), False)
        parser.Parse(b"", True)
    except expat.ExpatError:
        reader.listed.broken = True
    return reader.listed


def _repaired(text: str) -> str:
    """The document with bare ampersands escaped, outside of CDATA sections, and without control characters."""
    return _BARE.sub(lambda found: found[0] if found[0] != "&" else "&amp;", _ILLEGAL.sub("", text))


class _HostileError(Exception):
    """Something no honest feed has; `listed` is what was read before it."""

    def __init__(self, listed: Listed) -> None:
        super().__init__()
        listed.broken = True
        self.listed = listed


class _Reader:
    """Handlers and their state: the path of open elements, the xml:base of each, the item being read."""

    def __init__(self, kind: str, max_links: int) -> None:
        self.listed = Listed(kind, [], [], [], [])
        self.max_links = max_links
        self.path: list[str] = []
        self.bases: list[tuple[str, ...]] = [()]
        self.item: dict[str, str] | None = None
        self.item_depth = 0
        self.item_base: tuple[str, ...] = ()
        self.chars: list[str] | None = None
        self.size = 0
        self.entities = 0

    def entity(self, *declaration: object) -> None:
        """Entities may stand for characters, not for other entities."""
        self.entities += 1
        value = declaration[2]
        if self.entities > _MAX_ENTITIES or (isinstance(value, str) and ("&" in value or len(value) > 100)):
            raise _HostileError(self.listed)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        if len(self.path) >= _MAX_DEPTH:
            raise _HostileError(self.listed)
        self.path.append(local)
        base = self.bases[-1]
        if "xml:base" in attributes and len(base) < 32:
            base = (*base, attributes["xml:base"])
        self.bases.append(base)
        if self.item is None:
            if local in _ITEMS and len(self.path) > 1:
                self.item, self.item_depth, self.item_base = {}, len(self.path), base
            return
        if len(self.path) != self.item_depth + 1 or local not in _WANTED:
            return
        if local == "link" and "href" in attributes:
            if attributes.get("rel", "alternate") == "alternate" and "href" not in self.item:
                self.item["href"] = attributes["href"]
                self.item_base = base
            return
        if local == "guid" and attributes.get("isPermaLink", "true").lower() != "true":
            return
        if ":" in name and local in ("title", "link"):
            return
        self.chars, self.size = [], 0

    def characters(self, data: str) -> None:
        if self.chars is not None and self.size < _MAX_CHARS:
            self.chars.append(data)
            self.size += len(data)

    def end(self, name: str) -> None:
        local = self.path.pop()
        self.bases.pop()
        if self.item is None:
            return
        if self.chars is not None and len(self.path) == self.item_depth:
            value = "".join(self.chars).strip()
            if value:
                self.item.setdefault(local, value)
            self.chars = None
        elif len(self.path) == self.item_depth - 1:
            self.keep(self.item)
            self.item = None

    def keep(self, item: dict[str, str]) -> None:
        """An item is read to its end."""
        listed = self.listed
        if listed.kind == SITEMAP:
            href = item.get("loc")
        else:
            href = item.get("href") or item.get("link") or item.get("guid")
        if not href:
            return
        if len(listed.hrefs) >= self.max_links:
            listed.dropped += 1
            return
        listed.hrefs.append(href)
        listed.bases.append("\n".join(self.item_base) or None)
        title = " ".join(item.get("title", "").split())
        listed.titles.append(title or None)
        listed.dates.append(next((item[k] for k in ("lastmod", "updated", "pubDate", "date") if k in item), None))
