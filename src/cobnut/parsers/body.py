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
_CRUMB = 16
_SALVAGED = 4 << 20
"""Most that is made of a broken stream little by little, which is slow."""
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

    Servers that announce a coding and send plain text are common, and so are codings that nobody knows (`utf-8`): a
    body that is text is then taken as it came, with the reason kept. gzip and deflate are told by how a body begins:
    servers mix them up. What stands before a fault counts, and so does all of a body whose checksum is wrong.
    """
    codings = [c.partition(";")[0].strip().lower() for c in (content_encoding or "").split(",")]
    codings = [c for c in codings if c not in _IDENTITY]
    if len(codings) > MAX_CODINGS:
        return DecodedBody(b"", reason=BAD_ENCODING)
    reason, cut = None, False
    for coding in reversed(codings):
        if not body:
            break
        undo = _DECODERS.get(coding)
        decoded, broken = (b"", True) if undo is None else _take(undo, body, cap)
        if broken:
            reason = BAD_ENCODING
            if not decoded and not _looks_packed(body):
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
        done = 0
        try:
            data = unpack.decompress(body, _PIECE)
            done += len(data)
            yield data
            while not unpack.eof:
                rest = unpack.unconsumed_tail
                data = unpack.decompress(rest, _PIECE)
                if not data and not unpack.eof and len(unpack.unconsumed_tail) == len(rest):
                    raise EOFError("the compressed stream ends early")
                done += len(data)
                yield data
        except zlib.error:
            if not first:
                return
            yield from _salvage(body, wbits, done)
            raise
        first = False
        body = unpack.unused_data.lstrip(b"\0")
        if wbits != 31 or not body.startswith(b"\x1f\x8b"):
            return


def _salvage(body: bytes, wbits: int, done: int) -> Iterator[bytes]:
    """What a broken member holds behind the first `done` bytes. Fed little by little, the decoder gives all that
    stands before the fault, of which one call gives nothing; it is told nothing of the checksum."""
    if done >= _SALVAGED:
        return
    unpack = zlib.decompressobj(-15)
    size = 0
    try:
        for at in range(_header_size(body, wbits), len(body), _CRUMB):
            data = unpack.decompress(body[at : at + _CRUMB])
            size += len(data)
            if size > done:
                yield data[-(size - done) :]
                done = size
            if size >= _SALVAGED or unpack.eof:
                return
    except zlib.error:
        return


def _header_size(body: bytes, wbits: int) -> int:
    """Bytes before the deflate stream (RFC 1950 2.2, RFC 1952 2.3)."""
    if wbits == 31 and len(body) > 12:
        flags, at = body[3], 10
        if flags & 4:  # extra field
            at += 2 + (body[10] | body[11] << 8)
        for text in (8, 16):  # name, comment
            if flags & text:
                at = body.find(b"\0", at) + 1 or len(body)
        return at + (2 if flags & 2 else 0)
    return 2 if wbits == 15 else 0


def _gzip(body: bytes) -> Iterator[bytes]:
    return _inflate(body, 15 if _is_zlib(body) else 31)


def _deflate(body: bytes) -> Iterator[bytes]:
    """RFC 9110 means zlib; many servers send raw deflate, some gzip."""
    return _inflate(body, 31 if body.startswith(b"\x1f\x8b") else 15 if _is_zlib(body) else -15)


def _is_zlib(body: bytes) -> bool:
    return len(body) > 1 and body[0] & 15 == 8 and body[0] >> 4 < 8 and (body[0] << 8 | body[1]) % 31 == 0


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


def _looks_packed(body: bytes) -> bool:
    """Whether a body that did not decode is no text either."""
    return any(byte < 9 or (13 < byte < 32 and byte != 27) for byte in islice(body, 256))
