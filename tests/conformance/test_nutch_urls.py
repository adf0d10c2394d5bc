"""Where do our normalised forms, hosts and domains agree with Nutch's, and why not everywhere?

`vectors/nutch_urls.json` holds what Nutch 1.x answers: its normalizer `urlnormalizer-basic`, its host and its domain
of a URL. Each deviation is listed here with its reason; one that is no longer a deviation fails the test, so the list
stays true.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cobnut.urls.hosts import domain_of, host_of
from cobnut.urls.resolve import normalize

ANSWERS = json.loads((Path(__file__).parent / "vectors" / "nutch_urls.json").read_text())

SLASHES = "Nutch folds double slashes; a server may tell `//` from `/` (RFC 3986 6.2.2.3 lists only dot segments)"
SCHEME = "only http and https are pages"
ASCII = "hosts are in their ASCII form, as they are asked of name servers: one form, one key"
BACKSLASH = "a backslash is a slash in http (URL standard): what browsers request"
PORT = "a port above 65535 is no port: refused"
AUTHORITY = "extra and missing slashes before the host are corrected, as browsers do; Nutch sees a URL without host"
OWNERS = "users of a hosting service are different owners: the private section of the public suffix list is used"

DEVIATIONS: dict[str, dict[str, str]] = {
    "normalised": {
        "http://example.com/a/../b/./c//d": SLASHES,
        "http://example.com//a//b": SLASHES,
        "ftp://user:pw@example.com/a": SCHEME,
        "file:///a/../b": SCHEME,
        "file://a/b": SCHEME,
        "http://münchen.de/": ASCII,
        "http://example.com/a\\b": BACKSLASH,
        "http://example.com:99999/a": PORT,
        "http:///a": AUTHORITY,
        "http:/example.com/a": AUTHORITY,
    },
    "host": {
        "ftp://user:pw@example.com/a": SCHEME,
        "file://a/b": SCHEME,
        "http://münchen.de/": ASCII,
        "http://example.com:99999/a": PORT,
        "http:///a": AUTHORITY,
        "http:/example.com/a": AUTHORITY,
    },
    "domain": {
        "ftp://user:pw@example.com/a": SCHEME,
        "file://a/b": SCHEME,
        "http://münchen.de/": ASCII,
        "http://example.com:99999/a": PORT,
        "http:///a": AUTHORITY,
        "http:/example.com/a": AUTHORITY,
        "http://a.b.example.github.io/x": OWNERS,
    },
}


def answers(what: str, url: str) -> tuple[str | None, str | None]:
    """(ours, Nutch's)"""
    nutch = next(answer for answer in ANSWERS if answer["in"] == url)
    if what == "normalised":
        return normalize(url), nutch["basic"]
    if what == "host":
        return host_of(url), nutch["host"] or ""
    return domain_of(host_of(url)), nutch["domain"] or ""


@pytest.mark.parametrize("what", sorted(DEVIATIONS))
@pytest.mark.parametrize("url", [answer["in"] for answer in ANSWERS])
def test_each_answer_agrees_or_is_listed(what: str, url: str) -> None:
    ours, nutch = answers(what, url)
    if url in DEVIATIONS[what]:
        assert ours != nutch, "no deviation any more: take it off the list"
    else:
        assert ours == nutch


def test_how_many_agree(capsys: pytest.CaptureFixture[str]) -> None:
    urls = [answer["in"] for answer in ANSWERS]
    assert len(urls) == len(set(urls)) == 65
    with capsys.disabled():
        for what, listed in DEVIATIONS.items():
            assert set(listed) <= set(urls)
            agreeing = sum(ours == nutch for ours, nutch in (answers(what, url) for url in urls))
            print(f"\nNutch, {what}: {agreeing} of {len(urls)} agree, {len(listed)} differ for listed reasons", end="")
            assert agreeing == len(urls) - len(listed)
