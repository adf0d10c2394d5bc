"""What do the records of Nutch 0.8 to 1.23 have in common?

They read whole values (`decode`: bytes left over are an error), know their Java name, and say of a number that does not
fit its field that it does not.
"""

from __future__ import annotations

import struct
from typing import ClassVar, Self

from cobnut.interop.hadoop.data import DataInput
from cobnut.interop.hadoop.errors import FormatError, VersionMismatchError
from cobnut.interop.hadoop.writable import ByteSink, Writable

MAX_ITEMS = 1_000_000
"""No record has more links, nor its metadata more values: an item of two bytes takes a hundred in memory."""
MAX_VALUE_BYTES = 1 << 25
"""No record that is made of small items is longer; a body, or the text of one, may be."""


class Record(Writable):
    """A record of Nutch 1. `CUR_VERSION` is the version that is written, for records that have one."""

    JAVA_NAME: ClassVar[str] = ""
    """The full name of the class, as files have it."""
    HAS_BODY: ClassVar[bool] = False
    """Is it mostly one long value?"""

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """The record that all bytes of *value* make up."""
        if not cls.HAS_BODY:
            check_length(value, cls.__name__)
        data = DataInput(value)
        record = cls()
        record._get(data)
        data.finish(cls.__name__)
        return record

    def write(self, target: ByteSink) -> None:
        try:
            super().write(target)
        except (struct.error, OverflowError) as error:
            raise _does_not_fit(self, error) from None

    def to_bytes(self) -> bytes:
        try:
            return super().to_bytes()
        except (struct.error, OverflowError) as error:
            raise _does_not_fit(self, error) from None


def _does_not_fit(record: Record, error: Exception) -> FormatError:
    return FormatError(f"a {type(record).__name__} with a number that does not fit its field ({error})")


def check_length(value: bytes, record: str) -> None:
    """A value that is longer than any such record can be meant to be is not taken apart."""
    if len(value) > MAX_VALUE_BYTES:
        raise FormatError(f"a {record} of {len(value)} bytes, and no one has more than {MAX_VALUE_BYTES}", offset=0)


def check_version(found: int, newest: int, record: str, offset: int, oldest: int = 1) -> None:
    """A version above *newest* is that of a newer program; one below *oldest* was never written."""
    if found > newest:
        raise VersionMismatchError(newest, found, record=record, offset=offset)
    if found < oldest:
        raise FormatError(f"a {record} of version {found}, which there never was", offset=offset)


def read_flag(data: DataInput) -> bool:
    """A boolean as it is written: 0 or 1. Anything else is not one, which tells damage, and layouts apart."""
    at = data.position
    flag = data.read_unsigned_byte()
    if flag > 1:
        raise FormatError(f"a flag of {flag}, which is neither 0 nor 1", offset=at)
    return flag == 1


def read_size(data: DataInput, least_bytes: int, most: int = MAX_ITEMS) -> int:
    """An int that counts what follows: never negative, never more than there is room for, or than *most*."""
    at = data.position
    count = data.read_count(least_bytes)
    if count < 0:
        raise FormatError(f"a negative count, {count}", offset=at)
    if count > most:
        raise FormatError(f"a count of {count}, and {most} is the most", offset=at)
    return count
