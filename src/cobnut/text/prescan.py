"""Which charset does a document declare in its own first bytes?

The prescan of the HTML standard (13.2.3.2, "prescan a byte stream to determine its encoding"): tags and attributes
are read as a browser would, comments and other markup skipped; the first usable declaration counts. Gives the
label as written; what a label means is `charset`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

PRESCAN_BYTES = 1_024
"""How far the standard looks."""

_LATE_BYTES = 65_536
_RAW = re.compile(rb"<(script|style|textarea|title|xmp)(?=[\t\n\f\r />])")

_TOKEN = re.compile(
    rb"<!--(?P<comment>)"
    rb"|<(?P<meta>[mM][eE][tT][aA])(?=[\t\n\f\r /])"
    rb"|<(?P<tag>/?[A-Za-z][^\t\n\f\r >]*)"
    rb"|<[!/?](?P<other>)"
)
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*+(?!>)([^\t\n\f\r />][^\t\n\f\r />=]*+)"
    rb"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:\"([^\"]*+)\"|'([^']*+)'|(?![\"'])([^\t\n\f\r >]*+)))?"
)
_IN_CONTENT = re.compile(
    rb"(?i)charset[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:\"([^\"]+)\"|'([^']+)'|([^\t\n\f\r ;\"'][^\t\n\f\r ;]*+))"
)
_XML_ENCODING = re.compile(rb"<\?xml[^>]*?[\t\n\f\r ]encoding[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)')")
_UTF16_XML = ((b"<\0?\0x\0", "utf-16le"), (b"\0<\0?\0x", "utf-16be"))


def xml_encoding(body: bytes) -> str | None:
    """The encoding in the XML declaration at the start of `body`; None when there is none."""
    for start, charset in _UTF16_XML:
        if body.startswith(start):
            return charset
    head = body[:PRESCAN_BYTES]
    if not head.startswith(b"<?xml"):
        return None
    match = _XML_ENCODING.match(head)
    return None if match is None else (match[1] or match[2] or b"").decode("latin-1").strip() or None


def late_prescan(body: bytes) -> str | None:
    """The label in a `meta` beyond where the standard looks, up to 64 KiB; None when there is none.

    Browsers find it when they parse (HTML standard 13.2.3.4, "changing the encoding while parsing"). Scripts and
    styles are passed over.
    """
    head = body[:_LATE_BYTES]
    if b"charset" not in head[PRESCAN_BYTES - 16 :].lower():
        return None
    return _meta_label(_without_scripts(head))


def _without_scripts(head: bytes) -> bytes:
    lower, kept, at = head.lower(), [], 0
    while (start := _RAW.search(lower, at)) is not None:
        kept.append(head[at : start.start()])
        end = lower.find(b"</" + start[1], start.end())
        if end < 0:
            return b"".join(kept)
        at = end
    return b"".join([*kept, head[at:]])


def prescan(body: bytes) -> str | None:
    """The label that an HTML document declares, in a `meta` or else in its XML declaration; None when in neither."""
    for start, charset in _UTF16_XML:
        if body.startswith(start):
            return charset
    head = body[:PRESCAN_BYTES]
    if b"charset" in head.lower():
        label = _meta_label(head)
        if label is not None:
            return label
    return xml_encoding(head)


def _meta_label(head: bytes) -> str | None:
    at = 0
    while (token := _TOKEN.search(head, at)) is not None:
        if token["comment"] is not None:
            end = head.find(b"-->", token.start() + 2)
            if end < 0:
                return None
            at = end + 3
        elif token["other"] is not None:
            end = head.find(b">", token.end())
            if end < 0:
                return None
            at = end + 1
        else:
            attributes, at = _attributes(head, token.end())
            if token["meta"] is not None and (label := _declared(attributes)) is not None:
                return label
    return None


def _attributes(head: bytes, at: int) -> tuple[list[tuple[bytes, bytes]], int]:
    """(name, value) pairs of a tag from `at` on, the first of each name, and where the tag ends."""
    found: dict[bytes, bytes] = {}
    while (match := _ATTRIBUTE.match(head, at)) is not None and match.end() > at:
        found.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")
        at = match.end()
    return list(found.items()), at


def _declared(attributes: list[tuple[bytes, bytes]]) -> str | None:
    """The label in the attributes of one `meta`; None when it has none or one that is only half there."""
    got_pragma = need_pragma = False
    label: str | None = None
    for name, value in attributes:
        if name == b"http-equiv":
            got_pragma = value.lower() == b"content-type"
        elif name == b"content" and label is None:
            label = next(_labels_in(value), None)
            need_pragma = label is not None
        elif name == b"charset":
            label = value.decode("latin-1").strip()
            need_pragma = False
    return None if label is None or (need_pragma and not got_pragma) else label


def _labels_in(content: bytes) -> Iterator[str]:
    for match in _IN_CONTENT.finditer(content):
        yield (match[1] or match[2] or match[3]).decode("latin-1").strip()
