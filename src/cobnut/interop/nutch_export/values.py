"""Values of a metadata map in the classes that Nutch gives them."""

from __future__ import annotations

from cobnut.interop.hadoop.data import float32
from cobnut.interop.hadoop.mapwritable import FLOAT, INT, LONG, NUTCH, TEXT, MapWritable, TypedValue
from cobnut.interop.nutch1 import ProtocolStatus

_STATUS = NUTCH + "protocol.ProtocolStatus"
_MOST_INT = (1 << 31) - 1


def text(value: str) -> TypedValue:
    return TypedValue(TEXT, value)


def int_value(value: int) -> TypedValue:
    return TypedValue(INT, min(value, _MOST_INT))


def long_value(value: int) -> TypedValue:
    return TypedValue(LONG, value)


def float_value(value: float) -> TypedValue:
    return TypedValue(FLOAT, float32(value))


def protocol_status(code: int, last_modified: int, args: list[str | None] | None) -> TypedValue:
    return TypedValue(_STATUS, ProtocolStatus(code, last_modified, args))


def map_of(found: dict[str, TypedValue]) -> MapWritable:
    entries: dict[str | TypedValue, TypedValue] = dict(found.items())
    return MapWritable(entries)
