"""Are the bytes of a segment's part still those that were written?

A part carries its own checksum, its *seal*: an entry `cobnut.xxh3` among the key-value metadata in its foot. The
digits are those of the whole file's xxh3-128 with zeros in their place, and are put there before the part gets its
name. So part and checksum appear together or not at all, stay together wherever the file is copied, linked or renamed
to, and whatever else reads Parquet does not mind.

A part without a seal was written by another program, or by a Cobnut that knew none.

Not here: checksums of tables, which their manifests have (`storage.tables`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO

KEY = "cobnut.xxh3"
DIGITS = 32
UNSEALED = {KEY: "xxh3=" + "0" * DIGITS}
"""The metadata of a part before it is sealed."""

_NAME = rb"\x18\x0bcobnut\.xxh3"
_VALUE = rb"\x18\x25xxh3="
_ENTRY = re.compile(_NAME + _VALUE + rb"([0-9a-f]{32})\x00")
"""The entry as Parquet's foot has it: name and value, each with its type and length before it. No URL or text of a page
that stands among a foot's statistics can look like it: it has control characters."""

_TRACE = re.compile(_NAME + rb"|" + _VALUE)
_MAGIC = b"PAR1"
_MOST_FOOT = 256 << 20


class Unsealed(ValueError):
    """A part that was to be sealed has no room for it."""


def seal(path: Path) -> None:
    """Puts its checksum into a closed file that was written with `UNSEALED`."""
    with open(path, "r+b") as file:
        place, _ = _entry(file)
        if place is None:
            raise Unsealed(str(path))
        digits = _digest(file, place)
        file.seek(place)
        file.write(digits)


def is_whole(path: Path) -> bool | None:
    """Does the file have the bytes it was sealed with? None: it has no seal, or is no longer a Parquet file at all."""
    with open(path, "rb") as file:
        place, is_traced = _entry(file)
        if place is None:
            return False if is_traced else None
        file.seek(place)
        return file.read(DIGITS) == _digest(file, place)


def _entry(file: IO[bytes]) -> tuple[int | None, bool]:
    """Where the digits of the seal begin; without them, whether something of it is left."""
    size = file.seek(0, 2)
    if size < 12:
        return None, False
    file.seek(size - 8)
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or length > min(size - 12, _MOST_FOOT):
        return None, False
    start = size - 8 - length
    file.seek(start)
    foot = file.read(length)
    found = None
    for found in _ENTRY.finditer(foot):  # noqa: B007 (the last one is wanted)
        pass
    return (None, _TRACE.search(foot) is not None) if found is None else (start + found.start(1), True)


def _digest(file: IO[bytes], place: int) -> bytes:
    """The checksum of a file with zeros where its digits stand."""
    import xxhash

    digest = xxhash.xxh3_128()
    file.seek(0)
    left = place
    while left and (block := file.read(min(left, 1 << 20))):
        digest.update(block)
        left -= len(block)
    digest.update(b"0" * DIGITS)
    file.seek(place + DIGITS)
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest().encode()
