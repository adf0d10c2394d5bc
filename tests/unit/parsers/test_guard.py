"""What is too deep or has too many attributes is taken out before the tree is built, and only that."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from cobnut.parsers.guard import MAX_ATTRIBUTES, flatten, shorten_tags, tame


def depth_of(html: str) -> int:
    deepest = depth = 0
    node = LexborHTMLParser(html, scripting=True).root
    while node is not None:
        deepest = max(deepest, depth)
        if node.first_child is not None:
            node, depth = node.first_child, depth + 1
            continue
        while node is not None and node.next is None:
            node, depth = node.parent, depth - 1
        node = node.next if node is not None else None
    return deepest


@pytest.mark.parametrize(
    "unit",
    [
        "<div>", "<div></span>", "<b><div></b>", "<span><div></span>", "<div><table><td></div>", "<a href=x><div>",
        "<li><ul>", "<dl><dt>", "<font>", "<object><p>", "<!-- --!><div>", "<!--><div>", "<![CDATA[<div>", "<DIV/>",
        "<script></script><div>", "<x-y>", "<svg>", "<select><div>",
    ],
)  # fmt: skip
def test_depth_is_bounded_whatever_is_tried(unit: str) -> None:
    tamed = tame(unit * 3_000 + "<a href=/end>needle</a>", 100)
    assert depth_of(tamed) <= 100 * 5 + 10
    assert "needle" in tamed
    assert "href=/end" in tamed


def test_ordinary_pages_are_left_alone() -> None:
    row = "<tr><td><p>one<li>two<img src=x><td><span>three</span><script>if (a<b) x='<div>'</script><!-- <div> -->"
    page = "<div><table>" + row * 1_000 + "</table></div>"
    assert tame(page, 50) == page
    balanced = "<div><ul><li><b>x</b></li></ul></div>" * 1_000
    assert tame(balanced, 50) == balanced


def test_flatten_keeps_the_text_in_order() -> None:
    html = "".join(f"<div>{i} " for i in range(20)) + "</div>" * 20 + "<p>after</p>"
    text = LexborHTMLParser(flatten(html, 5)).root
    assert text is not None
    assert text.text(deep=True).split() == [*map(str, range(20)), "after"]


@pytest.mark.parametrize("attribute", ["a%d=1 ", "a%d='>' ", 'a%d=">"', "a%d/", "a%d = x "])
def test_attributes_are_bounded(attribute: str) -> None:
    html = "<a href=/kept " + "".join(attribute % i for i in range(20_000)) + ">words</a><p>after"
    short = shorten_tags(tame(html, 512))
    tree = LexborHTMLParser(short)
    link = tree.css_first("a")
    assert link is not None
    assert link.attributes["href"] == "/kept"
    assert len(link.attributes) <= MAX_ATTRIBUTES + 1
    assert tree.css_first("p") is not None


def test_a_long_value_or_script_is_no_long_tag() -> None:
    html = f"<img src='data:image/png;base64,{'A/+' * 50_000}'><script>{'x = y + z;' * 10_000}</script><p>kept"
    assert tame(html, 512) == html
