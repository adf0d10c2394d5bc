"""One walk over a page: what it says, in blocks, and what it links to, in order."""

from __future__ import annotations

import pytest

from cobnut.parsers.html import HtmlPage, read_html


def links(page: HtmlPage) -> list[tuple[str, str, str | None, bool]]:
    found = page.links
    return list(zip(found.hrefs, found.kinds, found.anchors, found.nofollows, strict=True))


def test_a_whole_page() -> None:
    page = read_html(
        """<!DOCTYPE html><html lang="en-GB"><head><title> A  title&amp;more
        </title><meta name="Description" content=" what  it is "><meta name=ROBOTS content=noindex>
        <meta http-equiv=Refresh content="5; url=/r"><link rel="canonical" href="/canon">
        <link rel=stylesheet href=/s.css><link rel="alternate stylesheet" href=/t.css>
        <link rel=alternate type=application/rss+xml title=Feed href=/feed><link rel=next href=/n>
        <base href="/b/"><base href="/c/"></head>
        <body><h1>Big <em>head</em></h1><p>First<br>second</p><div>a<span>b</span><p>c</p>d</div>
        <h2></h2><h3>Sub</h3><ul><li>one<li>two</ul><table><tr><td>x<td>y<tr><td>z</table>
        <script>var hidden = 1</script><style>.hidden{}</style><noscript>hidden</noscript><template>hidden</template>
        <textarea>hidden</textarea><select><option>hidden</select><svg><title>hidden</title><text>hidden</text></svg>
        </body></html>"""
    )
    assert page.title == "A title&more"
    assert page.description == "what it is"
    assert page.robots == [("robots", "noindex")]
    assert page.refresh == "5; url=/r"
    assert page.language == "en-GB"
    assert page.base_href == "/b/"
    assert page.canonical_href == "/canon"
    assert page.headings == ["Big head", "Sub"]
    assert page.text.split("\n") == [
        "Big head", "First", "second", "ab", "c", "d", "Sub", "one", "two", "x y", "z",
    ]  # fmt: skip
    assert links(page) == [
        ("/canon", "canonical", None, False), ("/feed", "alternate", "Feed", False), ("/n", "alternate", None, False),
    ]  # fmt: skip


def test_anchors_in_document_order() -> None:
    page = read_html(
        """<a href=1>plain  words</a><a>no link</a><a href=2><div>block</div><p>inside</p></a>
        <a href=3><img alt="a picture"></a><a href=4 title="from title"></a><a href=5 aria-label=label></a>
        <a href=6 title=t><img alt="alt first"></a>
        <a href=7 rel="external NOFOLLOW">n</a><a href=8 rel=ugc>u</a><a href=9></a>
        <area href=10 alt=area><iframe src=11 title=frame><a href=no>no</a></iframe><a href=12>cut <a href=13>off</a>
        <svg><a href=14><text>drawn</text></a></svg><a href="">empty</a>"""
    )
    assert links(page) == [
        ("1", "link", "plain words", False), ("2", "link", "block inside", False), ("3", "link", "a picture", False),
        ("4", "link", "from title", False), ("5", "link", "label", False), ("6", "link", "alt first", False),
        ("7", "link", "n", True), ("8", "link", "u", False), ("9", "link", None, False), ("10", "link", "area", False),
        ("11", "frame", "frame", False), ("12", "link", "cut", False), ("13", "link", "off", False),
        ("14", "link", "drawn", False), ("", "link", "empty", False),
    ]  # fmt: skip
    assert "drawn" not in page.text


def test_frames() -> None:
    page = read_html("<frameset><frame src=/1><frame src=/2><noframes><a href=/3>3</a></noframes></frameset>")
    assert links(page) == [("/1", "frame", None, False), ("/2", "frame", None, False)]


def test_noscript_cannot_break_the_head() -> None:
    page = read_html("<head><noscript><img src=pixel></noscript><link rel=canonical href=/c></head><body>x")
    assert page.canonical_href == "/c"


def test_a_canonical_in_the_body_does_not_count() -> None:
    page = read_html("<head><title>t</title></head><body><p>user text<link rel=canonical href=//evil.test/></body>")
    assert page.canonical_href is None
    assert links(page) == []


def test_limits_are_kept_and_counted() -> None:
    page = read_html("".join(f"<a href={i}>{'word ' * 100}</a>" for i in range(50)), max_links=10, max_anchor_chars=20)
    assert len(page.links.hrefs) == 10
    assert page.links.dropped == 40
    assert {len(a or "") for a in page.links.anchors} == {20}
    page = read_html("<p>" + "a " * 100_000 + "<p>behind", max_text_chars=20_000)
    assert len(page.text) <= 20_000
    assert page.text.endswith("\nbehind")
    assert page.cut
    page = read_html("".join(f"<p>{i} some words" for i in range(100_000)), max_text_chars=5_000)
    assert len(page.text) <= 5_000
    assert page.cut


@pytest.mark.parametrize(
    "html",
    [
        "",
        " ",
        "\0",
        "<",
        "<!--",
        "<html",
        "</p>",
        "<a href",
        "<a href='",
        "\ufeff",
        "<title>",
        "<title></title>",
        "&#0;&#xD800;",
    ],
)
def test_scraps_are_pages_too(html: str) -> None:
    page = read_html(html)
    assert page.title is None
    assert links(page) == []


def test_nul_bytes_do_not_end_anything() -> None:
    page = read_html("<title>nul\0byte</title><p>a\0b <a href='/p/1.html\0'>x</a>")
    assert (page.title or "").startswith("nul")
    assert (page.title or "").endswith("byte")
    assert [anchor for _, _, anchor, _ in links(page)] == ["x"]


PROSE = "This is a sentence of some length that tells a story, and it goes on for quite a while without any link. "
MENU = "".join(f"<li><a href=/m{i}>Menu entry number {i}</a></li>" for i in range(30))


@pytest.mark.parametrize(
    "html",
    [
        f"<nav><ul>{MENU}</ul></nav><main><h1>Story</h1><p>{PROSE * 3}</p><p>{PROSE}</p></main>"
        f"<footer>Copyright {PROSE}</footer>",
        f"<div id=menu><ul>{MENU}</ul></div><div class='post-content'><h1>Story</h1><p>{PROSE * 3}</p></div>"
        f"<div class=sidebar>Copyright {PROSE}</div>",
        f"<div><ul>{MENU}</ul></div><div><h1>Story</h1><div>{PROSE * 2}</div>short<div>{PROSE * 2}</div></div>"
        f"<div><ul>{MENU}</ul></div>",
        f"<table><tr><td>{MENU}<td><h1>Story</h1>{PROSE * 4}<tr><td>{MENU}</table>",
    ],
    ids=["semantic", "named", "density", "table"],
)
def test_main_text_is_the_story(html: str) -> None:
    page = read_html(html)
    assert page.main_text is not None
    assert page.main_text.startswith("Story")
    assert PROSE.strip() in page.main_text
    assert "Menu entry" not in page.main_text
    assert "Copyright" not in page.main_text


@pytest.mark.parametrize("html", [f"<p>{PROSE * 5}</p>", "<p>short", f"<ul>{MENU}</ul>", ""])
def test_main_text_is_null_where_it_cannot_be_told_apart(html: str) -> None:
    assert read_html(html).main_text is None
