"""Which records of a segment's parts belong together?

The parts of a segment are tables of their own with the same keys: URLs in 1.x, record numbers in 0.7, each sorted. They
are read side by side and joined by key, in constant memory. A file whose keys are not in order is read by a sorted list
of its keys and their positions, which costs the memory of its keys.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from cobnut.errors import DataError
from cobnut.interop.found import Part
from cobnut.interop.hadoop.data import DataInput, decode_modified
from cobnut.interop.hadoop.errors import FormatError, UnknownClassError
from cobnut.interop.hadoop.header import full_class_name
from cobnut.interop.hadoop.sequencefile import SequenceFileReader
from cobnut.interop.nutch07 import RECORDS as OLD_RECORDS
from cobnut.interop.nutch1 import ValueReader
from cobnut.interop.nutch_import.losses import Losses, is_utf8, raw_records

Decode = Callable[[bytes], Any]
MOST_A_KEY = 1_000
"""More records than these of one key in one part say nothing new."""


class _Met(NamedTuple):
    key: bytes  # as it is sorted: a string's bytes without their length
    kind: str
    part: Part
    position: int
    value: bytes


def decoder_of(part: Part) -> Decode:
    """What reads the values of a file; an `UnknownClassError` when nothing does."""
    name = part.header.value_class
    if part.layout == "0.7":
        record = OLD_RECORDS.get(name)
        if record is None:
            raise UnknownClassError(f"records of a class that is not known, {name}", name, path=str(part.data))
        return record.decode
    try:
        return ValueReader(full_class_name(name, part.header.version))
    except UnknownClassError as error:
        raise error.in_file(str(part.data)) from None


def joined(parts: Mapping[str, Sequence[Part]], losses: Losses) -> Iterator[tuple[str, dict[str, list[Any]]]]:
    """For each key, as text, the records of it, by kind of part; what cannot be read is told."""
    streams: list[Iterator[_Met]] = []
    decoders: dict[str, Decode] = {}
    for kind, files in parts.items():
        for part in files:
            try:
                decoders[str(part.data)] = decoder_of(part)
            except DataError as error:
                losses.error(part.data, error)
                continue
            streams.append(_in_order(kind, part, losses))
    for _key, met in groupby(heapq.merge(*streams, key=lambda one: one.key), key=lambda one: one.key):
        found: dict[str, list[Any]] = {}
        text = ""
        for one in met:
            text = text or _text(one)
            values = found.setdefault(one.kind, [])
            if len(values) >= MOST_A_KEY:
                continue
            try:
                values.append(decoders[str(one.part.data)](one.value))
            except DataError as error:
                losses.error(one.part.data, error, one.position)
        yield text, found


def _text(one: _Met) -> str:
    if one.part.header.is_numbered:
        return str(int.from_bytes(one.key, "big"))
    if is_utf8(one.part):
        try:
            return decode_modified(one.key)
        except FormatError:
            return ""
    return str(one.key, "utf-8", "replace")


def bare_key(part: Part, key: bytes) -> bytes:
    """A key as it is sorted; a `FormatError` when it is none."""
    if part.header.is_numbered:
        return key
    data = DataInput(key)
    length = data.read_unsigned_short() if is_utf8(part) else data.read_vint()
    start = data.take(length)
    data.finish("key")
    return key[start:]


def _in_order(kind: str, part: Part, losses: Losses) -> Iterator[_Met]:
    """The records of one file by key."""
    last = b""
    for position, raw, value in raw_records(part, losses) if _is_sorted(part) else _sorted(part, losses):
        try:
            key = bare_key(part, raw)
        except DataError as error:
            losses.error(part.data, error, position)
            continue
        if key < last:
            losses.damaged(part.data, "a key out of order", position)
            continue
        last = key
        losses.read[kind] += 1
        yield _Met(key, kind, part, position, value)


def _is_sorted(part: Part) -> bool:
    """Are the keys in order? Values stay packed: this costs little beside reading them."""
    try:
        with SequenceFileReader(part.data, check_crc=False, unpack=False) as reader:
            last = b""
            for _, raw, _ in reader.records():
                try:
                    key = bare_key(part, raw)
                except DataError:
                    continue
                if key < last:
                    return False
                last = key
    except (DataError, OSError):
        return True  # read in order it tells what is wrong
    return True


def _sorted(part: Part, losses: Losses) -> Iterator[tuple[int, bytes, bytes]]:
    losses.note(f"{part.data}: its keys are not in order; it was read by a sorted list of them")
    places: list[tuple[bytes, int, bytes]] = []
    for position, raw, _ in raw_records(part, losses):
        try:
            places.append((bare_key(part, raw), position, raw))
        except DataError as error:
            losses.error(part.data, error, position)
    places.sort()
    if len({position for _, position, _ in places}) < len(places):  # packed in blocks: all at once
        order = {raw: place for place, (_, _, raw) in enumerate(places)}
        known = (record for record in raw_records(part, Losses()) if record[1] in order)
        yield from sorted(known, key=lambda record: order[record[1]])
        return
    with SequenceFileReader(part.data) as reader:
        for _, position, _ in places:
            reader.seek(position)
            for record in reader.records():
                yield record
                break
