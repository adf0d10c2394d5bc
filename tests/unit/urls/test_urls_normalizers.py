"""What do the named rules change, and do they come to rest?"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.errors import InputError
from cobnut.urls import normalizers
from cobnut.urls.normalizers import RULES, compile_normalizer

CASES = {
    "session_ids": [
        ("http://h/a;jsessionid=ABC123?x=1", "http://h/a?x=1"),
        ("http://h/a;JSESSIONID=ABC.n1/b", "http://h/a/b"),
        ("http://h/a?PHPSESSID=abc&x=1", "http://h/a?x=1"),
        ("http://h/a?x=1&sid=99", "http://h/a?x=1"),
        ("http://h/a?sid=99", "http://h/a"),
        ("http://h/a?ASPSESSIONIDABCD=9&y", "http://h/a?y"),
        ("http://h/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "http://h/a.aspx"),
        ("http://h/a?side=1&sidx=2", "http://h/a?side=1&sidx=2"),
        ("http://h/a?", "http://h/a?"),
    ],
    "sort_query": [
        ("http://h/?b=1&a=2", "http://h/?a=2&b=1"),
        ("http://h/?a=2&a=1&A=0", "http://h/?A=0&a=2&a=1"),
        ("http://h/?b", "http://h/?b"),
        ("http://h/b&a", "http://h/b&a"),
    ],
    "trailing_dot": [
        ("http://example.org./a", "http://example.org/a"),
        ("http://example.org.:8080/a", "http://example.org:8080/a"),
        ("http://example.org/a.", "http://example.org/a."),
    ],
    "index_page": [
        ("http://h/index.html", "http://h/"),
        ("http://h/a/INDEX.PHP?x=1", "http://h/a/?x=1"),
        ("http://h/Default.aspx", "http://h/"),
        ("http://h/index.html.en", "http://h/index.html.en"),
        ("http://h/myindex.html", "http://h/myindex.html"),
    ],
    "www": [
        ("http://www.example.org/", "http://example.org/"),
        ("http://www.a.example.org:81/", "http://a.example.org:81/"),
        ("http://www.org/", "http://www.org/"),
        ("http://www.co.uk/", "http://www.co.uk/"),
        ("http://www.org./", "http://www.org./"),
        ("http://www/", "http://www/"),
        ("http://www2.example.org/", "http://www2.example.org/"),
        ("http://h/www.example.org/", "http://h/www.example.org/"),
    ],
}


@pytest.mark.parametrize(
    ("rule", "url", "expected"), [(rule, *case) for rule, cases in CASES.items() for case in cases]
)
def test_each_rule(rule: str, url: str, expected: str) -> None:
    assert compile_normalizer(("basic", rule))(url) == expected
    assert compile_normalizer(("basic",))(url) == url, "off unless it is named"


TAILS = st.lists(
    st.sampled_from(
        [*"ab/.?&=;#%", "%7e", "%2f", "index.html", "sid=1", ";jsessionid=2", "(S(aaaaaaaaaaaaaaaaaa))", "/..", "&a=1"]
    ),
    max_size=10,
).map("".join)
HOSTS = st.sampled_from(
    ["www.example.org.", "www.www.example.org", "www.co.uk", "www..com", "u@www.h", "127.0.0.1", "[::1]"]
)


@settings(max_examples=800)
@given(st.permutations(sorted(RULES)), HOSTS, TAILS)
def test_all_rules_in_any_order_come_to_rest(names: list[str], host: str, tail: str) -> None:
    normalize = compile_normalizer(tuple(names))
    once = normalize(f"http://{host}/{tail}")
    if once is not None:
        assert normalize(once) == once


def test_without_rules_a_url_has_no_user_info_and_fragment_all_the_same() -> None:
    assert compile_normalizer(())("http://u:p@H/%7e#x") == "http://h/%7e"


@pytest.mark.parametrize(
    ("result", "why"),
    [("http://h/ bad\n{}", "moves for ever"), ("ftp://h/", "leaves the web"), ("http://", "is no URL")],
)
def test_a_rule_that_finds_no_rest_or_breaks_the_url_refuses_it(
    result: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def restless(url: str) -> str:
        return url + "x" if why == "moves for ever" else result

    monkeypatch.setitem(normalizers.RULES, "restless", restless)
    compile_normalizer.cache_clear()
    assert compile_normalizer(("basic", "restless"))("http://h/") is None
    compile_normalizer.cache_clear()


def test_an_unknown_rule_names_the_nearest() -> None:
    with pytest.raises(
        InputError, match=r"unknown URL normalizer.*'sesion_ids'.*did you mean 'session_ids'.*known: basic"
    ):
        compile_normalizer(("sesion_ids",))
    with pytest.raises(InputError, match="known: basic"):
        compile_normalizer(("qqq",))
