"""What do the records of Nutch 0.7 have in common?

Each begins with its version in one byte (an `Outlink` has none), and its strings are UTF8: Java's modified UTF-8, at
most 21,845 characters, longer ones cut when they are written. `Record` reads and checks the version, and writes the
current one unless an older one is asked for. An older version lacks fields: they get the defaults Nutch gave them.

An MD5 is 16 raw bytes; its half digest is the first 8 of them as a signed number.

Not here: the primitives (`hadoop.data`), the records themselves (one module a family).
"""

from __future__ import annotations

import hashlib
from typing import ClassVar, Self

from cobnut.interop.hadoop.data import MAX_INFLATED_BYTES, DataInput, DataOutput, encode_modified
from cobnut.interop.hadoop.errors import FormatError, VersionMismatchError
from cobnut.interop.hadoop.writable import ByteSink, Writable

MD5_BYTES = 16
NO_MD5 = bytes(MD5_BYTES)


class Record(Writable):
    """A record with a version byte. Subclasses read the fields behind it (`_get_as`) and write them (`_put_as`)."""

    CUR_VERSION: ClassVar[int] = 1
    """The version that is written."""
    OLDEST_VERSION: ClassVar[int] = 1
    SHORT_NAME: ClassVar[str] = ""
    """What the header of a file calls the class."""
    JAVA_NAME: ClassVar[str] = ""
    """The full name of the class."""
    DIR_NAME: ClassVar[str] = ""
    """The part of a segment that holds such records, where there is one."""

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """The record that *value* is; bytes that are left over are an error."""
        data = DataInput(value)
        record = cls()
        record._get(data)
        data.finish(cls.__name__)
        return record

    def write(self, target: ByteSink, version: int | None = None) -> None:
        """Add the record's bytes to *target*, in the current version or in *version*."""
        target.write(self.to_bytes(version))

    def to_bytes(self, version: int | None = None) -> bytes:
        """The record's bytes; records within it are always written in their current version."""
        chosen = self.CUR_VERSION if version is None else version
        if not self.OLDEST_VERSION <= chosen <= self.CUR_VERSION:
            known = f"{self.OLDEST_VERSION} to {self.CUR_VERSION}"
            raise ValueError(f"{type(self).__name__} has the versions {known}, not {version}")
        out = DataOutput()
        self._put_version(out, chosen)
        return out.getvalue()

    def _get(self, data: DataInput) -> None:
        at = data.position
        version = data.read_byte()
        if version > self.CUR_VERSION:
            raise VersionMismatchError(self.CUR_VERSION, version, record=type(self).__name__, offset=at)
        if version < self.OLDEST_VERSION:
            raise FormatError(f"a {type(self).__name__} of version {version}, which never was", offset=at)
        self._get_as(data, version)

    def _put(self, out: DataOutput) -> None:
        self._put_version(out, self.CUR_VERSION)

    def _put_version(self, out: DataOutput, version: int) -> None:
        out.write_byte(version)
        self._put_as(out, version)

    def _get_as(self, data: DataInput, version: int) -> None:
        raise NotImplementedError

    def _put_as(self, out: DataOutput, version: int) -> None:
        raise NotImplementedError


def read_length(data: DataInput, least_bytes: int, what: str) -> int:
    """The count of *what* follows, each of *least_bytes* or more. There is no null list here: -1 is an error."""
    at = data.position
    count = data.read_count(least_bytes)
    if count < 0:
        raise FormatError(f"a negative count of {what}, {count}", offset=at)
    return count


def read_properties(data: DataInput) -> dict[str, str]:
    """Metadata: pairs of UTF8, in the order in which they stand in the file."""
    count = read_length(data, 4, "metadata entries")
    return {data.read_utf8(): data.read_utf8() for _ in range(count)}


def write_properties(out: DataOutput, metadata: dict[str, str]) -> None:
    out.write_int(len(metadata))
    for name, value in metadata.items():
        out.write_utf8(name)
        out.write_utf8(value)


def write_md5(out: DataOutput, md5: bytes) -> None:
    if len(md5) != MD5_BYTES:
        raise FormatError(f"an MD5 of {len(md5)} bytes, and it has {MD5_BYTES}")
    out.write(md5)


def read_arguments(data: DataInput, most_chars: int = MAX_INFLATED_BYTES) -> list[str | None] | None:
    """What a status is about: compressed strings, which must not grow beyond all bounds together."""
    at = data.position
    count = data.read_count(4)
    if count < 0:
        return None
    arguments: list[str | None] = []
    grown = 0
    for _ in range(count):
        arguments.append(text := data.read_compressed_string())
        grown += len(text or "")
        if grown > most_chars:
            raise FormatError(f"compressed arguments of more than {most_chars} characters", offset=at)
    return arguments


def md5_of(text: str) -> bytes:
    """The MD5 of a string's UTF8 bytes, as Nutch takes it of URLs and hosts."""
    return hashlib.md5(encode_modified(text), usedforsecurity=False).digest()


def half_digest(md5: bytes) -> int:
    """The first 8 bytes of an MD5 as a signed number."""
    return int.from_bytes(md5[:8], "big", signed=True)


def domain_id(host: str) -> int:
    """What a `Link` calls the host of the page it stands on: the half digest of the host's MD5.

    >>> domain_id("127.0.0.1")
    -781244460614962903
    """
    return half_digest(md5_of(host))
