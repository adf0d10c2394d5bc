"""Robots directives, refreshes and Link headers."""

from __future__ import annotations

import pytest

from cobnut.parsers.directives import Robots, links_of_header, refresh_of, robots_of_header, robots_of_page


@pytest.mark.parametrize(
    ("metas", "headers", "expected"),
    [
        ([], [], Robots()),
        ([("robots", "all")], [], Robots()),
        ([("robots", "noindex")], [], Robots(noindex=True)),
        ([("robots", "NOINDEX , NoFollow")], [], Robots(noindex=True, nofollow=True)),
        ([("robots", "none")], [], Robots(noindex=True, nofollow=True)),
        ([("robots", "noarchive, max-snippet:20")], [], Robots(noarchive=True)),
        ([("otherbot", "noindex")], [], Robots()),
        ([("cobnut", "noindex"), ("robots", "index, follow")], [], Robots(noindex=True)),
        ([("robots", "noindexing")], [], Robots()),
        ([], ["noindex"], Robots(noindex=True)),
        ([("robots", "nofollow")], ["noindex"], Robots(noindex=True, nofollow=True)),
        ([], ["otherbot: noindex"], Robots()),
        ([], ["Cobnut: noindex, nofollow"], Robots(noindex=True, nofollow=True)),
        ([], ["otherbot: noindex, nofollow", "noarchive"], Robots(noarchive=True)),
        ([], ["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], Robots(noindex=True)),
        ([], ["max-snippet: 5"], Robots()),
    ],
)
def test_robots(metas: list[tuple[str, str]], headers: list[str], expected: Robots) -> None:
    assert robots_of_page(metas, headers, "cobnut/0.1") == expected


def test_without_an_agent_name_only_general_directives_count() -> None:
    assert robots_of_header("x: noindex, y: nofollow", "") == Robots()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0; url=/a", (0, "/a")),
        ("5;URL='/a b'rest", (5, "/a b")),
        ('3 ; url = "http://x.test/"', (3, "http://x.test/")),
        ("0,/b", (0, "/b")),
        ("0 /b", (0, "/b")),
        ("0;url=", (0, "")),
        ("7", (7, "")),
        (" 1.9 ; /c", (1, "/c")),
        (".5; /c", (0, "/c")),
        ("0; url='/unclosed", (0, "/unclosed")),
        ("0; urls.html", (0, "urls.html")),
        ("0;url=url=/x", (0, "url=/x")),
        ("", None),
        ("url=/a", None),
        ("5x", None),
        ("-1; url=/a", None),
        ("99999999999999999999; /x", (999999999, "/x")),
    ],
)
def test_refresh(content: str, expected: tuple[int, str] | None) -> None:
    assert refresh_of(content) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('<https://a.test/>; rel="canonical"', [("https://a.test/", "canonical")]),
        ("<a>; rel=next; title=x, <b>; foo=bar; rel='prev'", [("a", "next"), ("b", "'prev'")]),
        ('</x>; rel="next NOFOLLOW"', [("/x", "next"), ("/x", "nofollow")]),
        ("</style.css>; as=style", []),
        ("rubbish", []),
        ("<" * 20_000, []),
    ],
)
def test_link_header(value: str, expected: list[tuple[str, str]]) -> None:
    assert links_of_header(value) == expected
