"""What do `fetcher.proxy`, `fetcher.resolve` and `fetcher.allow_net` say?

Not here: which addresses are allowed in the end (`urls.addresses`), connecting (`fetcher`).
"""

from __future__ import annotations

import ipaddress
import re

import msgspec

_RULE = re.compile(
    r"(?P<host>\*|\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)"
    r"(?::(?P<port>[0-9]{1,5}|\*))?"
    r":(?P<address>\[[0-9A-Fa-f:.]+\]|[0-9.]+)"
    r"(?::(?P<to_port>[0-9]{1,5}))?",
    re.ASCII,
)
_PROXY = re.compile(r"http://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):(?P<port>[0-9]{1,5})/?", re.ASCII)


class ResolveRule(msgspec.Struct, frozen=True):
    """Requests for `host` (`*`: any) and `port` (None: any) go to `address`, and to `to_port` (None: the same port)."""

    host: str
    port: int | None
    address: str
    to_port: int | None


def parse_resolve(rule: str) -> ResolveRule:
    """A rule HOST[:PORT]:ADDR[:PORT]; a `ValueError` says what is wrong.

    >>> parse_resolve("*:127.0.0.1:8080")
    ResolveRule(host='*', port=None, address='127.0.0.1', to_port=8080)
    >>> parse_resolve("example.org:443:[::1]")
    ResolveRule(host='example.org', port=443, address='::1', to_port=None)
    """
    match = _RULE.fullmatch(rule.strip())
    if match is None:
        raise ValueError(f"{rule[:80]!r} is not HOST[:PORT]:ADDRESS[:PORT]")
    address = _address(match["address"])
    port = None if match["port"] in (None, "*") else _port(match["port"])
    to_port = None if match["to_port"] is None else _port(match["to_port"])
    return ResolveRule(match["host"].lower().rstrip("."), port, address, to_port)


def parse_proxy(url: str) -> tuple[str, int]:
    """Host and port of a proxy http://HOST:PORT; a `ValueError` says what is wrong.

    >>> parse_proxy("http://127.0.0.1:3128")
    ('127.0.0.1', 3128)
    """
    match = _PROXY.fullmatch(url.strip())
    if match is None:
        raise ValueError(f"{url[:80]!r} is not http://HOST:PORT")
    return match["host"].lower().strip("[]"), _port(match["port"])


def parse_net(net: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """A network such as 10.0.0.0/8, or one address; a `ValueError` says what is wrong."""
    try:
        return ipaddress.ip_network(net.strip().strip("[]"), strict=False)
    except ValueError:
        raise ValueError(f"{net[:80]!r} is no network such as 10.0.0.0/8 or fd00::/8") from None


def is_loopback(host: str) -> bool:
    """Whether a proxy's or a rule's host is this machine: a loopback address, or localhost."""
    host = host.lower().rstrip(".").strip("[]")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        raise ValueError(f"{text[:60]!r} is no IP address") from None


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65_536:
        raise ValueError(f"{port} is no port")
    return port
