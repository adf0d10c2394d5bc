"""How are the characters of a query encoded on a page that is not in UTF-8?

A browser sends the query of a link in the charset of the page it stands on (URL standard, query state; Encoding
standard, "percent-encode after encoding"): `?q=é` on a windows-1252 page asks for `?q=%E9`. A character that the
charset lacks is sent as `%26%23NNN%3B`. Paths and hosts are always UTF-8. The output charset of UTF-16 pages is
UTF-8.
"""

from __future__ import annotations

import codecs
from functools import lru_cache

_STRIPPED = "".join(map(chr, range(0x21)))  # C0 controls and space: stripped from both ends by the parser
_REMOVED = {ord(character): None for character in "\t\n\r"}
_SAFE = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")
_OUTPUT = {"gb18030": "gb18030", "gbk": "gbk", "shift_jis": "cp932", "euc-kr": "cp949", "big5": "big5hkscs"}
_UNICODE = ("utf-8", "utf-16le", "utf-16be", "replacement", "x-user-defined")


def _as_reference(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(f"%26%23{ord(character)}%3B" for character in missing), error.end


codecs.register_error("cobnut.urls.query", _as_reference)


@lru_cache(maxsize=128)
def output_codec(charset: str) -> str | None:
    """The codec that queries of a page in `charset` (any label) are written in; None: UTF-8."""
    import webencodings

    found = webencodings.lookup(charset)
    if found is None or found.name in _UNICODE:
        return None
    return _OUTPUT.get(found.name) or str(found.codec_info.name)


def encode_query(reference: str, codec: str) -> str:
    """`reference` with the characters of its query percent-encoded in `codec`; everything else as it was.

    >>> encode_query("/é?q=é", "cp1252")
    '/é?q=%E9'
    """
    if reference.isascii() or "?" not in reference:
        return reference
    reference = reference.strip(_STRIPPED).translate(_REMOVED)  # as the parser does: they must not be encoded here
    start = reference.find("?")
    end = reference.find("#", start)
    if end < 0:
        end = len(reference)
    query = reference[start + 1 : end]
    if query.isascii():
        return reference
    coded = query.encode(codec, "cobnut.urls.query")
    text = "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in coded)
    return f"{reference[: start + 1]}{text}{reference[end:]}"
