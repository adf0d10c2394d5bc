"""Which blocks of a page are what it is about, and which are navigation and boilerplate?

A block is a run of text between two block-level tags, with the share of it that stands in links, and what it
stands in. Two signs are used: what the author says (`main`, `article`; `nav`, `footer`, class names of both
kinds), and where he says nothing, link density and length: prose is long and links little.

Not here: finding the blocks (`parsers.html`). Sources: the two signs are those of Kohlschütter, Fankhauser,
Nejdl, "Boilerplate detection using shallow text features" (WSDM 2010), in a rule of our own.
"""

from __future__ import annotations

import re

BOILERPLATE = 1
"""Zone: inside nav, footer, aside, form … or what is named like one."""
MAIN = 2
"""Zone: inside main or article, or what is named like one."""
HEADING = 4
"""The block is a heading."""
PARAGRAPH = 8
"""The block is a paragraph, or the like."""

Block = tuple[str, int, int]
"""Text, characters of it in links, zone flags."""

BOILERPLATE_NAME = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|sidebar|side-bar|footer|foot|breadcrumbs?|share|sharing|social|related|"
    r"advert\w*|ads?|banner|cookie\w*|newsletter|subscribe|promo\w*|comments?|pagination|pager|toolbar|toc|widget|login|"
    r"copyright|skip|sponsor\w*|popup|modal)(?:$|[\s_-])",
    re.IGNORECASE,
)
MAIN_NAME = re.compile(
    r"(?:^|[\s_-])(?:article-?body|article-?content|post-?content|post-?body|entry-?content|main-?content|story-?body|"
    r"page-?content|mw-parser-output|articlebody|hentry)(?:$|[\s_-])",
    re.IGNORECASE,
)

_LEAST_CHARS = 140
_LONG_CHARS = 80
_GAP = 3
_ALL_SHARE = 0.97


def main_text(blocks: list[Block]) -> str | None:
    """The main part as text, blocks parted by newlines; None where it cannot be told apart, or is the whole page."""
    total = sum(len(text) for text, _, _ in blocks)
    if total < _LEAST_CHARS:
        return None
    said = [b for b in blocks if b[2] & MAIN and not b[2] & BOILERPLATE and not _is_link_list(b)]
    if sum(_weight(b) for b in said) >= _LEAST_CHARS:
        chosen = said
    else:
        chosen = _by_density([b for b in blocks if not b[2] & BOILERPLATE])
    size = sum(len(text) for text, _, _ in chosen)
    if size < _LEAST_CHARS // 2 or size > _ALL_SHARE * total:
        return None
    return "\n".join([text for text, _, _ in chosen])


def _weight(block: Block) -> int:
    """Characters outside links; one of a script that says more per character counts for more."""
    text, linked, _ = block
    size = len(text) if text.isascii() else (len(text) + len(text.encode())) // 2
    return size - linked * size // len(text)


def _is_link_list(block: Block) -> bool:
    text, linked, _ = block
    return linked * 2 > len(text)


def _by_density(blocks: list[Block]) -> list[Block]:
    """The clusters of prose: long blocks with few links, what stands between them, and the headings before them."""
    prose = [_is_prose(b) for b in blocks]
    clusters: list[tuple[int, int, int]] = []  # first, last, weight
    for i, good in enumerate(prose):
        if not good:
            continue
        weight = _weight(blocks[i])
        if clusters and i - clusters[-1][1] <= _GAP + 1:
            first, _, sofar = clusters[-1]
            clusters[-1] = (first, i, sofar + weight)
        else:
            clusters.append((i, i, weight))
    if not clusters:
        return []
    best = max(weight for _, _, weight in clusters)
    chosen: list[Block] = []
    for first, last, weight in clusters:
        if weight * 5 < best:
            continue
        while first > 0 and blocks[first - 1][2] & HEADING and (not chosen or blocks[first - 1] is not chosen[-1]):
            first -= 1
        chosen += [b for b in blocks[first : last + 1] if not _is_link_list(b)]
    return chosen


def _is_prose(block: Block) -> bool:
    text, linked, flags = block
    if flags & HEADING or linked * 3 > len(text):
        return False
    return _weight(block) >= (_LONG_CHARS // 2 if flags & PARAGRAPH else _LONG_CHARS)
