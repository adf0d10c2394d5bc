"""What the checkers make of single items: what is understood, what is refused, and that nothing ends the process."""

from __future__ import annotations

import base64
import gzip
import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.config.sections import Settings, UrlSettings
from cobnut.inspect.check import page, query, robots, sitemap, url
from cobnut.inspect.check.basis import default_basis
from cobnut.inspect.check.host import origins_of
from cobnut.inspect.check.items import BadItemError, headers_of
from cobnut.inspect.check.lines import answers
from cobnut.inspect.check.sitemap import date_ms

BASIS = default_basis(Settings())
SITE = "http://a.test/dir/page.html"


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("item", "resolved", "accepted", "rule"),
    [
        ({"url": "HTTP://A.test:80/./x#y"}, "http://a.test/x", True, None),
        ({"base": SITE, "href": "../up"}, "http://a.test/up", True, None),
        ({"url": SITE, "href": "../up"}, "http://a.test/up", True, None),
        ({"base": "", "href": "http://a.test"}, "http://a.test/", True, None),
        ({"base": SITE, "href": "mailto:a@b.test"}, "mailto:a@b.test", False, "bad_scheme"),
        ({"base": SITE, "href": "http://[1"}, None, False, "bad_url"),
        ({"url": "no url"}, None, False, "bad_url"),
        ({"url": "http://a.test/x.PNG"}, "http://a.test/x.PNG", False, "suffix"),
        ({"url": "http://a.test/" + "x/" * 9}, "http://a.test/" + "x/" * 9, False, "repeat"),
        ({"url": "http://a.test/" + "x" * 5_000}, "http://a.test/" + "x" * 5_000, False, "length"),
        ({"url": "http://2130706433/"}, "http://127.0.0.1/", False, "private_address"),
        ({"url": "http://LOCALHOST:81/"}, "http://localhost:81/", False, "private_address"),
        ({"url": "http://[64:ff9b::a00:1]/"}, "http://[64:ff9b::a00:1]/", False, "private_address"),
        ({"base": "http://a.test/", "href_b64": b64(b"\xe4\xc3\xa4?\xe9")}, "http://a.test/%E4%C3%A4?%E9", True, None),
        ({"base": "http://a.test/", "href": "?q=\u044f", "charset": "cp1251"}, "http://a.test/?q=%FF", True, None),
    ],
)  # fmt: skip
def test_urls(item: dict[str, Any], resolved: str | None, accepted: bool, rule: str | None) -> None:
    found = url.answer(item, BASIS)
    assert (found["resolved"], found["accepted"], found["rule"]) == (resolved, accepted, rule)
    assert (found["key"] is None) == (rule in ("bad_url", "bad_scheme"))
    assert url.story(found)


def test_the_settings_decide() -> None:
    basis = default_basis(Settings(urls=UrlSettings(normalizers=("basic", "sort_query"), filters=("scheme",))))
    found = url.answer({"url": "http://a.test/x.png?b=1&a=2"}, basis)
    assert (found["normalized"], found["request_target"]) == ("http://a.test/x.png?a=2&b=1", "/x.png?b=1&a=2")
    assert found["accepted"]


def test_robots_by_file_and_by_status() -> None:
    text = "User-agent: acorn\nDisallow: /a # no\nCrawl-delay: 0.25\nSitemap: /s.xml\n"
    item = {"robots": text, "url": "http://a.test/a/b", "agent": "Acorn/2.0 (+http://a.test/)"}
    found = robots.answer(item, BASIS)
    assert (found["allowed"], found["rule"], found["crawl_delay"]) == (False, "Disallow: /a # no", 0.25)
    assert (found["sitemaps"], found["agent"]) == (["http://a.test/s.xml"], "Acorn")
    assert robots.answer({**item, "agent": "other"}, BASIS)["allowed"]
    for status, state in ((404, "allow_all"), (403, "allow_all"), (429, "disallow_all"), (500, "disallow_all")):
        found = robots.answer({"url": SITE, "status": status}, BASIS)
        assert (found["allowed"], found["state"]) == (state == "allow_all", state)
        assert robots.story(found)
    own = robots.answer({"robots": "User-agent: cobnut\nDisallow: /", "url": SITE}, BASIS)
    assert (own["allowed"], own["agent"]) == (False, "Cobnut")


@pytest.mark.parametrize(
    ("html", "headers", "charset", "link"),
    [
        ("<p>\u044f<a href='?q=\u044f'>", {}, "utf-8", "?q=%D1%8F"),
        ("<meta charset=windows-1251><p>\u044f<a href='?q=\u044f'>", {}, "windows-1251", "?q=%FF"),
        ("<p>\u044f<a href='?q=\u044f'>", {"Content-Type": "text/html; charset=koi8-r"}, "koi8-r", "?q=%D1"),
        ("<meta charset=gbk><p>\u044f\U0001f330<a href='?q=a'>", {}, "gbk", "?q=a"),
        ("<p>\u044f<a href='?q=a'>", {"Content-Encoding": "gzip"}, "utf-8", "?q=a"),
    ],
)
def test_text_is_written_out_as_the_page_wants_it(html: str, headers: dict[str, str], charset: str, link: str) -> None:
    found = page.answer({"url": SITE, "html": html, "headers": headers}, BASIS)
    assert found["charset"] == charset
    assert "\u044f" in found["text"]
    assert ("\U0001f330" in found["text"]) == ("\U0001f330" in html)
    assert [entry["url"] for entry in found["links"]] == [SITE + link]


def test_a_page_as_received() -> None:
    body = gzip.compress(
        b"<title>T</title><base href=/base/><link rel=canonical href=c><meta name=robots content=noindex>"
        b"<a href=x rel='nofollow'>one</a><img src=i><iframe src=f></iframe><a href=mailto:x>m</a>"
    )
    headers = [["content-type", "text/html"], ["Content-Encoding", "gzip"], ["X-Robots-Tag", "acorn: nofollow"]]
    found = page.answer({"url": SITE, "body_b64": b64(body), "headers": headers}, BASIS)
    assert found["links"] == [
        {"url": "http://a.test/base/x", "anchor": "one", "rel": "nofollow"},
        {"url": "http://a.test/base/f", "anchor": None, "rel": None},
    ]
    assert (found["base"], found["canonical"]) == ("http://a.test/base/", "http://a.test/base/c")
    assert found["robots"] == {"index": False, "follow": True, "archive": True}
    assert (found["title"], found["links_dropped"], found["refresh"], found["error"]) == ("T", 1, None, None)
    acorn = page.answer({"url": SITE, "body_b64": b64(body), "headers": headers, "agent": "acorn"}, BASIS)
    assert not acorn["robots"]["follow"]
    for answer in (found, page.answer({"url": SITE, "body_b64": b64(b"%PDF-1.4")}, BASIS)):
        assert page.story(answer)


def test_sitemaps_in_all_their_forms() -> None:
    body = (
        b"<urlset><url><loc> /a?x=1&y=2 </loc><lastmod>2024-01-08</lastmod></url>"
        b"<url><loc>ftp://a.test/</loc></url><url><loc>http://b.test/</loc><lastmod>soon</lastmod></url></urlset>"
    )
    url_, headers = "http://a.test/s.xml.gz", {"Content-Type": "application/gzip"}
    for sent in (body, gzip.compress(body)):
        found = sitemap.answer({"url": url_, "body_b64": b64(sent), "headers": headers}, BASIS)
        listed = [(entry["loc"], entry["lastmod"]) for entry in found["urls"]]
        assert listed == [("http://a.test/a?x=1&y=2", "2024-01-08"), ("http://b.test/", None)]
        assert len(found["errors"]) == 3
        assert sitemap.story(found)
    index = sitemap.answer(
        {"url": url_, "body": "<sitemapindex><sitemap><loc>/1.xml</loc></sitemap></sitemapindex>"}, BASIS
    )
    assert (index["urls"], index["sitemaps"], index["errors"]) == ([], ["http://a.test/1.xml"], [])
    lines = sitemap.answer({"url": url_, "body": "\ufeffhttp://a.test/1\r\n# no\n\nwords\nhttp://a.test/2"}, BASIS)
    assert [u["loc"] for u in lines["urls"]] == ["http://a.test/1", "http://a.test/2"]
    assert lines["errors"] == ["not a web address: words"]
    for text in ("", " ", "<html>", "words"):
        none = sitemap.answer({"url": url_, "body": text}, BASIS)
        assert (none["kind"], none["urls"], len(none["errors"])) == (None, [], 1)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2024", 1_704_067_200_000),
        ("2024-01", 1_704_067_200_000),
        ("2024-1-8", 1_704_672_000_000),
        ("2024-01-08T00:00:00", 1_704_672_000_000),
        ("2024-01-08 00:00:00.5Z", 1_704_672_000_000),
        ("2024-01-08T02:00+02:00", 1_704_672_000_000),
        ("2024-01-07T18:30:00-0530", 1_704_672_000_000),
        ("Mon, 08 Jan 2024 00:00:00 GMT", 1_704_672_000_000),
        ("2024-02-29", 1_709_164_800_000),
        ("2023-02-29", None),
        ("2024-13-01", None),
        ("0000-01-01", None),
        ("", None),
        ("now", None),
        ("9" * 5_000, None),
    ],
)
def test_dates(text: str, ms: int | None) -> None:
    assert date_ms(text) == ms


def test_queries() -> None:
    found = query.answer({"query": '"exact words" usb-c -no site:a.test -site:b.test'}, BASIS)
    assert found["wanted"] == [
        {"words": ["exact", "word"], "exactly": True}, {"words": ["usb", "c"], "exactly": False},
    ]  # fmt: skip
    assert (found["unwanted"], found["sites"], found["other_sites"]) == (
        [{"words": ["no"], "exactly": False}], ["a.test"], ["b.test"],
    )  # fmt: skip
    assert query.story(found)
    empty = query.answer({"query": ">>> -x"}, BASIS)
    assert empty["empty"]
    assert empty["notices"]


@pytest.mark.parametrize(
    ("text", "origins"),
    [
        ("a.test", ["https://a.test", "http://a.test"]),
        ("A.test:80", ["http://a.test"]),
        ("a.test:443", ["https://a.test"]),
        ("a.test:8080", ["http://a.test:8080"]),
        ("https://a.test:8443/x?y", ["https://a.test:8443"]),
        ("::1", ["https://[::1]", "http://[::1]"]),
        ("[::1]:81", ["http://[::1]:81"]),
        ("b\u00fccher.test", ["https://xn--bcher-kva.test", "http://xn--bcher-kva.test"]),
    ],
)
def test_what_host_is_meant(text: str, origins: list[str]) -> None:
    assert origins_of({"host": text}) == origins


@pytest.mark.parametrize("text", ["", " ", "a/b", "a@b", "a b", "[::1", "a:99999", "ftp://a.test/", "?"])
def test_what_is_no_host(text: str) -> None:
    with pytest.raises(BadItemError):
        origins_of({"host": text})


def test_headers_in_their_forms() -> None:
    assert headers_of({}) == []
    assert headers_of({"headers": {"A": "1", "B": ["2", "3"]}}) == [("A", "1"), ("B", "2"), ("B", "3")]
    assert headers_of({"headers": [["A", 1], ["a", "2"]]}) == [("A", "1"), ("a", "2")]
    for bad in ("text", 5, [["A"]], [[1, "x"]], {"A": {"x": 1}}, {"A": [None]}):
        with pytest.raises(BadItemError):
            headers_of({"headers": bad})


def asked(check: Any, *lines: bytes) -> tuple[list[Any], list[bool]]:
    found = list(answers(io.BytesIO(b"\n".join(lines)), lambda item: check.answer(item, BASIS)))
    return [json.loads(line) for line, _ in found], [good for _, good in found]


def test_a_bad_line_is_answered_and_the_rest_goes_on() -> None:
    bad = (
        b"words", b"[1]", b"{}", b'{"url": 5}', b'{"base": "x"}', b"\xff", b"[" * 100_000, b'{"url": NaN}',
        b'{"url": ' + b"9" * 5_000 + b"}", b'{"href_b64": "%", "base": ""}', b'"', b"", b" \t ", b'{"href": "x"}',
        b'{"url": "http://a.test/", "base": 5}', b'{"base": [], "href": "x"}',
    )  # fmt: skip
    told, good = asked(url, *bad, b'{"id": 7, "url": "http://a.test/"}', b'{"id": "x", "url": []}')
    assert good == [False] * len(bad) + [True, False]
    assert all(set(answer) <= {"error", "id"} for answer in told[: len(bad)])
    assert not any("internal" in answer["error"] for answer in told[: len(bad)])
    by_line = {line: answer["error"] for line, answer in zip(bad, told, strict=False)}
    assert by_line[b""] == by_line[b" \t "] == "blank line"
    assert by_line[b'{"href": "x"}'] == '"base" is missing'
    assert by_line[b'{"base": [], "href": "x"}'] == '"base" is not a text'
    assert by_line[bad[8]] == "a number of more than 4000 digits"
    assert (told[-2]["id"], told[-2]["normalized"]) == (7, "http://a.test/")
    assert told[-1] == {"id": "x", "error": '"url" is not a text'}


@pytest.mark.parametrize(
    ("target", "url_", "refused"),
    [
        ("", None, None), ("file:///etc/passwd", None, "bad_scheme"), ("javascript:x()", None, "bad_scheme"),
        ("http://[", None, "bad_url"), ("/x", "http://a.test/x", None),
    ],
)  # fmt: skip
def test_a_refresh_that_is_refused_is_none_to_itself(target: str, url_: str | None, refused: str | None) -> None:
    html = f'<meta http-equiv=refresh content="3;url={target}"><p>text'
    found = page.answer({"url": SITE, "html": html}, BASIS)
    assert (found["refresh"]["url"], found["refresh"].get("refused")) == (url_, refused)
    (told,) = (text for label, text in page.story(found) if label == "refresh")
    assert ("itself" in told) == (url_ is None and refused is None)
    assert (f"not followed: {refused}" in told) == (refused is not None)


def test_half_a_surrogate_pair_comes_back_as_json() -> None:
    told, good = asked(query, b'{"query": "a\\ud83c b"}', b'{"id": "\\ud83c", "query": "a"}')
    assert good == [True, True]
    assert told[1]["id"] == "\ud83c"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["http://a.test/", "AAAA", "gzip"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(
    ["url", "base", "href", "href_b64", "charset", "robots", "robots_b64", "robots_url", "status", "agent", "html",
     "body", "body_b64", "headers", "query", "truncated", "id"]
)  # fmt: skip


@pytest.mark.parametrize("check", [url, robots, page, query, sitemap])
@settings(max_examples=60, deadline=None)
@given(item=st.dictionaries(NAMES, VALUES, max_size=8))
def test_no_item_is_an_internal_error(check: Any, item: dict[str, Any]) -> None:
    (answer,), _ = asked(check, json.dumps({"url": "http://a.test/", **item}).encode())
    assert "internal error" not in str(answer.get("error"))
