"""Which media type is this body really?

The header is believed, except where the bytes carry the signature of something else: servers call PDF files
text/html, and images application/octet-stream. text/plain stays text, even if it looks like HTML. A body
without a usable type is sniffed.

Source: WHATWG MIME Sniffing 5 and 7 (in the subset that matters for a text crawler).
"""

from __future__ import annotations

import re

HTML = "text/html"
XHTML = "application/xhtml+xml"
PLAIN = "text/plain"
XML = "application/xml"
OCTETS = "application/octet-stream"

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"{\\rtf", "application/rtf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"OggS\0", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x7fELF", "application/x-elf"),
    (b"\0asm", "application/wasm"),
)
_FIRST = frozenset(signature[0] for signature, _ in _SIGNATURES) | {ord("R")}
_OFFICE = re.compile(r"application/(?:vnd\.|epub|java-archive|x-zip|zip|msword|x-)")
_TYPE = re.compile(r"^[!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+$")
_UNUSABLE = frozenset(("unknown/unknown", "application/unknown", "*/*"))
_HTML_START = re.compile(
    rb"\s*(?:<!doctype\s+html|<(?:html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta|frameset|base)[\s/>]|<!--)",
    re.IGNORECASE,
)
_FEED_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}>)?(?:\s|<!--(?:[^-]|-(?!->)){0,1000}-->|<\?[^>]{0,500}\?>)*"
    rb"<(?:rss|feed|rdf:RDF|urlset|sitemapindex)[\s>]"
)
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def essence(content_type: str | None) -> str | None:
    """The type without parameters, in lower case; None for what is no media type.

    >>> essence("Text/HTML; charset=x"), essence("text"), essence(None)
    ('text/html', None, None)
    """
    if not content_type:
        return None
    bare = content_type.partition(";")[0].strip().lower()
    return bare if _TYPE.match(bare) and bare not in _UNUSABLE else None


def last_content_type(values: list[str]) -> str | None:
    """The Content-Type that counts among several: the last usable one (Fetch standard, "extract a MIME type")."""
    for value in reversed(values):
        if essence(value):
            return value
    return values[-1] if values else None


def signature(body: bytes) -> str | None:
    """The type whose file signature the body begins with."""
    if not body or body[0] not in _FIRST:
        return None
    for start, name in _SIGNATURES:
        if body.startswith(start):
            return name
    if body.startswith(b"RIFF") and body[8:12] == b"WEBP":
        return "image/webp"
    return None


def detect(content_type: str | None, body: bytes) -> str:
    """The media type to treat the body as.

    >>> detect("text/html", b"%PDF-1.4 ..."), detect("text/plain", b"<html>"), detect(None, b"<html>")
    ('application/pdf', 'text/plain', 'text/html')
    """
    said = essence(content_type)
    found = signature(body)
    if found is not None:
        if found == "application/zip" and said and _OFFICE.match(said):
            return said
        return found
    if said is None:
        return _sniff(body)
    if said == HTML and _FEED_START.match(body[:4096]):
        return XML
    if said == PLAIN and _is_binary(body):
        return OCTETS
    return said


def _sniff(body: bytes) -> str:
    start = body[:1445]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return HTML if _HTML_START.match(start[2:].replace(b"\0", b"")) else PLAIN
    if start.startswith(b"\xef\xbb\xbf"):
        start = start[3:]
    if _HTML_START.match(start):
        return HTML
    if start.lstrip().startswith(b"<?xml") or _FEED_START.match(start):
        return XML
    return OCTETS if _is_binary(start) else PLAIN


def _is_binary(body: bytes) -> bool:
    start = body[:1445]
    return not start.startswith((b"\xff\xfe", b"\xfe\xff")) and _CONTROL.search(start) is not None


def is_html(media_type: str) -> bool:
    """Whether it is read as HTML."""
    return media_type in (HTML, XHTML)


def is_xml(media_type: str) -> bool:
    """Whether it may be a feed or a sitemap; the root element decides."""
    if media_type in (XHTML, "image/svg+xml"):
        return False
    return media_type in (XML, "text/xml") or media_type.endswith("+xml")
