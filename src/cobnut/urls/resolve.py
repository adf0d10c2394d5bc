"""What does this reference point to, and under which key is that page known?

A URL has three forms:

* `url`: as found and resolved, with only the encoding that HTTP demands. This is what is requested. It keeps its
  every escape as the page had it (a signed URL breaks when `%27` becomes `'`), but without user info.
* `normalized`: the WHATWG form with the configured rules applied (`normalizers`). Shown and compared.
* `key`: the reversed-host form (`keys`), one-to-one with `normalized`. Sorted and joined by.

Only http and https URLs are pages. `resolve` gives the absolute form of other schemes too (`mailto:`,
`javascript:` …), so that the filter `scheme` can refuse and count them; `normalize` and `forms` refuse them.

Not here: all links of a page at once (`page_links`).
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from cobnut.urls.hosts import bucket_of
from cobnut.urls.keys import host_key, key_to_url, url_key
from cobnut.urls.normalizers import compile_normalizer, find_rule, normalize_parsed
from cobnut.urls.parse import MAX_REFERENCE_CHARS, MAX_URL_CHARS, clean, is_web, join, parse, split, without_fragment
from cobnut.urls.query_charset import encode_query, output_codec

__all__ = ["UrlForms", "compile_forms", "forms", "key_to_url", "normalize", "resolve", "stored_url", "url_key"]


class UrlForms(msgspec.Struct, frozen=True, gc=False):
    """The forms of one page's URL, with what tables need of its host."""

    url: str
    normalized: str
    key: str
    host: str
    bucket: int


class Forms(Protocol):
    """Makes all forms of an absolute URL; None when it is refused.

    `resolved` says that it comes from `resolve`: it is in WHATWG form and need not be parsed again.
    """

    def __call__(self, text: str, resolved: bool = False) -> UrlForms | None: ...


_HOSTS: dict[str, tuple[str, int]] = {}
_MAX_HOSTS = 65_536


def host_facts(host: str) -> tuple[str, int]:
    """(key of the host, its bucket), remembered; `host` is in WHATWG form."""
    facts = _HOSTS.get(host)
    if facts is None:
        if len(_HOSTS) >= _MAX_HOSTS:
            _HOSTS.clear()
        facts = _HOSTS[host] = (host_key(host), bucket_of(host))
    return facts


def clean_forms(text: str, parts: tuple[str, str, str, str]) -> UrlForms:
    """The forms of a clean URL under the default rules: it is its own normalised form. `parts` are `parse.clean`'s."""
    scheme, host, port, rest = parts
    name, bucket = host_facts(host)
    return UrlForms(text, text, f"{name}){scheme}{port}{rest}", host, bucket)


def resolve(base: str, href: str, charset: str = "utf-8") -> str | None:
    """The absolute URL that `href` means on the page `base`, as it is requested, without fragment; None when refused.

    `charset` is that of the page: the query is encoded in it, as browsers do. White space and control characters are
    treated as the URL standard says. On a `base` that is no URL, absolute references still resolve. Refused is what the
    standard's parser refuses, and what is longer than 16,384 characters.

    >>> resolve("http://example.org/list/", "  ../a b#top ")
    'http://example.org/a%20b'
    """
    if len(href) > MAX_REFERENCE_CHARS:
        return None
    if charset != "utf-8" and not href.isascii() and (codec := output_codec(charset)) is not None:
        coded = encode_query(href, codec)
        if coded is not href:
            url = _absolute(base, coded)
            if url is None or is_web(url):
                return _kept(url)
    return _kept(_absolute(base, href))


def _absolute(base: str, href: str) -> str | None:
    found = join(base, href) if len(base) <= MAX_URL_CHARS else None
    return parse(href) if found is None else found


def _kept(url: str | None) -> str | None:
    if url is None:
        return None
    if "#" in url:
        url = without_fragment(url)
    if "@" in url and is_web(url) and (parts := split(url))[1]:  # user info is not kept: a password, or a trick
        url = f"{parts[0]}://{''.join(parts[2:])}"
    return url if len(url) <= MAX_URL_CHARS else None


def normalize(url: str) -> str | None:
    """The normalised form under the default rules; None when refused. Idempotent.

    >>> normalize("HTTP://user@Example.org:80/%7ea/./b?#top")
    'http://example.org/~a/b?'
    """
    return compile_normalizer(("basic",))(url)


def compile_forms(normalizers: tuple[str, ...] = ("basic",)) -> Forms:
    """A function that makes all forms under these rules. InputError for a rule that is not known."""
    rules = tuple(find_rule(name) for name in normalizers)
    plain = normalizers == ("basic",)

    def make(text: str, resolved: bool = False) -> UrlForms | None:
        if plain and (parts := clean(text)) is not None:
            return clean_forms(text, parts)
        url = text if resolved else _kept(parse(text))
        if url is None:
            return None
        normalized = normalize_parsed(url, rules)
        if normalized is None:
            return None
        scheme, _user, host, port, rest = split(normalized)
        name, bucket = host_facts(host)
        return UrlForms(url, normalized, f"{name}){scheme}{port}{rest}", host, bucket)

    return make


forms: Forms = compile_forms()
"""All forms of one absolute URL under the default rules; None when it is refused or no http or https URL."""


def stored_url(url: str, normalized: str) -> str | None:
    """What a table's column `url` holds: NULL where the URL equals its normalised form."""
    return None if url == normalized else url
