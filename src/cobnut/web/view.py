"""What does a result page show of the results?

Turns the searcher's answer into plain values for the templates: safe links, readable URLs, dates, page numbers.
Nothing here is HTML; the templates escape all of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from cobnut.search.ranking import FEATURES
from cobnut.web.display import breadcrumb, one_line, safe_href
from cobnut.web.pages import thousands
from cobnut.web.parameters import Asked

if TYPE_CHECKING:
    from cobnut.search.ranking import Feature
    from cobnut.search.searcher import Hit, Results

_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), " ")
_KINDS = {"application/pdf": "PDF", "text/plain": "plain text"}

MAX_TITLE = 160
MAX_QUERY = 80

NOTHING_INDEXED: dict[str, Any] = {
    "heading": "Nothing is indexed yet",
    "lines": ["This search engine has no pages so far. As soon as an index is published, this page searches it."],
    "hints": [],
    "onward": None,
}


@dataclass(frozen=True, slots=True)
class Date:
    """A day, for machines and for people."""

    iso: str
    text: str


@dataclass(frozen=True, slots=True)
class Reason:
    """One feature of a score: its name, what its value is, and how much it adds."""

    name: str
    meaning: str
    amount: str


@dataclass(frozen=True, slots=True)
class HitView:
    """One hit as shown. `href` is None when the URL may not stand in a link; `snippet` is (text, is marked) pieces."""

    title: str
    href: str | None
    place: str
    parts: list[str]
    snippet: list[tuple[str, bool]]
    language: str | None
    kind: str | None
    date: Date | None
    score: str
    reasons: list[Reason]
    silent: str


@dataclass(frozen=True, slots=True)
class PageStep:
    """One element of the page navigation."""

    text: str
    href: str = ""
    rel: str = ""
    here: bool = False
    gap: bool = False


def results(asked: Asked, found: Results) -> dict[str, Any]:
    """The values of the template `results`."""
    page = asked.offset // asked.limit + 1
    last_page = last_page_of(found.reachable, asked.limit)
    return {
        "page": page,
        "last_page": last_page,
        "first": asked.offset + 1,
        "total": found.total,
        "took": took(found.took_ms),
        "notes": notes(asked, found),
        "hits": [hit_view(hit) for hit in found.hits],
        "steps": steps(asked, page, last_page),
        "toggle": address(asked, page, explain=not asked.explain),
    }


def no_hits(asked: Asked, found: Results) -> dict[str, Any]:
    """The values of the template `message` when a page of results is empty."""
    if found.total > 0:
        last_page = last_page_of(found.reachable, asked.limit)
        results = f"{thousands(found.total)} {'result' if found.total == 1 else 'results'}"
        return {
            "heading": "No results that far down",
            "lines": [f"“{cut_query(asked.query)}” has {results}."],
            "hints": [],
            "onward": {"href": address(asked, last_page), "text": f"To the last page ({thousands(last_page)})"},
        }
    hints = ["Check the spelling.", "Try fewer or other words."]
    if '"' in asked.query:
        hints.append("Leave out the quotation marks: they ask for the words side by side.")
    if "site:" in asked.query:
        hints.append("Leave out “site:”, which keeps to one site.")
    if re.search(r"(^|\s)-\w", asked.query):
        hints.append("Leave out words that begin with a minus: pages that hold them are left out.")
    return {
        "heading": f"No page matches “{cut_query(asked.query)}”",
        "lines": notes(asked, found),
        "hints": hints,
        "onward": None,
    }


def notes(asked: Asked, found: Results) -> list[str]:
    """What the searcher should know about how the query was read, as sentences."""
    said = [*found.notices]
    if asked.is_cut and not any("characters" in line for line in said):
        said.append("the query was too long and was cut")
    return [line[:1].upper() + line[1:].rstrip(".") + "." for line in said]


def last_page_of(reachable: int, per_page: int) -> int:
    """The last page that holds results."""
    return max(1, -(-reachable // per_page))


def hit_view(hit: Hit) -> HitView:
    """One hit as shown."""
    url = hit.shown_url
    href = safe_href(url)
    place, parts = breadcrumb(url) if href else (one_line(url)[:MAX_TITLE], [])
    return HitView(
        title=shown_title(hit.title, place, parts),
        href=href,
        place=place,
        parts=parts,
        snippet=pieces(tied(hit.snippet.text), hit.snippet.ranges),
        language=hit.language if hit.language and _LANGUAGE.fullmatch(hit.language) else None,
        kind=_KINDS.get(hit.document.media_type or ""),
        date=day(hit.fetched_at),
        score=amount(hit.score),
        reasons=[reason(feature) for feature in hit.features if feature.contribution],
        silent=", ".join(name_of(feature) for feature in hit.features if not feature.contribution),
    )


def reason(feature: Feature) -> Reason:
    """A feature that adds to a score, or takes from it."""
    return Reason(name_of(feature), FEATURES.get(feature.name, ""), amount(feature.contribution))


def name_of(feature: Feature) -> str:
    """A feature's name in words."""
    return feature.name.replace("_", " ")


def shown_title(title: str, place: str, parts: list[str]) -> str:
    """The title in one line; a page without one is called by its address."""
    line = one_line(title)
    if not line:
        line = "/".join([place, *parts])
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"


def cut_query(query: str) -> str:
    """A query as a heading names it: a long one would fill a small screen, and stands in the search field anyway."""
    return query if len(query) <= MAX_QUERY else query[: MAX_QUERY - 1].rstrip() + "…"


def tied(snippet: str) -> str:
    """The snippet, its last dots tied to the word before them: they begin no line of their own.

    >>> tied("… of the two …")
    '… of the two\\xa0…'
    """
    return f"{snippet[:-2]}\N{NO-BREAK SPACE}…" if snippet.endswith(" …") else snippet


def pieces(text: str, marks: Sequence[tuple[int, int]]) -> list[tuple[str, bool]]:
    """The text cut at its marks (start, end): [(text, is marked), …]."""
    cut: list[tuple[str, bool]] = []
    at = 0
    if not text.isprintable():
        text = text.translate(_CONTROLS)
    for start, end in marks:
        if start < at or end <= start:
            continue
        cut += [(text[at:start], False), (text[start:end], True)]
        at = end
    cut.append((text[at:], False))
    return [piece for piece in cut if piece[0]]


def day(at_ms: int | None) -> Date | None:
    """The UTC day of a time in ms; None when there is none or it is no time."""
    if not at_ms or not 0 < at_ms < 253_402_300_800_000:
        return None
    then = datetime.fromtimestamp(at_ms / 1000, UTC)
    return Date(then.strftime("%Y-%m-%d"), f"{then.day} {_MONTHS[then.month - 1]} {then.year}")


def took(took_ms: float) -> str:
    """A time in words: `3 ms`, `1.2 s`."""
    if took_ms < 1:
        return "under 1 ms"
    return f"{took_ms:.0f} ms" if took_ms < 1000 else f"{took_ms / 1000:.1f} s"


def amount(value: float) -> str:
    """A part of a score."""
    return f"{value:.3f}"


def address(asked: Asked, page: int, *, explain: bool | None = None) -> str:
    """The address of a page of the same results."""
    values: dict[str, Any] = {"q": asked.query}
    if page > 1:
        values["page"] = page
    if asked.explain if explain is None else explain:
        values["explain"] = 1
    return "/search?" + urlencode(values)


def steps(asked: Asked, page: int, last_page: int) -> list[PageStep]:
    """The page navigation: previous, the first, those around, the last, next. Empty when there is one page."""
    if last_page <= 1:
        return []
    numbers = sorted({1, last_page, *range(max(1, page - 2), min(last_page, page + 2) + 1)})
    found = []
    if page > 1:
        found.append(PageStep("Previous", address(asked, page - 1), "prev"))
    for before, number in zip([0, *numbers], numbers, strict=False):
        if number > before + 1:
            found.append(PageStep("…", gap=True))
        found.append(PageStep(thousands(number), address(asked, number), here=number == page))
    if page < last_page:
        found.append(PageStep("Next", address(asked, page + 1), "next"))
    return found
