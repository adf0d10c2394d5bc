"""Does the fast way for a whole page give what the slow way gives for each link?"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cobnut.urls import resolve as resolve_module
from cobnut.urls.page_links import resolve_all
from cobnut.urls.resolve import UrlForms, compile_forms, forms, resolve

BASES = st.sampled_from(
    [
        "http://h/",
        "https://www.example.org/a/b.html?x/y#z",
        "http://www.example.org:8080/a/b/",
        "http://u:p@h/a",
        "http://127.0.0.1:81/a/b",
        "http://H/%7e/./x",
        "http://xn--mnchen-3ya.example/a",
        "https://h?q",
        "mailto:a@b",
        "nonsense",
        "http://h/" + "a" * 20_000,
    ]
)
PIECES = st.sampled_from(
    [
        *"ab/.?#:@%&='\" \n\\|é",
        "//",
        "/../",
        "http:",
        "https://",
        "HTTP://",
        "www.example.org",
        "1.2",
        "%7e",
        "%2F",
        "xn--a",
        "mailto:",
    ]
)
HREFS = st.lists(PIECES, max_size=8).map("".join)


def one_by_one(base: str, hrefs: list[str], charset: str) -> list[UrlForms | None]:
    urls = [resolve(base, href, charset) for href in hrefs]
    return [None if url is None else forms(url) for url in urls]


@settings(max_examples=2500)
@given(BASES, st.lists(HREFS, max_size=5), st.sampled_from(["utf-8", "windows-1252", "shift_jis"]))
@example("nonsense", ["http://x/", "HTTP://x/", "x", "//x/"], "utf-8")
@example("http://h/a?b", ["#", "", "?", "x#y#z"], "utf-8")
@example("https://h/a/b", ["//x/y", "///x/y", "/\\x", "a:b", "http:c", "https:d"], "utf-8")
@example("http://h/a/b", ["..", ".", "...", "a/..", "-", "~", "_x", "1"], "utf-8")
def test_a_page_at_once_equals_link_by_link(base: str, hrefs: list[str], charset: str) -> None:
    assert resolve_all(base, hrefs, charset) == one_by_one(base, hrefs, charset)


def test_order_and_repetitions_are_kept() -> None:
    found = resolve_all("http://h/", ["b", "a", "b", "mailto:x", "http://", "a#1", "a#2"])
    assert [made and made.url for made in found] == [
        "http://h/b",
        "http://h/a",
        "http://h/b",
        None,
        None,
        "http://h/a",
        "http://h/a",
    ]
    assert found[0] is found[2], "one raw reference is resolved once"


def test_rules_of_the_settings_are_applied() -> None:
    make = compile_forms(("basic", "index_page"))
    (made,) = resolve_all("http://h/a/", ["index.html"], make_forms=make)
    assert made is not None
    assert (made.url, made.normalized) == ("http://h/a/index.html", "http://h/a/")


def test_the_query_is_in_the_charset_of_the_page() -> None:
    (made,) = resolve_all("http://h/é?é", ["?é"], "windows-1252")
    assert made is not None
    assert made.url == "http://h/%C3%A9?%E9"


def test_a_long_base_gives_no_link() -> None:
    base = "http://h/" + "a" * 20_000 + "/"
    assert resolve_all(base, ["b", "http://x/"]) == [None, forms("http://x/")]


def test_what_is_remembered_of_hosts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_module._HOSTS.clear()  # tests before this one filled it under the usual bound
    monkeypatch.setattr(resolve_module, "_MAX_HOSTS", 10)
    found = resolve_all("http://h/", [f"http://h{number}.example/" for number in range(100)])
    assert [made.key for made in found if made] == [f"example,h{number})http/" for number in range(100)]
    assert len(resolve_module._HOSTS) <= 10
