"""Content-Encoding: undone with a cap, broken bodies kept as far as they go."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest

from cobnut.parsers.body import BAD_ENCODING, TOO_LARGE, undo_encoding

TEXT = b"".join(b"line %d of a page\n" % i for i in range(5_000))
RAW = zlib.compressobj(9, zlib.DEFLATED, -15)
RAW_DEFLATE = RAW.compress(TEXT) + RAW.flush()


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        (None, TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT)),
        (" X-GZIP ", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", RAW_DEFLATE),
        ("br", brotli.compress(TEXT)),
        ("gzip, br", brotli.compress(gzip.compress(TEXT))),
        ("gzip", gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:])),
        ("gzip", gzip.compress(TEXT) + b"trailing rubbish"),
        ("gzip;q=1.0", gzip.compress(TEXT)),
        ("gzip", zlib.compress(TEXT)),
        ("deflate", gzip.compress(TEXT)),
    ],
)
def test_codings_are_undone(coding: str | None, body: bytes) -> None:
    decoded = undo_encoding(body, coding, 1 << 20)
    assert decoded.data == TEXT
    assert (decoded.cut, decoded.reason) == (False, None)


@pytest.mark.parametrize(
    ("coding", "body"), [("gzip", gzip.compress(TEXT)), ("deflate", RAW_DEFLATE), ("br", brotli.compress(TEXT))]
)
def test_a_cut_stream_gives_what_came_before(coding: str, body: bytes) -> None:
    decoded = undo_encoding(body[: len(body) * 2 // 3], coding, 1 << 20)
    assert decoded.reason == BAD_ENCODING
    assert TEXT.startswith(decoded.data)
    assert len(decoded.data) > 1_000


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b"0" * (200 << 20), 9)),
        ("br", brotli.compress(b"0" * (200 << 20), quality=3)),
        ("gzip, gzip", gzip.compress(gzip.compress(b"0" * (200 << 20), 9), 9)),
        (None, b"0" * (3 << 20)),
    ],
    ids=["gzip", "br", "twice", "plain"],
)
def test_a_bomb_ends_at_the_cap(coding: str | None, body: bytes) -> None:
    decoded = undo_encoding(body, coding, 1 << 20)
    assert len(decoded.data) == 1 << 20
    assert (decoded.cut, decoded.reason) == (True, TOO_LARGE)


def test_plain_text_that_claims_a_coding_is_taken_as_it_came() -> None:
    for coding in ("gzip", "deflate", "br"):
        decoded = undo_encoding(b"<p>this is not compressed at all</p>", coding, 1 << 20)
        assert decoded.reason == BAD_ENCODING
        assert decoded.data == b"<p>this is not compressed at all</p>"


@pytest.mark.parametrize(("coding", "body"), [("gzip", gzip.compress(TEXT)), ("deflate", zlib.compress(TEXT))])
def test_a_wrong_checksum_loses_nothing(coding: str, body: bytes) -> None:
    decoded = undo_encoding(body[:-4] + b"\0\0\0\0", coding, 1 << 20)
    assert (decoded.data, decoded.reason) == (TEXT, BAD_ENCODING)
    small = undo_encoding(gzip.compress(TEXT[:900])[:-8] + bytes(8), "gzip", 1 << 20)
    assert (small.data, small.reason) == (TEXT[:900], BAD_ENCODING)
    packed = gzip.compress(TEXT[:900])
    head = packed[:3] + b"\x1e" + packed[4:10] + b"\3\0abc" + b"name\0" + b"comment\0" + b"\0\0"
    assert undo_encoding(head + packed[10:-8] + bytes(8), "gzip", 1 << 20).data == TEXT[:900]


def test_what_is_damaged_in_the_middle_gives_what_stands_before() -> None:
    body = bytearray(gzip.compress(TEXT))
    body[len(body) // 2 :] = b"\xff" * (len(body) - len(body) // 2)
    decoded = undo_encoding(bytes(body), "gzip", 1 << 20)
    assert decoded.reason == BAD_ENCODING
    assert len(decoded.data) > len(TEXT) // 3
    assert decoded.data[: len(TEXT) // 3] == TEXT[: len(TEXT) // 3]


@pytest.mark.parametrize("coding", ["utf-8", "text/html", "compress", "x-nothing, gzip"])
def test_a_coding_that_nobody_knows_leaves_text_as_it_is(coding: str) -> None:
    body = gzip.compress(TEXT) if "gzip" in coding else TEXT
    decoded = undo_encoding(body, coding, 1 << 20)
    assert (decoded.data, decoded.reason) == (TEXT, BAD_ENCODING)


def test_what_is_packed_in_another_way_is_no_text() -> None:
    assert undo_encoding(brotli.compress(TEXT), "gzip", 1 << 20).data == b""


def test_what_cannot_be_undone_gives_nothing() -> None:
    for coding in ("zstd", "gzip, unheard-of", "gzip,gzip,gzip,gzip,gzip"):
        assert undo_encoding(gzip.compress(TEXT), coding, 1 << 20).reason == BAD_ENCODING
    assert undo_encoding(b"\x1f\x8bbroken from the start", "gzip", 1 << 20).data == b""


def test_an_empty_body_is_an_empty_body() -> None:
    for coding in ("gzip", "br", "deflate", None):
        assert undo_encoding(b"", coding, 100).reason is None
