"""Keys are found in MapFiles, with a good index, a bad one or none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.errors import DataError
from cobnut.interop.hadoop.data import DataOutput
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.hadoop.header import LONG, TEXT
from cobnut.interop.hadoop.mapfile import (
    ArrayFileReader,
    ArrayFileWriter,
    MapFileReader,
    MapFileWriter,
    number_order,
    order_of,
)
from cobnut.interop.hadoop.sequencefile import RawRecord, SequenceFileReader, SequenceFileWriter

GOLDEN = Path(__file__).parents[2] / "formats" / "nutch"


def text(value: str) -> bytes:
    out = DataOutput()
    out.write_text(value)
    return out.getvalue()


def number(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


KEYS = [text(f"http://host/{place:05}") for place in range(1000)]
VALUES = [b"value %d" % place for place in range(1000)]


def write(folder: Path, keys=KEYS, values=VALUES, key_class=TEXT, **options) -> Path:
    with MapFileWriter(folder, key_class, TEXT, **options) as writer:
        for key, value in zip(keys, values, strict=True):
            writer.append(key, value)
        assert writer.count == len(keys)
    return folder


def pairs(records) -> list[tuple[bytes, bytes]]:
    return [(key, value) for _, key, value in records]


ALL = list(zip(KEYS, VALUES, strict=True))


@pytest.mark.parametrize(
    "options",
    [{}, {"compression": "record"}, {"compression": "block"}, {"version": 2}, {"index_compression": "none"}],
    ids=str,
)
def test_keys_are_found(tmp_path, options):
    with MapFileReader(write(tmp_path, **options)) as reader:
        assert pairs(reader.records()) == ALL
        for place in (0, 1, 127, 128, 129, 500, 511, 512, 998, 999):
            assert reader.get(KEYS[place]) == VALUES[place]
            assert reader.seek(KEYS[place])
            assert pairs(reader.records()) == ALL[place:]
            # once only: the next reading begins at the first record again
            assert next(reader.records()).key == KEYS[0]
            between = text(f"http://host/{place:05}x")
            assert reader.get(between) is None
            assert not reader.seek(between)
            assert pairs(reader.records()) == ALL[place + 1 :]
        assert reader.get(text("a")) is None
        assert not reader.seek(text("a"))
        assert pairs(reader.records()) == ALL
        assert (reader.skipped, reader.warnings) == ([], [])


def test_the_index_has_an_entry_for_every_128th_record(tmp_path):
    write(tmp_path)
    with SequenceFileReader(tmp_path / "index") as index, SequenceFileReader(tmp_path / "data") as data:
        records = list(data.records())
        assert (index.key_class, index.value_class, index.compression) == (TEXT, LONG, "block")
        entries = [(key, number_order(value)) for _, key, value in index.records()]
        assert entries == [(record.key, record.position) for record in records[::128]]


def test_only_part_of_the_file_is_read_for_a_key(tmp_path):
    """Damage far from the key is never met."""
    write(tmp_path, values=[bytes(2000)] * 1000)
    with open(tmp_path / "data", "r+b") as file:
        file.seek(100_000)
        file.write(b"\xff" * 1000)
    with MapFileReader(tmp_path) as reader:
        assert reader.get(KEYS[900]) == bytes(2000)
        assert reader.get(KEYS[2]) == bytes(2000)
        assert reader.skipped == []
        assert len(list(reader.records())) < 1000
        assert reader.skipped != []


@pytest.mark.parametrize("damage", ["missing", "cut", "empty", "garbage", "folder", "codec", "elsewhere"])
def test_an_index_that_cannot_be_used_costs_no_record(tmp_path, damage):
    write(tmp_path, index_compression="none")
    index = tmp_path / "index"
    (tmp_path / ".index.crc").unlink()
    if damage == "elsewhere":
        with SequenceFileWriter(index, TEXT, LONG) as writer:
            writer.append(KEYS[0], (1 << 60).to_bytes(8, "big"))
    elif damage == "codec":
        index.write_bytes(b"SEQ\x06\x01a\x01b\x01\x00\x0aSnappyCodec"[:-1] + bytes(20))
    else:
        data = index.read_bytes()
        index.unlink()
        if damage == "folder":
            index.mkdir()
        elif damage != "missing":
            index.write_bytes({"cut": data[:-5], "empty": b"", "garbage": b"\xff" * 300}[damage])
    with MapFileReader(tmp_path) as reader:
        assert pairs(reader.records()) == ALL
        for place in (0, 300, 999):
            assert reader.get(KEYS[place]) == VALUES[place]
        assert reader.get(text("zzz")) is None
        assert len(reader.warnings) == 1
        assert str(index) in reader.warnings[0]
        assert reader.skipped == []


def test_keys_that_do_not_ascend_are_read_and_explained(tmp_path):
    keys = KEYS[500:] + KEYS[:500]
    with SequenceFileWriter(tmp_path / "data", TEXT, TEXT) as writer:
        for key, value in zip(keys, VALUES, strict=True):
            writer.append(key, value)
    with MapFileReader(tmp_path) as reader:
        assert pairs(reader.records()) == list(zip(keys, VALUES, strict=True))
        assert len(reader.warnings) == 1
        assert "do not ascend" in reader.warnings[0]
        list(reader.records())
        assert len(reader.warnings) == 1
        # found in spite of it
        assert reader.get(KEYS[3]) == VALUES[503]
        assert reader.get(text("none")) is None
        assert reader.seek(KEYS[3])
        assert next(reader.records()).value == VALUES[503]


def test_an_index_that_does_not_ascend_is_explained(tmp_path):
    shuffled = KEYS[500:] + KEYS[:500]
    with MapFileWriter(tmp_path, TEXT, TEXT, order=lambda key: 0) as writer:
        for key in shuffled:
            writer.append(key, b"")
    with MapFileReader(tmp_path) as reader:
        assert all(reader.get(key) == b"" for key in (KEYS[3], KEYS[700]))
        assert "do not ascend" in reader.warnings[0]


def test_keys_must_ascend_when_written(tmp_path):
    writer = MapFileWriter(tmp_path / "map", TEXT, TEXT)
    for key in ("a", "b", "b"):
        writer.append(text(key), b"")
    with pytest.raises(FormatError, match="record 3: its key does not ascend"):
        writer.append(text("aa"), b"")
    writer.discard()
    assert list((tmp_path / "map").iterdir()) == []


@pytest.mark.parametrize("compression", ["none", "block"])
def test_of_equal_keys_the_first_is_found(tmp_path, compression):
    keys = [text("a")] + [text("b")] * 500 + [text("c")]
    values = [b"%d" % place for place in range(502)]
    with MapFileReader(write(tmp_path, keys, values, compression=compression)) as reader:
        assert reader.get(text("b")) == b"1"
        assert reader.get(text("c")) == b"501"


@settings(max_examples=40)
@given(
    st.dictionaries(st.text(max_size=200), st.binary(max_size=30), max_size=60), st.lists(st.text(max_size=3)),
    st.sampled_from([1, 3, 128]), st.sampled_from(["none", "block"]),
)  # fmt: skip
def test_text_keys_are_ordered_by_their_bytes(tmp_path_factory, entries, others, interval, compression):
    folder = tmp_path_factory.mktemp("m")
    keys = sorted(entries, key=str.encode)
    written = {text(key): entries[key] for key in keys}
    write(folder, list(written), list(written.values()), index_interval=interval, compression=compression)
    with MapFileReader(folder) as reader:
        assert pairs(reader.records()) == list(written.items())
        assert reader.warnings == []
        for key in [*keys, *others]:
            assert reader.get(text(key)) == entries.get(key)


def test_orders():
    assert order_of(TEXT)(text("x" * 300)) == b"x" * 300
    assert order_of("UTF8", 2)(b"\x00\x01a") == b"a"
    for name, version in ((LONG, 6), ("long", 2), ("long", 3), ("org.apache.hadoop.io.IntWritable", 6)):
        order = order_of(name, version)
        assert order(number(-5)) < order(number(0)) < order(number(1 << 40))
    assert order_of("org.example.Text") is None
    for broken in (b"", b"\x80", b"\x8f"):
        for name in (TEXT, "UTF8", LONG):
            order = order_of(name, 2)
            if order is not None:
                try:
                    order(broken)
                except FormatError:
                    continue


def test_keys_of_a_class_that_is_not_known_are_found_by_reading(tmp_path):
    keys = [b"z", b"a", b"m"]
    write(tmp_path, keys, [b"1", b"2", b"3"], key_class="org.example.Own")
    with MapFileReader(tmp_path) as reader:
        assert [reader.get(key) for key in (*keys, b"b")] == [b"1", b"2", b"3", None]
        assert reader.warnings == []
    with MapFileReader(tmp_path, order=lambda key: -key[0]) as reader:
        assert reader.warnings == []
        assert reader.get(b"z") == b"1"


@pytest.mark.parametrize("version", [2, 6])
def test_arrays(tmp_path, version):
    with ArrayFileWriter(tmp_path, "Content", version=version) as writer:
        for value in VALUES:
            writer.append(value)
        assert writer.count == 1000
    with ArrayFileReader(tmp_path) as reader:
        assert reader.key_class == ("long" if version == 2 else LONG)
        assert (reader.value_class, reader.version) == ("Content", version)
        assert len(reader) == 1000
        for place in (0, 1, 127, 128, 640, 999):
            assert reader.get(place) == VALUES[place]
        assert [reader.get(place) for place in (-1, 1000, 1 << 63, 1 << 80)] == [None] * 4
        assert pairs(reader.records()) == [(number(place), value) for place, value in enumerate(VALUES)]
        assert reader.warnings == []
    shutil.rmtree(tmp_path / ".index.crc", ignore_errors=True)
    (tmp_path / "index").unlink()
    with ArrayFileReader(tmp_path) as reader:
        assert len(reader) == 1000
        assert reader.get(777) == VALUES[777]


def test_an_empty_array(tmp_path):
    ArrayFileWriter(tmp_path, "Content").close()
    with ArrayFileReader(tmp_path) as reader:
        assert len(reader) == 0
        assert reader.get(0) is None
        assert list(reader.records()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "index"]


def test_numbers_hold_across_damage(tmp_path):
    with ArrayFileWriter(tmp_path, "Content") as writer:
        for value in VALUES:
            writer.append(value)
    with SequenceFileReader(tmp_path / "data") as data:
        place = [record.position for record in data.records()][500]
    with open(tmp_path / "data", "r+b") as file:
        file.seek(place)
        file.write(b"\x7f" * 8)
    with ArrayFileReader(tmp_path) as reader:
        assert reader.get(500) is None
        assert reader.get(520) == VALUES[520]
        assert len(reader) == 1000
        assert len(reader.skipped) == 1


def test_real_keys_are_found():
    folder = GOLDEN / "1.23/data/crawldb-03-update/part-r-00000"
    with MapFileReader(folder) as reader:
        records = list(reader.records())
        assert len(records) == 26
        assert all(reader.get(record.key) == record.value for record in records)
        assert reader.warnings == []
    with ArrayFileReader(GOLDEN / "0.7.2/data/segments/20261130130149/content") as pages:
        values = [record.value for record in pages.records()]
        assert len(pages) == len(values) == 21
        assert [pages.get(place) for place in range(21)] == values


def test_what_is_no_map(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        MapFileReader(tmp_path / "none")
    with pytest.raises(DataError, match=r"No such file.*data"):
        MapFileReader(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FormatError, match="no folder"):
        MapFileReader(tmp_path / "file")


def test_hostile_numbers_make_no_hostile_length(tmp_path):
    with SequenceFileWriter(tmp_path / "data", "long", "Content", version=2) as writer:
        for key in (b"", b"\xff" * 8, b"\x7f" * 8, b"\x7f" * 5000):
            writer.append(key, b"v")
    with ArrayFileReader(tmp_path) as reader:
        assert 0 < len(reader) < 1 << 63
        assert reader.get(0) is None or reader.get(0) == b"v"
        assert [type(record) for record in reader.records()] == [RawRecord] * 4
