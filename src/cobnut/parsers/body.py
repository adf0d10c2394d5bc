"""What did the server mean to send, once its Content-Encoding is undone?

Takes the body as received (and as the WARC file keeps it) and gives the decoded bytes, never more than a cap.
What is broken yields what could be read before the break, with a reason.

Not here: charsets (`text.charset`), Transfer-Encoding (undone by the fetcher).
Source: RFC 9110 8.4 (codings are listed in the order they were applied), RFC 1950 to 1952, RFC 7932.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from itertools import islice

import msgspec

BAD_ENCODING = "bad_encoding"
TOO_LARGE = "too_large"

MAX_CODINGS = 4
_PIECE = 1 << 16
_IDENTITY = ("", "identity", "none")


class DecodedBody(msgspec.Struct, frozen=True):
    """The decoded bytes; `cut` when the cap ended them; `reason` says what was wrong, if anything was."""

    data: bytes
    cut: bool = False
    reason: str | None = None


def undo_encoding(body: bytes, content_encoding: str | None, cap: int) -> DecodedBody:
    """Undoes every coding that `content_encoding` lists, the last one first; at most `cap` bytes come out.

    >>> import gzip
    >>> undo_encoding(gzip.compress(b"hello"), "gzip", 100).data
    b'hello'
    >>> undo_encoding(gzip.compress(b"hello"), "gzip", 3)
    DecodedBody(data=b'hel', cut=True, reason='too_large')

    Servers that announce a coding and send plain text are common: a body that does not even begin like the coding
    announced is taken as it came, with the reason kept.
    """
    codings = [c.strip().lower() for c in (content_encoding or "").split(",")]
    codings = [c for c in codings if c not in _IDENTITY]
    if len(codings) > MAX_CODINGS:
        return DecodedBody(b"", reason=BAD_ENCODING)
    reason, cut = None, False
    for coding in reversed(codings):
        if not body:
            break
        undo = _DECODERS.get(coding)
        if undo is None:
            return DecodedBody(b"", reason=BAD_ENCODING)
        decoded, broken = _take(undo, body, cap)
        if broken:
            reason = BAD_ENCODING
            if not decoded and not _begins_like(coding, body):
                decoded = body
        cut = cut or len(decoded) > cap
        body = decoded[:cap] if len(decoded) > cap else decoded
    if len(body) > cap:
        body, cut = body[:cap], True
    return DecodedBody(body, cut, reason or (TOO_LARGE if cut else None))


def gunzip(body: bytes, cap: int) -> DecodedBody:
    """A gzip file (a sitemap is often sent as one), whatever the headers say."""
    return undo_encoding(body, "gzip", cap)


def _take(undo: Callable[[bytes], Iterator[bytes]], body: bytes, cap: int) -> tuple[bytes, bool]:
    """What a decoder yields until it ends, breaks, or has given more than `cap`; whether it broke."""
    pieces: list[bytes] = []
    size = 0
    try:
        for piece in undo(body):
            pieces.append(piece)
            size += len(piece)
            if size > cap:
                break
    except (zlib.error, ValueError, EOFError):
        return b"".join(pieces), True
    return b"".join(pieces), False


def _inflate(body: bytes, wbits: int) -> Iterator[bytes]:
    """All members of a gzip or zlib stream; what follows the last one is ignored, as browsers do."""
    first = True
    while body:
        unpack = zlib.decompressobj(wbits)
        try:
            data = unpack.decompress(body, _PIECE)
            yield data
            while not unpack.eof:
                rest = unpack.unconsumed_tail
                data = unpack.decompress(rest, _PIECE)
                if not data and not unpack.eof and len(unpack.unconsumed_tail) == len(rest):
                    raise EOFError("the compressed stream ends early")
                yield data
        except zlib.error:
            if first:
                raise
            return
        first = False
        body = unpack.unused_data.lstrip(b"\0")
        if wbits != 31 or not body.startswith(b"\x1f\x8b"):
            return


def _gzip(body: bytes) -> Iterator[bytes]:
    return _inflate(body, 31)


def _deflate(body: bytes) -> Iterator[bytes]:
    """RFC 9110 means zlib; many servers send raw deflate."""
    is_zlib = len(body) > 1 and body[0] & 15 == 8 and (body[0] << 8 | body[1]) % 31 == 0
    return _inflate(body, 15 if is_zlib else -15)


def _brotli(body: bytes) -> Iterator[bytes]:
    import brotli

    unpack = brotli.Decompressor()
    try:
        data = unpack.process(body, output_buffer_limit=_PIECE)
        yield data
        while not unpack.is_finished():  # it may hold output back even when it says that it can accept more input
            data = unpack.process(b"", output_buffer_limit=_PIECE)
            if not data and not unpack.is_finished():
                raise EOFError("the compressed stream ends early")
            yield data
    except brotli.error as broken:
        raise ValueError("not brotli") from broken


_DECODERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
}


def _begins_like(coding: str, body: bytes) -> bool:
    """Whether a body that did not decode was nonetheless meant to be compressed."""
    if coding in ("gzip", "x-gzip"):
        return body.startswith(b"\x1f\x8b")
    return any(byte < 9 or 13 < byte < 32 for byte in islice(body, 256))
