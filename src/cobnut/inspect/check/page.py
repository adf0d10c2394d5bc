"""What does this page say, and what does it link to?

Item: `url`; `html` (text) or `body_b64` (bytes as received: Content-Encoding is undone); `headers`, an object or a list
of pairs; `agent` (ours by default); `truncated`. Answer: what parsing finds. `links` are page links alone (a, area,
frame, iframe) in document order, without those to the page itself; `rel` is `nofollow` where a link passes nothing on.
`error` is the reason why a page was not parsed, or not whole. `refresh` has `delay` in seconds and `url`, NULL when the
page reloads itself; `refused`, when it is there, is the reason why it leads nowhere (`bad_scheme`, `bad_url`). `embeds`
is what a browser would load with the page, each with its kind; `flags` say what it is if it is no page to be read.

`html` is text already: it is written out in the charset that headers or page name, UTF-8 when they name none, so that
characters are as given and the queries of links are encoded as the page wants it.
"""

from __future__ import annotations

from collections import Counter
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
    text_of,
)
from cobnut.inspect.check.robots import own_agent
from cobnut.inspect.show import plain, reason_text
from cobnut.parsers.page import PageInput, ParsedPage, parse_page
from cobnut.records.outcomes import EMBED_KINDS, FLAGS
from cobnut.text.charset import header_charset
from cobnut.text.prescan import prescan
from cobnut.urls.keys import key_to_url
from cobnut.urls.query_charset import output_codec

PAGE_LINKS = frozenset(("link", "frame"))
SHOWN_CHARS = 400
SHOWN_LINKS = 20
_NO_URL = "It is no URL, or one that is too long."


def answer(item: Item, basis: Basis) -> Answer:
    """What one page says."""
    return parsed(page_of(item, basis), basis)


def page_of(item: Item, basis: Basis) -> PageInput:
    """The page of an item."""
    made = basis.forms(needed_text(item, "url"))
    if made is None:
        raise BadItemError('"url" is not an http or https URL')
    headers = headers_of(item)
    html = text_of(item, "html")
    if html is None:
        body = bytes_of(item, "body")
        if body is None:
            raise BadItemError('"html" is missing, or "body_b64"')
    else:
        body = _written_out(html, headers)
    agent = text_of(item, "agent") or own_agent(basis)
    return PageInput(made.url, body, headers, item.get("truncated") is True, agent)


def _written_out(html: str, headers: list[tuple[str, str]]) -> bytes:
    """The bytes of a page that is given as text; `headers` then say what it is."""
    headers[:] = [pair for pair in headers if pair[0].lower() != "content-encoding"]  # text has none any more
    body = html.encode("utf-8", "replace")
    content_type = header(headers, "content-type")
    label = header_charset(content_type or "") or prescan(body)
    codec = None if label is None else output_codec(label)
    if codec is not None:
        body = html.encode(codec, "xmlcharrefreplace")
    if content_type is None:
        headers.append(("Content-Type", "text/html" if label else "text/html; charset=utf-8"))
    return body


def parsed(page: PageInput, basis: Basis) -> Answer:
    """What parsing makes of an answer."""
    found = parse_page(page, basis.settings)
    return {
        "url": page.url,
        "status": found.parse_status,
        "error": found.reason,
        "title": found.title,
        "text": found.text,
        "main_text": found.main_text,
        "headings": found.headings,
        "description": found.description,
        "links": _links(found),
        "links_dropped": found.links_dropped,
        "base": found.base_url,
        "canonical": None if found.canonical_key is None else key_to_url(found.canonical_key),
        "robots": {"index": not found.noindex, "follow": not found.nofollow, "archive": not found.noarchive},
        "charset": found.charset,
        "charset_source": found.charset_source,
        "language": found.language,
        "refresh": _refresh(found),
        "media_type": found.media_type,
        "truncated": found.truncated,
        "flags": found.flags or [],
        "embeds": _embeds(found),
    }


def _refresh(found: ParsedPage) -> dict[str, Any] | None:
    if found.refresh_delay_s is None:
        return None
    told: dict[str, Any] = {"delay": found.refresh_delay_s, "url": found.refresh_url}
    if found.refresh_refused is not None:
        told["refused"] = found.refresh_refused
    return told


def _links(found: ParsedPage) -> list[dict[str, Any]]:
    links = found.links
    columns = zip(links.urls, links.keys, links.anchors, links.nofollows, links.kinds, strict=True)
    return [
        {"url": url or key_to_url(key), "anchor": anchor, "rel": "nofollow" if nofollow else None}
        for url, key, anchor, nofollow, kind in columns
        if kind in PAGE_LINKS
    ]


def _embeds(found: ParsedPage) -> list[dict[str, Any]]:
    links = found.links
    columns = zip(links.urls, links.keys, links.anchors, links.kinds, strict=True)
    return [
        {"url": url or key_to_url(key), "kind": kind, "words": words}
        for url, key, words, kind in columns
        if kind in EMBED_KINDS
    ]


def story(found: Answer) -> Story:
    """The answer for a person."""
    lines: Story = [("url", found["url"])]
    status = found["status"] + ("" if found["error"] is None else f", {found['error']}")
    lines.append(("parsed", status))
    if found["error"] is not None:
        lines.append(("", reason_text(found["error"]) or ""))
    lines.append(("media type", found["media_type"] or "unknown"))
    if found["charset"] is not None:
        lines.append(("charset", f"{found['charset']}, told by {found['charset_source']}"))
    robots = found["robots"]
    said = [name for name in ("index", "follow", "archive") if not robots[name]]
    lines.append(("robots", ", ".join(f"no{name}" for name in said) or "nothing forbidden"))
    for label, name in (("language", "language"), ("title", "title"), ("description", "description")):
        if found[name]:
            lines.append((label, found[name]))
    if found["base"] not in (None, found["url"]):
        lines.append(("base", found["base"]))
    if found["canonical"] is not None:
        lines.append(("canonical", found["canonical"]))
    if found["refresh"] is not None:
        lines.append(("refresh", _refresh_text(found["refresh"])))
    if found["truncated"]:
        lines.append(("truncated", "yes: what stands behind the cut is not known"))
    lines += [("flag", f"{flag}: {FLAGS[flag]}") for flag in found["flags"]]
    if found["text"] is not None:
        lines.append(("text", _shown(found["text"])))
        lines.append(("main text", _shown(found["main_text"]) if found["main_text"] else "none stands out"))
    if found["embeds"]:
        kinds = Counter(embed["kind"] for embed in found["embeds"])
        lines.append(("embeds", ", ".join(f"{kind} {count:,}" for kind, count in sorted(kinds.items()))))
    return lines + _link_lines(found)


def _refresh_text(refresh: Answer) -> str:
    refused = refresh.get("refused")
    if refused is not None:
        return f"after {refresh['delay']} s, not followed: {refused}: {reason_text(refused) or _NO_URL}"
    return f"after {refresh['delay']} s to {refresh['url'] or 'itself'}"


def _shown(text: str) -> str:
    return f"{len(text):,} characters: {plain(text, SHOWN_CHARS)}" if text else "none"


def _link_lines(found: Answer) -> Story:
    links, dropped = found["links"], found["links_dropped"]
    head = f"{len(links):,}" + (f", and {dropped:,} references that lead to no page" if dropped else "")
    lines: Story = [("links", head)]
    for link in links[:SHOWN_LINKS]:
        notes = [note for note in (link["anchor"], link["rel"]) if note]
        lines.append(("", link["url"] + (f"  ({'; '.join(notes)})" if notes else "")))
    if len(links) > SHOWN_LINKS:
        lines.append(("", f"… and {len(links) - SHOWN_LINKS:,} more"))
    return lines
