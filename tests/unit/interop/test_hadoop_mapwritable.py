"""Maps whose values carry their classes come back with them, in both layouts; hostile ones give a typed error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.hadoop.mapwritable import MapWritable, TypedValue

IO = "org.apache.hadoop.io."


def typed(name: str, values: st.SearchStrategy) -> st.SearchStrategy[TypedValue]:
    return values.map(lambda value: TypedValue(IO + name, value))


def bits(width: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << (width - 1)), (1 << (width - 1)) - 1)


PLAIN = st.one_of(
    typed("Text", st.text()), typed("NullWritable", st.none()), typed("BooleanWritable", st.booleans()),
    typed("BytesWritable", st.binary()), typed("MD5Hash", st.binary(min_size=16, max_size=16)),
    typed("IntWritable", bits(32)), typed("LongWritable", bits(64)), typed("ShortWritable", bits(16)),
    typed("ByteWritable", bits(8)), typed("VIntWritable", bits(32)), typed("VLongWritable", bits(64)),
    typed("FloatWritable", st.floats(width=32, allow_nan=False)),
    typed("DoubleWritable", st.floats(allow_nan=False)),
)  # fmt: skip
KEYS = st.text() | PLAIN.filter(lambda one: one.class_name != IO + "Text")
MAPS = st.recursive(
    st.dictionaries(KEYS, PLAIN, max_size=5).map(MapWritable),
    lambda inner: st.dictionaries(KEYS, typed("MapWritable", inner) | PLAIN, max_size=5).map(MapWritable),
    max_leaves=8,
)


@given(MAPS, st.binary(max_size=4))
def test_hadoops_layout(value, rest):
    data = DataInput(value.to_bytes() + rest)
    again = MapWritable.read(data)
    assert again == value
    assert data.read_bytes(data.left) == rest
    assert again.to_bytes() == value.to_bytes()


@given(MAPS, st.binary(max_size=4))
def test_the_layout_of_nutch(value, rest):
    out = DataOutput()
    value.write_nutch(out)
    data = DataInput(out.getvalue() + rest)
    assert MapWritable.read_nutch(data) == value
    assert data.read_bytes(data.left) == rest


@given(MAPS)
def test_a_map_within_other_bytes_ends_where_it_ends(value):
    """What follows in the buffer is none of its business."""
    written = value.to_bytes()
    for end in range(len(written)):
        with pytest.raises(FormatError):
            MapWritable.read(DataInput(b"\x8c" + written + written, 1, 1 + end))
    assert MapWritable.read(DataInput(b"\x8c" + written + written, 1, 1 + len(written))) == value


@given(st.binary(max_size=120))
def test_any_bytes(data):
    for read in (MapWritable.read, lambda given_bytes: MapWritable.read_nutch(DataInput(given_bytes))):
        try:
            value = read(data)
        except FormatError:
            continue
        assert len(value) <= len(data)
