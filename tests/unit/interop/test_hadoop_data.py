"""Values are read as they were written, whatever they are, and bytes that are none give a typed error."""

from __future__ import annotations

import contextlib
import gzip
import math
import pickle
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.interop.hadoop.data import (
    MAX_INFLATED_BYTES,
    UTF8_MAX_CHARS,
    DataInput,
    DataOutput,
    decode_modified,
    encode_modified,
    encode_text,
    float32,
    float_bits,
    float_of,
    gzip_as_java,
    inflate,
)
from cobnut.interop.hadoop.errors import CutError, FormatError, UnknownClassError, VersionMismatchError

ANY_TEXT = st.text(st.characters(codec=None))
"""With halves of surrogate pairs."""


def bits(width):
    return st.integers(-(1 << (width - 1)), (1 << (width - 1)) - 1)


VALUES = {
    "byte": bits(8), "short": bits(16), "int": bits(32), "long": bits(64), "vint": bits(32), "vlong": bits(64),
    "boolean": st.booleans(), "float": st.floats(width=32, allow_nan=False), "text": st.text(), "utf8": st.text(),
    "string": st.none() | st.text(), "string_array": st.none() | st.lists(st.none() | st.text()),
    "compressed_bytes": st.none() | st.binary(), "compressed_string": st.none() | st.text(),
    "compressed_string_array": st.none() | st.lists(st.none() | st.text()),
}  # fmt: skip


@given(st.lists(st.one_of(*(st.tuples(st.just(kind), values) for kind, values in VALUES.items()))))
def test_values_come_back_one_after_the_other(values):
    out = DataOutput()
    for kind, value in values:
        getattr(out, f"write_{kind}")(value)
    data = DataInput(out.getvalue())
    assert [getattr(data, f"read_{kind}")() for kind, _ in values] == [value for _, value in values]
    data.finish("list")


@given(st.binary(max_size=60), st.lists(st.sampled_from(sorted(VALUES)), max_size=5))
def test_any_bytes_give_values_or_a_typed_error(data, kinds):
    source = DataInput(data)
    found = None
    try:
        for kind in kinds:
            getattr(source, f"read_{kind}")()
    except FormatError as error:
        found = error.offset
    assert found is None or 0 <= found <= len(data)
    assert 0 <= source.position <= len(data)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "00"), (127, "7f"), (-112, "90"), (128, "8f80"), (-113, "8770"), (255, "8fff"), (256, "8e0100"),
        (-256, "87ff"), (-257, "860100"), (1 << 31, "8c80000000"), ((1 << 63) - 1, "887fffffffffffffff"),
        (-(1 << 63), "807fffffffffffffff"),
    ],
)  # fmt: skip
def test_vlongs_as_java_writes_them(value, written):
    out = DataOutput()
    out.write_vlong(value)
    assert out.getvalue().hex() == written
    assert DataInput(bytes.fromhex(written)).read_vlong() == value


def test_integers_that_do_not_fit_are_refused():
    out = DataOutput()
    for write, width in ((out.write_short, 16), (out.write_int, 32), (out.write_long, 64), (out.write_vlong, 64)):
        for value in (1 << (width - 1), -(1 << (width - 1)) - 1):
            with pytest.raises(FormatError, match=f"{value} does not fit {width} bits"):
                write(value)
    assert out.getvalue() == b""
    for hostile in ("88ffffffffffffffff", "80ffffffffffffffff"):
        with pytest.raises(FormatError, match="64 bits"):
            DataInput(bytes.fromhex(hostile)).read_vlong()
    with pytest.raises(FormatError, match="32 bits"):
        DataInput(bytes.fromhex("8c80000000")).read_vint()


@pytest.mark.parametrize("kind", ["text", "string", "string_array", "compressed_bytes", "compressed_string_array"])
def test_a_length_beyond_the_end_allocates_nothing(kind):
    huge = b"\x8c\x7f\xff\xff\xff" if kind == "text" else b"\x7f\xff\xff\xff"
    with pytest.raises(CutError) as caught:
        getattr(DataInput(huge + bytes(1000)), f"read_{kind}")()
    assert caught.value.offset is not None


def test_a_negative_length_other_than_null_is_an_error():
    for kind in ("string", "string_array", "compressed_bytes", "compressed_string"):
        with pytest.raises(FormatError, match="negative"):
            getattr(DataInput(b"\xff\xff\xff\xfe"), f"read_{kind}")()
    with pytest.raises(FormatError, match="negative"):
        DataInput(b"\xff").read_text()


@given(ANY_TEXT)
def test_text_is_utf8_and_a_half_pair_a_question_mark(value):
    written = encode_text(value).decode()
    joined = value.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
    assert written == "".join("?" if "\ud800" <= char <= "\udfff" else char for char in joined)


@given(ANY_TEXT)
def test_modified_utf8_keeps_every_unit(value):
    back = decode_modified(encode_modified(value))
    assert back.encode("utf-16-be", "surrogatepass") == value.encode("utf-16-be", "surrogatepass")


def test_modified_utf8_as_java_writes_it():
    assert encode_modified("a\0é€😀") == b"a\xc0\x80\xc3\xa9\xe2\x82\xac\xed\xa0\xbd\xed\xb8\x80"
    for wrong in (b"\x80", b"\xc3", b"\xc3a", b"\xe2\x82", b"\xf0\x9f\x98\x80", b"\xff"):
        with pytest.raises(FormatError) as caught:
            decode_modified(b"ab" + wrong, 7)
        assert caught.value.offset == 9


def test_long_strings_are_cut_so_that_their_length_fits():
    for char in ("a", "€"):
        out = DataOutput()
        out.write_utf8(char * (UTF8_MAX_CHARS + 9))
        assert DataInput(out.getvalue()).read_utf8() == char * UTF8_MAX_CHARS


@given(st.floats(width=32))
def test_floats_keep_their_pattern(value):
    out = DataOutput()
    out.write_float(value)
    read = DataInput(out.getvalue()).read_float()
    assert math.isnan(read) if math.isnan(value) else float_bits(read) == float_bits(value)
    if not math.isnan(value):
        assert float_of(float_bits(value)) == value


def test_a_number_that_is_too_large_for_a_float_is_infinite():
    out = DataOutput()
    out.write_float(1e39)
    out.write_float(-1e39)
    assert out.getvalue() == struct.pack(">ff", math.inf, -math.inf)
    assert float32(0.1) == struct.unpack(">f", struct.pack(">f", 0.1))[0] != 0.1


@given(st.binary(max_size=300))
def test_gzip_is_that_of_java(data):
    packed = gzip_as_java(data)
    assert packed[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    assert gzip.decompress(packed) == data
    assert inflate(packed, 31) == data


@given(st.binary(max_size=300), st.data())
def test_a_cut_or_damaged_stream_is_an_error(data, choose):
    packed = zlib.compress(data)
    cut = choose.draw(st.integers(0, len(packed) - 1))
    with pytest.raises(FormatError):
        inflate(packed[:cut], 15)
    at = choose.draw(st.integers(0, len(packed) - 1))
    bent = bytearray(packed)
    bent[at] ^= choose.draw(st.integers(1, 255))
    with contextlib.suppress(FormatError):
        assert len(inflate(bytes(bent), 15)) < 2000


def test_a_bomb_stops_at_the_limit():
    machine = zlib.compressobj(9)
    bomb = b"".join(machine.compress(bytes(1 << 20)) for _ in range((MAX_INFLATED_BYTES >> 20) + 2)) + machine.flush()
    assert len(bomb) < 1 << 20
    with pytest.raises(FormatError, match="more than"):
        inflate(bomb, 15)


def test_errors_name_the_place_once_and_travel():
    error = FormatError("wrong", offset=5)
    assert str(error.in_file("/x/data", 100)) == "wrong: /x/data, byte 105"
    assert str(error.in_file("/y/data", 7)) == "wrong: /x/data, byte 105"
    for one in (error, UnknownClassError("it", "a.B", path="/x"), VersionMismatchError(4, 9, record="Page", offset=2)):
        again = pickle.loads(pickle.dumps(one))
        assert (type(again), str(again), again.__dict__) == (type(one), str(one), one.__dict__)
        assert again.exit_code == 3


def test_plain_utf8_is_read_at_one_go_and_nothing_else_is():
    for text in ("é", "中文 \uffff", "a\ud7ff\ue000"):
        assert decode_modified(text.encode()) == text
    assert decode_modified("中".encode() + b"\xed\xa0\xbd\xed\xb8\x80") == "中😀"
    assert decode_modified("中".encode() + b"\xed\xa0\xbd") == "中\ud83d"
    with pytest.raises(FormatError):
        decode_modified("中😀".encode())  # four bytes: Java has no such form
