"""Does parsing pass the faults that people reported of crawlers and indexers?

The vectors in `parse_cases.jsonl` are our own rewriting of public reports with reserved names. `*_gen` is generated
input: head, fill times count, tail.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from cobnut.config.sections import Settings
from cobnut.parsers.page import PageInput, ParsedPage, parse_page
from cobnut.urls.keys import key_to_url

CASES = [json.loads(line) for line in (Path(__file__).parent / "parse_cases.jsonl").read_text().splitlines()]
SETTINGS = Settings()


def cases(*types: str) -> list[Any]:
    found = [pytest.param(c["input"], id=c["id"]) for c in CASES if c["input"]["type"] in types]
    assert found
    return found


def body_of(case: dict[str, Any]) -> bytes:
    for name in ("html", "body"):
        if name in case:
            return str(case[name]).encode()
        if f"{name}_b64" in case:
            return base64.b64decode(case[f"{name}_b64"])
        if f"{name}_gen" in case:
            gen = case[f"{name}_gen"]
            return (gen["head"] + gen["fill"] * gen["count"] + gen["tail"]).encode()
    return b"".join(base64.b64decode(chunk) for chunk in case["chunks_b64"])


def parse(case: dict[str, Any], body: bytes | None = None) -> ParsedPage:
    headers = case.get("headers", {"Content-Type": "text/html"})
    pairs = list(headers.items()) if isinstance(headers, dict) else [tuple(pair) for pair in headers]
    if not any(name.lower() == "content-type" for name, _ in pairs):
        pairs.append(("Content-Type", "text/html"))
    url = case.get("url") or case.get("base") or "http://example.test/"
    data = body_of(case) if body is None else body
    return parse_page(PageInput(url, data, pairs, agent=case.get("agent", "")), SETTINGS)


def links_of(page: ParsedPage, *kinds: str) -> list[str]:
    links = page.links
    found = zip(links.urls, links.keys, links.kinds, strict=True)
    return [url or key_to_url(key) for url, key, kind in found if kind in kinds]


@pytest.mark.parametrize("case", cases("links"))
def test_links(case: dict[str, Any]) -> None:
    page = parse(case)
    found = links_of(page, "link", "frame")
    if case.get("expected_links_mode", "exact") == "any":
        assert page.parse_status == "ok"
    else:
        assert found == case["expected_links"]
    for unwanted in case.get("not_expected_substrings", ()):
        assert not any(unwanted in link for link in found)


@pytest.mark.parametrize("case", cases("feed", "sitemap"))
def test_listed_links(case: dict[str, Any]) -> None:
    page = parse(case)
    assert links_of(page, "link", "sitemap") == (case.get("expected_links") or case.get("expected_urls"))


@pytest.mark.parametrize("case", cases("text"))
def test_text(case: dict[str, Any]) -> None:
    page = parse(case)
    text = page.text or ""
    assert len(text) <= SETTINGS.parser.max_text_chars
    for wanted in case["contains"]:
        assert wanted in text
    for unwanted in case["not_contains"]:
        assert unwanted not in text
    assert page.truncated == (len(body_of(case)) > SETTINGS.parser.max_text_chars)


@pytest.mark.parametrize("case", cases("robots_meta"))
def test_robots_meta(case: dict[str, Any]) -> None:
    page = parse(case)
    assert {"index": not page.noindex, "follow": not page.nofollow} == case["expected"]
    assert set(page.links.nofollows) == {page.nofollow}


@pytest.mark.parametrize("case", cases("charset", "charset_stream"))
def test_charset(case: dict[str, Any]) -> None:
    page = parse(case)
    assert case["expected_text"] in (page.text or "")
    assert page.charset == case.get("expected_encoding", page.charset)


@pytest.mark.parametrize("case", cases("body_decode"))
def test_body_decode(case: dict[str, Any]) -> None:
    page = parse(case)
    assert (page.text or "") == case["expected_text"]
    assert page.parse_status == "ok"
    assert page.signature is None


@pytest.mark.parametrize("case", cases("content_type"))
def test_content_type(case: dict[str, Any]) -> None:
    page = parse(case)
    assert page.media_type == case["expected_type"]
    assert (page.parse_status, page.reason) == ("skipped", "media_type")


@pytest.mark.parametrize("case", cases("no_crash"))
def test_empty_and_broken_bodies(case: dict[str, Any]) -> None:
    for body in case["bodies_b64"]:
        page = parse({}, base64.b64decode(body))
        assert page.parse_status == "ok"
        assert not page.links.keys


@pytest.mark.parametrize("case", cases("limits"))
def test_a_large_sitemap_is_read_whole(case: dict[str, Any]) -> None:
    row = "<url><loc>http://example.test/%d/%s</loc></url>"
    pad = "x" * (case["bytes"] // case["urls"] - 50)
    body = ("<urlset>" + "".join(row % (i, pad) for i in range(case["urls"])) + "</urlset>").encode()
    assert len(body) > SETTINGS.parser.max_html_bytes
    headers = {"content-type": "application/xml"}
    page = parse_page(PageInput("http://example.test/sitemap.xml", body, headers), SETTINGS)
    assert len(page.links.keys) == case["urls"]
    assert not page.truncated
