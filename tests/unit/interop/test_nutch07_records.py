"""Does every record of Nutch 0.7 read all its versions, write itself, and stand hostile bytes?"""

import io
import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.interop import nutch07
from cobnut.interop.hadoop import VersionMismatchError as MismatchOfHadoop
from cobnut.interop.hadoop.data import DataInput, DataOutput, float_bits, float_of
from cobnut.interop.hadoop.errors import CutError, FormatError
from cobnut.interop.hadoop.writable import Writable
from cobnut.interop.nutch07 import (
    NEVER,
    PROTOCOL_CODES,
    Content,
    FetcherOutput,
    FetchListEntry,
    Link,
    Outlink,
    Page,
    ParseData,
    ParseStatus,
    ParseText,
    ProtocolStatus,
    Record,
    VersionMismatchError,
    VersionMismatchException,
    half_digest,
)
from cobnut.interop.nutch07.link import link_md5_order, link_url_order
from cobnut.interop.nutch07.page import page_order
from cobnut.interop.nutch07.record import read_arguments

BY_HAND: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "formats" / "nutch" / "by_hand" / "0.7" / "records.json").read_text("utf-8")
)
VERSIONED = [Page, Link, FetchListEntry, FetcherOutput, Content, ParseData, ParseText, ProtocolStatus, ParseStatus]
ALL: list[type[Writable]] = [*VERSIONED, Outlink]


def told(value: Any) -> Any:
    """A value as `records.json` writes it."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, float):
        return {"bits": float_bits(value)}
    if isinstance(value, Writable):
        fields = {name: told(getattr(value, name)) for name in value.__struct_fields__}
        return {"record": type(value).__name__, "fields": fields}
    if isinstance(value, list):
        return [told(item) for item in value]
    return value


@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: f"{case['record']} {case['what']}")
def test_bytes_written_by_hand_say_what_they_should(case: dict[str, Any]) -> None:
    record_class: type[Record] = getattr(nutch07, case["record"])
    raw = bytes.fromhex(case["hex"])
    record = record_class.decode(raw)
    assert told(record) == {"record": case["record"], "fields": case["fields"]}
    # written, it has the current version, and loses nothing that this one knows
    again = record.to_bytes()
    assert again[0] == record_class.CUR_VERSION
    reread = record_class.decode(again)
    if isinstance(record, FetcherOutput):
        assert record_class.decode(record.to_bytes(version=min(raw[0], 3))).title == record.title
        record.title, record.outlinks = "", []
    assert reread == record


@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: f"{case['record']} {case['what']}")
def test_every_beginning_of_a_record_is_cut_and_nothing_else(case: dict[str, Any]) -> None:
    record_class: type[Record] = getattr(nutch07, case["record"])
    raw = bytes.fromhex(case["hex"])
    for end in range(len(raw)):
        with pytest.raises(FormatError) as caught:
            record_class.decode(raw[:end])
        assert isinstance(caught.value, CutError)
        assert caught.value.offset is not None
    with pytest.raises(FormatError, match="left over"):
        record_class.decode(raw + b"\0")


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_an_old_page_is_written_in_its_own_version_when_asked(version: int) -> None:
    case = next(c for c in BY_HAND if c["record"] == "Page" and c["what"] == f"version {version}")
    raw = bytes.fromhex(case["hex"])
    assert Page.decode(raw).to_bytes(version=version) == raw
    target = io.BytesIO()
    Page.decode(raw).write(target, version=version)
    assert target.getvalue() == raw


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_an_old_link_is_written_in_its_own_version_when_asked(version: int) -> None:
    case = next(c for c in BY_HAND if c["record"] == "Link" and c["what"] == f"version {version}")
    raw = bytes.fromhex(case["hex"])
    assert Link.decode(raw).to_bytes(version=version) == raw


@pytest.mark.parametrize("record_class", VERSIONED)
def test_a_newer_version_is_said_to_be_newer(record_class: type[Record]) -> None:
    raw = bytes([record_class.CUR_VERSION + 1]) + record_class().to_bytes()[1:]
    with pytest.raises(VersionMismatchError, match=record_class.__name__) as caught:
        record_class.read(raw)
    assert (caught.value.expected, caught.value.found) == (record_class.CUR_VERSION, record_class.CUR_VERSION + 1)
    assert VersionMismatchException is VersionMismatchError is MismatchOfHadoop
    with pytest.raises(FormatError, match="never was"):
        record_class.read(b"\xff" + raw[1:])
    with pytest.raises(ValueError, match="versions"):
        record_class().to_bytes(version=record_class.CUR_VERSION + 1)


def test_the_versions_and_folders_are_those_of_nutch() -> None:
    assert {c.__name__: c.CUR_VERSION for c in VERSIONED} == {
        "Page": 4, "Link": 5, "FetchListEntry": 2, "FetcherOutput": 5, "Content": 1, "ParseData": 2, "ParseText": 1,
        "ProtocolStatus": 1, "ParseStatus": 1,
    }  # fmt: skip
    assert {c.__name__: c.DIR_NAME for c in VERSIONED if c.DIR_NAME} == {
        "FetchListEntry": "fetchlist", "FetcherOutput": "fetcher", "Content": "content", "ParseData": "parse_data",
        "ParseText": "parse_text",
    }  # fmt: skip


def test_a_record_is_read_from_a_stream_which_stands_behind_it_then() -> None:
    stream = io.BytesIO(Outlink("http://a/", "A").to_bytes() + Page.for_url("http://b/").to_bytes() + b"rest")
    assert Outlink.read(stream) == Outlink("http://a/", "A")
    page = Page(retries=9)
    page.read_fields(stream)
    assert page == Page.for_url("http://b/")
    assert stream.read() == b"rest"


def test_a_stream_of_many_records_is_read_no_further_than_needed() -> None:
    records: list[Writable] = [Page.for_url("http://b/"), ParseText("long " * 20_000), Page.for_url("http://c/")]
    stream = io.BufferedReader(io.BytesIO(b"".join(record.to_bytes() for record in records) + bytes(1 << 24)))
    read: list[int] = []
    stream_read = stream.read
    stream.read = lambda size: read.append(size) or stream_read(size)
    assert [type(record).read(stream) for record in records] == records
    assert sum(read) < 1 << 20
    assert stream.tell() == sum(len(record.to_bytes()) for record in records)


def test_a_number_or_an_md5_that_does_not_fit_is_not_written_as_another() -> None:
    for record in (
        Page(retries=128), Page(fetch_interval_days=300), Page(md5=b"short"), Link(from_id=bytes(17)),
        FetcherOutput(md5=b""), ProtocolStatus(code=-129), ParseStatus(major=200),
    ):  # fmt: skip
        with pytest.raises(FormatError, match=r"does not fit 8 bits|an MD5 of"):
            record.to_bytes()


def test_reading_anew_replaces_every_field() -> None:
    full = bytes.fromhex(next(c["hex"] for c in BY_HAND if c["record"] == "FetcherOutput" and c["what"] == "version 1"))
    record = FetcherOutput.decode(full)
    assert record.title
    record.read_fields(FetcherOutput().to_bytes())
    assert record == FetcherOutput()


def test_a_long_string_is_cut_at_21845_units() -> None:
    assert len(Page.decode(Page(url="x" * 30_000).to_bytes()).url) == 21_845
    anchor = Link.decode(Link(anchor="語" * 30_000).to_bytes()).anchor
    assert anchor == "語" * 21_845
    data = ParseData(title="é" * 21_846, metadata={"k" * 21_850: "v"})
    again = ParseData.decode(data.to_bytes())
    assert (again.title, list(again.metadata)) == ("é" * 21_845, ["k" * 21_845])


def test_pages_stand_in_the_order_of_md5_then_url_by_unsigned_bytes() -> None:
    a, b = bytes([0x7F]) + bytes(15), bytes([0x80]) + bytes(15)
    pages = [Page("z", a), Page("a", b), Page("é", b), Page("\U0001f600", b), Page("\uff21", b)]
    assert [p.url for p in sorted(pages)] == ["z", "a", "é", "\U0001f600", "\uff21"]  # surrogates: ED < EF
    assert sorted(pages, key=lambda p: page_order(p.to_bytes())) == pages
    assert pages[0] < pages[1] <= pages[1]
    assert pages[1] > pages[0]
    assert pages[1] >= pages[1]
    assert len({Page("z", a), Page("z", a)}) == 1


def test_links_have_two_orders() -> None:
    a, b = bytes(16), bytes([0x80]) + bytes(15)
    ax, bx, az = Link(a, "x"), Link(b, "x"), Link(a, "z")
    assert sorted([az, bx, ax]) == [ax, bx, az]
    assert sorted([az, bx, ax], key=Link.md5_key) == [ax, az, bx]
    assert sorted([az, bx, ax], key=lambda link: link_url_order(link.to_bytes())) == [ax, bx, az]
    assert sorted([bx, az, ax], key=lambda link: link_md5_order(link.to_bytes())) == [ax, az, bx]
    assert ax < bx <= bx
    assert bx > ax
    assert bx >= bx


def test_the_makers_keep_nutchs_rules() -> None:
    page = Page.for_url("http://a/", fetch_interval_days=1000, next_fetch=NEVER)
    assert (page.fetch_interval_days, page.is_never_due, page.was_fetched) == (127, True, False)
    link = Link.between(bytes(16), "127.0.0.1", "http://b/", "y" * 150)
    assert (len(link.anchor), link.domain_id) == (100, -781244460614962903)
    assert half_digest(b"\xff" * 16) == -1
    assert half_digest(bytes(7) + b"\x01" + b"\xff" * 8) == 1


def test_codes_have_names() -> None:
    assert ProtocolStatus(ProtocolStatus.NOTFOUND).name == "notfound"
    assert ProtocolStatus(99).name == "unknown 99"
    assert all(getattr(ProtocolStatus, name.upper()) == code for code, name in PROTOCOL_CODES.items())
    assert ParseStatus(1, ParseStatus.SUCCESS_REDIRECT).name == "success/redirect"
    assert ParseStatus(7, 7).name == "unknown 7/unknown 7"
    assert ProtocolStatus().is_success
    assert ParseStatus().is_success
    assert not ParseStatus(2, 200).is_success


def test_version_0_is_also_read_with_a_body_that_was_never_compressed() -> None:
    out = DataOutput()
    for text in ("http://a/x.gz", "http://a/"):
        out.write_utf8(text)
    body = b"\x1f\x8b\x08 no gzip at all"
    plain = b"\0" + out.getvalue() + struct.pack(">i", len(body)) + body + b"\0\0" + bytes(4)
    assert Content.decode(plain).content == body
    with pytest.raises(FormatError):
        Content.decode(b"\1" + plain[1:])


def test_an_unknown_old_fetch_status_is_an_error() -> None:
    raw = FetcherOutput().to_bytes(version=4)
    assert FetcherOutput.decode(raw[:-9] + b"\x02" + raw[-8:]).protocol_status.code == ProtocolStatus.NOTFOUND
    with pytest.raises(FormatError, match="status"):
        FetcherOutput.decode(raw[:-9] + b"\x09" + raw[-8:])


def bomb(count: int) -> list[tuple[type[Record], bytes]]:
    size = struct.pack(">i", count)
    page = Page().to_bytes()
    head = b"\1\0\0\0\0"
    return [
        (FetchListEntry, b"\2\1" + page + size), (FetcherOutput, b"\3" + b"\1\1" + page + bytes(16) + b"\1\0\0" + size),
        (Content, head + size), (Content, head + bytes(4) + b"\0\0" + size), (ParseText, b"\1" + size),
        (ParseData, head[:3] + size), (ParseData, head[:3] + bytes(4) + size),
        (ProtocolStatus, b"\1\1" + bytes(8) + size),
        (ParseStatus, b"\1\1\0\0" + size), (ProtocolStatus, b"\1\1" + bytes(8) + b"\0\0\0\1" + size),
    ]  # fmt: skip


@pytest.mark.parametrize("count", [0x7FFFFFFF, -2, -0x80000000, 1 << 20])
def test_a_huge_or_negative_count_is_an_error_at_once(count: int) -> None:
    for record_class, raw in bomb(count):
        with pytest.raises(FormatError):
            record_class.decode(raw + bytes(100))


def test_the_arguments_of_a_status_do_not_grow_beyond_all_bounds_together() -> None:
    out = DataOutput()
    out.write_compressed_string_array(["x" * 600, "y" * 600])
    assert read_arguments(DataInput(out.getvalue()), 1_200) == ["x" * 600, "y" * 600]
    with pytest.raises(FormatError, match="more than 1199"):
        read_arguments(DataInput(out.getvalue()), 1_199)


@pytest.mark.parametrize("order", [page_order, link_url_order, link_md5_order])
def test_the_order_of_a_cut_key_is_a_typed_error(order: Any) -> None:
    key = Page("http://a/").to_bytes() if order is page_order else Link(bytes(16), "http://a/").to_bytes()
    assert order(key[:28]) == order(key)
    for end in range(28):
        with pytest.raises(CutError):
            order(key[:end])


def test_flipped_bytes_give_a_typed_error_or_a_record() -> None:
    chance = random.Random(7)
    for case in BY_HAND:
        record_class: type[Record] = getattr(nutch07, case["record"])
        raw = bytes.fromhex(case["hex"])
        for _ in range(150):
            broken = bytearray(raw)
            for _ in range(chance.randint(1, 4)):
                broken[chance.randrange(len(raw))] = chance.randrange(256)
            try:
                record = record_class.decode(bytes(broken))
            except FormatError:
                continue
            record.to_bytes()  # what was read can be written


@given(st.sampled_from(ALL), st.binary(max_size=200), st.integers(0, 5))
@settings(max_examples=400, deadline=None)
def test_any_bytes_give_a_typed_error_or_a_record(record_class: type[Writable], raw: bytes, version: int) -> None:
    for data in (raw, bytes([version]) + raw):
        try:
            record = record_class.read(data)
        except FormatError:
            continue
        record.to_bytes()


texts = st.text(max_size=30) | st.text(st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF), max_size=1)
scalars = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
md5s = st.binary(min_size=16, max_size=16)
signed_bytes, ints, longs = (st.integers(-(1 << n), (1 << n) - 1) for n in (7, 31, 63))
floats = st.integers(-(1 << 31), (1 << 31) - 1).map(float_of).filter(lambda f: f == f)
arguments = st.none() | st.lists(st.none() | scalars, max_size=3)
pages = st.builds(Page, texts, md5s, longs, signed_bytes, signed_bytes, ints, floats, floats)
links = st.builds(Link, md5s, texts, longs, texts, st.booleans())
entries = st.builds(FetchListEntry, st.booleans(), pages, st.lists(texts, max_size=3))
statuses = st.builds(ProtocolStatus, signed_bytes, longs, arguments)
outlinks = st.builds(Outlink, texts, texts)
properties = st.dictionaries(texts, texts, max_size=4)
outputs = st.builds(FetcherOutput, entries, md5s, statuses, longs)
contents = st.builds(Content, texts, texts, st.binary(max_size=100), texts, properties)
parse_statuses = st.builds(ParseStatus, signed_bytes, st.integers(-(1 << 15), (1 << 15) - 1), arguments)
parses = st.builds(ParseData, parse_statuses, texts, st.lists(outlinks, max_size=3), properties)
parse_texts = st.builds(ParseText, st.none() | scalars)


@given(st.one_of(pages, links, entries, statuses, outlinks, outputs, contents, parse_statuses, parses, parse_texts))
@settings(max_examples=500, deadline=None)
def test_what_is_written_is_read_again(record: Writable) -> None:
    raw = record.to_bytes()
    data = DataInput(raw)
    again = type(record).read(data)
    assert data.left == 0
    assert again == record
    assert again.to_bytes() == raw
    if isinstance(record, Content | ParseData):
        assert list(again.metadata) == list(record.metadata)


@given(pages, st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_an_older_version_loses_only_what_it_never_had(page: Page, version: int) -> None:
    again = Page.decode(page.to_bytes(version=version))
    assert (again.url, again.md5, again.next_fetch, again.retries) == (
        page.url,
        page.md5,
        page.next_fetch,
        page.retries,
    )
    assert again.score == (page.score if version >= 2 else 1.0)
    assert again.num_outlinks == (page.num_outlinks if version >= 3 else 0)
    assert again.next_score == (page.next_score if version >= 4 else 1.0)
