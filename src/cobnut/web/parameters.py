"""What does a request ask for, and is it within bounds?

A query is text of any kind: cut to a length, control characters and runs of white space become one space. Numbers are
plain digits within stated bounds; anything else is a `BadRequest` with a message for the person who typed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cobnut.search.searcher import MOST_RESULTS
from cobnut.web.display import one_line

MAX_LIMIT = 100
"""Most hits in one answer of the API; a higher `limit` is lowered to it."""


class BadRequest(Exception):
    """A parameter makes no sense; the text says which and why, and holds nothing of the request's own text."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One search as asked: the cleaned query (empty: none), whether it was cut, and which hits of it."""

    query: str
    is_cut: bool
    limit: int
    offset: int
    explain: bool = False


def page_request(parameters: Mapping[str, str], per_page: int, max_chars: int) -> Asked:
    """Of the page: `q`, `page` (from 1), `explain=1`."""
    query, is_cut = clean_query(parameters.get("q", ""), max_chars)
    page = whole_number(parameters.get("page", ""), "page", 1, max(1, MOST_RESULTS // per_page), 1)
    return Asked(query, is_cut, per_page, (page - 1) * per_page, flag(parameters.get("explain", "")))


def api_request(parameters: Mapping[str, str], per_page: int, max_chars: int) -> Asked:
    """Of the API: `q`, `limit`, `offset`, `explain=1`."""
    query, is_cut = clean_query(parameters.get("q", ""), max_chars)
    limit = min(MAX_LIMIT, whole_number(parameters.get("limit", ""), "limit", 1, 999_999_999, per_page))
    offset = whole_number(parameters.get("offset", ""), "offset", 0, MOST_RESULTS, 0)
    return Asked(query, is_cut, limit, offset, flag(parameters.get("explain", "")))


def clean_query(raw: str, max_chars: int) -> tuple[str, bool]:
    """The query in one visible line, and whether it had to be cut."""
    return one_line(raw[:max_chars]), len(raw) > max_chars


def whole_number(raw: str, name: str, lowest: int, highest: int, default: int) -> int:
    """A parameter that is a whole number; absent or empty means the default."""
    text = raw.strip()
    if not text:
        return default
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None
    if number is None or not lowest <= number <= highest:
        raise BadRequest(f"“{name}” must be a whole number from {lowest} to {highest}.")
    return number


def flag(raw: str) -> bool:
    """Whether a yes-or-no parameter says yes."""
    return raw.lower() in ("1", "yes", "true", "on")
