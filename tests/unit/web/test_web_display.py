"""URLs and texts of the web as people see them: readable, and not able to lie."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.web.display import MAX_PART, breadcrumb, one_line, safe_href, shown_host


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "JAVASCRIPT:alert(1)", "data:text/html,x", "vbscript:x", "//host/", "ftp://h/", "", "file:///etc/passwd",
     "http:/h", "java\nscript:alert(1)", "https://h/a b", "http://h/\x00", "http://h/\x7f", " https://h/", "http"],
)  # fmt: skip
def test_what_is_no_plain_web_address_is_no_link(url):
    assert safe_href(url) is None


@pytest.mark.parametrize("url", ["http://h/", "HTTPS://h/?q=%22", "http://[::1]:8080/", "http://h/صفحة"])
def test_web_addresses_are_links_unchanged(url):
    assert safe_href(url) == url


@pytest.mark.parametrize(
    ("url", "host", "parts"),
    [
        ("https://example.org/", "example.org", []),
        ("https://example.org", "example.org", []),
        ("http://example.org:8080/a/b.html", "example.org:8080", ["a", "b.html"]),
        ("http://example.org/a%20b/caf%C3%A9", "example.org", ["a%20b", "café"]),
        ("http://example.org/?q=caf%C3%A9&x=%26%3D", "example.org", ["?q=café&x=%26%3D"]),
        ("http://example.org?q=1#top", "example.org", ["?q=1"]),
        ("http://example.org/a%2Fb%25", "example.org", ["a%2Fb%25"]),
        ("http://example.org/%FF%FE", "example.org", ["%FF%FE"]),
        ("http://example.org/%E2%80%AEcod.exe", "example.org", ["%E2%80%AEcod.exe"]),
        ("http://example.org/\u202ecod.exe", "example.org", ["%E2%80%AEcod.exe"]),
        ("http://example.org/a%00b%0A", "example.org", ["a%00b%0A"]),
        ("http://example.org/%E2%80%BA", "example.org", ["%E2%80%BA"]),
        ("http://user:secret@example.org/x", "example.org", ["x"]),
        ("http://example.org/1/2/3/4/5/6/7", "example.org", ["1", "2", "…", "6", "7"]),
    ],
)
def test_breadcrumb(url, host, parts):
    assert breadcrumb(url) == (host, parts)


def test_long_parts_are_cut():
    host, parts = breadcrumb("http://example.org/" + "a" * 5_000 + "?" + "%C3%A9" * 5_000)
    assert host == "example.org"
    assert all(len(part) <= MAX_PART and part.endswith("…") for part in parts)


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("xn--bcher-kva.example", "bücher.example"),
        ("xn--wgv71a119e.example:8080", "日本語.example:8080"),
        ("xn--80ak6aa92e.com", "xn--80ak6aa92e.com"),  # all Cyrillic look-alikes of "apple"
        ("xn--pple-43d.com", "xn--pple-43d.com"),  # a Cyrillic first letter, the rest Latin
        ("xn--e1afmkfd.xn--p1ai", "пример.рф"),
        ("xn--.example", "xn--.example"),
        ("xn--99999999.example", "xn--99999999.example"),
        ("[::1]:80", "[::1]:80"),
    ],
)
def test_host_labels_are_decoded_when_they_read_as_themselves(host, shown):
    assert shown_host(host) == shown


@given(st.text(max_size=60))
def test_breadcrumbs_never_fail_and_never_hold_what_hides(text):
    for shown in breadcrumb(f"http://example.org/{text}")[1]:
        assert shown.isprintable()
        assert not any(c.isspace() for c in shown)


@given(st.text(max_size=80))
def test_one_line_is_one_visible_line(text):
    line = one_line(text)
    assert line == " ".join(line.split())
    assert all(c.isprintable() or c in "\u00ad\u200c\u200d" for c in line)
    assert one_line(line) == line


def test_one_line_keeps_joiners_and_drops_what_reorders():
    assert one_line("می\u200cخواهم\u202e  x\x00y\n") == "می\u200cخواهم x y"
    assert unicodedata.category("\u202e") == "Cf"
