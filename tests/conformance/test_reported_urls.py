"""Do URLs and charsets pass the faults that people reported of crawlers?

The vectors in `vectors/reported_urls_and_charsets.json` are our own rewriting of public reports, with reserved names.
`level` is `must`, `should` or `policy` (any documented, consistent choice would do; ours is tested).
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from cobnut.text.charset import decode
from cobnut.urls.hosts import host_of, robots_url
from cobnut.urls.normalizers import compile_normalizer
from cobnut.urls.page_links import resolve_all
from cobnut.urls.parse import split
from cobnut.urls.resolve import compile_forms, forms, normalize, resolve

CASES = json.loads((Path(__file__).parent / "vectors" / "reported_urls_and_charsets.json").read_text())


def cases(kind: str) -> list[Any]:
    found = [pytest.param(case, id=case["id"]) for case in CASES if case["type"] == kind]
    assert found
    return found


def key(url: str) -> str:
    made = forms(url)
    assert made is not None
    return made.key


@pytest.mark.parametrize("case", cases("url_resolve"))
def test_references(case: dict[str, Any]) -> None:
    assert resolve(case["base"], case["href"]) == case["expected"]
    assert [made and made.url for made in resolve_all(case["base"], [case["href"]])] == [case["expected"]]


@pytest.mark.parametrize("case", cases("redirect"))
def test_redirects(case: dict[str, Any]) -> None:
    raw = base64.b64decode(case["location_b64"])
    location = "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw)
    assert resolve(case["url"], location) == case["expected"]


@pytest.mark.parametrize("case", cases("url_normalise"))
def test_normalised_forms(case: dict[str, Any]) -> None:
    once = normalize(case["url"])
    assert once == case["expected"]
    assert not case.get("idempotent") or normalize(str(once)) == once


@pytest.mark.parametrize("case", cases("url_keys"))
def test_keys(case: dict[str, Any]) -> None:
    for one, other in case.get("same", []):
        assert key(one) == key(other)
    guesses = compile_forms(("basic", "session_ids", "sort_query", "trailing_dot", "index_page", "www"))
    for one, other in case.get("different", []):
        assert key(one) != key(other)
        first, second = guesses(one), guesses(other)
        assert first is not None
        assert second is not None
        assert first.key != second.key, "nor with all that may be guessed"


@pytest.mark.parametrize("case", cases("fetch_target"))
def test_what_is_requested(case: dict[str, Any]) -> None:
    make = compile_forms(("basic", "sort_query"))
    made = make(case["link"])
    assert made is not None
    assert split(made.url)[4] == case["expected_request_target"]
    normalize_sorted = compile_normalizer(("basic", "sort_query"))
    for one, other in case.get("same_key", []):
        assert normalize_sorted(one) == normalize_sorted(other)


@pytest.mark.parametrize("case", cases("url_host"))
def test_the_host_checked_is_the_host_connected_to(case: dict[str, Any]) -> None:
    assert host_of(case["url"]) == case["expected_host"] != case["must_not_host"]
    made = forms(case["url"])
    assert made is not None
    assert made.host == case["expected_host"]
    assert host_of(made.url) == case["expected_host"]


@pytest.mark.parametrize("case", cases("robots_location"))
def test_where_robots_txt_stands(case: dict[str, Any]) -> None:
    assert [robots_url(url) for url, _robots in case["pairs"]] == [robots for _url, robots in case["pairs"]]


@pytest.mark.parametrize("case", [*cases("charset"), *cases("charset_stream")])
def test_charsets(case: dict[str, Any]) -> None:
    chunks = case.get("chunks_b64") or [case["body_b64"]]
    body = b"".join(base64.b64decode(chunk) for chunk in chunks)
    found = decode(body, case.get("headers", {}).get("Content-Type"), None)
    assert case["expected_text"] in found.text
    assert found.charset == case.get("expected_encoding", found.charset)
