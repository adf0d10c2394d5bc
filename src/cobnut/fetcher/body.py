"""How much of a body is kept while it streams in?

Counts what arrives and what it decodes to, and says stop at the cap: a bomb of a few kilobytes that would
decode to gigabytes ends after the first pieces. The body is kept as received (the archive wants it so); of
the decoded bytes only their number and digest are kept. Large bodies move to a temporary file when all bodies
of the worker together are large.

Source: RFC 9110 section 8.4; a body that does not begin like the coding it announces counts as it came, as
`parsers.body` reads it.
"""

from __future__ import annotations

import hashlib
import tempfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

SPILL_ALL_BYTES = 96 * 1024 * 1024
SPILL_ONE_BYTES = 512 * 1024
_PIECE = 1 << 16


class BodyBudget:
    """Bytes of bodies that one worker holds in memory."""

    __slots__ = ("folder", "held")

    def __init__(self, folder: str | None = None) -> None:
        self.held, self.folder = 0, folder


class Body:
    """One body while it arrives. `add` says whether more is wanted."""

    __slots__ = (
        "_budget", "_cap", "_coding", "_decoded_bytes", "_decoder", "_file", "_md5", "_pieces", "_undecided",
        "broken", "received", "truncated",
    )  # fmt: skip

    def __init__(self, cap: int, content_encoding: str, budget: BodyBudget) -> None:
        self._cap, self._budget = cap, budget
        codings = [
            c for c in (p.strip().lower() for p in content_encoding.split(",")) if c not in ("", "identity", "none")
        ]
        # several codings at once are rare: the parser undoes them, the digest is of what came
        self._coding = codings[0] if len(codings) == 1 else ""
        self._decoder: Any = None
        self._undecided = b""
        self._pieces: list[bytes] = []
        self._file: IO[bytes] | None = None
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._decoded_bytes = 0
        self.received = 0
        self.broken = self._coding not in ("", "gzip", "x-gzip", "deflate", "br")
        self.truncated = False

    def add(self, data: bytes) -> bool:
        """Takes the next piece; False when the cap is reached and the rest is not wanted."""
        room = self._cap - self.received
        whole = len(data) <= room
        if not whole:
            data = data[:room]
        self._keep(data)
        if self._coding and not self.broken:
            try:
                for piece in self._decode(data):
                    self._decoded_bytes += len(piece)
                    if self._decoded_bytes > self._cap:
                        over = self._decoded_bytes - self._cap
                        self._md5.update(piece[: len(piece) - over])
                        whole = False
                        break
                    self._md5.update(piece)
            except Exception as error:
                if not _is_decode_error(error):
                    raise
                self._break()
        else:
            self._md5.update(data)
            self._decoded_bytes += len(data)
        if not whole:
            self.truncated = True
        return whole

    def finish(self) -> tuple[bytes, bytes | None]:
        """The body as received and the MD5 of its decoded bytes (None when there are none)."""
        data = self._take()
        return data, self._md5.digest() if self._decoded_bytes else None

    def release(self) -> None:
        """Forgets everything."""
        self._take()

    def _take(self) -> bytes:
        if self._file is not None:
            self._file.seek(0)
            data = self._file.read()
            self._file.close()
            self._file = None
            return data
        data = b"".join(self._pieces) if len(self._pieces) != 1 else self._pieces[0]
        self._budget.held -= len(data)
        self._pieces = []
        return data

    def _keep(self, data: bytes) -> None:
        self.received += len(data)
        if self._file is not None:
            self._file.write(data)
            return
        self._pieces.append(data)
        self._budget.held += len(data)
        if self._budget.held > SPILL_ALL_BYTES and self.received > SPILL_ONE_BYTES:
            held = self._take()
            self._file = tempfile.TemporaryFile(dir=self._budget.folder)  # noqa: SIM115 - lives as long as the body
            self._file.write(held)

    def _break(self) -> None:
        """The coding does not decode: what came before counts; a body that never decoded counts as received."""
        self.broken = True
        if self._decoded_bytes == 0:
            self._md5 = hashlib.md5(usedforsecurity=False)
            for piece in self._pieces:
                self._md5.update(piece)
            if self._file is not None:
                self._file.seek(0)
                while piece := self._file.read(_PIECE):
                    self._md5.update(piece)
            self._decoded_bytes = self.received

    def _decode(self, data: bytes) -> Iterator[bytes]:
        if not data:
            return
        if self._coding == "br":
            yield from self._brotli(data)
        else:
            yield from self._inflate(data)

    def _brotli(self, data: bytes) -> Iterator[bytes]:
        if self._decoder is None:
            import brotli

            self._decoder = brotli.Decompressor()
        if self._decoder.is_finished():
            return
        piece = self._decoder.process(data, output_buffer_limit=_PIECE)
        # it may hold output back even when it says that it can accept more input: ask until nothing comes
        while piece:
            yield piece
            piece = b"" if self._decoder.is_finished() else self._decoder.process(b"", output_buffer_limit=_PIECE)

    def _inflate(self, data: bytes) -> Iterator[bytes]:
        data, self._undecided = self._undecided + data, b""
        if self._decoder is None:
            if len(data) < 2:
                self._undecided = data
                return
            # "deflate" is zlib's format by the standard and raw deflate in the wild
            gzipped = data[:1] == b"\x1f" or self._coding != "deflate"
            self._decoder = zlib.decompressobj(31 if gzipped else (15 if _looks_like_zlib(data) else -15))
        while data:
            if self._decoder.eof:  # a further member, or trailing rubbish, which is none of our business
                if len(data) < 2:
                    self._undecided = data
                    return
                if data[:2] != b"\x1f\x8b":
                    return
                self._decoder = zlib.decompressobj(31)
            piece = self._decoder.decompress(data, _PIECE)
            yield piece
            while len(piece) == _PIECE and not self._decoder.unconsumed_tail and not self._decoder.eof:
                piece = self._decoder.decompress(b"", _PIECE)  # all is read, but not all is given
                yield piece
            data = self._decoder.unconsumed_tail or self._decoder.unused_data


def _looks_like_zlib(data: bytes) -> bool:
    return len(data) >= 2 and data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0


def _is_decode_error(error: Exception) -> bool:
    return isinstance(error, zlib.error) or type(error).__module__.split(".")[0] in ("brotli", "_brotli")


def decode_all(data: bytes, coding: str, cap: int) -> bytes:
    """A whole body decoded, up to `cap` bytes; what is broken ends it."""
    body = Body(len(data) + 1, coding, BodyBudget())
    pieces: list[bytes] = []
    size = 0
    try:
        for piece in body._decode(data):
            pieces.append(piece)
            size += len(piece)
            if size >= cap:
                break
    except Exception as error:
        if not _is_decode_error(error):
            raise
    return b"".join(pieces)[:cap]
