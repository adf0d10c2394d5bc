"""What do all the references of one page point to?

The same work as `resolve.resolve` and `resolve.forms` for each reference, faster: a reference that stands on the
page ten times is resolved once, and one that is plainly written (nearly all are) is put together as text and
checked by one expression instead of being parsed twice.

Not here: finding the references in the page (`parsers`); which of them may enter (`filters`).
"""

from __future__ import annotations

from collections.abc import Iterable

from cobnut.urls.parse import MAX_URL_CHARS, clean, parse, without_fragment
from cobnut.urls.resolve import Forms, UrlForms, clean_forms, forms, resolve

_DIRECT = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_~-")


class PageBase:
    """What references on one page are joined to: its base URL, taken apart once. `url` is "" when it is none."""

    __slots__ = ("charset", "folder", "origin", "page", "scheme", "url")

    def __init__(self, base: str, charset: str) -> None:
        self.charset = charset
        self.url = (parse(base) if len(base) <= MAX_URL_CHARS else None) or ""
        self.scheme = self.origin = self.folder = self.page = ""
        plain = without_fragment(self.url)
        parts = clean(plain)
        if parts is not None:
            path = plain.partition("?")[0]
            self.scheme = parts[0]
            self.origin = plain.removesuffix(parts[3])
            self.folder = path[: path.rindex("/") + 1]
            self.page = plain

    def candidate(self, href: str) -> str:
        """What `href` resolves to if both are plainly written; "" when only the parser can tell."""
        if not self.origin:
            return href if href.startswith("http") else ""
        if "#" in href:
            href = href[: href.index("#")]
            if not href:
                return self.page
        first = href[:1]
        if first == "/":
            return f"{self.scheme}:{href}" if href[1:2] == "/" else self.origin + href
        if first in _DIRECT:
            if ":" in href:
                return href
            return self.folder + href
        return ""


def resolve_all(
    base: str, hrefs: Iterable[str], charset: str = "utf-8", make_forms: Forms = forms
) -> list[UrlForms | None]:
    """The forms of each reference on the page `base`, in order; None where it is refused or no http or https URL.

    `make_forms` is `resolve.compile_forms` of the configured rules. Results longer than 16,384 characters are
    refused.

    >>> [found and found.url for found in resolve_all("http://h.example/a/", ["b", "/c", "mailto:d@e"])]
    ['http://h.example/a/b', 'http://h.example/c', None]
    """
    page = PageBase(base, charset)
    plain = make_forms is forms
    known: dict[str, UrlForms | None] = {}
    found: list[UrlForms | None] = []
    for href in hrefs:
        if href in known:
            found.append(known[href])
            continue
        result = _plain_forms(page, href) if plain else None
        if result is None:
            url = resolve(page.url, href, charset)
            result = None if url is None else make_forms(url, resolved=True)
        known[href] = result
        found.append(result)
    return found


def _plain_forms(page: PageBase, href: str) -> UrlForms | None:
    text = page.candidate(href)
    parts = clean(text)
    return None if parts is None else clean_forms(text, parts)
