"""How do maps lie whose keys and values carry their classes?

Two layouts: Hadoop's `MapWritable`, and the one that Nutch 0.8 and 0.9 had of their own. Both name a class by a byte: a
fixed one for common classes, one from the table in the map's head for others. A `TypedValue` keeps the class, so that a
map can be written again as it was; keys of class Text, nearly all, are plain strings.

Values in Python: Text str; Int, Long, Short, Byte, VInt and VLong int; Float and Double float; Boolean bool; Bytes and
MD5Hash bytes; Null None; a map MapWritable; a class that was registered what its reader gives. Arrays and
ObjectWritable are never found in these files, and a class that is not known has no known length: both end the record
with an UnknownClassError.

Order: Java's is that of its hash table and means nothing; here it is kept, and equality ignores it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import msgspec

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import FormatError, UnknownClassError
from cobnut.interop.hadoop.writable import Writable

MAX_DEPTH = 16
"""Maps within maps; real ones have none at all."""
MAX_ENTRIES = 1_000_000
MAX_EXTRA_CLASSES = 127
IO = "org.apache.hadoop.io."
NUTCH = "org.apache.nutch."
TEXT, NULL, BOOLEAN, BYTES, MD5 = (
    IO + "Text",
    IO + "NullWritable",
    IO + "BooleanWritable",
    IO + "BytesWritable",
    IO + "MD5Hash",
)
INT, LONG, FLOAT, DOUBLE = IO + "IntWritable", IO + "LongWritable", IO + "FloatWritable", IO + "DoubleWritable"
SHORT, BYTE, VINT, VLONG = IO + "ShortWritable", IO + "ByteWritable", IO + "VIntWritable", IO + "VLongWritable"
MAP, SORTED_MAP, NUTCH_MAP = IO + "MapWritable", IO + "SortedMapWritable", NUTCH + "crawl.MapWritable"

HADOOP_IDS = {
    129: IO + "ArrayWritable", 130: BOOLEAN, 131: BYTES, 132: FLOAT, 133: INT, 134: LONG, 135: MAP, 136: MD5, 137: NULL,
    138: IO + "ObjectWritable", 139: SORTED_MAP, 140: TEXT, 141: IO + "TwoDArrayWritable", 142: VINT, 143: VLONG,
}  # fmt: skip
"""Hadoop's fixed class ids, as unsigned bytes."""
NUTCH_IDS = {
    129: NULL, 130: LONG, 131: TEXT, 132: MD5, 133: NUTCH + "fetcher.FetcherOutput", 134: NUTCH + "protocol.Content",
    135: NUTCH + "parse.ParseText", 136: NUTCH + "parse.ParseData", 137: NUTCH_MAP, 138: BYTES, 139: FLOAT, 140: INT,
    141: IO + "ObjectWritable", 142: NUTCH + "protocol.ProtocolStatus",
}  # fmt: skip
"""The fixed class ids of Nutch 0.8 and 0.9."""
_TEXT_ID, _INT_ID = 140, 133
_INT = struct.Struct(">i")
_TABLES: dict[bytes, dict[int, str]] = {}
"""Tables of one class that were seen, by their bytes: nearly every map of a crawldb has the same."""
_MAX_TABLES = 64
_HADOOP_NUMBERS = {name: number for number, name in HADOOP_IDS.items()}
_NUTCH_NUMBERS = {name: number for number, name in NUTCH_IDS.items()} | {MAP: 137}


class TypedValue(msgspec.Struct, frozen=True):
    """A value and the full name of its Writable class."""

    class_name: str
    value: Any


Key = str | TypedValue
"""A Text is the string itself; any other key is typed."""


class Kind(NamedTuple):
    """How a class of values is read and written."""

    read: Callable[[DataInput], Any]
    write: Callable[[DataOutput, Any], None]


def _read_sized(data: DataInput) -> bytes:
    return data.read_bytes(data.read_int())


def _write_sized(out: DataOutput, value: bytes) -> None:
    out.write_int(len(value))
    out.write(value)


def _read_md5(data: DataInput) -> bytes:
    return data.read_bytes(16)


def _write_md5(out: DataOutput, value: bytes) -> None:
    if len(value) != 16:
        raise FormatError(f"an MD5Hash of {len(value)} bytes")
    out.write(value)


_KINDS: dict[str, Kind] = {
    TEXT: Kind(DataInput.read_text, DataOutput.write_text),
    NULL: Kind(lambda data: None, lambda out, value: None),
    BOOLEAN: Kind(DataInput.read_boolean, DataOutput.write_boolean),
    BYTES: Kind(_read_sized, _write_sized),
    MD5: Kind(_read_md5, _write_md5),
    INT: Kind(DataInput.read_int, DataOutput.write_int),
    LONG: Kind(DataInput.read_long, DataOutput.write_long),
    FLOAT: Kind(DataInput.read_float, DataOutput.write_float),
    DOUBLE: Kind(DataInput.read_double, DataOutput.write_double),
    SHORT: Kind(DataInput.read_short, DataOutput.write_short),
    BYTE: Kind(DataInput.read_byte, DataOutput.write_byte),
    VINT: Kind(DataInput.read_vint, DataOutput.write_vint),
    VLONG: Kind(DataInput.read_vlong, DataOutput.write_vlong),
}
_OLD_KINDS: dict[str, Kind] = {}
"""Classes that lie otherwise within Nutch's own map than within Hadoop's."""


def register(class_name: str, read: Callable[[DataInput], Any], write: Callable[[DataOutput, Any], None]) -> None:
    """Make values of *class_name* known. What *read* reads must hold no map itself: depth is watched here only."""
    _KINDS[class_name] = Kind(read, write)


def register_old(class_name: str, read: Callable[[DataInput], Any], write: Callable[[DataOutput, Any], None]) -> None:
    """The same for classes that lie otherwise within the map of Nutch 0.8 and 0.9."""
    _OLD_KINDS[class_name] = Kind(read, write)


def register_record(class_name: str, record: type[Writable]) -> None:
    """Make the records of a class known that holds no map."""
    register(class_name, record.read, lambda out, value: value.write(out))


def known_classes() -> frozenset[str]:
    """Every class whose values can be read."""
    return frozenset(_KINDS) | {MAP, SORTED_MAP, NUTCH_MAP}


class MapWritable(Writable):
    """A map; `entries` in the order in which they lie, `classes` the table in its head as it was read.

    The table matters only for writing the same bytes again: Java leaves classes in it that no entry has any more.
    """

    entries: dict[Key, TypedValue] = msgspec.field(default_factory=dict)
    classes: dict[int, str] = msgspec.field(default_factory=dict)

    @classmethod
    def of_texts(cls, values: dict[str, str]) -> Self:
        return cls({key: TypedValue(TEXT, value) for key, value in values.items()})

    @classmethod
    def read_nutch(cls, data: DataInput) -> Self:
        """The map of Nutch 0.8 or 0.9 next in *data*."""
        return cls(_read_nutch(data, 0)[0])

    def write_nutch(self, out: DataOutput) -> None:
        """Add the bytes of the layout of Nutch 0.8 and 0.9."""
        _write_nutch(out, self, 0)

    def get(self, key: Key, default: Any = None) -> Any:
        """The plain value of *key*."""
        found = self.entries.get(key)
        return default if found is None else found.value

    def put(self, key: Key, class_name: str, value: Any) -> None:
        self.entries[key] = TypedValue(class_name, value)

    def remove(self, key: Key) -> None:
        """Take *key* out, if it is there."""
        self.entries.pop(key, None)

    def items(self) -> Iterator[tuple[Key, TypedValue]]:
        return iter(self.entries.items())

    def __getitem__(self, key: Key) -> TypedValue:
        return self.entries[key]

    def __contains__(self, key: object) -> bool:
        return key in self.entries

    def __iter__(self) -> Iterator[Key]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __eq__(self, other: object) -> bool:
        return self.entries == other.entries if isinstance(other, MapWritable) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # equal by value, and mutable

    @classmethod
    def read(cls, source: Any) -> Self:
        if type(source) is DataInput:
            entries, classes = _read_hadoop(source, 0)
            return cls(entries, classes)
        return super().read(source)

    def _get(self, data: DataInput) -> None:
        self.entries, self.classes = _read_hadoop(data, 0)

    def _put(self, out: DataOutput) -> None:
        _write_hadoop(out, self, 0)


def _read_fast(data: DataInput) -> tuple[dict[Key, TypedValue], dict[int, str]] | None:
    """A map of the common shape, or None for any other and for one that is damaged.

    Common are short Texts as keys, and a table that is empty or was seen before.
    """
    buffer, begin = data.buffer, data.position
    try:
        at = begin + 1
        classes: dict[int, str] = {}
        if buffer[begin]:
            at = begin + 4 + (buffer[begin + 2] << 8) + buffer[begin + 3]
            classes = _TABLES[bytes(buffer[begin:at])].copy()
        entries: dict[Key, TypedValue] = {}
        (count,) = _INT.unpack_from(buffer, at)
        if not 0 <= count * 2 <= data.end - at or count > MAX_ENTRIES:
            return None
        at += 4
        for _ in range(count):
            if buffer[at] != _TEXT_ID or buffer[at + 1] > 127:
                return None
            end = at + 2 + buffer[at + 1]
            key = str(buffer[at + 2 : end], "utf-8", "replace")
            number = buffer[end]
            at = end + 1
            if number == _TEXT_ID and buffer[at] < 128:
                end = at + 1 + buffer[at]
                entries[key] = TypedValue(TEXT, str(buffer[at + 1 : end], "utf-8", "replace"))
                at = end
            elif number == _INT_ID:
                entries[key] = TypedValue(INT, _INT.unpack_from(buffer, at)[0])
                at += 4
            else:
                data.position = at
                entries[key] = _read_value(data, number, classes, 0)
                at = data.position
    except (IndexError, KeyError, struct.error, FormatError):
        return None
    if at > data.end:
        return None
    data.position = at
    return entries, classes


def _read_hadoop(data: DataInput, depth: int) -> tuple[dict[Key, TypedValue], dict[int, str]]:
    begin = data.position
    if not depth:
        common = _read_fast(data)
        if common is not None:
            return common
        data.position = begin
    classes: dict[int, str] = {}
    for _ in range(_count_of_classes(data)):
        number = data.read_unsigned_byte()
        classes[number] = data.read_utf8()
    if len(classes) == 1 and len(_TABLES) < _MAX_TABLES:
        _TABLES[bytes(data.buffer[begin : data.position])] = classes.copy()
    entries: dict[Key, TypedValue] = {}
    for _ in range(_count_of_entries(data)):
        key = _key_of(_read_value(data, data.read_unsigned_byte(), classes, depth), data)
        entries[key] = _read_value(data, data.read_unsigned_byte(), classes, depth)
    return entries, classes


def _read_value(data: DataInput, number: int, classes: dict[int, str], depth: int) -> TypedValue:
    name = HADOOP_IDS.get(number) or _named(number, classes, data)
    kind = _KINDS.get(name)
    if kind is not None:
        return TypedValue(name, kind.read(data))
    if name != MAP and name != SORTED_MAP:
        raise _unknown(name, data)
    return TypedValue(name, MapWritable(*_read_hadoop(data, _deeper(depth, data))))


def _read_nutch(data: DataInput, depth: int) -> tuple[dict[Key, TypedValue], dict[int, str]]:
    entries: dict[Key, TypedValue] = {}
    classes: dict[int, str] = {}
    count = _count_of_entries(data)
    if not count:
        return entries, classes
    for _ in range(_count_of_classes(data)):
        number = data.read_unsigned_byte()
        classes[number] = data.read_text()
    for _ in range(count):
        key_number, value_number = data.read_unsigned_byte(), data.read_unsigned_byte()
        key = _key_of(_read_nutch_value(data, key_number, classes, depth), data)
        entries[key] = _read_nutch_value(data, value_number, classes, depth)
    return entries, classes


def _read_nutch_value(data: DataInput, number: int, classes: dict[int, str], depth: int) -> TypedValue:
    name = NUTCH_IDS.get(number) or _named(number, classes, data)
    if name == NUTCH_MAP:
        return TypedValue(MAP, MapWritable(_read_nutch(data, _deeper(depth, data))[0]))
    kind = _OLD_KINDS.get(name) or _KINDS.get(name)
    if kind is None:
        raise _unknown(name, data)
    return TypedValue(name, kind.read(data))


def _write_hadoop(out: DataOutput, value: MapWritable, depth: int) -> None:
    table = _table(value, _HADOOP_NUMBERS, value.classes)
    out.write_byte(len(table))
    for name, number in table.items():
        out.write_byte(number)
        out.write_utf8(name)
    out.write_int(len(value.entries))
    for key, typed in value.entries.items():
        for one in (TypedValue(TEXT, key) if isinstance(key, str) else key, typed):
            out.write_byte(_HADOOP_NUMBERS.get(one.class_name) or table[one.class_name])
            if one.class_name in (MAP, SORTED_MAP):
                _write_hadoop(out, one.value, _deeper(depth))
            else:
                _kind_to_write(one.class_name, _KINDS).write(out, one.value)


def _write_nutch(out: DataOutput, value: MapWritable, depth: int) -> None:
    out.write_int(len(value.entries))
    if not value.entries:
        return
    table = _table(value, _NUTCH_NUMBERS, {})
    out.write_byte(len(table))
    for name, number in table.items():
        out.write_byte(number)
        out.write_text(name)
    for key, typed in value.entries.items():
        pair = (TypedValue(TEXT, key) if isinstance(key, str) else key, typed)
        for one in pair:
            out.write_byte(_NUTCH_NUMBERS.get(one.class_name) or table[one.class_name])
        for one in pair:
            if one.class_name == MAP:
                _write_nutch(out, one.value, _deeper(depth))
            else:
                _kind_to_write(one.class_name, _KINDS | _OLD_KINDS).write(out, one.value)


def _table(value: MapWritable, fixed: dict[str, int], known: dict[int, str]) -> dict[str, int]:
    """The numbers of the classes that have no fixed one: those the map had, then the rest from the first free one."""
    table = {name: number for number, name in known.items()}
    used = set(known)
    for key, typed in value.entries.items():
        for name in (None if isinstance(key, str) else key.class_name, typed.class_name):
            if name is None or name in fixed or name in table:
                continue
            free = next((n for n in range(1, MAX_EXTRA_CLASSES + 1) if n not in used), None)
            if free is None:
                raise FormatError(f"a map with values of more than {MAX_EXTRA_CLASSES} classes")
            table[name] = free
            used.add(free)
    return table


def _kind_to_write(name: str, kinds: dict[str, Kind]) -> Kind:
    kind = kinds.get(name)
    if kind is None:
        raise UnknownClassError(f"a value of a class that cannot be written, {name}", name)
    return kind


def _count_of_classes(data: DataInput) -> int:
    at = data.position
    count = data.read_byte()
    if count < 0:
        raise FormatError(f"a map with {count} classes", offset=at)
    return count


def _count_of_entries(data: DataInput) -> int:
    at = data.position
    count = data.read_count(2)
    if count < 0:
        raise FormatError(f"a map with {count} entries", offset=at)
    if count > MAX_ENTRIES:
        raise FormatError(f"a map with {count} entries, and {MAX_ENTRIES} is the most", offset=at)
    return count


def _key_of(typed: TypedValue, data: DataInput) -> Key:
    if typed.class_name == TEXT:
        return str(typed.value)
    try:
        hash(typed)
    except TypeError:
        raise FormatError(f"a map with a key of class {typed.class_name}", offset=data.position) from None
    return typed


def _named(number: int, classes: dict[int, str], data: DataInput) -> str:
    name = classes.get(number)
    if name is None:
        signed = number - 256 if number > 127 else number
        raise FormatError(f"a value of class number {signed}, which the map does not name", offset=data.position - 1)
    return name


def _unknown(name: str, data: DataInput) -> UnknownClassError:
    return UnknownClassError(f"a value of a class that is not known, {name}", name, offset=data.position)


def _deeper(depth: int, data: DataInput | None = None) -> int:
    if depth >= MAX_DEPTH:
        raise FormatError(
            f"maps within maps more than {MAX_DEPTH} deep", offset=None if data is None else data.position
        )
    return depth + 1
