"""A snippet shows the stretch that holds the query's words, marks them, and is safe to print."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cobnut.index.schema import words_of
from cobnut.search.snippet import Matcher, Snippet, marked, snippet

FILLER = "Nothing to see in this sentence at all. " * 40


def cut(text: str, query: str, **more: int) -> Snippet:
    return snippet(text, Matcher(words_of(query), query), **more)


def marks(found: Snippet) -> list[str]:
    return [found.text[start:end] for start, end in found.ranges]


def test_the_best_stretch_is_shown_and_marked() -> None:
    text = f"One walnut here. {FILLER}The walnuts were cracked by crackers. {FILLER}"
    found = cut(text, "cracked walnut")
    assert "The walnuts were cracked by crackers." in found.text
    assert marks(found) == ["walnuts", "cracked"]
    assert found.text.startswith("… ")
    assert found.text.endswith(" …")
    assert len(found.text) <= 250


def test_stems_accents_and_case_are_followed() -> None:
    assert marks(cut("Libraries, a LIBRARY, librarian", "library")) == ["Libraries", "LIBRARY"]
    assert marks(cut("Ein Café in der Straße, ΚΑΦΈΣ", "cafe")) == ["Café"]
    assert marks(cut("Die Zusammenführung der Wörter", "zusammenführung wörter")) == ["Zusammenführung", "Wörter"]
    assert marks(cut("The İstanbul line: İİİ walnut", "walnut")) == ["walnut"]


def test_words_are_whole() -> None:
    assert marks(cut("category cat concat cat's", "cat")) == ["cat", "cat"]


def test_chinese_and_japanese_are_marked_without_spaces() -> None:
    found = cut("本书介绍如何" + "很多别的字" * 100 + "编译内核的方法，" + "很多别的字" * 100, "编译内核")
    assert marks(found) == ["编译内核"]
    assert len(found.text) <= 250
    assert marks(cut("サーバーの設定", "設定")) == ["設定"]


def test_without_a_match_the_description_or_the_beginning_is_shown() -> None:
    assert snippet("Text begins here", Matcher(["absent"]), otherwise="Described so").text == "Described so"
    assert snippet("Text begins here", Matcher(["absent"])).text == "Text begins here"
    assert snippet("", Matcher(["absent"])).text == ""


def test_html_is_escaped_inside_and_outside_of_marks() -> None:
    html = cut('<script>alert("walnut")</script> & more', "walnut").to_html()
    assert html == "&lt;script&gt;alert(&quot;<mark>walnut</mark>&quot;)&lt;/script&gt; &amp; more"


def test_lines_become_one() -> None:
    assert cut("one\ntwo\u2028walnut\r\nfour", "walnut").text == "one two walnut  four"


def test_a_match_late_in_a_long_text_is_found() -> None:
    assert marks(cut(FILLER * 10 + "a walnut", "walnut")) == ["walnut"]


def test_a_title_is_marked() -> None:
    assert marked("All about Walnuts", Matcher(["walnut"])).to_html() == "All about <mark>Walnuts</mark>"


_TEXT = st.text(alphabet=st.sampled_from("ab cé\n漢字İß<&'.\u0301"), max_size=400)


@given(_TEXT, _TEXT, st.integers(20, 300))
def test_ranges_lie_in_order_inside_the_text(text: str, query: str, chars: int) -> None:
    found = snippet(text, Matcher(words_of(query), query), chars=chars)
    at = 0
    for start, end in found.ranges:
        assert at <= start < end <= len(found.text)
        at = end
    assert "\n" not in found.text
    assert "<" not in found.to_html("b").replace("<b>", "").replace("</b>", "")
