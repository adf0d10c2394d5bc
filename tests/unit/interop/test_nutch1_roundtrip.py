"""Does whatever a record of Nutch 1 can hold come back from its bytes, in every layout there is?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.interop.hadoop import FormatError
from cobnut.interop.hadoop import mapwritable as maps
from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.mapwritable import MapWritable, TypedValue
from cobnut.interop.nutch1 import (
    RECORDS,
    Content,
    CrawlDatum,
    HostDatum,
    Inlink,
    Inlinks,
    Layout,
    LinkDatum,
    Metadata,
    Node,
    Outlink,
    ParseData,
    ParseStatus,
    ParseText,
    ProtocolStatus,
    Record,
    ValueReader,
)
from cobnut.interop.nutch1.layout import LayoutReader

strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=200) | st.just("x" * 40_000)
short = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
"""For UTF8, which cuts long ones."""
addresses = (short | st.just("x" * 300)).map(lambda rest: f"http://example.com/{rest}")
floats = st.floats(width=32, allow_nan=False)
bytes_, shorts, ints, longs = (st.integers(-(1 << n), (1 << n) - 1) for n in (7, 15, 31, 63))
arguments = st.none() | st.lists(st.none() | strings, max_size=4)
metadata = st.builds(Metadata, st.dictionaries(short, st.lists(short, max_size=3), max_size=4))
protocol_statuses = st.builds(ProtocolStatus, bytes_, longs, arguments)
parse_statuses = st.builds(ParseStatus, bytes_, shorts, arguments)
contents = st.builds(Content, strings, strings, st.binary(max_size=500), short, metadata)
parse_texts = st.builds(ParseText, strings)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    maps.TEXT: strings, maps.INT: ints, maps.LONG: longs, maps.FLOAT: floats, maps.VINT: ints, maps.VLONG: longs,
    maps.DOUBLE: st.floats(allow_nan=False), maps.BOOLEAN: st.booleans(), maps.BYTES: st.binary(max_size=50),
    maps.MD5: st.binary(min_size=16, max_size=16), maps.NULL: st.none(), maps.SHORT: shorts, maps.BYTE: bytes_,
    ProtocolStatus.JAVA_NAME: protocol_statuses, ParseStatus.JAVA_NAME: parse_statuses,
    Metadata.JAVA_NAME: metadata, ParseText.JAVA_NAME: parse_texts, Content.JAVA_NAME: contents,
}  # fmt: skip
typed = st.sampled_from(sorted(VALUES)).flatmap(lambda name: st.builds(TypedValue, st.just(name), VALUES[name]))
keys = short | st.builds(TypedValue, st.sampled_from([maps.INT, maps.VLONG]), ints)
flat_maps = st.builds(MapWritable, st.dictionaries(keys, typed, max_size=5))
nested_maps = st.recursive(
    flat_maps,
    lambda inner: st.builds(
        MapWritable, st.dictionaries(keys, typed | st.builds(TypedValue, st.just(maps.MAP), inner), max_size=3)
    ),
    max_leaves=4,
)
some_map = st.none() | nested_maps.filter(bool)
"""An empty one is written as none."""
outlinks = st.builds(Outlink, addresses, short, some_map)
inlinks = st.builds(Inlink, addresses, short, some_map)
signatures = st.none() | st.binary(min_size=1, max_size=127)

RECORD_STRATEGIES: dict[type[Record], st.SearchStrategy[Any]] = {
    CrawlDatum: st.builds(CrawlDatum, bytes_, longs, longs, bytes_, ints, floats, signatures, some_map),
    Content: contents,
    HostDatum: st.builds(HostDatum, floats, longs, strings, *[longs] * 8, nested_maps),
    Inlink: inlinks,
    Inlinks: st.builds(Inlinks, st.lists(inlinks, max_size=4)),
    LinkDatum: st.builds(LinkDatum, strings, strings, floats, longs, bytes_),
    Metadata: metadata,
    Node: st.builds(Node, ints, ints, floats, metadata),
    Outlink: outlinks,
    ParseData: st.builds(ParseData, parse_statuses, short, st.lists(outlinks, max_size=4), metadata, metadata),
    ParseStatus: parse_statuses,
    ParseText: parse_texts,
    ProtocolStatus: protocol_statuses,
}
LAID = [Inlink, Inlinks, Outlink, ParseData]


def test_every_record_is_tried():
    assert set(RECORD_STRATEGIES) == set(RECORDS.values())


@pytest.mark.parametrize("record_class", RECORD_STRATEGIES, ids=lambda one: one.__name__)
def test_what_is_written_is_read(record_class):
    @given(RECORD_STRATEGIES[record_class])
    @settings(max_examples=100, deadline=None)
    def come_back(record: Any) -> None:
        raw = record.to_bytes()
        again = record_class.decode(raw)
        assert again == record
        assert again.to_bytes() == raw
        data = DataInput(b"before" + raw + b"behind", 6)
        assert record_class.read(data) == record
        assert data.position == 6 + len(raw)
        reader = ValueReader(record_class.JAVA_NAME)
        assert reader(raw) == reader(raw) == record

    come_back()


@pytest.mark.parametrize("layout", [Layout.TEXT, Layout.UTF8])
@pytest.mark.parametrize("record_class", LAID, ids=lambda one: one.__name__)
def test_older_layouts_are_told_and_lose_nothing_but_metadata(record_class, layout):
    @given(RECORD_STRATEGIES[record_class])
    @settings(max_examples=100, deadline=None)
    def come_back(record: Any) -> None:
        out = DataOutput()
        record.write_as(out, layout)
        assert record_class.decode(out.getvalue()) == without_metadata(record)

    come_back()


def without_metadata(record: Any) -> Any:
    if isinstance(record, Inlinks):
        return Inlinks([without_metadata(one) for one in record])
    if isinstance(record, ParseData):
        plain = [without_metadata(one) for one in record.outlinks]
        return ParseData(record.status, record.title, plain, record.content_meta, record.parse_meta)
    return type(record)(record.to_url if isinstance(record, Outlink) else record.from_url, record.anchor)


@given(nested_maps)
@settings(max_examples=100, deadline=None)
def test_maps_of_both_layouts_come_back(value):
    raw = value.to_bytes()
    again = MapWritable.read(raw)
    assert list(again.items()) == list(value.items())
    assert again.to_bytes() == raw
    out = DataOutput()
    value.write_nutch(out)
    data = DataInput(out.getvalue())
    old = MapWritable.read_nutch(data)
    data.finish("map")
    assert list(old.items()) == list(value.items())


@given(st.sampled_from(sorted(RECORDS)), st.integers(-2, 8), st.binary(max_size=200))
@settings(max_examples=500, deadline=None)
def test_any_bytes_are_a_record_or_an_error(name, version, rest):
    try:
        record = ValueReader(name)(bytes([version & 0xFF]) + rest)
        raw = record.to_bytes()
    except FormatError:
        return
    assert RECORDS[name].decode(raw) == record or "nan" in repr(record)


@given(st.sampled_from(list(RECORD_STRATEGIES)), st.data())
@settings(max_examples=300, deadline=None)
def test_a_changed_byte_is_a_record_or_an_error(record_class, data):
    raw = bytearray(data.draw(RECORD_STRATEGIES[record_class]).to_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        record_class.decode(bytes(raw)).to_bytes()
    except FormatError:
        return


@pytest.mark.parametrize("length", [381, 514])
def test_of_two_layouts_that_fit_the_one_with_whole_addresses_is_taken(length):
    """Lengths at which the bytes of one layout are a record of another to the last byte."""
    urls = [f"http://example.com/{'x' * length}", "http://example.com/0\x80\x80\x80\U00010000", "http://example.com/00"]
    links = Inlinks(inlinks=[Inlink(from_url=url, anchor="00\x80\x80" if n == 1 else "") for n, url in enumerate(urls)])
    out = DataOutput()
    links.write_as(out, Layout.UTF8)
    assert LayoutReader(Inlinks.read_as, Inlinks.leads_somewhere, "Inlinks")(out.getvalue()) != links
    assert Inlinks.decode(out.getvalue()) == links
