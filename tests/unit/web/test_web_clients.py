"""Whose request it is: connections, proxies that are trusted, and what others write into the header."""

import pytest

from cobnut.web.clients import MOST_HOPS, UNKNOWN, client_of, counted_as, networks

PROXIES = networks(["127.0.0.0/8", "10.0.0.1", "::1", "fd00::/8"])


def scope(peer, *forwarded):
    return {"client": (peer, 1), "headers": [(b"x-forwarded-for", value) for value in forwarded]}


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.7", [], "192.0.2.7"),
        ("192.0.2.7", [b"198.51.100.1"], "192.0.2.7"),
        ("127.0.0.1", [b"198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", [b"203.0.113.9, 198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", [b"203.0.113.9", b"198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", [b"198.51.100.1, 10.0.0.1"], "198.51.100.1"),
        ("127.0.0.1", [b"10.0.0.1, 10.0.0.1"], "10.0.0.1"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", [b"", b","], "127.0.0.1"),
        ("127.0.0.1", [b"198.51.100.1, nonsense"], "127.0.0.1"),
        ("127.0.0.1", [b"nonsense, 198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", [b"198.51.100.1, nonsense, 10.0.0.1"], "10.0.0.1"),
        ("127.0.0.1", [b"198.51.100.1:4711"], "198.51.100.1"),
        ("::1", [b"[2001:db8::1]:4711"], "2001:db8::1"),
        ("::ffff:127.0.0.1", [b"::ffff:198.51.100.1"], "198.51.100.1"),
        ("fe80::1%eth0", [], "fe80::1"),
        ("127.0.0.1", [b"\xff\xfe"], "127.0.0.1"),
        ("127.0.0.1", [b"198.51.100.1" + b",10.0.0.1" * (MOST_HOPS - 1)], "198.51.100.1"),
        ("127.0.0.1", [b"198.51.100.1" + b",10.0.0.1" * 1_000], "10.0.0.1"),
        ("", [b"198.51.100.1"], UNKNOWN),
    ],
)
def test_the_client(peer, forwarded, client):
    assert client_of(scope(peer, *forwarded), PROXIES) == client


def test_without_trusted_proxies_nothing_is_believed():
    assert client_of(scope("127.0.0.1", b"198.51.100.1"), ()) == "127.0.0.1"


def test_a_server_that_does_not_know():
    assert client_of({"client": None, "headers": []}, PROXIES) == UNKNOWN


def test_one_customer_of_ipv6_is_one_client():
    assert counted_as("2001:db8:1:2:3::4") == counted_as("2001:db8:1:2:ffff::") != counted_as("2001:db8:1:3::")
    assert counted_as("192.0.2.1") == "192.0.2.1"
    assert counted_as(UNKNOWN) == UNKNOWN
