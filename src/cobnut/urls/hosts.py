"""Which host, port, origin and registrable domain does a URL belong to, and in which bucket of the tables does its
host lie?

*Host*: as in the normalised URL: lower case, ASCII, IPv6 in brackets. *Origin*: scheme, host and port, the unit of
robots.txt (RFC 9309 2.3). *Domain*: the registrable domain, one label below the public suffix. The private section
of the public suffix list is used: two users of a hosting service are two owners, so `a.github.io` is a domain and
`github.io` is not. Addresses, single labels and public suffixes themselves are their own domain. *Bucket*: our own
stable hash of the host, 16 bits; tables are split by it, on every engine alike.

These functions take any string: one that is not in WHATWG form is parsed first, so that a look at the host can
never differ from what is connected to. For what is no http or https URL they return "" (port 0).
"""

from __future__ import annotations

import ipaddress
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from cobnut.urls.parse import clean, is_web, parse, split

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

BUCKETS = 0x10000
"""Number of buckets: the low 16 bits of the hash."""

_PORTS = {"http": 80, "https": 443}


def _parts(url: str) -> tuple[str, str, str]:
    """(scheme, host, port with colon or ""), after parsing where `url` is not plainly in WHATWG form."""
    parts = clean(url)
    if parts is not None:
        return parts[:3]
    parsed = parse(url)
    if parsed is None or not is_web(parsed):
        return "", "", ""
    scheme, _user, host, port, _rest = split(parsed)
    return scheme, host, port


def host_of(url: str) -> str:
    """The host of a URL: lower case, ASCII, IPv6 in brackets; "" when it is no http or https URL.

    >>> host_of("http://127.0.0.1:6666\\\\@192.0.2.1/")
    '127.0.0.1'
    """
    return _parts(url)[1]


def port_of(url: str) -> int:
    """The port that is connected to, the scheme's own when the URL names none; 0 when it is no http or https URL."""
    scheme, _host, port = _parts(url)
    return int(port[1:]) if port else _PORTS.get(scheme, 0)


def origin_of(url: str) -> str:
    """`scheme://host[:port]` with the port only where it is not the scheme's own; "" when it is no http or https
    URL.

    >>> origin_of("http://user:pw@Example.org:8080/a")
    'http://example.org:8080'
    """
    scheme, host, port = _parts(url)
    return f"{scheme}://{host}{port}" if scheme else ""


def robots_url(url: str) -> str:
    """The robots.txt of this URL's origin (RFC 9309 2.3); "" when it is no http or https URL."""
    origin = origin_of(url)
    return f"{origin}/robots.txt" if origin else ""


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is written as, with or without brackets; None for a name."""
    text = host[1:-1] if host[:1] == "[" and host[-1:] == "]" else host
    if ":" not in text and not text[-1:].isdigit():
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # reads its data when it is made: once, when first asked

    return PublicSuffixList()


@lru_cache(maxsize=65_536)
def domain_of(host: str) -> str:
    """The registrable domain of a host; the host itself when it is an address, a single label or a public suffix.

    >>> domain_of("www.example.co.uk")
    'example.co.uk'
    """
    if address_of(host) is not None:
        return host
    name = host.rstrip(".")
    return _suffixes().privatesuffix(name) or name or host


@lru_cache(maxsize=65_536)
def bucket_of(host: str) -> int:
    """The bucket of a host, 0 to 65,535: the low 16 bits of the XXH3-64 of its UTF-8 bytes."""
    return xxh3_64_intdigest(host.encode()) & 0xFFFF


def is_loopback_host(host: str) -> bool:
    """Does this host name or address mean the machine itself (`localhost`, names below it, 127.0.0.0/8, ::1)?"""
    address = address_of(host)
    if address is None:
        name = host.rstrip(".").lower()
        return name == "localhost" or name.endswith(".localhost")
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def is_suffix(host: str) -> bool:
    """Is this host itself a public suffix (`co.uk`, `github.io`), so that nobody owns all below it?"""
    return address_of(host) is None and _suffixes().privatesuffix(host.rstrip(".")) is None
