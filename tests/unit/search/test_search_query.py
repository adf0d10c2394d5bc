"""What was typed is understood or searched as text, and nothing that can be typed raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.search.query import MOST_WORDS, parse


def wanted(text: str) -> list[tuple[tuple[str, ...], bool]]:
    return [(c.words, c.exactly) for c in parse(text).index_query.wanted]


def unwanted(text: str) -> list[tuple[str, ...]]:
    return [c.words for c in parse(text).index_query.unwanted]


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("Two  Words", [(("two",), False), (("word",), False)]),
        ('"exact words" more', [(("exact", "word"), True), (("more",), False)]),
        ('"never closed', [(("never", "close"), True)]),
        ("“typographic quotes”", [(("typograph", "quot"), True)]),
        ("usb-c", [(("usb", "c"), False)]),
        ("y+(y+25)", [(("y", "y", "25"), False)]),
        ("following:", [(("follow",), False)]),
        ("GO:0006275", [(("go", "0006275"), False)]),
        ("https://wiki.example.test/", [(("wiki", "exampl", "test"), False)]),
        ("comment:\nwords", [(("comment",), False), (("word",), False)]),
        ("git --amend", [(("git",), False), (("amend",), False)]),
        ("site: alone", [(("site",), False), (("alon",), False)]),
        ("twice twice", [(("twice",), False)]),
        ("hy\xadphens", [(("hyphen",), False)]),
        ("编译内核", [(("编译", "译内", "内核"), False)]),
        ("", []),
        (' " "" - + ( ) >>> \\>\\> ', []),
    ],
)
def test_what_is_wanted(text: str, clauses: list[tuple[tuple[str, ...], bool]]) -> None:
    assert wanted(text) == clauses


def test_exclusions_and_sites() -> None:
    assert unwanted('keep -drop -"these words" -site:bad.example') == [("drop",), ("these", "word")]
    asked = parse("keep site:Example.ORG site:*.example.com/docs/api -site:bad.example").index_query
    assert asked.sites == ("example.org", "example.com")
    assert asked.other_sites == ("bad.example",)
    assert [c.words for c in asked.wanted] == [("keep",), ("doc", "api")]


def test_only_an_exclusion_is_said_to_be_too_little() -> None:
    parsed = parse("-adapter")
    assert parsed.index_query.is_empty
    assert parsed.notices


def test_long_queries_are_cut_and_say_so() -> None:
    parsed = parse(" ".join(f"w{i}" for i in range(1_000)), max_chars=300)
    assert len(parsed.words) == MOST_WORDS
    assert len(parsed.notices) == 2


@given(st.text(max_size=500))
def test_nothing_raises(text: str) -> None:
    parsed = parse(text)
    assert len(parsed.words) <= MOST_WORDS


@given(
    st.lists(
        st.sampled_from(['"', "-", "site:", "a", "b c", " ", "(", "*", "\\", "::", "\x00", "漢字", "é", "/"]),
        max_size=40,
    )
)
def test_no_mixture_of_signs_raises(parts: list[str]) -> None:
    parse("".join(parts))
