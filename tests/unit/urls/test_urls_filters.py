"""What may enter, and which rule says no?"""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.config.sections import UrlSettings
from cobnut.errors import InputError
from cobnut.urls.filters import FILTERS, Forgotten, Scope, compile_filter, has_repetition
from cobnut.urls.resolve import normalize

WEB = Scope("web")


def refusal(url: str, scope: Scope = WEB, **settings: object) -> str | None:
    return compile_filter(msgspec.structs.replace(UrlSettings(), **settings), scope)(url)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://h/", None),
        ("https://h/a?b", None),
        ("ftp://h/", "scheme"),
        ("mailto:a@b", "scheme"),
        ("javascript:void(0)", "scheme"),
        ("httpx://h/", "scheme"),
        ("http://h/" + "a" * 4087, None),
        ("http://h/" + "a" * 4088, "length"),
        ("http://h/a.jpg", "suffix"),
        ("http://h/a.JPG", "suffix"),
        ("http://h/a.tar.gz?x=1", "suffix"),
        ("http://h/a.html?x=a.jpg", None),
        ("http://h/a.jpg/", None),
        ("http://h/.css", "suffix"),
        ("http://h/css", None),
        ("http://example.js/", None),
        ("http://example.js/?", None),
        ("http://h/a/b/c/", None),
        ("http://h/x/x/x/", "repeat"),
        ("http://h/x/x/x", "repeat"),
        ("http://h/x/x/", None),
        ("http://h/x/xx/xxx/", None),
        ("http://h/a/b/c/a/b/c/a/b/c/", "repeat"),
        ("http://h/a/b/a/b/", None),
        ("http://h/p/a/b/a/b/a/b/q", "repeat"),
        ("http://h/x/1/x/2/x/", "repeat"),
        ("http://h/2026/11/11/post", None),
        ("http://h/?a=/x/x/x/", None),
        ("http://x/x/x/y", None),
    ],
)
def test_default_rules(url: str, rule: str | None) -> None:
    assert refusal(url) == rule


def test_the_order_listed_is_the_order_asked() -> None:
    url = "http://h/x/x/x/" + "a" * 5000 + ".jpg"
    assert refusal(url) == "length"
    assert refusal(url, filters=("repeat", "suffix", "length")) == "repeat"
    assert refusal(url, filters=("suffix", "length")) == "suffix"
    assert refusal(url, filters=()) is None


def test_suffixes_may_be_written_with_a_dot_and_in_upper_case() -> None:
    assert refusal("http://h/a.pdf", deny_suffixes=(".PDF",)) == "suffix"


SEEDS = ("http://www.example.org/docs/index.html?x=a/b", "https://other.example.net:8443/")


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        (
            "host",
            ["https://www.example.org:81/x", "http://other.example.net/", "http://www.example.org/?http://x/"],
            [
                "http://example.org/",
                "http://a.www.example.org/",
                "http://www.example.org.evil.example/",
                "http://www.example.org./",
            ],
        ),
        (
            "domain",
            ["http://example.org/", "https://a.b.example.org:1/", "http://example.net/"],
            ["http://badexample.org/", "http://org/", "http://example.com/?example.org"],
        ),
        (
            "prefix",
            ["http://www.example.org/docs/", "https://www.example.org/docs/a/b", "https://other.example.net:8443/x"],
            [
                "http://www.example.org/",
                "http://www.example.org/docs",
                "http://www.example.org/docs2/",
                "http://www.example.org:81/docs/",
                "http://other.example.net:8443/x",
                "https://other.example.net/x",
            ],
        ),
        ("web", ["http://anything.example/"], []),
    ],
)
def test_scopes(kind: str, inside: list[str], outside: list[str]) -> None:
    accept = compile_filter(UrlSettings(), Scope(kind, SEEDS))  # type: ignore[arg-type]
    assert [accept(url) for url in [*SEEDS, *inside]] == [None] * (len(inside) + 2)
    assert [accept(url) for url in outside] == ["scope"] * len(outside)


def test_a_hosting_service_is_no_domain_but_its_users_are() -> None:
    accept = compile_filter(UrlSettings(), Scope("domain", ("https://one.github.io/",)))
    assert accept("https://www.one.github.io/") is None
    assert accept("https://two.github.io/") == "scope"


def test_addresses_are_their_own_scope() -> None:
    for kind in ("host", "domain"):
        accept = compile_filter(UrlSettings(), Scope(kind, ("http://127.0.0.1:81/", "http://[::1]:81/")))  # type: ignore[arg-type]
        assert accept("http://127.0.0.1:82/") is None
        assert accept("http://[::1]/") is None
        assert accept("http://127.0.0.2/") == "scope"
        assert accept("http://0.1/") == "scope"


@pytest.mark.parametrize("kind", ["host", "domain", "prefix"])
def test_without_seeds_nothing_is_in_scope(kind: str) -> None:
    assert compile_filter(UrlSettings(), Scope(kind))("http://h/") == "scope"  # type: ignore[arg-type]


def test_an_unknown_rule_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown URL filter.*'sufix'.*did you mean 'suffix'.*known: length, repeat"):
        refusal("http://h/", filters=("sufix",))


def test_a_rule_can_be_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FILTERS, "no_query", lambda settings, scope: lambda url: "?" in url)
    assert refusal("http://h/?a", filters=("scheme", "no_query")) == "no_query"
    assert refusal("http://h/a", filters=("scheme", "no_query")) is None


@given(st.lists(st.sampled_from("ab"), max_size=14))
def test_repetition_agrees_with_its_definition(segments: list[str]) -> None:
    count = len(segments)
    in_a_row = any(
        segments[at : at + size] == segments[at + size : at + 2 * size] == segments[at + 2 * size : at + 3 * size]
        for size in range(1, count // 3 + 1)
        for at in range(count - 3 * size + 1)
    )
    every_second = any(segments[at] == segments[at + 2] == segments[at + 4] for at in range(count - 4))
    assert has_repetition(segments) == (in_a_row or every_second)


def test_a_hostile_path_costs_comparisons_in_proportion_to_its_length() -> None:
    class Segment(str):
        compared = 0
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Segment.compared += 1
            return str.__eq__(self, other)

    # every number stands often, nothing comes three times in a row: all periods are tried to the end
    segments = [Segment(number % 17 if number % 3 else number) for number in range(2_000)]
    assert not has_repetition(segments)
    assert Segment.compared < 2_000 * 30


@given(st.text(max_size=30))
def test_no_url_raises(text: str) -> None:
    accept = compile_filter(UrlSettings(), Scope("host", ("http://h/",)))
    accept(text)
    url = normalize("http://h/" + text)
    if url is not None:
        assert accept(url) != "scope"


GONE = Forgotten(
    ("http://h/a?b", "https://h/only"), ("gone.test",), ("http://h/folder/", "https://h:8443/x", "http://p.test/")
)


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("http://h/a?b", True),
        ("http://h/a", False),
        ("http://h/a?bc", False),
        ("https://h/a?b", False),  # a URL is exactly that one
        ("http://h/only", False),
        ("http://gone.test/", True),
        ("https://gone.test:81/x", True),
        ("http://www.gone.test/", False),
        ("http://gone.test.evil/", False),
        ("http://h/folder/", True),
        ("https://h/folder/x?y", True),  # at their own ports http and https are one
        ("http://h:81/folder/x", False),
        ("http://h/folder", False),
        ("https://h:8443/xyz", True),
        ("http://h:8443/xyz", False),
        ("https://p.test/any", True),
        ("http://p.test:80x/", False),
    ],
)
def test_what_is_forgotten(url: str, refused: bool) -> None:
    scope = Scope("web", forgotten=GONE)
    assert refusal(url, scope, filters=()) == ("forgotten" if refused else None)
    assert refusal(url, WEB, filters=()) is None


def test_what_is_forgotten_is_told_before_all_other_rules() -> None:
    assert refusal("http://gone.test/x.jpg", Scope("web", forgotten=GONE)) == "forgotten"
    assert refusal("http://h/x.jpg", Scope("web", forgotten=GONE)) == "suffix"
    assert not Forgotten()
