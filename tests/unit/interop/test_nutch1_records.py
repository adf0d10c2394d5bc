"""Does every record of Nutch 0.8 to 1.23 read all its versions and layouts, and stand hostile bytes?"""

import gzip
import io
import json
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from cobnut.interop import nutch1
from cobnut.interop.hadoop import CutError, FormatError, UnknownClassError, VersionMismatchError
from cobnut.interop.hadoop.data import DataInput, DataOutput, float_bits
from cobnut.interop.hadoop.writable import Writable
from cobnut.interop.nutch1 import (
    RECORDS,
    Content,
    CrawlDatum,
    HostDatum,
    Inlink,
    Inlinks,
    Layout,
    MapWritable,
    Metadata,
    Node,
    Outlink,
    ParseData,
    ParseStatus,
    ParseText,
    ProtocolStatus,
    Record,
    TypedValue,
    ValueReader,
)
from cobnut.interop.nutch1.crawldatum import STATUS_CODES, STATUS_NAMES, seconds_of_days

BY_HAND: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "formats" / "nutch" / "by_hand" / "1.x" / "records.json").read_text("utf-8")
)
TEXT = "org.apache.hadoop.io.Text"
ALL = sorted(RECORDS.values(), key=lambda record: record.__name__)


def name_of(case: dict[str, Any]) -> str:
    return " ".join(filter(None, (case["record"], case["what"], case.get("layout"))))


by_hand = pytest.mark.parametrize("case", BY_HAND, ids=name_of)


def told(value: Any) -> Any:
    """A value as `records.json` writes it."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, float):
        return {"bits": float_bits(value)}
    if isinstance(value, MapWritable):
        pairs = [(TypedValue(TEXT, key) if isinstance(key, str) else key, typed) for key, typed in value.items()]
        return {"map": [[key.class_name, told(key.value), one.class_name, told(one.value)] for key, one in pairs]}
    if isinstance(value, Writable):
        fields = {name: told(getattr(value, name)) for name in value.__struct_fields__}
        return {"record": type(value).__name__, "fields": fields}
    if isinstance(value, list):
        return [told(item) for item in value]
    return {name: told(item) for name, item in value.items()} if isinstance(value, dict) else value


def class_of(case: dict[str, Any]) -> type[Record]:
    return getattr(nutch1, case["record"])


@by_hand
def test_bytes_written_by_hand_say_what_they_should(case):
    record_class, raw = class_of(case), bytes.fromhex(case["hex"])
    expected = {"record": case["record"], "fields": case["fields"]}
    reader = ValueReader(record_class.JAVA_NAME)
    record = reader(raw)
    assert told(record) == expected
    assert reader.layout == case.get("layout")
    assert told(record_class.decode(raw)) == expected
    assert told(record_class.read(raw)) == expected
    # written, it has today's version and layout, and says the same
    assert record_class.decode(record.to_bytes()) == record


@by_hand
def test_what_lies_in_todays_layout_comes_out_as_it_was(case):
    raw = bytes.fromhex(case["hex"])
    record = class_of(case).decode(raw)
    version = raw[0] if hasattr(record, "CUR_VERSION") else None
    today = version is None or version == (record.CUR_VERSION & 0xFF)
    if today and case.get("layout", "flagged") == "flagged":
        assert record.to_bytes() == raw
    if "layout" in case and (version is None or version in (4, 5)):
        out = DataOutput()
        record.write_as(out, Layout(case["layout"]))
        assert out.getvalue() == raw


@by_hand
def test_every_beginning_of_a_record_is_cut_and_nothing_else(case):
    record_class, raw = class_of(case), bytes.fromhex(case["hex"])
    reader = ValueReader(record_class.JAVA_NAME)
    assert reader(raw) == reader(raw)
    for length in range(len(raw)):
        with pytest.raises(CutError) as caught:
            reader(raw[:length])
        assert 0 <= caught.value.offset <= length
    with pytest.raises(FormatError):
        reader(raw + b"\x00")


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("text", ["", "a", "x" * 127, "x" * 128, "ü" * 200])
def test_links_end_where_they_end_also_where_more_bytes_follow(layout, text):
    links = Inlinks([Inlink(f"http://a/{text}", text), Inlink(f"http://b/{text}", text)])
    raw = laid(links, layout)
    assert Inlinks.read_as(DataInput(raw), layout) == links
    for length in range(len(raw)):
        with pytest.raises(CutError):
            Inlinks.read_as(DataInput(raw, 0, length), layout)


@by_hand
def test_a_beginning_in_a_layout_that_nothing_told_is_no_crash(case):
    raw = bytes.fromhex(case["hex"])
    for length in range(len(raw)):
        try:
            class_of(case).decode(raw[:length])
        except FormatError:
            continue
        # one link without a flag is the beginning of one with a flag
        assert case["layout"]


@by_hand
def test_flipped_and_huge_numbers_are_told_or_harmless(case):
    record_class, raw = class_of(case), bytes.fromhex(case["hex"])
    pick = random.Random(name_of(case))
    spoilt = [raw[:at] + four + raw[at + 4 :] for at in range(len(raw) - 3) for four in HUGE]
    for _ in range(300):
        changed = bytearray(raw)
        for _ in range(pick.choice((1, 1, 2, 5))):
            changed[pick.randrange(len(changed))] ^= 1 << pick.randrange(8)
        spoilt.append(bytes(changed))
    for one in spoilt:
        try:
            record = record_class.decode(one)
        except FormatError:
            continue
        record.to_bytes()


HUGE = (b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00\xff\xff\xff")


@pytest.mark.parametrize("record_class", ALL, ids=lambda one: one.__name__)
def test_noise_is_told(record_class):
    pick = random.Random(record_class.__name__)
    versions = range(-1, 9)
    for length in [*range(64)] * 20:
        raw = struct.pack(">b", pick.choice(versions)) + pick.randbytes(length)
        try:
            record_class.decode(raw)
        except FormatError:
            continue


@pytest.mark.parametrize(
    ("record_class", "newest"), [(CrawlDatum, 7), (ParseData, 5), (ParseText, 2), (ParseStatus, 2), (ProtocolStatus, 2)]
)
def test_a_newer_version_is_told(record_class, newest):
    raw = bytes([newest + 1]) + bytes(100)
    with pytest.raises(VersionMismatchError) as caught:
        record_class.decode(raw)
    assert (caught.value.expected, caught.value.found) == (newest, newest + 1)
    assert record_class.__name__ in str(caught.value)
    with pytest.raises(VersionMismatchError):
        ValueReader(record_class.JAVA_NAME)(raw)
    for never in (b"\x00", b"\xff", b"\x80"):
        with pytest.raises(FormatError, match="there never was"):
            record_class.decode(never + bytes(100))


def test_a_newer_content_is_told():
    with pytest.raises(VersionMismatchError) as caught:
        Content.decode(struct.pack(">i", -2) + bytes(100))
    assert (caught.value.expected, caught.value.found) == (-1, -2)


def test_the_file_and_place_can_be_added_to_an_error():
    with pytest.raises(FormatError) as caught:
        CrawlDatum.decode(b"\x07\x01")
    assert str(caught.value.in_file("part-00000/data", 1000)).endswith("part-00000/data, byte 1001")


def test_a_stream_is_left_behind_the_record():
    one, two = CrawlDatum(1, score=2.0), Inlinks([Inlink("http://a/", "x")])
    stream = io.BytesIO(one.to_bytes() + two.to_bytes() + b"rest")
    assert CrawlDatum.read(stream) == one
    assert Inlinks.read(stream) == two
    assert stream.read() == b"rest"
    target = io.BytesIO()
    two.write(target)
    assert Inlinks.read(target.getvalue()) == two
    again = Inlinks([Inlink("http://other/")])
    again.read_fields(two.to_bytes())
    assert again == two


# what a status is called


def test_statuses_have_their_names():
    assert STATUS_NAMES[0x01] == "db_unfetched"
    assert STATUS_CODES["linked"] == 0x43
    assert CrawlDatum(0x09).status_name == "db_parse_failed"
    assert CrawlDatum(0x45).status_name == "parse_failed"
    assert CrawlDatum(0x50).status_name == "unknown"
    assert [CrawlDatum(code).has_db_status for code in (0x01, 0x1F, 0x20, 0x21, 0x42)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert [CrawlDatum(code).has_fetch_status for code in (0x1F, 0x21, 0x3F, 0x41)] == [False, True, True, False]
    assert ProtocolStatus(18).name == "robots_denied"
    assert ParseStatus(2, 202).name == "failed"
    assert ProtocolStatus(99).name == "unknown_99"


def test_a_redirect_of_the_page_itself_is_told():
    assert ParseStatus(1, 100, ["http://a/", "5"]).redirect == ("http://a/", "5")
    assert ParseStatus(1, 100, ["http://a/"]).redirect == ("http://a/", "0")
    for other in (ParseStatus(1, 0, ["http://a/"]), ParseStatus(1, 100), ParseStatus(1, 100, [None])):
        assert other.redirect is None


# CrawlDatum


def test_days_become_seconds():
    assert seconds_of_days(30.0) == 2_592_000
    assert seconds_of_days(0.5) == 43_200
    assert seconds_of_days(float("nan")) == 0
    assert seconds_of_days(-1e30) == -(2**31)


def test_data_are_in_the_order_of_java():
    ordered = [
        CrawlDatum(1, score=2.0), CrawlDatum(1, 9, score=1.0), CrawlDatum(1, 5, score=1.0, retries=2),
        CrawlDatum(1, 5, score=1.0, retries=1, fetch_interval=9),
        CrawlDatum(1, 5, score=1.0, retries=1, fetch_interval=5, modified_time=2),
        CrawlDatum(1, 5, score=1.0, retries=1, fetch_interval=5), CrawlDatum(2, 99, score=1.0),
        CrawlDatum(1, score=-1.0),
    ]  # fmt: skip
    shuffled = ordered[:]
    random.Random(1).shuffle(shuffled)
    assert sorted(shuffled) == ordered


def test_no_metadata_and_an_empty_map_are_the_same():
    assert CrawlDatum(1) == CrawlDatum(1, metadata=MapWritable(), signature=b"")
    assert CrawlDatum(1, metadata=MapWritable()).to_bytes() == CrawlDatum(1).to_bytes()
    assert CrawlDatum(1) != CrawlDatum(1, metadata=MapWritable.of_texts({"a": "b"}))
    assert CrawlDatum(1) != 1


@pytest.mark.parametrize(
    "record",
    [
        CrawlDatum(1, 1 << 70), CrawlDatum(1, fetch_interval=1 << 31), CrawlDatum(1, score=1e300), CrawlDatum(200),
        CrawlDatum(1, signature=bytes(128)), HostDatum(gone=1 << 63), Node(1 << 40), ParseStatus(0, 1 << 20),
    ],
    ids=lambda record: type(record).__name__,
)  # fmt: skip
def test_what_does_not_fit_is_told(record):
    with pytest.raises(FormatError):
        record.to_bytes()
    with pytest.raises(FormatError):
        record.write(io.BytesIO())


def test_a_signature_of_more_than_127_bytes_is_read_though_none_can_be_written():
    raw = CrawlDatum(1).to_bytes()
    long = raw[:27] + bytes([200]) + bytes(200) + raw[28:]
    assert CrawlDatum.decode(long).signature == bytes(200)


# layouts


def laid(record: Any, layout: Layout) -> bytes:
    out = DataOutput()
    record.write_as(out, layout)
    return out.getvalue()


PAIR = Inlinks([Inlink("http://a.example/", "one"), Inlink("http://b.example/", "")])


@pytest.mark.parametrize("layout", Layout)
def test_a_file_keeps_the_layout_of_its_first_telling_value(layout):
    reader = ValueReader(Inlinks.JAVA_NAME)
    assert reader(laid(Inlinks(), layout)) == Inlinks()
    assert reader.layout is None
    assert reader(laid(PAIR, layout)) == PAIR
    assert reader.layout is layout
    # a value that is damaged does not change it
    with pytest.raises(FormatError):
        reader(laid(PAIR, layout)[:-1])
    assert reader.layout is layout
    assert reader(laid(PAIR, layout)) == PAIR


def test_a_first_value_that_misled_is_forgotten():
    reader = ValueReader(Inlinks.JAVA_NAME)
    reader(laid(PAIR, Layout.UTF8))
    assert reader.layout is Layout.UTF8
    for _ in range(2):
        assert reader(laid(PAIR, Layout.TEXT)) == PAIR
        assert reader.layout is Layout.TEXT
    with pytest.raises(FormatError):
        reader(laid(PAIR, Layout.UTF8))


def test_the_complaint_is_that_of_the_layout_that_came_farthest():
    raw = laid(PAIR, Layout.TEXT)
    with pytest.raises(FormatError) as caught:
        Inlinks.decode(raw[:-1])
    assert caught.value.offset >= len(raw) - 2


def test_a_newer_parse_data_among_old_ones_is_told():
    reader = ValueReader(ParseData.JAVA_NAME)
    data = ParseData(title="t", outlinks=[Outlink("http://a/", "x")])
    assert reader(data.to_bytes()) == data
    with pytest.raises(VersionMismatchError):
        reader(b"\x06" + data.to_bytes()[1:])


def test_a_link_that_leads_nowhere_tells_no_layout():
    nowhere = Inlinks([Inlink("", ""), Inlink("http://a/", "x")])
    reader = ValueReader(Inlinks.JAVA_NAME)
    assert reader(nowhere.to_bytes()) == nowhere
    assert reader.layout is None
    with pytest.raises(FormatError, match="nowhere"):
        reader(laid(nowhere, Layout.TEXT))
    for _ in range(2):
        assert reader(laid(PAIR, Layout.TEXT)) == PAIR
    assert reader(laid(nowhere, Layout.TEXT)) == nowhere


def test_old_layouts_leave_metadata_out():
    link = Outlink("http://a/", "x", MapWritable.of_texts({"k": "v"}))
    assert Outlink.decode(laid(link, Layout.TEXT)) == Outlink("http://a/", "x")
    assert Outlink.decode(laid(link, Layout.FLAGGED)) == link


def test_inlinks_have_no_order():
    assert Inlinks(PAIR.inlinks[::-1]) == PAIR
    assert Inlinks([*PAIR.inlinks, PAIR.inlinks[0]]) != PAIR
    assert PAIR.anchors == ["one"]
    assert len(PAIR) == 2
    more = Inlinks(list(PAIR))
    more.add(Inlink("http://c/"))
    assert more != PAIR


def test_the_version_of_parse_data_is_no_part_of_it():
    data = ParseData(title="t")
    old = ParseData.decode(laid(data, Layout.UTF8))
    assert old.version == 4
    assert old == data
    assert ParseData.read(DataInput(laid(data, Layout.UTF8))) == data
    assert data != ParseData(title="u")


# metadata, content, nodes


def test_metadata_have_several_values_a_name():
    metadata = Metadata.of([("a", "1"), ("b", "2"), ("a", "3")])
    assert metadata.get("a") == "1"
    assert metadata.get_values("a") == ["1", "3"]
    assert metadata.get("c", "none") == "none"
    assert list(metadata) == ["a", "b"]
    assert list(metadata.pairs()) == [("a", "1"), ("a", "3"), ("b", "2")]
    assert "a" in metadata
    assert len(metadata) == 2
    assert metadata
    assert not Metadata()
    data = ParseData(content_meta=metadata, parse_meta=Metadata.of([("b", "own")]))
    assert (data.meta("a"), data.meta("b"), data.meta("c")) == ("1", "own", None)


def test_a_name_that_comes_twice_keeps_all_its_values():
    raw = struct.pack(">i", 2) + b"\x01a" + struct.pack(">i", 1) + b"\x01x" + b"\x01a" + struct.pack(">i", 1) + b"\x01y"
    assert Metadata.decode(raw).values == {"a": ["x", "y"]}


def test_compressed_content_uses_up_its_stream():
    case = next(one for one in BY_HAND if one["record"] == "Content" and one["what"] == "version 2")
    raw = bytes.fromhex(case["hex"])
    packed = zlib.compress(zlib.decompress(raw[4:]) + b"more")
    with pytest.raises(FormatError, match="left over"):
        Content.decode(struct.pack(">i", len(packed)) + packed)
    newer = zlib.compress(b"\x03" + bytes(50))
    with pytest.raises(VersionMismatchError) as caught:
        Content.decode(struct.pack(">i", len(newer)) + newer)
    assert (caught.value.expected, caught.value.found) == (2, 3)


def test_a_bomb_is_told_before_it_fills_the_memory():
    machine = zlib.compressobj(9)
    packed = b"".join(machine.compress(bytes(1 << 20)) for _ in range(300)) + machine.flush()
    with pytest.raises(FormatError, match="more than"):
        Content.decode(struct.pack(">i", len(packed)) + packed)


def test_a_record_of_more_items_than_any_has_is_told():
    """A few kilobytes packed could become gigabytes of objects."""
    many = struct.pack(">i", 1_000_001)
    for raw, record_class in (
        (many + b"\x01a\x00\x00" * 1_000_001, Inlinks), (many + b"\x01a" + bytes(4) * 2_000_000, Metadata),
        (struct.pack(">i", 2) + (b"\x01a" + struct.pack(">i", 600_000) + bytes(600_000)) * 2, Metadata),
        (bytes(1 << 26), ParseData), (bytes(1 << 26), CrawlDatum), (bytes(1 << 26), HostDatum),
        (CrawlDatum(1).to_bytes()[:-1] + b"\x01" + bytes(1 << 26), CrawlDatum),
    ):  # fmt: skip
        with pytest.raises(FormatError, match=r"more than|the most"):
            record_class.decode(raw)
    page = Content("http://a/", content=bytes(1 << 26))
    assert Content.decode(page.to_bytes()) == page


@pytest.mark.parametrize(
    ("record_class", "head"), [(ProtocolStatus, b"\x01\x01" + bytes(8)), (ParseStatus, b"\x01\x02\x00\x00")]
)
def test_compressed_arguments_are_bounded_together(record_class, head):
    packed = gzip.compress(b"x" * 3_000_000)
    one = struct.pack(">i", len(packed)) + packed
    assert len(record_class.decode(head + struct.pack(">i", 2) + one * 2).args) == 2
    with pytest.raises(FormatError, match="compressed arguments"):
        record_class.decode(head + struct.pack(">i", 6) + one * 6)


def test_the_score_of_outlinks_is_shared():
    assert Node(num_outlinks=4, inlink_score=2.0).outlink_score == 0.5
    assert Node(num_outlinks=0, inlink_score=2.0).outlink_score == 2.0


def test_a_class_that_is_not_known_is_told():
    with pytest.raises(UnknownClassError) as caught:
        ValueReader("org.apache.nutch.scoring.webgraph.LoopReader")
    assert caught.value.name == "org.apache.nutch.scoring.webgraph.LoopReader"


def test_parts_of_a_segment_have_their_names():
    assert (Content.DIR_NAME, ParseData.DIR_NAME, ParseText.DIR_NAME) == ("content", "parse_data", "parse_text")
    assert (CrawlDatum.GENERATE_DIR_NAME, CrawlDatum.FETCH_DIR_NAME) == ("crawl_generate", "crawl_fetch")
    assert CrawlDatum.PARSE_DIR_NAME == "crawl_parse"
