"""What does a page embed, and is it kept apart from what it links to?"""

from __future__ import annotations

import msgspec
import pytest

from cobnut.config.sections import ParserSettings, Settings
from cobnut.parsers.embeds import MOST_SOURCES, urls_of_srcset
from cobnut.parsers.page import PageInput, ParsedPage, parse_page
from cobnut.records.outcomes import EMBED_KINDS, LINK_KINDS
from cobnut.urls.keys import key_to_url

URL = "http://a.test/folder/page"
HEADERS = [("Content-Type", "text/html; charset=utf-8")]


def parsed(html: str, **parser: object) -> ParsedPage:
    settings = msgspec.structs.replace(Settings(), parser=ParserSettings(**parser))  # type: ignore[arg-type] # by name
    return parse_page(PageInput(URL, html.encode(), HEADERS, score=1_000_000), settings)


def embeds(page: ParsedPage) -> list[tuple[str, str, str | None]]:
    """Kind, path and words of each."""
    links = page.links
    return [
        (kind, key_to_url(key).removeprefix("http://a.test"), words)
        for kind, key, words in zip(links.kinds, links.keys, links.anchors, strict=True)
        if kind in EMBED_KINDS
    ]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<img src="/i.png" alt=" An \n image ">', [("image", "/i.png", "An image")]),
        (
            '<img src=i.png srcset="i2.png 2x,i3,a.png 3x, i.png">',
            [("image", f"/folder/{name}", None) for name in ("i.png", "i2.png", "i3,a.png")],
        ),
        (
            '<picture><source srcset="/w.webp, /x.webp 2x"><img src="/i.png"></picture>',
            [("image", "/w.webp", None), ("image", "/x.webp", None), ("image", "/i.png", None)],
        ),
        (
            '<video src="/v.mp4" poster="/p.jpg"><source src="/v.webm"><track src="/t"><a href="/x">x</a></video>',
            [("media", "/v.mp4", None), ("image", "/p.jpg", None), ("media", "/v.webm", None), ("media", "/t", None)],
        ),
        ('<audio title="A song" src="/s.ogg"></audio>', [("media", "/s.ogg", "A song")]),
        ('<script src="/s.js"></script><script>var x = "/no.js"</script>', [("script", "/s.js", None)]),
        (
            '<link rel="stylesheet" href="/s.css"><link rel="alternate stylesheet" href="/t.css">'
            '<link rel="shortcut icon" href="/f.ico"><link rel="modulepreload" href="/m.js">'
            '<link rel="preload" as="image" href="/p.png"><link rel="preload" as="font" href="/f.woff">',
            [
                ("style", "/s.css", None), ("style", "/t.css", None), ("image", "/f.ico", None),
                ("script", "/m.js", None), ("image", "/p.png", None),
            ],
        ),
        (
            '<object data="/o.swf" title="Game"><a href="/x">x</a></object><embed src="/e.pdf">',
            [("object", "/o.swf", "Game"), ("object", "/e.pdf", None)],
        ),
        ('<form><input type="IMAGE" src="/go.png" alt="Go"><input src="/no.png"></form>', [("image", "/go.png", "Go")]),
        ('<img src="data:image/png;base64,AAAA"><img src=""><img src="mailto:a@b"><img>', []),
        ('<base href="http://a.test/b/"><img src="i.png">', [("image", "/b/i.png", None)]),
        ('<template><img src="/t.png"></template><noscript><img src="/n.png"></noscript>', []),
        ('<img src="/i.png"><img src="/i.png"><img src="../i.png">', [("image", "/i.png", None)]),
        ('<img src="page"><img src="#here">', []),  # the page itself
    ],
)  # fmt: skip
def test_what_is_embedded(html: str, expected: list[tuple[str, str, str | None]]) -> None:
    page = parsed(html)
    assert embeds(page) == expected
    assert page.embed_count == len(expected)


def test_embeds_change_nothing_about_the_links() -> None:
    """Links, their count, places, anchors and shares of the score are those of the page without its embeds."""
    link = (
        '<a href="/x">x <img src="/i.png" alt="no"></a><a href="/y"><img src="/j.png" alt="why"></a><iframe src="/f">'
    )
    embedded = '<script src="/s.js"></script><link rel=stylesheet href="/s.css">'
    page, without = parsed(embedded + link), parsed(link, max_embeds=0)
    count = len(without.links.keys)
    assert (page.outlink_count, without.outlink_count, without.embed_count) == (3, 3, 0)
    for name in page.links.__struct_fields__:
        assert getattr(page.links, name)[:count] == getattr(without.links, name), name
    assert page.links.kinds[count:] == ["script", "style", "image", "image"]
    assert set(page.links.contributions[count:]) == {0}
    assert page.links.nofollows == [False] * count + [True] * 4
    assert page.links_dropped == 0


def test_followed_only_when_asked_for() -> None:
    assert parsed('<img src="/i.png">', follow_embeds=True).links.nofollows == [False]
    robots = '<meta name="robots" content="nofollow">'
    assert parsed(robots + '<img src="/i.png">', follow_embeds=True).links.nofollows == [True]


def test_their_number_is_bounded() -> None:
    html = "".join(f'<img src="/{n}.png">' for n in range(2_000))
    page = parsed(html + '<a href="/x">x</a>')
    assert (page.embed_count, page.links_dropped, page.outlink_count) == (1_000, 1_000, 1)
    many = ",".join(f"/{n}.png 1x" for n in range(10_000))
    assert parsed(f'<img srcset="{many}">').embed_count == MOST_SOURCES
    assert parsed("<video>" + "<source src=/x>" * 10_000 + "<source src=/y></video>").embed_count == 1


@pytest.mark.parametrize(
    ("srcset", "expected"),
    [
        ("", []), (" , ,", []), ("a", ["a"]), ("a,", ["a"]), ("a ,b", ["a", "b"]), ("a 1x,b 2x", ["a", "b"]),
        ("a,b 1x", ["a,b"]), ("data:x/y;z,AA== 1x, b", ["data:x/y;z,AA==", "b"]), ("\n a\t100w \n, b", ["a", "b"]),
    ],
)  # fmt: skip
def test_srcset(srcset: str, expected: list[str]) -> None:
    assert urls_of_srcset(srcset) == expected


def test_every_kind_is_documented() -> None:
    assert set(LINK_KINDS) >= EMBED_KINDS
