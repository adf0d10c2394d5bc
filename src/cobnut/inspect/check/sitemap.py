"""Which pages and sitemaps does this sitemap list?

Item: `url`; `body_b64` (as received) or `body` (text); `headers`. Sitemaps and sitemap indexes in XML, feeds, and text
files with one URL a line, packed with gzip or not. Answer: `urls`, each with `loc` and `lastmod` (as written where it
is a date, otherwise NULL; `lastmod_at` in ms); `sitemaps` of an index; `errors`: what was not read, and why.

Source: sitemaps.org protocol 0.9; dates are W3C Datetime, read leniently (without a zone: UTC), or those of feeds.
"""

from __future__ import annotations

from typing import Any

from cobnut.inspect.check.basis import Basis
from cobnut.inspect.check.items import (
    Answer,
    BadItemError,
    Item,
    Story,
    bytes_of,
    header,
    headers_of,
    needed_text,
)
from cobnut.inspect.check.robots import listed
from cobnut.parsers import media_type, xml_links
from cobnut.parsers.body import gunzip, undo_encoding
from cobnut.text.charset import decode
from cobnut.text.dates import date_ms
from cobnut.urls.hosts import host_of
from cobnut.urls.parse import is_web
from cobnut.urls.resolve import resolve

MAX_BYTES = 50 * 1024 * 1024
"""The protocol's limit, uncompressed."""
MAX_ERRORS = 20


def answer(item: Item, basis: Basis) -> Answer:
    """What one sitemap lists."""
    made = basis.forms(needed_text(item, "url"))
    if made is None:
        raise BadItemError('"url" is not an http or https URL')
    body = bytes_of(item, "body")
    if body is None:
        raise BadItemError('"body_b64" is missing')
    return read(made.url, body, headers_of(item))


def read(url: str, body: bytes, headers: list[tuple[str, str]]) -> Answer:
    """What a sitemap's answer lists."""
    errors: list[str] = []
    unpacked = undo_encoding(body, header(headers, "content-encoding"), MAX_BYTES)
    data, cut = unpacked.data, unpacked.cut
    if unpacked.reason == "bad_encoding":
        errors.append("the Content-Encoding does not decode")
    if media_type.signature(data) == "application/gzip":
        unpacked = gunzip(data, MAX_BYTES)
        data, cut = unpacked.data, unpacked.cut
        if unpacked.reason == "bad_encoding":
            errors.append("the gzip file is damaged")
    if cut:
        errors.append(f"more than {MAX_BYTES >> 20} MiB: the rest was left out")
    content_type = header(headers, "content-type")
    named = content_type if content_type and "charset" in content_type.lower() else "application/xml"
    text = decode(data, named, host_of(url)).text
    found = xml_links.read_listed(text)
    if found is None:
        return _plain_text(url, text, errors)
    if found.broken:
        errors.append("not well-formed XML: what stands before the fault was read")
    elif found.repaired:
        errors.append("not well-formed XML: read with bare ampersands escaped and control characters left out")
    if found.dropped:
        errors.append(f"more than {xml_links.MAX_LISTED:,} entries: {found.dropped:,} were left out")
    is_index = xml_links.root_name(text) == "sitemapindex"
    urls = []
    for href, base, date in zip(found.hrefs, found.bases, found.dates, strict=True):
        entry = _entry(_base(url, base), href, date, errors)
        if entry is not None:
            urls.append(entry)
    kind = "index" if is_index else found.kind
    pages = [] if is_index else urls
    return _answer(url, kind, pages, [u["loc"] for u in urls] if is_index else [], errors)


def _plain_text(url: str, text: str, errors: list[str]) -> Answer:
    lines = [line.strip() for line in text.lstrip("\ufeff").splitlines()]
    lines = [line for line in lines if line]
    first = lines[0].lower() if lines else ""
    if not first.startswith(("http://", "https://")):
        root = xml_links.root_name(text)
        what = "it is empty" if not lines else f"its root is <{root}>" if root else "it is neither XML nor a list"
        return _answer(url, None, [], [], [*errors, f"no sitemap: {what}"])
    if len(lines) > xml_links.MAX_LISTED:
        errors.append(f"more than {xml_links.MAX_LISTED:,} entries: {len(lines) - xml_links.MAX_LISTED:,} left out")
    entries = []
    for line in lines[: xml_links.MAX_LISTED]:
        if line.lower().startswith(("http://", "https://")):
            entries.append(_entry(url, line, None, errors))
        elif line[0] != "#":
            errors.append(f"not a web address: {line[:200]}")
    return _answer(url, "text", [entry for entry in entries if entry is not None], [], errors)


def _answer(url: str, kind: str | None, urls: list[Any], sitemaps: list[str], errors: list[str]) -> Answer:
    if len(errors) > MAX_ERRORS:
        errors = [*errors[:MAX_ERRORS], f"and {len(errors) - MAX_ERRORS:,} more"]
    return {"url": url, "kind": kind, "urls": urls, "sitemaps": sitemaps, "errors": errors}


def _base(url: str, written: str | None) -> str:
    for step in (written or "").split("\n"):
        url = resolve(url, step) or url
    return url


def _entry(base: str, href: str, date: str | None, errors: list[str]) -> dict[str, Any] | None:
    loc = resolve(base, href)
    if loc is None or not is_web(loc):
        errors.append(f"not a web address: {href[:200]}")
        return None
    at = None if date is None else date_ms(date)
    if date is not None and at is None:
        errors.append(f"not a date: {date[:100]}")
        date = None
    return {"loc": loc, "lastmod": date, "lastmod_at": at}


def story(found: Answer) -> Story:
    """The answer for a person."""
    kinds = {"index": "sitemap index", "text": "text file with one URL a line"}
    lines: Story = [("url", found["url"]), ("kind", kinds.get(found["kind"], found["kind"] or "no sitemap"))]
    lines.append(("urls", f"{len(found['urls']):,}"))
    shown = [e["loc"] + (f"  ({e['lastmod']})" if e["lastmod"] else "") for e in found["urls"][:20]]
    lines += [("", text) for text in shown]
    if len(found["urls"]) > 20:
        lines.append(("", f"… and {len(found['urls']) - 20:,} more"))
    if found["kind"] == "index":
        lines += listed("sitemaps", found["sitemaps"])
    return lines + [("error", text) for text in found["errors"]]
