"""A whole answer: every step from bytes to rows."""

from __future__ import annotations

import gzip
import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cobnut.config.sections import ParserSettings, ScoringSettings, Settings
from cobnut.parsers.page import PageInput, ParsedPage, parse_page
from cobnut.urls.keys import key_to_url

SETTINGS = Settings()
HTML = {"content-type": "text/html; charset=utf-8"}


def parse(body: bytes | str, headers: Any = HTML, url: str = "http://a.test/dir/page.html", **more: Any) -> ParsedPage:
    data = body.encode() if isinstance(body, str) else body
    settings = more.pop("settings", SETTINGS)
    return parse_page(PageInput(url, data, headers, **more), settings)


def links(page: ParsedPage) -> list[tuple[str, str]]:
    found = page.links
    return [(u or key_to_url(k), kind) for u, k, kind in zip(found.urls, found.keys, found.kinds, strict=True)]


def test_links_are_resolved_and_self_links_dropped() -> None:
    page = parse(
        "<title>t</title><a href='next.html'>n</a><a href='#top'>top</a><a href=''>me</a><a href='?x=1'>q</a>"
        "<a href='//b.test/x#frag'>b</a><a href='mailto:a@b'>m</a><a href='javascript:x()'>j</a><a href='http://[::1'>bad</a>"
        "<a href=' /s p '>space</a>"
    )
    assert links(page) == [
        ("http://a.test/dir/next.html", "link"), ("http://a.test/dir/page.html?x=1", "link"),
        ("http://b.test/x", "link"), ("http://a.test/s%20p", "link"),
    ]  # fmt: skip
    assert (page.outlink_count, page.links_dropped) == (4, 3)
    assert page.base_url == "http://a.test/dir/page.html"


def test_base_counts_once_and_only_if_it_resolves() -> None:
    page = parse("<base target=x><base href='/other/'><base href='/third/'><a href='x'>x</a>")
    assert links(page) == [("http://a.test/other/x", "link")]
    assert page.base_url == "http://a.test/other/"
    for bad in ("http://[", "javascript:x", "data:text/html,x"):
        assert links(parse(f"<base href='{bad}'><a href='x'>x</a>")) == [("http://a.test/dir/x", "link")]


def test_canonical_of_page_or_header() -> None:
    page = parse("<head><link rel=canonical href='/canon'></head><body><p>x")
    assert page.canonical_key == "test,a)http/canon"
    assert links(page) == [("http://a.test/canon", "canonical")]
    assert page.outlink_count == 0
    page = parse("<p>x", [("Content-Type", "text/html"), ("Link", '</h>; rel="canonical", </n>; rel=next')])
    assert page.canonical_key == "test,a)http/h"
    assert links(page) == [("http://a.test/h", "canonical"), ("http://a.test/n", "alternate")]
    page = parse("<head><link rel=canonical href='/dir/page.html'></head><p>x")
    assert page.canonical_key == "test,a)http/dir/page.html"
    assert links(page) == []


@pytest.mark.parametrize(
    ("html", "headers", "key"),
    [
        ("<meta http-equiv=refresh content='0; url=/r'>", {}, "test,a)http/r"),
        ("<meta HTTP-EQUIV=Refresh content='4.9;URL=&quot;//b.test/q w&quot;'>", {}, "test,b)http/q%20w"),
        ("<base href=http://c.test/d/><meta http-equiv=refresh content='0,n'>", {}, "test,c)http/d/n"),
        ("<p>x", {"refresh": "0;/h"}, "test,a)http/h"),
        ("<meta http-equiv=refresh content='0;url=/r'>", {"refresh": "9;/h"}, None),  # the header goes first
        ("<meta http-equiv=refresh content='5;url=/r'>", {}, None),
        ("<meta http-equiv=refresh content='0'>", {}, None),
        ("<meta http-equiv=refresh content='0;url=#top'>", {}, None),
        ("<meta http-equiv=refresh content='0;url='>", {}, None),
        ("<meta http-equiv=refresh content='0;url=javascript:x()'>", {}, None),
        ("<meta http-equiv=refresh content='0;url=file:///etc/passwd'>", {}, None),
        ("<meta http-equiv=refresh content='0;url=data:text/html,x'>", {}, None),
        ("<meta http-equiv=refresh content='0;url=http://[::1'>", {}, None),
        ("<meta name=robots content=nofollow><meta http-equiv=refresh content='0;url=/r'>", {}, None),
        ("<noscript><meta http-equiv=refresh content='0;url=/r'></noscript><p>x", {}, None),
        ("<p>x<noscript><div><meta http-equiv=refresh content='0;url=/r'></div></noscript>", {}, None),
        ("<!-- <meta http-equiv=refresh content='0;url=/r'> --><p>x", {}, None),
        ("<!--[if lt IE 9]><meta http-equiv=refresh content='0;url=/r'><![endif]--><p>x", {}, None),
        ("<template><meta http-equiv=refresh content='0;url=/r'></template><p>x", {}, None),
        ("<script>'<meta http-equiv=refresh content=0;url=/r>'</script><p>x", {}, None),
    ],
)  # fmt: skip
def test_a_refresh_at_once_is_a_redirect(html: str, headers: dict[str, str], key: str | None) -> None:
    page = parse(html + "<a href=/other>o</a>", {**HTML, **headers}, score=600)
    assert page.refresh_key == key
    if key is not None:  # the whole score goes there
        assert dict(zip(page.links.kinds, page.links.contributions, strict=True)) == {"link": 0, "refresh": 600}


def test_refresh_of_page_or_header() -> None:
    page = parse("<meta http-equiv=refresh content='3; url=/r'>")
    assert (page.refresh_delay_s, page.refresh_url) == (3, "http://a.test/r")
    assert links(page) == [("http://a.test/r", "refresh")]
    page = parse("<p>x", {**HTML, "refresh": "0;/h"})
    assert (page.refresh_delay_s, page.refresh_url) == (0, "http://a.test/h")
    page = parse("<meta http-equiv=refresh content='30'>")
    assert (page.refresh_delay_s, page.refresh_url, links(page)) == (30, None, [])
    page = parse("plain", {"content-type": "text/plain", "refresh": "1; url=/p"})
    assert links(page) == [("http://a.test/p", "refresh")]
    page = parse("<meta http-equiv=refresh content='0;url=javascript:x'>")
    assert (page.refresh_url, page.links_dropped, links(page)) == (None, 1, [])


def test_scores_are_shared_in_whole_numbers() -> None:
    settings = Settings(scoring=ScoringSettings(internal_factor=0.5, external_factor=1.0))
    page = parse(
        "<a href=/1>1</a><a href=http://b.test/>2</a><a href=/3 rel=nofollow>3</a><frame src=/4>"
        "<iframe src=/5></iframe>"
        "<link rel=next href=/6>",
        score=1_000_000,
        settings=settings,
    )
    assert dict(zip(page.links.keys, page.links.contributions, strict=True)) == {
        "test,a)http/1": 166_666,
        "test,b)http/": 333_333,
        "test,a)http/3": 0,
        "test,a)http/5": 166_666,
        "test,a)http/6": 0,
    }


def test_nofollow_of_the_page_holds_for_all_links() -> None:
    page = parse("<meta name=robots content=nofollow><a href=/1>1</a>", score=1_000_000)
    assert page.nofollow
    assert (page.links.nofollows, page.links.contributions) == ([True], [0])


def test_signature_is_that_of_the_decoded_body_and_absent_for_empty_text() -> None:
    body = b"<title>t</title><p>words"
    page = parse(gzip.compress(body), {**HTML, "content-encoding": "gzip"})
    assert page.signature == hashlib.md5(body).digest()
    assert page.text == "words"
    assert parse("<script>x()</script><div></div>").signature is None
    assert parse("").signature is None
    assert parse("<title>only a title</title>").signature is not None


def test_text_plain_is_text_only() -> None:
    page = parse("<html><title>source</title>\n\n  <a href='/x'>not  a link</a>", {"content-type": "text/plain"})
    assert page.title is None
    assert page.text == "<html><title>source</title>\n<a href='/x'>not a link</a>"
    assert links(page) == []


def test_other_types_are_skipped() -> None:
    for headers, body in (
        ({"content-type": "image/png"}, b"\x89PNG"),
        (HTML, b"%PDF-1.4"),
        ({"content-type": "text/css"}, b"a{}"),
    ):
        page = parse(body, headers)
        assert (page.parse_status, page.reason, page.text) == ("skipped", "media_type", None)


def test_broken_encoding_keeps_what_was_read() -> None:
    body = "".join(f"<p>paragraph number {i}</p>" for i in range(5_000)).encode()
    page = parse(gzip.compress(body)[:9_000], {**HTML, "content-encoding": "gzip"})
    assert (page.parse_status, page.reason) == ("ok", "bad_encoding")
    assert (page.text or "").startswith("paragraph number 0\nparagraph number 1\n")
    page = parse(b"\x1f\x8b\x08rubbish", {**HTML, "content-encoding": "gzip"})
    assert (page.parse_status, page.reason) == ("failed", "bad_encoding")


def test_the_last_of_two_content_types_counts() -> None:
    page = parse("<a href=/x>x</a>", [("Content-Type", "text/plain"), ("Content-Type", "text/html")])
    assert links(page) == [("http://a.test/x", "link")]


def test_charsets_of_the_page_decide_queries() -> None:
    body = "<meta charset=windows-1251><a href='/я?q=я'>я</a>".encode("windows-1251")
    page = parse(body, {"content-type": "text/html"})
    assert links(page) == [("http://a.test/%D1%8F?q=%FF", "link")]
    assert (page.charset, page.charset_source) == ("windows-1251", "meta")
    page = parse(
        "\ufeff<title>шестнадцать</title><p>utf-16 with a mark".encode("utf-16-le"), {"content-type": "text/html"}
    )
    assert (page.title, page.charset, page.charset_source) == ("шестнадцать", "utf-16le", "bom")


def test_feeds_in_odd_charsets_and_types() -> None:
    feed = (
        "<?xml version='1.0' encoding='koi8-r'?><rss><channel>"
        "<item><title>Да</title><link>/1</link></item></channel></rss>"
    )
    for content_type in ("application/rss+xml", "text/html", "text/xml", "application/octet-stream"):
        page = parse(feed.encode("koi8-r"), {"content-type": content_type})
        if content_type == "application/octet-stream":
            assert page.parse_status == "skipped"
            continue
        assert links(page) == [("http://a.test/1", "link")]
        assert page.links.anchors == ["Да"]
        assert page.signature is None


def test_a_gzipped_sitemap_file() -> None:
    body = gzip.compress(b"<urlset><url><loc>http://a.test/1</loc></url></urlset>")
    page = parse(body, {"content-type": "application/x-gzip"}, url="http://a.test/sitemap.xml.gz")
    assert links(page) == [("http://a.test/1", "sitemap")]
    assert parse(gzip.compress(b"words"), {"content-type": "application/gzip"}).parse_status == "skipped"


def test_a_page_whose_packing_is_not_announced() -> None:
    page = gzip.compress(b"<p>words <a href=/x>x</a>")
    for body, coding in ((page, None), (gzip.compress(page), "gzip")):
        found = parse(body, {"content-type": "text/html", **({"content-encoding": coding} if coding else {})})
        assert (found.text, found.media_type, found.truncated) == ("words x", "text/html", False)
    assert parse(gzip.compress(b"\0\1"), {"content-type": "text/html"}).parse_status == "skipped"
    bomb = parse(gzip.compress(b"<p>" + b"x" * (64 << 20)), {"content-type": "text/html"})
    assert bomb.truncated


def test_soft_hyphens_are_no_characters_of_a_word() -> None:
    page = parse("<title>Hy\xadphen</title><h1>ex&shy;am&#173;ple</h1><p>soft\xadly <a href='/a\xad'>go&#xAD;ing</a>")
    assert (page.title, page.headings, page.text) == ("Hyphen", ["example"], "example\nsoftly going")
    assert (page.links.anchors, links(page)) == (["going"], [("http://a.test/a%C2%AD", "link")])


def test_xhtml_served_as_xml_is_html() -> None:
    page = parse(
        "<?xml version='1.0'?><html xmlns='x'><head><title>t</title></head><body><a href='/x'>x</a></body></html>",
        {"content-type": "application/xml"},
    )
    assert (page.title, links(page)) == ("t", [("http://a.test/x", "link")])


def test_language_of_text_or_tag() -> None:
    text = "This is plainly an English sentence, and here is another one that says the same thing again."
    assert parse(f"<html lang=de><p>{text}").language == "en"
    assert parse("<html lang=de-AT><p>12").language == "de"
    assert parse("<html lang=x-klingon><p>12").language is None


def test_limits_of_settings_hold() -> None:
    settings = Settings(parser=ParserSettings(max_links=3, max_html_bytes=2_000))
    page = parse("".join(f"<a href=/{i}>{i}</a>" for i in range(1_000)), settings=settings)
    assert (len(page.links.keys), page.truncated) == (3, True)
    assert page.links_dropped > 50


@hypothesis_settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=400),
    st.sampled_from(
        ["text/html", "text/plain", "application/xml", "", "text/html; charset=utf-16", "text/html;charset=big5"]
    ),
)
def test_nothing_a_server_sends_raises(body: bytes, content_type: str) -> None:
    for encoding in ("", "gzip", "br", "deflate"):
        headers = {
            "content-type": content_type,
            "content-encoding": encoding,
            "link": repr(body),
            "refresh": repr(body),
        }
        first, again = parse(body, headers), parse(body, headers)
        assert first.parse_status in ("ok", "failed", "skipped")
        assert first == again


SOUP = (
    "<a href=/x>", "<a href=//b/>", "</a>", "<div>", "</div>", "<p>", "<b>", "</b>", "<table>", "<td>", "text", "<h1>",
    "</h1>", "<svg>", "<title>", "</title>", "<script>", "</script>", "<!--", "-->", "<base href=/y/>",
    "<meta name=robots content=none>", "<img alt=z>", "&amp;", "\0", "\ufffd", "é", "漢", "<", "<template>", "<select>",
)  # fmt: skip


@hypothesis_settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(SOUP), max_size=40))
def test_tag_soup_never_raises(pieces: list[str]) -> None:
    body = " ".join(pieces).encode("utf-8", "replace")
    page = parse(body)
    assert page.parse_status == "ok"
    columns = page.links
    assert len({len(getattr(columns, name)) for name in columns.__struct_fields__}) == 1
