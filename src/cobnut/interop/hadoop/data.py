"""How are the values written that every record is made of?

`DataInput` reads them from bytes in memory, `DataOutput` collects them. Integers are big-endian and in two's
complement, as `java.io.DataInput` has them; VInt, VLong and Text are Hadoop's `WritableUtils` and `Text`; UTF8 is
Java's modified UTF-8 behind an unsigned 16-bit length. Lengths are checked against what is left before anything is
allocated.

Floats are Python floats that hold exactly a 32-bit one; `float_bits` gives its pattern.

Not here: records (`nutch07`, `nutch1`), containers (`sequencefile`, `mapfile`), values that carry their class
(`mapwritable`).
"""

from __future__ import annotations

import struct
import zlib

from cobnut.interop.hadoop.errors import CutError, FormatError

_SHORT, _INT, _LONG, _FLOAT, _DOUBLE = (struct.Struct(f) for f in (">h", ">i", ">q", ">f", ">d"))
_USHORT = struct.Struct(">H")
MAX_INFLATED_BYTES = 1 << 28
"""No compressed value grows beyond this: a bomb of a few kilobytes must not fill the memory."""
UTF8_MAX_CHARS = 0xFFFF // 3
"""Nutch 0.7 cuts longer strings before it writes them, so that the length always fits 16 bits."""


class DataInput:
    """Reads values one after the other from *buffer*; `position` is where the next one begins."""

    __slots__ = ("buffer", "end", "position")

    def __init__(self, buffer: bytes | bytearray | memoryview, position: int = 0, end: int | None = None) -> None:
        self.buffer = bytes(buffer) if isinstance(buffer, memoryview) else buffer
        self.position = position
        self.end = len(buffer) if end is None else end

    @property
    def left(self) -> int:
        """Bytes that have not been read."""
        return self.end - self.position

    def take(self, count: int) -> int:
        """Step over *count* bytes and give where they began; too few left, or a negative count, is an error."""
        at = self.position
        if count < 0:
            raise FormatError(f"a negative length, {count}", offset=at)
        if count > self.end - at:
            raise CutError(f"{count} bytes should follow, and {self.end - at} are left", offset=at)
        self.position = at + count
        return at

    def read_bytes(self, count: int) -> bytes:
        at = self.take(count)
        return bytes(self.buffer[at : at + count])

    def read_unsigned_byte(self) -> int:
        return self.buffer[self.take(1)]

    def read_byte(self) -> int:
        value = self.buffer[self.take(1)]
        return value - 256 if value > 127 else value

    def read_boolean(self) -> bool:
        return self.buffer[self.take(1)] != 0

    def read_short(self) -> int:
        return int(_SHORT.unpack_from(self.buffer, self.take(2))[0])

    def read_unsigned_short(self) -> int:
        return int(_USHORT.unpack_from(self.buffer, self.take(2))[0])

    def read_int(self) -> int:
        return int(_INT.unpack_from(self.buffer, self.take(4))[0])

    def read_long(self) -> int:
        return int(_LONG.unpack_from(self.buffer, self.take(8))[0])

    def read_float(self) -> float:
        return float(_FLOAT.unpack_from(self.buffer, self.take(4))[0])

    def read_double(self) -> float:
        return float(_DOUBLE.unpack_from(self.buffer, self.take(8))[0])

    def read_vlong(self) -> int:
        """Hadoop's VLong; a first byte from -112 on is the value itself."""
        first = self.read_byte()
        if first >= -112:
            return first
        length = -(first + 112) if first >= -120 else -(first + 120)
        at = self.take(length)
        value = int.from_bytes(self.buffer[at : at + length], "big")
        if length == 8 and value >= 1 << 63:
            raise FormatError("a VLong that does not fit 64 bits", offset=at - 1)
        return value if first >= -120 else ~value

    def read_vint(self) -> int:
        at = self.position
        value = self.read_vlong()
        if not -(1 << 31) <= value < 1 << 31:
            raise FormatError(f"a VInt that does not fit 32 bits, {value}", offset=at)
        return value

    def read_count(self, least_bytes: int = 1) -> int:
        """An int that counts items of *least_bytes* or more: more than can follow is an error; -1 is not."""
        at = self.position
        count = self.read_int()
        if count < -1:
            raise FormatError(f"a negative count, {count}", offset=at)
        if count * least_bytes > self.left:
            raise CutError(f"{count} items should follow, and {self.left} bytes are left", offset=at)
        return count

    def read_text(self) -> str:
        """Hadoop's Text: a VInt length and UTF-8. What is no UTF-8 becomes U+FFFD, as in Java."""
        length = self.read_vint()
        at = self.take(length)
        return str(self.buffer[at : at + length], "utf-8", "replace")

    def read_utf8(self) -> str:
        """Java's modified UTF-8 behind a 16-bit length: NUL in two bytes, astral characters as two surrogates."""
        length = self.read_unsigned_short()
        at = self.take(length)
        return decode_modified(bytes(self.buffer[at : at + length]), at)

    def read_string(self) -> str | None:
        """A string as `WritableUtils.writeString` has it: an int length (-1: null) and UTF-8."""
        length = self.read_int()
        if length == -1:
            return None
        return str(self.read_bytes(length), "utf-8", "replace")

    def read_string_array(self) -> list[str | None] | None:
        count = self.read_count(4)
        return None if count < 0 else [self.read_string() for _ in range(count)]

    def read_compressed_bytes(self) -> bytes | None:
        """An int length (-1: null) and a gzip stream."""
        at = self.position
        length = self.read_int()
        if length == -1:
            return None
        return inflate(self.read_bytes(length), 31, at)

    def read_compressed_string(self) -> str | None:
        body = self.read_compressed_bytes()
        return None if body is None else str(body, "utf-8", "replace")

    def read_compressed_string_array(self) -> list[str | None] | None:
        count = self.read_count(4)
        return None if count < 0 else [self.read_compressed_string() for _ in range(count)]

    def finish(self, what: str) -> None:
        """The value must have used up all bytes."""
        if self.position != self.end:
            raise FormatError(f"{self.end - self.position} bytes are left over after a {what}", offset=self.position)


class DataOutput:
    """Collects values; `getvalue` gives the bytes. The mirror of `DataInput`."""

    __slots__ = ("buffer",)

    def __init__(self) -> None:
        self.buffer = bytearray()

    def getvalue(self) -> bytes:
        return bytes(self.buffer)

    def write(self, data: bytes) -> None:
        self.buffer += data

    def write_byte(self, value: int) -> None:
        """A signed or an unsigned byte."""
        self.buffer.append(value & 0xFF)

    def write_signed_byte(self, value: int) -> None:
        """A number of one byte; one that does not fit is an error, not another number."""
        if not -128 <= value <= 127:
            raise _too_large(value, 8)
        self.buffer.append(value & 0xFF)

    def write_boolean(self, value: bool) -> None:
        self.buffer.append(1 if value else 0)

    def write_short(self, value: int) -> None:
        try:
            self.buffer += _SHORT.pack(value)
        except struct.error:
            raise _too_large(value, 16) from None

    def write_int(self, value: int) -> None:
        try:
            self.buffer += _INT.pack(value)
        except struct.error:
            raise _too_large(value, 32) from None

    def write_long(self, value: int) -> None:
        try:
            self.buffer += _LONG.pack(value)
        except struct.error:
            raise _too_large(value, 64) from None

    def write_float(self, value: float) -> None:
        """A number that is too large for 32 bits becomes infinite, as a cast in Java makes it."""
        try:
            self.buffer += _FLOAT.pack(value)
        except OverflowError:
            self.buffer += _FLOAT.pack(float32(value))

    def write_double(self, value: float) -> None:
        self.buffer += _DOUBLE.pack(value)

    def write_vlong(self, value: int) -> None:
        if -112 <= value <= 127:
            self.buffer.append(value & 0xFF)
            return
        if not -(1 << 63) <= value < 1 << 63:
            raise _too_large(value, 64)
        marker = -112
        if value < 0:
            value, marker = ~value, -120
        length = (value.bit_length() + 7) // 8
        self.buffer.append((marker - length) & 0xFF)
        self.buffer += value.to_bytes(length, "big")

    write_vint = write_vlong

    def write_text(self, value: str) -> None:
        encoded = encode_text(value)
        self.write_vlong(len(encoded))
        self.buffer += encoded

    def write_utf8(self, value: str) -> None:
        """Strings of more than 21,845 UTF-16 units are cut, as Nutch 0.7 cuts them."""
        encoded = encode_modified(value)
        self.buffer += _USHORT.pack(len(encoded))
        self.buffer += encoded

    def write_string(self, value: str | None) -> None:
        if value is None:
            self.write_int(-1)
            return
        encoded = encode_text(value)
        self.write_int(len(encoded))
        self.buffer += encoded

    def write_string_array(self, values: list[str | None] | list[str] | None) -> None:
        if values is None:
            self.write_int(-1)
            return
        self.write_int(len(values))
        for value in values:
            self.write_string(value)

    def write_compressed_bytes(self, value: bytes | None) -> None:
        if value is None:
            self.write_int(-1)
            return
        packed = gzip_as_java(value)
        self.write_int(len(packed))
        self.buffer += packed

    def write_compressed_string(self, value: str | None) -> None:
        self.write_compressed_bytes(None if value is None else encode_text(value))

    def write_compressed_string_array(self, values: list[str | None] | list[str] | None) -> None:
        if values is None:
            self.write_int(-1)
            return
        self.write_int(len(values))
        for value in values:
            self.write_compressed_string(value)


def _too_large(value: int, bits: int) -> FormatError:
    """The error for an integer that its field cannot hold."""
    return FormatError(f"{value} does not fit {bits} bits")


def float_bits(value: float) -> int:
    """The 32-bit pattern of *value*, as Java's `floatToIntBits` gives it (signed)."""
    return int(_INT.unpack(_FLOAT.pack(value))[0])


def float_of(bits: int) -> float:
    """The float with this 32-bit pattern."""
    return float(_FLOAT.unpack(_INT.pack(bits))[0])


def float32(value: float) -> float:
    """The nearest float of 32 bits; one that is too large becomes infinite, as a cast in Java makes it."""
    try:
        return float(_FLOAT.unpack(_FLOAT.pack(value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def encode_text(value: str) -> bytes:
    """UTF-8 as Java's encoder makes it: a surrogate without its partner becomes a question mark."""
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        # two halves that stand side by side are one character for Java
        joined = value.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
        return joined.encode("utf-8", "replace")


def encode_modified(value: str) -> bytes:
    """Java's modified UTF-8 as Nutch 0.7's UTF8 writes it, at most 21,845 UTF-16 units."""
    if value.isascii() and len(value) <= UTF8_MAX_CHARS and "\0" not in value:
        return value.encode("ascii")
    units = value.encode("utf-16-be", "surrogatepass")[: 2 * UTF8_MAX_CHARS]
    out = bytearray()
    for (unit,) in struct.iter_unpack(">H", units):
        if 0 < unit < 0x80:
            out.append(unit)
        elif unit < 0x800:
            out += bytes((0xC0 | unit >> 6, 0x80 | unit & 0x3F))
        else:
            out += bytes((0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F))
    return bytes(out)


def decode_modified(data: bytes, offset: int = 0) -> str:
    """The string of these bytes of modified UTF-8; *offset* is where they stand, for the error."""
    if data.isascii():
        return data.decode("ascii")
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        pass  # a NUL of two bytes, or damage: unit by unit
    else:
        # Without surrogates, and without the four-byte form that Java's writer does not have, both encodings are one.
        if max(text) < "\ud800" or all(not "\ud800" <= char <= "\udfff" and char <= "\uffff" for char in text):
            return text
    units: list[int] = []
    at, end = 0, len(data)
    while at < end:
        first = data[at]
        size = 1 if first < 0x80 else 2 if first & 0xE0 == 0xC0 else 3 if first & 0xF0 == 0xE0 else 0
        if not size or at + size > end or any(data[at + more] & 0xC0 != 0x80 for more in range(1, size)):
            raise FormatError("bytes that are no modified UTF-8", offset=offset + at)
        if size == 1:
            units.append(first)
        elif size == 2:
            units.append((first & 0x1F) << 6 | data[at + 1] & 0x3F)
        else:
            units.append((first & 0x0F) << 12 | (data[at + 1] & 0x3F) << 6 | data[at + 2] & 0x3F)
        at += size
    return struct.pack(f">{len(units)}H", *units).decode("utf-16-be", "surrogatepass")


def inflate(data: bytes, window_bits: int, offset: int = 0) -> bytes:
    """The plain form of a deflated value; *window_bits* is 15 for a zlib stream, 31 for gzip. Cut or huge: an error."""
    machine = zlib.decompressobj(window_bits)
    try:
        plain = machine.decompress(data, MAX_INFLATED_BYTES)
    except zlib.error as error:
        raise FormatError(f"a compressed value that cannot be read ({error})", offset=offset) from None
    if machine.unconsumed_tail:
        raise FormatError(f"a compressed value of more than {MAX_INFLATED_BYTES} bytes", offset=offset)
    if not machine.eof:
        raise CutError("a compressed value that is cut", offset=offset)
    return plain


def gzip_as_java(data: bytes) -> bytes:
    """A gzip stream as `java.util.zip.GZIPOutputStream` writes it: no time, no name, level 6.

    The system is 255, unknown, as since Java 16; earlier it was 0.
    """
    machine = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = machine.compress(data) + machine.flush()
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
