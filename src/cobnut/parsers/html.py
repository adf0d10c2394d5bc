"""What does an HTML page say, and what does it link to?

One walk over the tree gives everything: title, headings, text in blocks, links with their anchors in document
order, meta tags. The tree builder is lexbor (through selectolax), which follows the HTML standard.

Decisions: a page is read as a browser that runs scripts reads it, so `noscript` is left out (and cannot break
the head); `template`, script and style, form choices and the fallback content of players are left out; text
inside `svg` counts only as the anchor of a link there. The first `base` with a href counts, the first `title`,
and `link rel=canonical` in the head only. What a page embeds (`parsers.embeds`) is kept apart from its links.

Not here: resolving links (`parsers.page`), what directives mean (`parsers.directives`), protection of the tree
builder (`parsers.guard`), what kind of page it is (`parsers.flags`).
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, SelectolaxError

from cobnut.parsers import main_text as mt
from cobnut.parsers.embeds import Embeds

KIND_LINK, KIND_FRAME, KIND_ALTERNATE, KIND_CANONICAL, KIND_REFRESH = (
    "link", "frame", "alternate", "canonical", "refresh",
)  # fmt: skip

_MAX_HREF = 65_536
_MAX_TITLE = 1_000
_MAX_DESCRIPTION = 2_000
_MAX_HEADING = 500
_MAX_HEADINGS = 200
_MAX_META = 200
_HUGE_BLOCK = 10_000


class RawLinks(msgspec.Struct):
    """Links as they stand in the page, as parallel lists in document order."""

    hrefs: list[str] = []
    kinds: list[str] = []
    anchors: list[str | None] = []
    nofollows: list[bool] = []
    dropped: int = 0
    dates: list[str | None] = []  # as written, when each target changed; empty where nothing says so

    def add(self, href: str, kind: str, anchor: str | None = None, nofollow: bool = False) -> None:
        """One more link."""
        self.hrefs.append(href)
        self.kinds.append(kind)
        self.anchors.append(anchor)
        self.nofollows.append(nofollow)


class HtmlPage(msgspec.Struct):
    """What one walk found; hrefs are as they stand in the page."""

    title: str | None
    text: str
    main_text: str | None
    headings: list[str]
    description: str | None
    language: str | None
    base_href: str | None
    canonical_href: str | None
    robots: list[tuple[str, str]]
    refresh: str | None
    links: RawLinks
    embeds: Embeds
    passwords: int  # fields that ask for one
    new_passwords: int  # of these, fields that ask to choose one
    scripts: int
    cut: bool


(
    _BLOCK, _HEADING, _A, _SKIP, _META, _LINK, _TITLE, _BASE, _AREA, _FRAME, _IMG, _BREAK, _CELL, _QUIET, _BODY,
    _HTML, _NAMED, _SCRIPT, _MEDIA, _SOURCE, _OBJECT, _INPUT,
) = range(1, 23)  # fmt: skip

_BLOCKS = (
    "address", "article", "aside", "blockquote", "center", "dd", "details", "dialog", "dir", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "h4", "h5", "h6", "hr",
    "legend", "li", "listing", "main", "menu", "nav", "optgroup", "p", "pre", "search", "summary", "tbody",
    "tfoot", "thead", "tr", "caption",
)  # fmt: skip
_SKIPPED = (
    "style", "template", "noscript", "textarea", "select", "datalist", "canvas", "noembed", "noframes",
)  # fmt: skip
_ROLES: dict[str, int] = {
    **dict.fromkeys(_BLOCKS, _BLOCK),
    **dict.fromkeys(("div", "section", "ul", "ol", "table"), _NAMED),
    **dict.fromkeys(("h1", "h2", "h3"), _HEADING),
    **dict.fromkeys(_SKIPPED, _SKIP),
    "a": _A, "meta": _META, "link": _LINK, "title": _TITLE, "base": _BASE, "area": _AREA, "frame": _FRAME,
    "iframe": _FRAME, "img": _IMG, "br": _BREAK, "td": _CELL, "th": _CELL, "svg": _QUIET, "body": _BODY, "html": _HTML,
    "script": _SCRIPT, "audio": _MEDIA, "video": _MEDIA, "source": _SOURCE, "object": _OBJECT, "embed": _OBJECT,
    "input": _INPUT,
}  # fmt: skip
_ZONES: dict[str, int] = {
    **dict.fromkeys(("nav", "footer", "aside", "form", "menu", "dialog", "header"), mt.BOILERPLATE),
    **dict.fromkeys(("main", "article"), mt.MAIN),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), mt.HEADING),
    **dict.fromkeys(("p", "blockquote", "pre", "dd"), mt.PARAGRAPH),
}
_ROLE_ZONES = {
    "main": mt.MAIN, "article": mt.MAIN, "navigation": mt.BOILERPLATE, "contentinfo": mt.BOILERPLATE,
    "complementary": mt.BOILERPLATE, "search": mt.BOILERPLATE, "banner": mt.BOILERPLATE, "menu": mt.BOILERPLATE,
}  # fmt: skip


def _by_tag_id(names: dict[str, int]) -> dict[int, int]:
    maker = LexborHTMLParser("")
    return {maker.create_node(name).tag_id: value for name, value in names.items()}


_ROLE: Final = _by_tag_id(_ROLES)
_ZONE: Final = _by_tag_id(_ZONES)
_TEXT: Final = 2
_SOFT_HYPHEN: Final = re.compile("&#(?:0*173|[xX]0*[aA][dD])")
_TITLE_ID: Final = LexborHTMLParser("").create_node("title").tag_id


def read_html(
    html: str,
    *,
    max_text_chars: int = 1_000_000,
    max_links: int = 10_000,
    max_anchor_chars: int = 200,
    max_embeds: int = 1_000,
) -> HtmlPage:
    """Everything a page says. `html` has been decoded, and tamed by `guard.tame`."""
    try:
        tree = LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS, scripting=True)
    except SelectolaxError as error:  # it refuses no HTML: the memory is used up
        raise MemoryError(str(error)) from error
    walk = _Walk(max_text_chars, max_links, max_anchor_chars, max_embeds)
    walk.soft = _has_soft_hyphens(html)
    if tree.root is not None:
        walk.run(tree.root)
    return walk.page()


def _has_soft_hyphens(html: str) -> bool:
    """Whether soft hyphens may stand in the text; one regular expression for all would cost a fifth of the parse."""
    return "\xad" in html or "&shy" in html or ("&#" in html and _SOFT_HYPHEN.search(html) is not None)


class _Walk:
    """State of one walk; the loop in `run` is the hottest of all parsing."""

    def __init__(self, max_text_chars: int, max_links: int, max_anchor_chars: int, max_embeds: int) -> None:
        self.max_links, self.max_anchor_chars = max_links, max_anchor_chars
        self.chars_left = max_text_chars
        self.cut = False
        self.blocks: list[mt.Block] = []
        self.parts: list[str] = []
        self.linked = 0
        self.zone = 0
        self.quiet = 0
        self.title: str | None = None
        self.headings: list[str] = []
        self.heading_parts: list[str] | None = None
        self.links = RawLinks([], [], [], [])
        self.embeds = Embeds(max_embeds, max_anchor_chars)
        self.passwords = self.new_passwords = self.scripts = 0
        self.anchor_parts: list[str] | None = None
        self.anchor_at = -1
        self.anchor_else: str | None = None
        self.description: str | None = None
        self.language: str | None = None
        self.base_href: str | None = None
        self.canonical_href: str | None = None
        self.robots: list[tuple[str, str]] = []
        self.refresh: str | None = None
        self.in_head = True
        self.metas = 0
        self.soft = False
        """Soft hyphens may stand in the text: they are places to break a word at, not characters of it."""

    def run(self, root: Any) -> None:
        """Visits every node once, and every element a second time when it ends."""
        role_of, zone_of = _ROLE.get, _ZONE.get
        stack: list[tuple[Any, int, int]] = []  # element, its role, the zone outside it
        node = root
        while True:
            tag = node.tag_id
            if tag == _TEXT:
                self.text(node.text_content)
            else:
                zone = self.zone
                role = role_of(tag, 0)
                if not role or self.enter(node, tag, role, zone_of(tag, 0)):
                    child = node.first_child
                    if child is not None:
                        stack.append((node, role, zone))
                        node = child
                        continue
                    if role:
                        self.leave(role, zone)
            following = node.next
            while following is None:
                if not stack:
                    self.flush()
                    return
                node, role, zone = stack.pop()
                if role:
                    self.leave(role, zone)
                following = node.next
            node = following

    def text(self, data: str | None) -> None:
        """One text node."""
        if not data:
            return
        if self.soft:
            data = data.replace("\xad", "")
        if self.anchor_parts is not None:
            self.anchor_parts.append(data)
            if not self.quiet:
                self.linked += len(data)
        if self.quiet:
            return
        if self.heading_parts is not None:
            self.heading_parts.append(data)
        self.parts.append(data)

    def flush(self) -> None:
        """Ends the present block."""
        parts = self.parts
        text = " ".join((parts[0] if len(parts) == 1 else "".join(parts)).split())
        self.parts = []
        if text:
            # one huge block must not push out what stands behind it
            room = self.chars_left // 2 if len(text) > _HUGE_BLOCK else self.chars_left
            if len(text) > room:
                self.cut = True
                text = text[: max(0, room)]
        if text:
            self.chars_left -= len(text) + 1
            self.blocks.append((text, min(self.linked, len(text)), self.zone))
        self.linked = 0

    def gap(self) -> None:
        """A block border inside an anchor or a heading is a space."""
        if self.anchor_parts is not None:
            self.anchor_parts.append(" ")
        if self.heading_parts is not None:
            self.heading_parts.append(" ")

    def enter(self, node: Any, tag: int, role: int, zone: int) -> bool:
        """An element of note begins; False: what is in it is not looked at."""
        if role == _A:
            return self.enter_a(node)
        if role in (_BLOCK, _NAMED):
            if self.parts:
                self.flush()
            self.gap()
            if role == _NAMED:
                zone = _named_zone(node)
            elif zone == mt.BOILERPLATE and self.zone & mt.MAIN and node.tag in ("header", "form"):
                zone = 0  # the header of an article holds its title, a form around a whole page is just a form
            self.zone = (self.zone & (mt.MAIN | mt.BOILERPLATE)) | zone
            return True
        if role == _IMG:
            attributes = node.attributes
            if self.anchor_parts is not None and not self.anchor_else:
                self.anchor_else = attributes.get("alt")
            self.embeds.add_image(attributes)
            return True
        if role == _BREAK:
            self.flush()
            self.gap()
            return True
        if role == _CELL:
            self.parts.append(" ")
            self.gap()
            return True
        return self.enter_rare(node, tag, role)

    def enter_rare(self, node: Any, tag: int, role: int) -> bool:
        """Elements of which a page has few."""
        if role == _SKIP:
            return False
        if role == _SCRIPT:
            self.scripts += 1
            self.embeds.add(node.attributes.get("src"), "script")
            return False
        if role == _HEADING:
            self.flush()
            self.heading_parts = []
            self.zone = (self.zone & (mt.MAIN | mt.BOILERPLATE)) | mt.HEADING
        elif role == _META:
            self.meta(node.attributes)
        elif role == _LINK:
            self.link(node.attributes)
        elif role == _TITLE:
            if self.title is None and not self.quiet:
                self.title = " ".join(node.text(deep=True).replace("\xad", "").split())[:_MAX_TITLE]
            return False
        elif role == _BASE:
            if self.base_href is None:
                self.base_href = node.attributes.get("href")
        elif role == _AREA:
            attributes = node.attributes
            href = attributes.get("href")
            if href is not None:
                self.add(href, KIND_LINK, attributes.get("alt") or attributes.get("title"), attributes.get("rel"))
        elif role == _FRAME:
            attributes = node.attributes
            src = attributes.get("src")
            if src:
                self.add(src, KIND_FRAME, attributes.get("title"), None)
            return False
        elif role == _QUIET:
            self.quiet += 1
        elif role == _SOURCE:  # of a picture
            self.embeds.add_image(node.attributes)
        elif role == _MEDIA:
            self.embeds.add_player(node)
            return False
        elif role == _OBJECT:
            self.embeds.add_object(node.attributes)
            return False
        elif role == _INPUT:
            self.enter_input(node.attributes)
        elif role == _BODY:
            self.in_head = False
        elif role == _HTML and self.language is None:
            attributes = node.attributes
            self.language = attributes.get("lang") or attributes.get("xml:lang")
        return True

    def leave(self, role: int, zone: int) -> None:
        """An element of note ends; `zone` is that outside it."""
        if role == _A:
            self.end_anchor()
        elif role in (_BLOCK, _NAMED):
            if self.parts:
                self.flush()
            self.gap()
            self.zone = zone
        elif role == _HEADING:
            self.flush()
            self.zone = zone
            if self.heading_parts is not None:
                heading = " ".join("".join(self.heading_parts).split())[:_MAX_HEADING]
                if heading and len(self.headings) < _MAX_HEADINGS:
                    self.headings.append(heading)
                self.heading_parts = None
        elif role == _CELL:
            self.parts.append(" ")
        elif role == _QUIET:
            self.quiet -= 1

    def enter_a(self, node: Any) -> bool:
        """A link begins, if it has a href; one inside another ends that other's anchor."""
        attributes = node.attributes
        href = attributes.get("href")
        if self.anchor_parts is not None:
            self.end_anchor()
        if href is None:
            href = attributes.get("xlink:href") if self.quiet else None
            if href is None:
                return True
        if self.add(href, KIND_LINK, None, attributes.get("rel")):
            self.anchor_parts = []
            self.anchor_at = len(self.links.hrefs) - 1
            self.anchor_else = None
            if len(attributes) > 1:
                self.anchor_else = attributes.get("title") or attributes.get("aria-label")
                if self.anchor_else:
                    self.anchor_else = None if node.css_first("img[alt]") else self.anchor_else
        return True

    def end_anchor(self) -> None:
        """Sets the anchor of the link that is open."""
        parts = self.anchor_parts
        if parts is None:
            return
        self.anchor_parts = None
        anchor = " ".join("".join(parts).split())
        if not anchor and self.anchor_else:
            anchor = " ".join(self.anchor_else.split())
        self.links.anchors[self.anchor_at] = anchor[: self.max_anchor_chars] or None

    def add(self, href: str, kind: str, anchor: str | None, rel: str | None) -> bool:
        """Keeps a link; False when it was dropped."""
        links = self.links
        if len(links.hrefs) >= self.max_links or len(href) > _MAX_HREF:
            links.dropped += 1
            return False
        if anchor is not None:
            anchor = " ".join(anchor.split())[: self.max_anchor_chars] or None
        links.add(href, kind, anchor, rel is not None and "nofollow" in rel.lower().split())
        return True

    def enter_input(self, attributes: dict[str, str | None]) -> None:
        """A field of a form: whether it asks for a password, or is an image."""
        kind = (attributes.get("type") or "").strip().lower()
        if kind == "password":
            self.passwords += 1
            self.new_passwords += (attributes.get("autocomplete") or "").strip().lower() == "new-password"
        elif kind == "image":
            self.embeds.add_image(attributes)

    def meta(self, attributes: dict[str, str | None]) -> None:
        """A meta tag: robots directives, description, refresh."""
        self.metas += 1
        content = attributes.get("content")
        if not content or self.metas > _MAX_META:
            return
        name = attributes.get("name")
        if name:
            name = name.strip().lower()
            if name == "description":
                self.description = self.description or " ".join(content.split())[:_MAX_DESCRIPTION] or None
            elif len(content) <= 1_000:
                self.robots.append((name, content))
        elif (attributes.get("http-equiv") or "").strip().lower() == "refresh" and self.refresh is None:
            self.refresh = content

    def link(self, attributes: dict[str, str | None]) -> None:
        """A link element: canonical, alternate, next, prev, or something embedded."""
        href, rel = attributes.get("href"), attributes.get("rel")
        if not href or not rel:
            return
        words = rel.lower().split()
        if "canonical" in words:
            if self.in_head and self.canonical_href is None:
                self.canonical_href = href
                self.add(href, KIND_CANONICAL, None, None)
        elif "stylesheet" not in words and not {"alternate", "next", "prev"}.isdisjoint(words):
            self.add(href, KIND_ALTERNATE, attributes.get("title"), rel)
        else:
            self.embeds.add_linked(href, words, attributes)

    def page(self) -> HtmlPage:
        """What was found."""
        self.end_anchor()
        return HtmlPage(
            title=self.title or None,
            text="\n".join([text for text, _, _ in self.blocks]),
            main_text=mt.main_text(self.blocks),
            headings=self.headings,
            description=self.description,
            language=self.language,
            base_href=self.base_href,
            canonical_href=self.canonical_href,
            robots=self.robots,
            refresh=self.refresh,
            links=self.links,
            embeds=self.embeds,
            passwords=self.passwords,
            new_passwords=self.new_passwords,
            scripts=self.scripts,
            cut=self.cut,
        )


def _named_zone(node: Any) -> int:
    """What a div or list is for, by its role, class and id."""
    attributes = node.attributes
    if not attributes:
        return 0
    role = attributes.get("role")
    if role and role in _ROLE_ZONES:
        return _ROLE_ZONES[role]
    name = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"[:200]
    if name == " ":
        return 0
    if mt.MAIN_NAME.search(name):
        return mt.MAIN
    return mt.BOILERPLATE if mt.BOILERPLATE_NAME.search(name) else 0
