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

from cobnut.interop.hadoop.data import MAX_INFLATED_BYTES, gzip_as_java
from cobnut.interop.hadoop.errors import CutError, FormatError, UnknownClassError

_PACKAGE = "org.apache.hadoop.io.compress."
DEFAULT_CODEC = _PACKAGE + "DefaultCodec"
GZIP_CODEC = _PACKAGE + "GzipCodec"
BZIP2_CODEC = _PACKAGE + "BZip2Codec"


@dataclass(frozen=True)
class Codec:
    """`pack` and `unpack` turn bytes into their packed form and back; `name` is the Java class."""

    name: str
    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes], bytes]


def codec_of(name: str, path: str | None = None) -> Codec:
    """The codec that a file calls *name*; an old file names none and has the default."""
    unpack_and_pack = _KNOWN.get(name)
    if unpack_and_pack is None:
        known = ", ".join(sorted(known.rpartition(".")[2] for known in _KNOWN))
        raise UnknownClassError(
            f"it is compressed with {name[:200]}, which is not known here (known are {known})", name, path=path
        )
    unpack, pack = unpack_and_pack
    return Codec(name, pack, unpack)


def _inflate_zlib(data: bytes) -> bytes:
    return _whole(data, zlib.decompressobj(15), zlib.error)


def _inflate_gzip(data: bytes) -> bytes:
    """All members of a gzip stream, one after the other."""
    parts: list[bytes] = []
    left = MAX_INFLATED_BYTES
    while data or not parts:
        machine = zlib.decompressobj(31)
        parts.append(_whole(data, machine, zlib.error, left))
        left -= len(parts[-1])
        data = machine.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _inflate_bzip2(data: bytes) -> bytes:
    parts: list[bytes] = []
    left = MAX_INFLATED_BYTES
    while data or not parts:
        machine = bz2.BZ2Decompressor()
        try:
            plain = machine.decompress(data, left + 1)
        except (OSError, ValueError, EOFError) as error:
            raise FormatError(f"a compressed value that cannot be read ({error})") from None
        if len(plain) > left:
            raise FormatError(f"a compressed value of more than {MAX_INFLATED_BYTES} bytes")
        if not machine.eof:
            raise CutError("a compressed value that is cut")
        parts.append(plain)
        left -= len(plain)
        data = machine.unused_data
    return b"".join(parts)


def _whole(data: bytes, machine: zlib._Decompress, damage: type[Exception], limit: int = MAX_INFLATED_BYTES) -> bytes:
    """What *machine* makes of *data*: a stream that has ended, of at most *limit* bytes."""
    try:
        plain = machine.decompress(data, limit + 1)
    except damage as error:
        raise FormatError(f"a compressed value that cannot be read ({error})") from None
    if len(plain) > limit:
        raise FormatError(f"a compressed value of more than {MAX_INFLATED_BYTES} bytes")
    if not machine.eof:
        raise CutError("a compressed value that is cut")
    return plain


_KNOWN: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    DEFAULT_CODEC: (_inflate_zlib, zlib.compress),
    _PACKAGE + "DeflateCodec": (_inflate_zlib, zlib.compress),
    GZIP_CODEC: (_inflate_gzip, gzip_as_java),
    BZIP2_CODEC: (_inflate_bzip2, bz2.compress),
}
