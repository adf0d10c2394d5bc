"""Which addresses may be connected to?

A crawler inside a network must not be led by a link, a redirect or a DNS answer to what is not meant for the
public: the machine itself, the private network, the cloud's metadata service. Every address is looked at right
before the connection, whatever name it came from. `ipaddress.is_global` alone is not enough: IPv6 has a dozen
forms that carry an IPv4 address.

What the user typed is allowed, exactly: host and port of a seed, of `--resolve` and of `--proxy`, and networks
given with `--allow-net`. A link to another port of the same machine is not.

Not here: asking name servers, connecting (`fetcher`).
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

import msgspec

from cobnut.errors import InputError

IPv4 = ipaddress.IPv4Address
IPv6 = ipaddress.IPv6Address

_KINDS: tuple[tuple[str, str], ...] = (
    # the first network that holds the address names the kind; smaller networks stand before larger ones
    ("metadata", "169.254.169.254/32"),  # AWS, Google, Azure, Oracle, DigitalOcean
    ("metadata", "169.254.170.0/24"),  # AWS containers
    ("metadata", "100.100.100.200/32"),  # Alibaba
    ("metadata", "192.0.0.192/32"),  # Oracle
    ("metadata", "168.63.129.16/32"),  # Azure: a public address that means the host machine
    ("metadata", "fd00:ec2::254/128"),
    ("metadata", "fd20:ce::254/128"),
    ("unspecified", "0.0.0.0/32"),
    ("this_network", "0.0.0.0/8"),
    ("loopback", "127.0.0.0/8"),
    ("private", "10.0.0.0/8"),
    ("private", "172.16.0.0/12"),
    ("private", "192.168.0.0/16"),
    ("link_local", "169.254.0.0/16"),
    ("cgnat", "100.64.0.0/10"),
    ("reserved", "192.0.0.0/24"),  # IETF protocol assignments
    ("documentation", "192.0.2.0/24"),
    ("documentation", "198.51.100.0/24"),
    ("documentation", "203.0.113.0/24"),
    ("reserved", "192.88.99.0/24"),  # the former 6to4 relays
    ("benchmarking", "198.18.0.0/15"),
    ("multicast", "224.0.0.0/4"),
    ("broadcast", "255.255.255.255/32"),
    ("reserved", "240.0.0.0/4"),
    ("unspecified", "::/128"),
    ("loopback", "::1/128"),
    ("reserved", "64:ff9b:1::/48"),  # NAT64 of a local network: what lies behind it is that network's matter
    ("discard", "100::/64"),
    ("documentation", "2001:db8::/32"),
    ("documentation", "3fff::/20"),
    ("benchmarking", "2001:2::/48"),
    ("reserved", "2001::/23"),  # Teredo is unwrapped before
    ("reserved", "5f00::/16"),  # segment routing
    ("private", "fc00::/7"),
    ("link_local", "fe80::/10"),
    ("site_local", "fec0::/10"),
    ("multicast", "ff00::/8"),
)

_NETWORKS = tuple((kind, ipaddress.ip_network(text)) for kind, text in _KINDS)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # all that IANA has given out; the rest is reserved

_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
_TRANSLATED = ipaddress.IPv6Network("::ffff:0:0:0/96")  # RFC 2765
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = ipaddress.IPv6Network("64:ff9b:1::/48")
_SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")
_TEREDO = ipaddress.IPv6Network("2001::/32")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def _inside(address: IPv6) -> tuple[IPv4, ...]:
    """The IPv4 addresses that packets to this IPv6 address could reach."""
    number = int(address)
    low = IPv4(number & 0xFFFF_FFFF)
    if address in _MAPPED or address in _TRANSLATED or address in _NAT64 or address in _NAT64_LOCAL:
        return (low,)
    if address in _COMPATIBLE:
        return (low,) if number > 1 else ()  # :: and ::1 are addresses of their own
    if address in _SIX_TO_FOUR:
        return (IPv4(number >> 80 & 0xFFFF_FFFF),)
    if address in _TEREDO:
        return (IPv4(number >> 64 & 0xFFFF_FFFF), IPv4(~number & 0xFFFF_FFFF))
    if (number >> 32 & 0xFFFF_FFFF) in _ISATAP:
        return (low,)
    return ()


def _network_of(address: IPv4 | IPv6) -> tuple[str, str] | None:
    """(kind, well-known network) that an address not meant for the public lies in; None for a public one."""
    for kind, network in _NETWORKS:
        if address.version == network.version and address in network:
            return kind, str(network)
    if isinstance(address, IPv6) and address not in _GLOBAL_UNICAST:
        return "reserved", f"{address}/128"
    return None


def _blocked(address: IPv4 | IPv6) -> tuple[str, str] | None:
    """(kind, network to allow) of an address or of the first one inside it that is not public."""
    if isinstance(address, IPv4):
        return _network_of(address)
    inside = _inside(address)
    for found in inside:
        blocked = _network_of(found)
        if blocked is not None:
            return blocked
    if inside and (address in _NAT64 or address in _MAPPED or address in _SIX_TO_FOUR or address in _TEREDO):
        return None
    return _network_of(address)


def read_ip(text: str) -> IPv4 | IPv6 | None:
    """The address that `text` is, with or without brackets and zone; None when it is none."""
    bare = text[1:-1] if text[:1] == "[" and text[-1:] == "]" else text
    try:
        return ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return None


@lru_cache(maxsize=16_384)
def why_blocked(ip: str) -> str | None:
    """The kind of an address that is not meant for the public; None for a public one.

    Kinds: loopback, private, link_local, site_local, cgnat, metadata, multicast, broadcast, unspecified,
    this_network, documentation, benchmarking, discard, reserved, and not_an_address.

    >>> why_blocked("10.1.2.3"), why_blocked("64:ff9b::7f00:1"), why_blocked("1.1.1.1")
    ('private', 'loopback', None)
    """
    address = read_ip(ip)
    if address is None:
        return "not_an_address"
    blocked = _blocked(address)
    return None if blocked is None else blocked[0]


def _plain(host_or_ip: str) -> str:
    """One spelling for each host and address, to compare by."""
    address = read_ip(host_or_ip)
    if address is None:
        return host_or_ip.rstrip(".").lower()
    if isinstance(address, IPv6) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)


class AddressGuard(msgspec.Struct, frozen=True):
    """Decides before each connection. Can be pickled.

    `allow_nets`: networks the user allows (`--allow-net`), each as `parse_net` gives it. `allowed_endpoints`:
    (host or address, port) exactly as the user typed them in a seed, `--resolve` or `--proxy`.
    """

    allow_nets: tuple[str, ...] = ()
    allowed_endpoints: frozenset[tuple[str, int]] = frozenset()

    def check(self, ip: str, port: int, host: str | None = None) -> str | None:
        """Why a connection to `ip`:`port` is refused, in one sentence with the option that allows it; None: go on.

        `host` is the name or address in the URL that led here; it counts only when the user typed it with this
        port.
        """
        if why_blocked(ip) is None:
            return None
        address = read_ip(ip)
        if address is None:
            return f"{ip!r} is no address"
        if self._typed(ip, port, host) or self._in_allowed_net(address):
            return None
        blocked = _blocked(address)
        assert blocked is not None
        kind, network = blocked
        whose = "" if host is None or _plain(host) == _plain(ip) else f" of {host}"
        return f"the address {ip}{whose} is {kind.replace('_', ' ')}; --allow-net {network} allows it"

    def allows(self, ip: str, port: int, host: str | None = None) -> bool:
        """May `ip`:`port` be connected to?"""
        return self.check(ip, port, host) is None

    def _typed(self, ip: str, port: int, host: str | None) -> bool:
        endpoints = _plain_endpoints(self.allowed_endpoints)
        if (_plain(ip), port) in endpoints:
            return True
        return host is not None and (_plain(host), port) in endpoints

    def _in_allowed_net(self, address: IPv4 | IPv6) -> bool:
        if self._holds(address):
            return True
        # an address that carries others is allowed when all of them that are not public are
        inside = [found for found in _inside(address) if _network_of(found)] if isinstance(address, IPv6) else []
        return bool(inside) and all(map(self._holds, inside))

    def _holds(self, address: IPv4 | IPv6) -> bool:
        return any(address.version == net.version and address in net for net in _networks(self.allow_nets))


@lru_cache(maxsize=64)
def _plain_endpoints(endpoints: frozenset[tuple[str, int]]) -> frozenset[tuple[str, int]]:
    return frozenset((_plain(host), port) for host, port in endpoints)


@lru_cache(maxsize=64)
def _networks(texts: tuple[str, ...]) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(parse_net(text)) for text in texts)


def parse_net(text: str) -> str:
    """A network as the user typed it, in its plain form; one address is a network of one. InputError when it is
    none.

    >>> parse_net("10.0.0.0/8"), parse_net("::1")
    ('10.0.0.0/8', '::1/128')
    """
    bare = text.strip()
    if bare.startswith("["):
        bare = bare.replace("[", "").replace("]", "")
    try:
        return str(ipaddress.ip_network(bare))
    except ValueError:
        pass
    try:
        meant = str(ipaddress.ip_network(bare, strict=False))
    except ValueError:
        raise InputError("not a network", where=repr(text), remedy="write it like 10.0.0.0/8 or fd00::/8") from None
    raise InputError("network with bits set behind its mask", where=repr(text), remedy=f"did you mean {meant}?")
