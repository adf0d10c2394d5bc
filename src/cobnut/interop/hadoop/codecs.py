"""How are values and blocks packed and unpacked?

A codec has the name of the Java class that stands in the file. DefaultCodec is a zlib stream, GzipCodec gzip,
BZip2Codec bzip2. What a stream may grow to is limited. A stream that is cut, damaged or too large is a `FormatError`; a
codec that is not known here an `UnknownClassError` that names it.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cobnut.interop.hadoop.data import MAX_INFLATED_BYTES, gzip_as_java
from cobnut.interop.hadoop.errors import CutError, FormatError, UnknownClassError

_PACKAGE = "org.apache.hadoop.io.compress."
DEFAULT_CODEC = _PACKAGE + "DefaultCodec"
GZIP_CODEC = _PACKAGE + "GzipCodec"
BZIP2_CODEC = _PACKAGE + "BZip2Codec"


class Unpack(Protocol):
    def __call__(self, data: bytes, most_bytes: int = ..., /) -> bytes: ...


@dataclass(frozen=True)
class Codec:
    """`pack` and `unpack` turn bytes into their packed form and back; `name` is the Java class."""

    name: str
    pack: Callable[[bytes], bytes]
    unpack: Unpack


def codec_of(name: str, path: str | None = None) -> Codec:
    """The codec that a file calls *name*."""
    found = _KNOWN.get(name)
    if found is None:
        known = ", ".join(sorted(known.rpartition(".")[2] for known in _KNOWN))
        raise UnknownClassError(
            f"it is compressed with {name[:200]!r}, which is not known here (known are {known})", name, path=path
        )
    return Codec(name, *found)


class _Machine(Protocol):
    """What unpacks a stream step by step: of zlib or of bz2."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, most: int, /) -> bytes: ...


def _stream(data: bytes, machine: _Machine, most_bytes: int, before: int = 0) -> bytes:
    """What *machine* makes of *data*: a stream that has ended, at most *most_bytes* with those that came *before*."""
    try:
        plain = machine.decompress(data, most_bytes - before + 1)
    except (zlib.error, OSError, ValueError) as error:
        raise FormatError(f"a compressed value that cannot be read ({error})") from None
    if before + len(plain) > most_bytes:
        raise FormatError(f"a compressed value of more than {most_bytes} bytes")
    if not machine.eof:
        raise CutError("a compressed value that is cut")
    return plain


def _members(data: bytes, new_machine: Callable[[], _Machine], most_bytes: int) -> bytes:
    """All streams that follow each other in *data*."""
    parts: list[bytes] = []
    before = 0
    while data or not parts:
        machine = new_machine()
        parts.append(_stream(data, machine, most_bytes, before))
        before += len(parts[-1])
        data = machine.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _unpack_zlib(data: bytes, most_bytes: int = MAX_INFLATED_BYTES) -> bytes:
    return _stream(data, zlib.decompressobj(15), most_bytes)


def _unpack_gzip(data: bytes, most_bytes: int = MAX_INFLATED_BYTES) -> bytes:
    return _members(data, lambda: zlib.decompressobj(31), most_bytes)


def _unpack_bzip2(data: bytes, most_bytes: int = MAX_INFLATED_BYTES) -> bytes:
    return _members(data, bz2.BZ2Decompressor, most_bytes)


_KNOWN: dict[str, tuple[Callable[[bytes], bytes], Unpack]] = {
    DEFAULT_CODEC: (zlib.compress, _unpack_zlib),
    _PACKAGE + "DeflateCodec": (zlib.compress, _unpack_zlib),
    GZIP_CODEC: (gzip_as_java, _unpack_gzip),
    BZIP2_CODEC: (bz2.compress, _unpack_bzip2),
}
