"""What the fake web's strange hosts answer: each is one thing that real servers do."""

from __future__ import annotations

import pytest

from cobnut.config.sections import Settings
from cobnut.parsers.page import PageInput, ParsedPage, parse_page
from cobnut.testing.fakeweb.oddities import PLAIN, odd_answer
from cobnut.urls.keys import key_to_url

URL = "http://s3.synth.test/x/odd"


def parse(name: str) -> ParsedPage:
    answer = odd_answer(name, first_host="s0.synth.test", page_count=20, sentences=["A sentence."] * 1024, wait=0)
    return parse_page(PageInput(URL, answer.body, answer.headers), Settings())


def links(page: ParsedPage) -> list[str]:
    found = page.links
    return [f"{kind} {key_to_url(key)}" for key, kind in zip(found.keys, found.kinds, strict=True)]


@pytest.mark.parametrize(
    ("name", "status", "reason", "title"),
    [
        ("giant", "ok", None, "giant"),
        ("bomb", "ok", None, None),
        ("badgzip", "ok", "bad_encoding", None),
        ("pdf-as-html", "skipped", "media_type", None),
        ("png-as-html", "skipped", "media_type", None),
        ("html-as-text", "ok", None, None),
        ("empty", "ok", None, None),
        ("deep-nest", "ok", None, None),
        ("utf16", "ok", None, "шестнадцать"),
        ("latin-meta-utf8", "ok", None, "café"),
    ],
)
def test_status_reason_and_title(name: str, status: str, reason: str | None, title: str | None) -> None:
    page = parse(name)
    assert (page.parse_status, page.reason, page.title) == (status, reason, title)
    assert page.truncated == (name in ("giant", "bomb"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("base", ["link http://s0.synth.test/p/3.html"]),
        ("refresh", ["refresh http://s3.synth.test/p/2.html"]),
        ("refresh-loop", []),
        ("frames", ["frame http://s3.synth.test/p/1.html", "frame http://s3.synth.test/p/2.html"]),
        ("html-as-text", []),
        ("nul", ["link http://s3.synth.test/p/1.html%EF%BF%BD"]),
    ],
)
def test_links_of_oddities(name: str, expected: list[str]) -> None:
    assert links(parse(name)) == expected


def test_bad_urls_are_counted_and_good_ones_kept() -> None:
    page = parse("bad-urls")
    found = links(page)
    assert found.count("link http://s3.synth.test/p/1.html") == 2
    assert not any(
        bad in link for link in found for bad in ("javascript", "mailto", "data:", "99999", "yyyy", "exa mple")
    )
    assert page.links_dropped >= 8


def test_many_links_stop_at_the_limit() -> None:
    page = parse("many-links")
    assert len(page.links.keys) == Settings().parser.max_links
    assert page.links_dropped == 50_000 - Settings().parser.max_links


def test_every_oddity_is_parsed_without_an_exception() -> None:
    assert {parse(name).parse_status for name in PLAIN} == {"ok", "skipped"}
