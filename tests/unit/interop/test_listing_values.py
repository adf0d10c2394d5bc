"""Values of every class become JSON that any reader takes, floats bit for bit."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.interop import nutch1
from cobnut.interop.found import Header
from cobnut.interop.hadoop import DataOutput, FormatError
from cobnut.interop.hadoop import mapwritable as classes
from cobnut.interop.hadoop.data import float_bits, float_of
from cobnut.interop.hadoop.mapwritable import MapWritable, TypedValue
from cobnut.interop.listing_values import datum, decoders, java_float, metadata_map, record_reader

TEXT = "org.apache.hadoop.io.Text"


@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_a_float_is_the_shortest_number_with_the_same_bits(bits: int) -> None:
    value = float_of(bits)
    shown = java_float(value)
    if math.isfinite(value):
        assert float_bits(shown) == bits
        assert len(repr(shown).replace("-", "").replace(".", "").split("e")[0].strip("0")) <= 9
    else:
        assert shown in ("NaN", "Infinity", "-Infinity")


def test_metadata_of_every_class() -> None:
    inner = MapWritable.of_texts({"a": "b"})
    status = nutch1.ProtocolStatus(14, 5, ["x", None])
    values = MapWritable({
        "text": TypedValue(classes.TEXT, "中"), "null": TypedValue(classes.NULL, None),
        "flag": TypedValue(classes.BOOLEAN, True), "bytes": TypedValue(classes.BYTES, b"\x01"),
        "md5": TypedValue(classes.MD5, bytes(16)), "int": TypedValue(classes.INT, -1),
        "float": TypedValue(classes.FLOAT, 0.5), "double": TypedValue(classes.DOUBLE, float("nan")),
        "map": TypedValue(classes.MAP, inner), "status": TypedValue("org.apache.nutch.protocol.ProtocolStatus", status),
        "content": TypedValue("org.apache.nutch.protocol.Content", nutch1.Content(url="http://a.test/")),
        "1": TypedValue(classes.TEXT, "one"), TypedValue(classes.INT, 1): TypedValue(classes.TEXT, "one again"),
    })  # fmt: skip
    shown = metadata_map(values)
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert shown["text"] == {"type": TEXT, "value": "中"}
    assert shown["null"]["value"] is None
    assert shown["flag"]["value"] is True
    assert shown["bytes"] == {"type": "org.apache.hadoop.io.BytesWritable", "hex": "01"}
    assert shown["float"] == {"type": "org.apache.hadoop.io.FloatWritable", "value": 0.5, "bits": 0x3F000000}
    assert shown["double"]["value"] == "NaN"
    assert shown["map"]["value"] == {"a": {"type": TEXT, "value": "b"}}
    assert shown["status"] == {
        "type": "org.apache.nutch.protocol.ProtocolStatus", "code": 14, "name": "notfound", "lastModified": 5,
        "args": ["x", None],
    }  # fmt: skip
    assert bytes.fromhex(shown["content"]["hex"]).endswith(b"\0\0\0\0")
    assert (shown["1"]["value"], shown["1 (IntWritable)"]["value"]) == ("one", "one again")


def test_scores_that_are_no_numbers() -> None:
    shown = datum(nutch1.CrawlDatum(score=float("nan")))
    assert shown["score"] == "NaN"
    assert float_of(shown["scoreBits"]) != float_of(shown["scoreBits"])
    json.dumps(shown, allow_nan=False)


def test_bytes_that_are_left_over_are_an_error() -> None:
    key, value, unknown = decoders(Header(6, TEXT, "org.apache.nutch.crawl.CrawlDatum"))
    assert unknown == ()
    out = DataOutput()
    out.write_text("http://a.test/")
    assert key(out.getvalue()) == "http://a.test/"
    with pytest.raises(FormatError):
        key(out.getvalue() + b"x")
    with pytest.raises(FormatError):
        value(nutch1.CrawlDatum().to_bytes() + b"x")


def test_short_names_mean_what_they_mean_in_their_version() -> None:
    assert decoders(Header(2, "long", "long"))[1](bytes(7) + b"\x05") == 5
    wrapped = decoders(Header(3, "UTF8", "long"))[1](bytes(7) + b"\x05")
    assert wrapped == {"type": "org.apache.hadoop.io.LongWritable", "value": 5}
    assert decoders(Header(2, "UTF8", "org.apache.nutch.crawl.CrawlDatum"))[2] == ("org.apache.nutch.crawl.CrawlDatum",)
    assert record_reader(Header(2, "long", "long")) is None
