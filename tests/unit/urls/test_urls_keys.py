"""Is the key of a URL one-to-one with it, and does it sort as promised?"""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cobnut.errors import DataError
from cobnut.urls.hosts import host_of
from cobnut.urls.keys import domain_range, host_key, host_range, key_to_host, key_to_url, url_key
from cobnut.urls.resolve import forms, normalize

LABEL_CHARACTERS = "abc019-_,)(*+!$&';=~`\"{}"
NAMES = st.lists(st.text(LABEL_CHARACTERS, max_size=4), min_size=1, max_size=4).map(".".join)
ADDRESSES = st.one_of(st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).map(lambda found: f"[{found}]"))
TEXTS = st.builds(
    lambda scheme, user, host, port, tail: f"{scheme}://{user}{host}{port}/{tail}",
    st.sampled_from(["http", "https"]),
    st.sampled_from(["", "u@", "u:p@"]),
    st.one_of(NAMES, ADDRESSES),
    st.sampled_from(["", ":80", ":443", ":8080", ":1"]),
    st.text("ab/).,:?=&%2e[]é ", max_size=8),
)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.example.org/a?b=1", "org,example,www)http/a?b=1"),
        ("https://www.example.org:8443/a", "org,example,www)https:8443/a"),
        ("http://localhost/", "localhost)http/"),
        ("http://127.0.0.1:81/x", "127.0.0.1)http:81/x"),
        ("http://[::1]:8080/", "[::1])http:8080/"),
        ("http://example.org./", ",org,example)http/"),
        ("http://a,b)c.example/", "example,a%2Cb%29c)http/"),
        ("http://h/?", "h)http/?"),
    ],
)
def test_keys_look_as_documented(url: str, key: str) -> None:
    assert url_key(url) == key
    assert key_to_url(key) == url


@settings(max_examples=1000)
@given(TEXTS)
@example("http://a,b.c)d*e+f/")
@example("http://.a./")
def test_a_key_turns_back_into_its_url(text: str) -> None:
    url = normalize(text)
    assume(url is not None)
    assert url is not None
    assert key_to_url(url_key(url)) == url
    assert key_to_host(url_key(url)) == host_of(url)


@settings(max_examples=1000)
@given(TEXTS, TEXTS)
@example("http://a.b/", "http://a,b/")
@example("http://a/", "https://a/")
@example("http://a:81/", "http://a/:81/")
@example("http://h/?", "http://h/")
def test_different_urls_have_different_keys(one: str, other: str) -> None:
    first, second = normalize(one), normalize(other)
    assume(first is not None and second is not None)
    assert first is not None
    assert second is not None
    assert (first == second) == (url_key(first) == url_key(second))


@settings(max_examples=500)
@given(TEXTS)
def test_forms_make_the_same_key(text: str) -> None:
    made = forms(text)
    if made is not None:
        assert made.key == url_key(made.normalized)
        assert made.host == host_of(made.normalized) == host_of(made.url)


SORTED = [
    "http://example.org/",
    "http://example.org/z",
    "https://example.org/",
    "http://a.example.org/",
    "http://b.a.example.org/",
    "http://z.example.org/",
    "http://example-two.org/",
    "http://example2.org/",
    "http://examples.org/",
]


def test_a_domain_stands_together_and_http_beside_https() -> None:
    keys = [url_key(url) for url in SORTED]
    assert sorted(keys) == keys


@given(TEXTS, st.sampled_from(["example.org", "a.example.org", "org", "a+b.org", "127.0.0.1"]))
@example("http://x.example.org/", "example.org")
@example("http://example+.org/", "example.org")
@example("http://example*.org/", "example.org")
@example("http://example-.org/", "example.org")
def test_ranges_hold_a_host_and_a_domain_and_no_other(text: str, name: str) -> None:
    url = normalize(text)
    assume(url is not None)
    assert url is not None
    host = host_of(url)
    first, end = host_range(name)
    assert (first <= url_key(url) < end) == (host == name)
    first, end = domain_range(name)
    assert (first <= url_key(url) < end) == (host == name or host.endswith(f".{name}"))


@pytest.mark.parametrize("key", ["", "org,example", "org)http", "org)ftp/", ")http/", "http://example.org/"])
def test_what_is_no_key_is_an_error_in_the_data(key: str) -> None:
    with pytest.raises(DataError, match="not the key of a URL"):
        key_to_url(key)


def test_host_keys_of_addresses_are_not_reversed() -> None:
    assert host_key("10.0.0.1") == "10.0.0.1"
    assert host_key("[2001:db8::1]") == "[2001:db8::1]"
