"""Who asks, by address?

The address at the other end of the connection, or, when that is a proxy named in `serve.trusted_proxies`, the one it
forwards for. X-Forwarded-For grows to the right, and whoever asks may write anything to its left: so it is read from
the right, and the first address that is no trusted proxy is the client.

Not here: names and keys (`access`).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from starlette.types import Scope

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

MOST_HOPS = 16
"""Forwarded addresses that are looked at."""

UNKNOWN = "unknown"


def networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """The networks of a setting."""
    return tuple(ipaddress.ip_network(text.strip().strip("[]"), strict=False) for text in texts)


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first header of that name (given in lower case)."""
    return next((value for key, value in scope["headers"] if key == name), None)


def client_of(scope: Scope, trusted: Sequence[Network]) -> str:
    """The client's address in its usual form; `unknown` when the server could not tell."""
    peer = address_of((scope.get("client") or ("",))[0])
    if peer is None:
        return UNKNOWN
    if not trusted or not _is_in(peer, trusted):
        return str(peer)
    lines = [value for key, value in scope["headers"] if key == b"x-forwarded-for"]
    for hop in reversed(b",".join(lines).rsplit(b",", MOST_HOPS)[-MOST_HOPS:]):
        address = address_of(hop.decode("latin-1"))
        if address is None:
            break
        peer = address
        if not _is_in(address, trusted):
            break
    return str(peer)


def address_of(text: str) -> Address | None:
    """An address, perhaps with a port; IPv4 within IPv6 is IPv4. None when it is none.

    >>> address_of("::ffff:192.0.2.1"), address_of("[2001:db8::1]:443"), address_of("me")
    (IPv4Address('192.0.2.1'), IPv6Address('2001:db8::1'), None)
    """
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.scope_id is not None:
            return ipaddress.IPv6Address(int(address))
    return address


def counted_as(client: str) -> str:
    """What a client is counted by: its address, or its /64 network in IPv6, which is what one customer gets.

    >>> counted_as("192.0.2.1"), counted_as("2001:db8:0:1::99")
    ('192.0.2.1', '2001:db8:0:1::/64')
    """
    if ":" not in client:
        return client
    return str(ipaddress.ip_network((client, 64), strict=False))


def _is_in(address: Address, among: Sequence[Network]) -> bool:
    return any(address in network for network in among)
