"""Feeds and sitemaps, well-formed and not."""

from __future__ import annotations

import pytest

from cobnut.parsers.xml_links import FEED, SITEMAP, read_listed, root_name

RSS = """<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>All</title><link>http://a.test/</link>
<atom:link rel="self" href="http://a.test/feed"/>
<item><title>One &amp; only&nbsp;</title><link> http://a.test/1?x=1&amp;y=2 </link><pubDate>Mon</pubDate></item>
<item><guid>http://a.test/2</guid></item>
<item><guid isPermaLink="false">urn:x</guid><title>no link</title></item>
<item><media:content xmlns:media="m"><link>http://a.test/not-this</link></media:content><link>http://a.test/3</link></item>
</channel></rss>"""

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="/self"/><entry><title>A</title>
<link rel="enclosure" href="/a.mp3"/><link rel="alternate" href="/a"/><link href="/second"/>
<updated>2026-01-01</updated>
<source><link href="/source"/></source></entry></feed>"""

RDF = """<rdf:RDF xmlns:rdf="r"><channel><link>http://a.test/</link></channel>
<item rdf:about="x"><title>t</title><link>http://a.test/r</link></item></rdf:RDF>"""


def test_rss() -> None:
    listed = read_listed(RSS)
    assert listed is not None
    assert listed.hrefs == ["http://a.test/1?x=1&y=2", "http://a.test/2", "http://a.test/3"]
    assert listed.titles == ["One & only", None, None]
    assert listed.dates == ["Mon", None, None]
    assert (listed.kind, listed.broken) == (FEED, False)


def test_atom_takes_the_first_alternate_of_each_entry() -> None:
    listed = read_listed(ATOM)
    assert listed is not None
    assert (listed.hrefs, listed.titles, listed.dates) == (["/a"], ["A"], ["2026-01-01"])


def test_rdf() -> None:
    listed = read_listed(RDF)
    assert listed is not None
    assert listed.hrefs == ["http://a.test/r"]


def test_sitemaps_and_their_index() -> None:
    for root, item in (("urlset", "url"), ("sitemapindex", "sitemap")):
        listed = read_listed(
            f"\ufeff <{root}><{item}><loc>\n/x\n</loc><lastmod>2024-01-08T00:00:00</lastmod></{item}></{root}>"
        )
        assert listed is not None
        assert (listed.kind, listed.hrefs, listed.dates) == (SITEMAP, ["/x"], ["2024-01-08T00:00:00"])


def test_what_was_read_before_an_error_counts() -> None:
    listed = read_listed("<urlset><url><loc>/a</loc></url><url><loc>/b</loc></wrong>")
    assert listed is not None
    assert (listed.hrefs, listed.broken) == (["/a"], True)


def test_bare_ampersands_and_control_characters_are_read_over() -> None:
    text = (
        "<urlset><url><loc>/a?x=1&y=2&amp;z=&lt;</loc></url><url><loc>/\x00b\x0b</loc></url>"
        "<url><loc><![CDATA[/c?x=1&y=2&amp;]]></loc></url><url><loc>/d?&#65;&#;&nbsp;</loc></url></urlset>"
    )
    listed = read_listed(text)
    assert listed is not None
    assert listed.hrefs == ["/a?x=1&y=2&z=<", "/b", "/c?x=1&y=2&amp;", "/d?A&#;"]
    assert (listed.broken, listed.repaired) == (False, True)
    still = read_listed("<urlset><url><loc>/a?x&y</loc></url><url><loc>/b</loc></wrong>")
    assert still is not None
    assert (still.hrefs, still.broken, still.repaired) == (["/a?x&y"], True, True)


def test_the_limit_is_counted() -> None:
    listed = read_listed("<urlset>" + "<url><loc>/a</loc></url>" * 30 + "</urlset>", max_links=10)
    assert listed is not None
    assert (len(listed.hrefs), listed.dropped) == (10, 20)


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE rss [<!ENTITY a "aaa"><!ENTITY b "&a;&a;">]>'
        "<rss><channel><item><link>&b;</link></item></channel></rss>",
        "<rss>" + "<x>" * 5_000,
        "<rss>" + "<![CDATA[" * 200_000 + "&",
        "<!DOCTYPE rss [" + "".join(f'<!ENTITY e{i} "x">' for i in range(900)) + "]><rss/>",
    ],
)
def test_hostile_xml_is_broken_not_expanded(text: str) -> None:
    listed = read_listed(text)
    assert listed is None or (listed.broken and not listed.hrefs)


def test_external_entities_are_not_read(tmp_path: object) -> None:
    text = '<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/hostname">]><rss><channel><item><link>/a&x;</link></item></channel></rss>'
    listed = read_listed(text)
    assert listed is not None
    assert listed.hrefs in ([], ["/a"])


@pytest.mark.parametrize("text", ["", "words", "<html><body>", "<svg/>", "<" * 10_000, "<?xml" * 5_000, "<!--" * 5_000])
def test_anything_else_is_neither(text: str) -> None:
    assert read_listed(text) is None


def test_root_name() -> None:
    assert (
        root_name("<?xml version='1.0'?>\n<!-- c -->\n<?xml-stylesheet x?><!DOCTYPE a [<!ELEMENT a ANY>]>\n<x:a>")
        == "a"
    )
