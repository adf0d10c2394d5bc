"""Values for the templates, and the colours they are shown in."""

import re
from pathlib import Path

import pytest

import cobnut.web
from cobnut.web.parameters import Asked
from cobnut.web.view import address, day, last_page_of, pieces, shown_title, steps, took


def asked(page: int = 1, query: str = "hazel") -> Asked:
    return Asked(query, False, 10, (page - 1) * 10)


def shown(page: int, last: int) -> str:
    return " ".join(f"[{step.text}]" if step.here else step.text for step in steps(asked(page), page, last))


@pytest.mark.parametrize(
    ("page", "last", "navigation"),
    [
        (1, 1, ""),
        (1, 2, "[1] 2 Next"),
        (2, 2, "Previous 1 [2]"),
        (6, 16, "Previous 1 … 4 5 [6] 7 8 … 16 Next"),
        (16, 16, "Previous 1 … 14 15 [16]"),
        (4, 16, "Previous 1 2 3 [4] 5 6 … 16 Next"),
        (1, 1000, "[1] 2 3 … 1,000 Next"),
    ],
)
def test_page_navigation(page, last, navigation):
    assert shown(page, last) == navigation


def test_addresses_carry_the_query_whole():
    assert address(asked(query='"a&b" <c>'), 3) == "/search?q=%22a%26b%22+%3Cc%3E&page=3"
    assert address(asked(), 1, explain=True) == "/search?q=hazel&explain=1"


@pytest.mark.parametrize(("count", "last"), [(0, 1), (1, 1), (10, 1), (11, 2), (155, 16), (10_000, 1000)])
def test_last_page(count, last):
    assert last_page_of(count, 10) == last


def test_pieces_are_the_text_again():
    cut = pieces("a hazel\x00nut tree", ((2, 7), (12, 16)))
    assert cut == [("a ", False), ("hazel", True), (" nut ", False), ("tree", True)]


@pytest.mark.parametrize("marks", [((3, 2),), ((0, 2), (1, 3)), ((5, 99),), ((90, 99),), ()])
def test_marks_that_make_no_sense_lose_no_text(marks):
    assert "".join(text for text, _ in pieces("hazelnut", marks)) == "hazelnut"


def test_a_page_without_title_is_called_by_its_address():
    assert shown_title(" \n\x00", "example.org", ["a"]) == "example.org/a"
    assert len(shown_title("x" * 999, "h", [])) == 160


@pytest.mark.parametrize("at_ms", [None, 0, -5, 10**17])
def test_times_that_are_none(at_ms):
    assert day(at_ms) is None


def test_days_are_utc():
    assert day(1_795_996_800_000).iso == "2026-11-30"
    assert day(1_795_996_799_999).text == "29 Nov 2026"


def test_durations_in_words():
    assert [took(v) for v in (0.2, 3.4, 999, 1234)] == ["under 1 ms", "3 ms", "999 ms", "1.2 s"]


CSS = (Path(cobnut.web.__file__).parent / "static" / "cobnut.css").read_text()


def themes() -> dict[str, dict[str, str]]:
    """The colours by day and by night."""
    day_css, night_css = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)[:2]
    return {
        name: dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", css))
        for name, css in (("day", day_css), ("night", night_css))
    }


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio, WCAG 2.2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["day", "night"])
@pytest.mark.parametrize(
    ("front", "back", "least"),
    [
        ("text", "ground", 7), ("text", "raised", 7), ("text", "mark", 4.5), ("quiet", "ground", 4.5),
        ("link", "ground", 4.5), ("link", "raised", 4.5), ("visited", "ground", 4.5),
        ("place", "ground", 4.5), ("button-text", "button", 4.5), ("field", "ground", 3), ("focus", "ground", 3),
    ],
)  # fmt: skip
def test_contrast(theme, front, back, least):
    colours = themes()[theme]
    assert contrast(colours[front], colours[back]) >= least


def test_nothing_is_loaded_from_elsewhere():
    folder = Path(cobnut.web.__file__).parent
    for path in (*folder.glob("templates/*.html"), *folder.glob("static/*.css")):
        text = path.read_text()
        assert "//" not in re.sub(r"<!--.*?-->|/\*.*?\*/", "", text), path
        assert not re.search(r"<script|\bstyle=|\son[a-z]+=|@import|url\(|\|\s*safe|autoescape", text), path
