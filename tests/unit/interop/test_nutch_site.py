"""The site that the golden files were made from, served again: is it the same in every byte that they hold?"""

from __future__ import annotations

import gzip
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from nutch_site import DATE, EMBEDDED, HOME, PORT, SECOND, SEEDS, SERVER, SITE, NutchSite

GOLDEN = Path(__file__).parents[2] / "formats" / "nutch"


@pytest.fixture(scope="module")
def site() -> Iterator[NutchSite]:
    with NutchSite() as running:
        yield running


def listing(version: str, pattern: str) -> list[dict[str, Any]]:
    """The records of all listings that match, one after the other."""
    found = [r for f in sorted((GOLDEN / version / "json").glob(pattern)) for r in json.loads(f.read_text())["records"]]
    assert found, pattern
    return found


def get(site: NutchSite, url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body, as a client gets them that is led here by `site.resolve`."""
    parts = urlsplit(url)
    assert parts.port == PORT
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
    connection.request("GET", parts.path, headers={"Host": parts.netloc, **headers})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.getheader("Content-Encoding") in (None, "gzip")
    return answer.status, dict(answer.getheaders()), body


def content(headers: dict[str, str], body: bytes) -> bytes:
    """The body as Nutch stores it: unpacked."""
    return gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body


def test_every_content_record_of_0_7_is_what_is_served(site):
    served = 0
    for record in listing("0.7.2", "segments~*~content~data.json"):
        value = record["value"]
        if not value["metadata"]:  # an error: 0.7 kept nothing of it
            continue
        status, headers, body = get(site, value["url"])
        if status in (301, 302):
            target = urljoin(value["url"], headers["Location"])
            assert target == value["base"]
            status, headers, body = get(site, target)
        assert (status, value["url"]) == (200, value["url"])
        assert content(headers, body).hex() == value["contentHex"]
        assert headers == value["metadata"]
        assert headers["Content-Type"] == value["contentType"]
        served += 1
    assert served == 18


@pytest.mark.parametrize("pattern", ["segments~*~content~*data.json"])
def test_every_content_record_of_1_23_is_what_is_served(site, pattern):
    records = listing("1.23", pattern)
    own = {"_fst_", "nutch.crawl.score", "nutch.fetch.time", "nutch.segment.name"}
    for record in records:
        value = record["value"]
        assert record["key"] == value["url"]
        status, headers, body = get(site, value["url"])
        expected = {name: values for name, values in value["metadata"].items() if name not in own}
        assert {name: [text] for name, text in headers.items()} == expected, value["url"]
        assert content(headers, body).hex() == value["contentHex"]
        if "Location" not in headers:
            assert status == 200
            assert value["contentType"] == headers["Content-Type"].partition(";")[0]
    assert len(records) == 39


def test_every_status_of_1_23_is_what_is_answered(site):
    seen = 0
    for record in listing("1.23", "segments~*~crawl_fetch~*data.json"):
        metadata = record["value"]["metadata"]
        if record["value"]["statusName"] == "linked" or "nutch.protocol.code" not in metadata:
            continue  # the target of a redirect, and the page that robots.txt keeps back: nobody asked for them
        code = int(metadata["nutch.protocol.code"]["value"])
        again = {"If-Modified-Since": "Sun, 01 Jan 2023 00:00:00 GMT"} if code == 304 else {}
        status, headers, _ = get(site, record["key"], **again)
        assert (record["key"], status) == (record["key"], code)
        if "Location" in headers:
            assert [urljoin(record["key"], headers["Location"])] == metadata["_pst_"]["args"]
        seen += 1
    assert seen == 48


def test_every_failure_of_0_7_is_what_is_answered(site):
    failed = {}
    for record in listing("0.7.2", "segments~*~fetcher~data.json"):
        told = record["value"]["protocolStatus"]
        if told["code"] != 1:
            failed[record["value"]["fetchListEntry"]["page"]["url"]] = told["args"][0]
    assert failed.pop(EMBEDDED).endswith("Connection refused")
    assert failed.pop(f"{HOME}/private/x.html").endswith("robots.txt")
    assert len(failed) == 5
    for url, told in failed.items():
        assert told.endswith(f": {get(site, url)[0]}")


def test_the_paths_are_those_of_the_golden_files(site):
    named = {r["value"]["url"] for r in listing("0.7.2", "webdb-*~pagesByURL~data.json")}
    named |= {r["key"] for r in listing("1.23", "crawldb-*~data.json")}
    named.discard(EMBEDDED)
    paths = {urlsplit(url).path for url in named}
    assert paths | {"/only-nofollow.html", "/hidden.html"} == set(SITE)
    assert len(SITE) == 28
    assert {url for url in named if not url.startswith(HOME)} == {f"{SECOND}/ext.html"}


def test_the_seeds_are_those_that_0_7_was_given():
    assert {r["value"]["url"] for r in listing("0.7.2", "webdb-1-inject~pagesByURL~data.json")} == set(SEEDS)


def test_headers_and_robots(site):
    status, headers, body = get(site, f"{HOME}/robots.txt")
    assert (status, headers["Date"], headers["Server"]) == (200, DATE, SERVER)
    assert b"Disallow: /private/" in body.splitlines()
    assert get(site, f"{HOME}/nowhere")[0] == 404
