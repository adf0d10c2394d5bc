"""Which host, port, origin, domain and bucket does a URL belong to?"""

from __future__ import annotations

import pytest
from xxhash import xxh3_64_intdigest

from cobnut.urls.hosts import bucket_of, domain_of, host_of, is_loopback_host, is_suffix, origin_of, port_of, robots_url


@pytest.mark.parametrize(
    ("url", "host", "port", "origin"),
    [
        ("http://example.org/", "example.org", 80, "http://example.org"),
        ("https://example.org/a:b@c", "example.org", 443, "https://example.org"),
        ("https://example.org:8443/", "example.org", 8443, "https://example.org:8443"),
        ("http://u:p@Example.ORG:80/", "example.org", 80, "http://example.org"),
        ("http://good.example@evil.example/", "evil.example", 80, "http://evil.example"),
        ("http://evil.example\\@good.example/", "evil.example", 80, "http://evil.example"),
        ("http://evil.example#@good.example/", "evil.example", 80, "http://evil.example"),
        ("http://evil.example?@good.example/", "evil.example", 80, "http://evil.example"),
        ("http://[::1]:81/", "[::1]", 81, "http://[::1]:81"),
        ("http://0177.1/", "127.0.0.1", 80, "http://127.0.0.1"),
        ("http://a.0x7f000001/", "", 0, ""),
        ("http://xn--mnchen-3ya.example/", "xn--mnchen-3ya.example", 80, "http://xn--mnchen-3ya.example"),
        ("http://münchen.example", "xn--mnchen-3ya.example", 80, "http://xn--mnchen-3ya.example"),
        ("mailto:a@b", "", 0, ""),
        ("nonsense", "", 0, ""),
        ("", "", 0, ""),
    ],
)
def test_parts(url: str, host: str, port: int, origin: str) -> None:
    assert (host_of(url), port_of(url), origin_of(url)) == (host, port, origin)
    assert robots_url(url) == (f"{origin}/robots.txt" if origin else "")


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.org", "example.org"),
        ("example.org", "example.org"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("a.b.example.github.io", "example.github.io"),
        ("github.io", "github.io"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("intranet", "intranet"),
        ("www.example.test", "example.test"),
        ("example.org.", "example.org"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("www.xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ("", ""),
        (".", "."),
    ],
)
def test_domains(host: str, domain: str) -> None:
    assert domain_of(host) == domain


def test_suffixes() -> None:
    assert is_suffix("co.uk")
    assert is_suffix("org")
    assert not is_suffix("example.org")
    assert not is_suffix("127.0.0.1")


def test_the_bucket_is_the_low_part_of_the_hash_and_frozen() -> None:
    assert bucket_of("example.org") == xxh3_64_intdigest(b"example.org") & 0xFFFF
    # these values lie in tables on disk: they must never change
    assert [bucket_of(host) for host in ("example.org", "127.0.0.1", "xn--mnchen-3ya.de")] == BUCKETS


BUCKETS = [48965, 5772, 35151]


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        ("localhost", True),
        ("a.LOCALHOST.", True),
        ("127.8.8.8", True),
        ("[::1]", True),
        ("::1", True),
        ("[::ffff:127.0.0.1]", True),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("[::2]", False),
        ("", False),
    ],
)
def test_loopback(host: str, is_loopback: bool) -> None:
    assert is_loopback_host(host) is is_loopback
