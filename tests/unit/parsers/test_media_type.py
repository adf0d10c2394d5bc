"""Media types: the header is believed where the bytes do not say otherwise."""

from __future__ import annotations

import pytest

from cobnut.parsers.media_type import detect, essence, last_content_type

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/html; charset=utf-8", b"<p>x", "text/html"),
        ("TEXT/HTML", b"", "text/html"),
        ("text/html", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3", "application/pdf"),
        ("text/html", PNG, "image/png"),
        ("text/html", b"PK\x03\x04....", "application/zip"),
        ("application/vnd.oasis.opendocument.text", b"PK\x03\x04....", "application/vnd.oasis.opendocument.text"),
        ("text/plain", b"<html><title>source</title>", "text/plain"),
        ("text/plain", b"\x00\x01\x02binary", "application/octet-stream"),
        ("text/plain", b"\xff\xfet\x00e\x00x\x00t\x00", "text/plain"),
        ("text/html", b"<?xml version='1.0'?>\n<rss version='2.0'>", "application/xml"),
        ("text/html", b"<?xml version='1.0'?><!DOCTYPE html><html>", "text/html"),
        ("application/xhtml+xml", b"<html>", "application/xhtml+xml"),
        ("application/rss+xml", b"<rss>", "application/rss+xml"),
        (None, b"<html><title>untyped</title>text</html>", "text/html"),
        (None, b"\n <!-- x --><p>", "text/html"),
        (None, b"\xef\xbb\xbf<!DOCTYPE HTML>", "text/html"),
        (None, "\ufeff<title>x".encode("utf-16-le"), "text/html"),
        (None, b"<?xml version='1.0'?><urlset>", "application/xml"),
        (None, b"plain words", "text/plain"),
        (None, b"\x00\x01", "application/octet-stream"),
        (None, b"", "text/plain"),
        ("html", b"<html>", "text/html"),
        ("*/*", b"words", "text/plain"),
        ("image/webp", b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_detect(content_type: str | None, body: bytes, expected: str) -> None:
    assert detect(content_type, body) == expected


def test_the_last_usable_of_several_headers_counts() -> None:
    assert last_content_type(["text/plain", "text/html", "rubbish"]) == "text/html"
    assert last_content_type(["rubbish"]) == "rubbish"
    assert last_content_type([]) is None
    assert essence("text/html;charset") == "text/html"
