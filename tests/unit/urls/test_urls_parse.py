"""Does the expression for clean URLs agree with the parser, and does taking a URL apart lose nothing?"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cobnut.urls.normalizers import basic
from cobnut.urls.parse import clean, join, parse, split

LABELS = st.text("abcxyz019-_", min_size=1, max_size=5)
HOSTS = st.lists(LABELS, min_size=1, max_size=4).map(".".join)
PORTS = st.sampled_from(["", ":80", ":443", ":0", ":8080", ":59999", ":65535", ":65536", ":99999", ":08080"])
PIECES = st.sampled_from(
    [
        *"abz09/.-_~!$&'()*+,;=:@|[]?#%\\^`{}<>\" ",
        "..",
        "/.",
        "%2e",
        "%2E",
        "%41",
        "%7E",
        "%C3",
        "%c3",
        "%2F",
        "%3A",
        "%zz",
    ]
)
TAILS = st.lists(PIECES, max_size=12).map("".join)
URLS = st.builds(
    lambda scheme, host, port, tail: f"{scheme}://{host}{port}/{tail}",
    st.sampled_from(["http", "https"]),
    HOSTS,
    PORTS,
    TAILS,
)


@settings(max_examples=1500)
@given(URLS)
@example("http://a.b/%2E")
@example("http://a.1/")
@example("http://0x1/")
@example("http://a:59999/%80[]")
@example("http://a/|")
@example("http://a/?{}^`")
def test_a_clean_url_is_what_the_parser_and_basic_make_of_it(url: str) -> None:
    parts = clean(url)
    if parts is not None:
        assert parse(url) == url
        assert basic(url) == url
        scheme, host, port, rest = parts
        assert split(url) == (scheme, "", host, port, rest)


def test_nearly_all_ordinary_urls_are_clean() -> None:
    for url in (
        "http://example.org/",
        "https://www.example.org/a/b.html?x=1&y=2",
        "http://example.org:8080/%E4%BD%A0/a~b",
        "https://h/a//b/?",
        "http://my_host.example/;a=1,b",
    ):
        assert clean(url), url


@pytest.mark.parametrize(
    "url",
    [
        "http://Example.org/",
        "http://example.org",
        "http://example.org:80/",
        "https://example.org:443/",
        "http://127.0.0.1/",
        "http://u@h/",
        "http://h/a#b",
        "http://h/./a",
        "http://h/a/..",
        "http://h/%7E",
        "http://h/%e4",
        "http://h/a b",
        "http://h/%",
        "http://h/?'",
        "ftp://h/",
        "http://xn--a.example/",
        "http://" + "a" * 255 + "/",
    ],
)
def test_what_the_parser_would_change_is_not_clean(url: str) -> None:
    assert clean(url) is None


@settings(max_examples=300)
@given(URLS)
def test_the_parts_of_a_url_joined_are_the_url(url: str) -> None:
    parsed = parse(url)
    if parsed is not None:
        scheme, user, host, port, rest = split(parsed)
        assert f"{scheme}://{user}{host}{port}{rest}" == parsed


@pytest.mark.parametrize(
    "text", ["", "a", "//h/", "http://", "http://a b/", "http://h:99999/", "http://[::1/", "http://%/"]
)
def test_what_is_no_absolute_url_is_none(text: str) -> None:
    assert parse(text) is None


def test_half_characters_become_the_replacement_character() -> None:
    assert parse("http://h/\ud800") == "http://h/%EF%BF%BD"
    assert join("http://h/", "\udc00x") == "http://h/%EF%BF%BDx"
    assert parse("\ud800") is None
