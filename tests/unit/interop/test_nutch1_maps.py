"""Do maps keep the classes of their values, in both layouts, and stand hostile bytes?"""

import random
import struct

import pytest

from cobnut.interop.hadoop import CutError, FormatError, UnknownClassError
from cobnut.interop.hadoop import mapwritable as maps
from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.mapwritable import MapWritable, TypedValue
from cobnut.interop.nutch1 import (
    Content,
    CrawlDatum,
    HostDatum,
    Metadata,
    Outlink,
    ParseData,
    ParseStatus,
    ParseText,
    ProtocolStatus,
)

OF_EVERY_CLASS = MapWritable(
    {
        "text": TypedValue(maps.TEXT, "ü" * 200),
        "null": TypedValue(maps.NULL, None),
        "boolean": TypedValue(maps.BOOLEAN, True),
        "bytes": TypedValue(maps.BYTES, b"\x00\xff"),
        "md5": TypedValue(maps.MD5, bytes(range(16))),
        "int": TypedValue(maps.INT, -(2**31)),
        "long": TypedValue(maps.LONG, 2**63 - 1),
        "float": TypedValue(maps.FLOAT, 0.5),
        "double": TypedValue(maps.DOUBLE, 0.1),
        "short": TypedValue(maps.SHORT, -2),
        "byte": TypedValue(maps.BYTE, -128),
        "vint": TypedValue(maps.VINT, -113),
        "vlong": TypedValue(maps.VLONG, 2**40),
        "map": TypedValue(maps.MAP, MapWritable({"a": TypedValue(maps.MAP, MapWritable.of_texts({"b": "c"}))})),
        "status": TypedValue(ProtocolStatus.JAVA_NAME, ProtocolStatus(12, 5, ["to", None])),
        "parse status": TypedValue(ParseStatus.JAVA_NAME, ParseStatus(2, 200, ["why"])),
        "metadata": TypedValue(Metadata.JAVA_NAME, Metadata.of([("a", "b"), ("a", "c")])),
        "parse text": TypedValue(ParseText.JAVA_NAME, ParseText("words")),
        "content": TypedValue(Content.JAVA_NAME, Content("http://a/", content=b"body")),
        TypedValue(maps.LONG, 7): TypedValue(maps.TEXT, "a key that is no text"),
        TypedValue(maps.NULL, None): TypedValue(maps.NULL, None),
    }
)


def nutch_bytes(value: MapWritable) -> bytes:
    out = DataOutput()
    value.write_nutch(out)
    return out.getvalue()


def of_nutch(raw: bytes) -> MapWritable:
    data = DataInput(raw)
    value = MapWritable.read_nutch(data)
    data.finish("map")
    return value


def test_values_of_every_class_come_back_in_their_order():
    raw = OF_EVERY_CLASS.to_bytes()
    again = MapWritable.read(raw)
    assert again == OF_EVERY_CLASS
    assert list(again.items()) == list(OF_EVERY_CLASS.items())
    assert again.to_bytes() == raw


def test_the_map_of_nutch_itself_holds_them_too():
    value = MapWritable(dict(OF_EVERY_CLASS.items()))
    data = ParseData(title="t", outlinks=[Outlink("http://a/", "x")])
    value.put("parse data", ParseData.JAVA_NAME, data)
    raw = nutch_bytes(value)
    again = of_nutch(raw)
    assert list(again.items()) == list(value.items())
    assert nutch_bytes(again) == raw
    assert nutch_bytes(MapWritable()) == bytes(4)
    assert of_nutch(bytes(4)) == MapWritable()


def test_what_was_read_from_an_old_version_is_written_in_todays():
    old = of_nutch(nutch_bytes(OF_EVERY_CLASS))
    assert MapWritable.read(old.to_bytes()) == OF_EVERY_CLASS


def test_a_table_of_classes_that_no_entry_has_any_more_is_kept():
    value = MapWritable(
        {"_pst_": TypedValue(ProtocolStatus.JAVA_NAME, ProtocolStatus(1)), "a": TypedValue(maps.INT, 1)}
    )
    read = MapWritable.read(value.to_bytes())
    assert read.classes == {1: ProtocolStatus.JAVA_NAME}
    read.remove("_pst_")
    read.remove("never there")
    assert ProtocolStatus.JAVA_NAME.encode() in read.to_bytes()
    read.put("text", ParseText.JAVA_NAME, ParseText("x"))
    assert MapWritable.read(read.to_bytes()).classes == {1: ProtocolStatus.JAVA_NAME, 2: ParseText.JAVA_NAME}


def test_a_map_answers_as_one():
    value = MapWritable.of_texts({"a": "b"})
    value.put("n", maps.INT, 3)
    assert (value.get("a"), value.get("n"), value.get("x"), value.get("x", 1)) == ("b", 3, None, 1)
    assert value["n"] == TypedValue(maps.INT, 3)
    assert "a" in value
    assert "x" not in value
    assert list(value) == ["a", "n"]
    assert len(value) == 2
    assert value
    assert not MapWritable()
    assert value != MapWritable.of_texts({"a": "b"})
    assert value != 5
    assert MapWritable(dict(reversed(list(value.items())))) == value


# what it does not know


def one_of(class_name: str) -> bytes:
    name = class_name.encode()
    return b"\x01\x01" + struct.pack(">H", len(name)) + name + struct.pack(">i", 1) + b"\x8c\x01a\x01"


def test_a_class_that_is_not_known_is_named():
    with pytest.raises(UnknownClassError) as caught:
        MapWritable.read(one_of("com.example.Own") + bytes(20))
    assert caught.value.name == "com.example.Own"
    for number in (b"\x81", b"\x8a", b"\x8d"):
        with pytest.raises(UnknownClassError):
            MapWritable.read(b"\x00" + struct.pack(">i", 1) + b"\x8c\x01a" + number + bytes(20))
    with pytest.raises(UnknownClassError):
        MapWritable({"a": TypedValue("com.example.Own", 1)}).to_bytes()
    with pytest.raises(UnknownClassError):
        nutch_bytes(MapWritable({"a": TypedValue("com.example.Own", 1)}))
    with pytest.raises(UnknownClassError):
        of_nutch(struct.pack(">i", 1) + b"\x00\x83\x85\x01a" + bytes(20))


def test_a_class_can_be_made_known():
    name = "com.example.Pair"
    maps.register(
        name, lambda data: (data.read_int(), data.read_int()), lambda out, pair: [out.write_int(n) for n in pair]
    )
    value = MapWritable({"a": TypedValue(name, (1, 2))})
    assert MapWritable.read(value.to_bytes()) == value


def test_a_number_that_the_table_does_not_name_is_told():
    with pytest.raises(FormatError, match="class number 5"):
        MapWritable.read(b"\x00" + struct.pack(">i", 1) + b"\x8c\x01a\x05" + bytes(20))
    with pytest.raises(FormatError, match="class number -1"):
        of_nutch(struct.pack(">i", 1) + b"\x00\x83\xff\x01a" + bytes(20))


def test_a_key_that_cannot_be_one_is_told():
    inner = MapWritable.of_texts({"a": "b"}).to_bytes()
    with pytest.raises(FormatError, match="key of class"):
        MapWritable.read(b"\x00" + struct.pack(">i", 1) + b"\x87" + inner + b"\x89")


def test_an_md5_has_16_bytes():
    with pytest.raises(FormatError):
        MapWritable({"a": TypedValue(maps.MD5, b"short")}).to_bytes()


def test_no_map_has_more_than_127_classes():
    for number in range(130):
        maps.register(f"com.example.C{number}", DataInput.read_byte, DataOutput.write_byte)
    value = MapWritable({f"{n}": TypedValue(f"com.example.C{n}", 1) for n in range(127)})
    assert MapWritable.read(value.to_bytes()) == value
    value.put("one more", "com.example.C128", 1)
    with pytest.raises(FormatError, match="127"):
        value.to_bytes()


# hostile bytes


def test_maps_within_maps_end_somewhere():
    opening = b"\x00" + struct.pack(">i", 1) + b"\x8c\x01a\x87"
    for raw in (opening * 20 + b"\x00" + bytes(4), opening * 100_000):
        with pytest.raises(FormatError, match="deep"):
            MapWritable.read(raw)
    opening = struct.pack(">i", 1) + b"\x00\x83\x89\x01a"
    with pytest.raises(FormatError, match="deep"):
        of_nutch(opening * 100_000)
    value = MapWritable()
    for _ in range(40):
        value = MapWritable({"a": TypedValue(maps.MAP, value)})
    with pytest.raises(FormatError, match="deep"):
        value.to_bytes()
    with pytest.raises(FormatError, match="deep"):
        nutch_bytes(value)


def test_as_keys_too():
    opening = b"\x00" + struct.pack(">i", 1) + b"\x87"
    with pytest.raises(FormatError, match="deep"):
        MapWritable.read(opening * 100_000)


@pytest.mark.parametrize("count", [2**31 - 1, -1, -(2**31), 1000])
def test_a_count_of_more_than_follows_is_told(count):
    for head in (b"\x00", b"\x01\x01\x00\x01x"):
        with pytest.raises(FormatError):
            MapWritable.read(head + struct.pack(">i", count) + bytes(100))
    with pytest.raises(FormatError):
        of_nutch(struct.pack(">i", count) + bytes(100))
    with pytest.raises(FormatError):
        MapWritable.read(b"\xff" + bytes(1000))


def test_a_map_of_more_entries_than_any_has_is_told():
    with pytest.raises(FormatError, match="the most"):
        MapWritable.read(b"\x00" + struct.pack(">i", 1_000_001) + b"\x89" * 3_000_000)


def typical() -> bytes:
    value = MapWritable.of_texts({"Content-Type": "text/html"})
    value.put("_pst_", ProtocolStatus.JAVA_NAME, ProtocolStatus(1))
    value.put("_rs_", maps.INT, 141)
    value.put("_ngt_", maps.LONG, 1)
    return value.to_bytes()


@pytest.mark.parametrize("raw", [OF_EVERY_CLASS.to_bytes(), typical()], ids=["every class", "typical"])
def test_every_beginning_is_cut_also_where_more_bytes_follow(raw):
    """What lies behind the end of a value belongs to no one: the fast way must not look there either."""
    assert MapWritable.read(raw).to_bytes() == raw
    for length in range(len(raw)):
        with pytest.raises(CutError):
            MapWritable.read(raw[:length])
        with pytest.raises(CutError):
            MapWritable.read(DataInput(raw, 0, length))


def test_the_fast_and_the_careful_way_agree():
    raw = typical()
    pick = random.Random(5)
    for _ in range(3000):
        changed = bytearray(raw)
        for _ in range(pick.choice((1, 1, 2, 4))):
            changed[pick.randrange(len(changed))] = pick.choice((0, 1, 127, 128, 133, 140, 255, pick.randrange(256)))
        assert way(bytes(changed), True) == way(bytes(changed), False)


def way(raw: bytes, fast: bool) -> object:
    """What comes of reading *raw*; a map within a map is never read the fast way."""
    try:
        if fast:
            data = DataInput(raw)
            return list(MapWritable.read(data).items()), data.position
        nested = b"\x00" + struct.pack(">i", 1) + b"\x8c\x01a\x87" + raw
        data = DataInput(nested)
        return list(MapWritable.read(data)["a"].value.items()), data.position - (len(nested) - len(raw))
    except FormatError as error:
        return type(error), error.what


def test_many_small_entries_and_tables_stay_small():
    """Half a million entries, all with the same key, and a class table in each of a thousand records."""
    raw = b"\x00" + struct.pack(">i", 500_000) + b"\x89\x89" * 500_000
    assert len(MapWritable.read(raw)) == 1
    for number in range(1000):
        one = f"com.example.T{number}".encode()
        with pytest.raises(UnknownClassError):
            MapWritable.read(one_of(one.decode()) + bytes(4))
    assert len(maps._TABLES) <= 64


def test_records_with_maps_read_them_where_they_stand():
    metadata = MapWritable.read(typical())
    datum, host = CrawlDatum(2, metadata=metadata), HostDatum(metadata=metadata)
    assert CrawlDatum.decode(datum.to_bytes()).metadata == metadata
    assert HostDatum.decode(host.to_bytes()).metadata == metadata
    for raw in (datum.to_bytes(), host.to_bytes()):
        for length in range(len(raw)):
            with pytest.raises(CutError):
                (CrawlDatum if raw[0] == 7 else HostDatum).decode(raw[:length])
