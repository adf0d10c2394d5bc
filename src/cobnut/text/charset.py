"""Which characters do these bytes stand for?

Asked in this order, the first answer counts (HTML standard 13.2.3.2, Encoding standard):

1. `bom`: a byte order mark of UTF-8 or UTF-16;
2. `header`: the charset in Content-Type;
3. `meta`: what the document declares in its first 1,024 bytes: `<meta charset>`, `<meta http-equiv=content-type>`,
   or the XML declaration; in XML the declaration alone counts. A `meta` further down is believed where the bytes
   are not UTF-8;
4. `utf8`: the bytes are valid UTF-8 (over 95 % of undeclared pages), or nearly (a cut or damaged page);
5. `guess`: what the bytes look like, helped by the top-level domain.

Labels are those of the Encoding standard: ISO-8859-1 means windows-1252, gb2312 means GBK, and so on. A label is
believed even where the bytes would also be valid UTF-8, as browsers do. It is not believed in one case: it says
UTF-8 and most of what is beyond ASCII is not UTF-8 (a server that adds `charset=utf-8` to everything). Then the
next answer in the list counts.

Malformed bytes become U+FFFD; nothing here raises.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Literal

import msgspec

from cobnut.text.prescan import late_prescan, prescan, xml_encoding

Source = Literal["bom", "header", "meta", "utf8", "guess", "none"]


class Decoded(msgspec.Struct, frozen=True):
    """The text, the charset it was read in (its name in the Encoding standard, lower case), and what told it.

    `source` is `none` for an empty body.
    """

    text: str
    charset: str
    source: Source


_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_CHARSET = re.compile(r"""(?i)(?:^|;)\s*charset\s*=\s*(?:"([^"]*)"?|'([^']*)'?|([^;,\s"']+))""")
_XML_TYPE = re.compile(r"(?i)\s*(?:(?:text|application)/xml|[^;\s]+\+xml)\s*(?:;|$)")
_GUESS_BYTES = 65_536
"""Bytes the detector looks at, from shortly before the first that is not UTF-8: it reads some 20 MB a second."""

_ON_ERROR = {f"windows-125{number}": "cobnut.text.c1" for number in range(9)}
_ON_ERROR |= {"windows-874": "cobnut.text.c1", "gbk": "cobnut.text.euro", "gb18030": "cobnut.text.euro"}


def _c1(error: UnicodeError) -> tuple[str, int]:
    """Bytes that Python's Windows code pages leave open are control characters in the standard, 0x80 to 0x9F."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(chr(byte) if byte < 0xA0 else "\ufffd" for byte in bad), error.end


def _euro(error: UnicodeError) -> tuple[str, int]:
    """Byte 0x80 by itself is the euro sign in GBK and GB18030 (Encoding standard 10.2.1)."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "€" if error.object[error.start] == 0x80 else "\ufffd", error.end


codecs.register_error("cobnut.text.c1", _c1)
codecs.register_error("cobnut.text.euro", _euro)


@lru_cache(maxsize=512)
def charset_of_label(label: str) -> str | None:
    """The name, in the Encoding standard, of the charset that this label means; None when it means none."""
    import webencodings

    found = webencodings.lookup(label)
    return None if found is None else str(found.name)


@lru_cache(maxsize=128)
def _codec(charset: str) -> str:
    import webencodings

    if charset in ("gbk", "gb18030"):
        return "gb18030"  # the decoder of both (Encoding standard 10.1.1)
    return str(webencodings.lookup(charset).codec_info.name)


def header_charset(content_type: str) -> str | None:
    """The charset that a Content-Type names, as `charset_of_label`; None when it names none that is known.

    >>> header_charset('text/html; charset="ISO-8859-1"')
    'windows-1252'
    """
    return _header_charset(content_type[:1_000])


@lru_cache(maxsize=1024)
def _header_charset(content_type: str) -> str | None:
    match = _CHARSET.search(content_type)
    return None if match is None else charset_of_label((match[1] or match[2] or match[3] or "").strip())


def decode_as(body: bytes, charset: str) -> str:
    """`body` read in a charset of the Encoding standard; malformed bytes become U+FFFD."""
    if charset == "utf-8":
        return body.decode("utf-8", "replace")
    if charset == "replacement":  # charsets that are not safe to decode: the standard gives one U+FFFD for all
        return "\ufffd" if body else ""
    if charset == "x-user-defined":
        return body.decode("latin-1").translate(_USER_DEFINED)
    return body.decode(_codec(charset), _ON_ERROR.get(charset, "replace"))


_USER_DEFINED = {byte: 0xF700 + byte for byte in range(0x80, 0x100)}


def decode(body: bytes, content_type: str | None, host: str | None) -> Decoded:
    """The text of a document. `content_type` is the header's value; `host`, with its top-level domain, helps to
    guess.

    >>> decode(b"caf\\xe9", "text/html; charset=latin1", None)
    Decoded(text='café', charset='windows-1252', source='header')
    """
    if not body:
        return Decoded("", "utf-8", "none")
    for mark, charset in _BOMS:
        if body.startswith(mark):
            return Decoded(decode_as(body[len(mark) :], charset), charset, "bom")
    named = None if content_type is None else header_charset(content_type)
    if named is not None:
        found = _believed(body, named, "header")
        if found is not None:
            return found
    declared = _declared(body, content_type)
    if declared is not None and declared != named:
        found = _believed(body, declared, "meta")
        if found is not None:
            return found
    return _undeclared(body, content_type, host)


def _declared(body: bytes, content_type: str | None) -> str | None:
    is_xml = content_type is not None and _XML_TYPE.match(content_type) is not None
    label = xml_encoding(body) if is_xml else prescan(body)
    if label is None:
        return None
    charset = charset_of_label(label)
    if charset in ("utf-16le", "utf-16be"):
        # it was read as ASCII, so it is not UTF-16 (HTML standard), unless the declaration itself is written in it
        return charset if body[:1] == b"\0" or body[1:2] == b"\0" else "utf-8"
    return "windows-1252" if charset == "x-user-defined" else charset


def _believed(body: bytes, charset: str, source: Literal["header", "meta"]) -> Decoded | None:
    """The text in the charset that a label names; None when it says UTF-8 and that is not so."""
    if charset != "utf-8":
        return Decoded(decode_as(body, charset), charset, source)
    try:
        return Decoded(body.decode(), charset, source)
    except UnicodeDecodeError:
        text = body.decode("utf-8", "replace")
        bad, good = _tally(text)
        return None if bad >= 3 and bad > good else Decoded(text, charset, source)


def _tally(text: str) -> tuple[int, int]:
    """(replacement characters, other characters beyond ASCII)"""
    bad = text.count("\ufffd")
    return bad, len(text) - bad - len(text.encode("ascii", "ignore"))


def _undeclared(body: bytes, content_type: str | None, host: str | None) -> Decoded:
    if b"\x1b" in body and b"\x1b$" in body and _guess(body, body.index(b"\x1b$"), host).lower() == "iso-2022-jp":
        return Decoded(decode_as(body, "iso-2022-jp"), "iso-2022-jp", "guess")  # all its bytes are ASCII
    try:
        return Decoded(body.decode(), "utf-8", "utf8")
    except UnicodeDecodeError as error:
        first_bad = error.start
    text = body.decode("utf-8", "replace")
    bad, good = _tally(text)
    if good >= 20 * bad or (good and bad == 1 and text.endswith("\ufffd")):
        return Decoded(text, "utf-8", "utf8")  # cut in the middle of a character, or damaged at a few places
    late = late_prescan(body) if content_type is None or not _XML_TYPE.match(content_type) else None
    named = None if late is None else charset_of_label(late)
    if named is not None and named != "utf-8" and not named.startswith("utf-16"):
        return Decoded(decode_as(body, named), named, "meta")
    charset = charset_of_label(_guess(body, first_bad, host)) or "windows-1252"
    if charset == "gb18030":
        charset = "gbk"  # the detector knows GBK alone; this is the name of the codec that reads it
    return Decoded(decode_as(body, charset), charset, "guess")


def _guess(body: bytes, first_bad: int, host: str | None) -> str:
    from chardetng_py import EncodingDetector

    detector = EncodingDetector()
    start = max(0, first_bad - 1_024)
    detector.feed(body[start : start + _GUESS_BYTES], last=True)
    tld = (host or "").rstrip(".").rpartition(".")[2].lower()
    usable = tld.isascii() and tld.replace("-", "").isalnum() and not tld.isdigit()
    return str(detector.guess(tld=tld.encode() if usable else None, allow_utf8=False))
