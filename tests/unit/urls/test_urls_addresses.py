"""Is every way to an internal address refused, and exactly what the user typed allowed?"""

from __future__ import annotations

import ipaddress
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.errors import InputError
from cobnut.urls.addresses import AddressGuard, parse_net, why_blocked

KINDS = {
    "loopback": ["127.0.0.1", "127.255.1.2", "::1", "[::1]", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fdff::1"],
    "link_local": ["169.254.1.1", "fe80::1", "fe80::1%eth0", "febf::1"],
    "site_local": ["fec0::1"],
    "cgnat": ["100.64.0.1", "100.127.255.255"],
    "metadata": ["169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1"],
    "broadcast": ["255.255.255.255"],
    "unspecified": ["0.0.0.0", "::", "::ffff:0.0.0.0"],
    "this_network": ["0.1.2.3"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "benchmarking": ["198.18.0.1", "2001:2::1"],
    "reserved": ["192.0.0.1", "240.0.0.1", "2001:10::1", "4000::1", "64:ff9b:1::101:101", "5f00::1"],
    "discard": ["100::1"],
    "not_an_address": ["", "localhost", "1.2.3", "0177.0.0.1", "1.2.3.4.5", "::g"],
}


@pytest.mark.parametrize(("ip", "kind"), [(ip, kind) for kind, ips in KINDS.items() for ip in ips])
def test_kinds(ip: str, kind: str) -> None:
    assert why_blocked(ip) == kind


@pytest.mark.parametrize(
    "ip",
    [
        *(
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "169.253.1.1",
            "223.255.255.255",
        ),
        *("2606:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"),
        "2606:4700::5efe:101:101",
    ],
)
def test_public_addresses_pass(ip: str) -> None:
    assert why_blocked(ip) is None
    assert AddressGuard().allows(ip, 80)


def carriers(inner: str) -> dict[str, str]:
    """The forms of IPv6 that carry this IPv4 address."""
    number = int(ipaddress.IPv4Address(inner))
    inverted = number ^ 0xFFFF_FFFF

    def at(prefix: str, bits: int = 0, value: int = number) -> str:
        return str(ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | value << bits))

    return {
        "mapped": at("::ffff:0:0"),
        "translated": at("::ffff:0:0:0"),
        "NAT64": at("64:ff9b::"),
        "local NAT64": at("64:ff9b:1::"),
        "local NAT64, own prefix": at("64:ff9b:1:2:3:4::"),
        "6to4": at("2002::", 80),
        "6to4 with the address behind": at("2002:101:101::") + "1",
        "Teredo client": at("2001:0:101:101::", 0, inverted),
        "Teredo server": at("2001::", 64),
        "ISATAP": at("2606:4700::5efe:0:0"),
        "ISATAP, global bit": at("2606:4700::200:5efe:0:0"),
        "compatible": at("::"),
    }


@pytest.mark.parametrize(
    "inner", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "100.64.1.1", "172.16.5.5"]
)
@pytest.mark.parametrize("form", sorted(set(carriers("10.0.0.1")) - {"6to4 with the address behind"}))
def test_an_address_is_found_inside_each_form(inner: str, form: str) -> None:
    assert why_blocked(carriers(inner)[form]) == why_blocked(inner)


@given(st.ip_addresses(v=4))
def test_what_is_not_global_is_never_let_through(address: ipaddress.IPv4Address) -> None:
    if not address.is_global or address.is_multicast:
        assert why_blocked(str(address)) is not None
        assert why_blocked(f"::ffff:{address}") is not None
        assert why_blocked(carriers(str(address))["NAT64"]) is not None
    elif why_blocked(str(address)) is not None:
        assert why_blocked(str(address)) in ("metadata", "reserved", "documentation")


@given(st.ip_addresses(v=6))
def test_ipv6_that_is_not_global_is_never_let_through(address: ipaddress.IPv6Address) -> None:
    carried = address.ipv4_mapped or address.sixtofour or address.teredo
    if not carried and not address.is_global:
        assert why_blocked(str(address)) is not None


def test_a_refusal_names_the_option_that_allows_it() -> None:
    guard = AddressGuard()
    assert guard.check("10.1.2.3", 80, "inner.example") == (
        "the address 10.1.2.3 of inner.example is private; --allow-net 10.0.0.0/8 allows it"
    )
    assert (
        guard.check("127.0.0.1", 80, "127.0.0.1")
        == "the address 127.0.0.1 is loopback; --allow-net 127.0.0.0/8 allows it"
    )
    assert "--allow-net 169.254.169.254/32 " in str(guard.check("169.254.169.254", 80))
    assert "--allow-net 127.0.0.0/8 " in str(guard.check("64:ff9b::7f00:1", 80))
    assert "--allow-net fc00::/7 " in str(guard.check("fd12::1", 80))
    assert guard.check("nonsense", 80) == "'nonsense' is no address"


@pytest.mark.parametrize("ip", [ip for kind, ips in KINDS.items() if kind != "not_an_address" for ip in ips])
def test_the_option_that_is_named_does_allow_it(ip: str) -> None:
    reason = AddressGuard().check(ip, 80)
    assert reason is not None
    net = reason.partition("--allow-net ")[2].partition(" ")[0]
    assert AddressGuard(allow_nets=(net,)).check(ip, 80) is None


def test_networks_that_the_user_allows() -> None:
    guard = AddressGuard(allow_nets=("10.0.0.0/8", "fd00::/8"))
    assert guard.allows("10.9.9.9", 80)
    assert guard.allows("fd00::1", 80)
    assert guard.allows("::ffff:10.1.1.1", 80)
    assert guard.allows("64:ff9b::a01:101", 80)
    assert not guard.allows("192.168.0.1", 80)
    assert not guard.allows("127.0.0.1", 80)
    assert not guard.allows("2001:0:a00:1:0:0:80ff:fffe", 80), "Teredo: one of two carried addresses is not allowed"


def test_an_endpoint_the_user_typed_is_allowed_exactly() -> None:
    guard = AddressGuard(allowed_endpoints=frozenset({("127.0.0.1", 8080), ("Intra.Example", 80), ("[::1]", 81)}))
    assert guard.allows("127.0.0.1", 8080)
    assert guard.allows("127.0.0.1", 8080, "127.0.0.1")
    assert guard.allows("::ffff:127.0.0.1", 8080)
    assert not guard.allows("127.0.0.1", 8081)
    assert not guard.allows("127.0.0.2", 8080)
    assert guard.allows("10.0.0.5", 80, "intra.example.")
    assert not guard.allows("10.0.0.5", 81, "intra.example")
    assert not guard.allows("10.0.0.5", 80, "evil.example")
    assert not guard.allows("10.0.0.5", 80)
    assert guard.allows("::1", 81)
    assert not guard.allows("::1", 80)


def test_a_guard_travels_between_processes() -> None:
    guard = AddressGuard(("10.0.0.0/8",), frozenset({("localhost", 80)}))
    assert pickle.loads(pickle.dumps(guard)) == guard


@pytest.mark.parametrize(
    ("text", "net"),
    [("10.0.0.0/8", "10.0.0.0/8"), (" 10.1.2.3 ", "10.1.2.3/32"), ("::1", "::1/128"), ("[fd00::]/8", "fd00::/8")],
)
def test_networks_as_typed(text: str, net: str) -> None:
    assert parse_net(text) == net


def test_networks_that_are_none() -> None:
    with pytest.raises(InputError, match=r"not a network.*'10\.0\.0'.*10\.0\.0\.0/8"):
        parse_net("10.0.0")
    with pytest.raises(InputError, match=r"did you mean 10\.0\.0\.0/8\?"):
        parse_net("10.1.2.3/8")
    with pytest.raises(InputError, match="not a network"):
        AddressGuard(("everything",)).check("10.0.0.1", 80)
