"""Names are looked up by ourselves, from a name server on loopback, and every address is checked before it is used."""

import socket
import struct
import threading
import time

import pytest

from cobnut.fetcher.loop import Loop
from cobnut.testing.fakeweb import Answer

A, AAAA, CNAME = 1, 28, 5


class NameServer:
    """Answers from a table of name -> list of (type, data, ttl), None (no such name) or "silent"."""

    def __init__(self, table, delay_s=0.0):
        self.table, self.delay_s, self.asked = table, delay_s, []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                data, peer = self._socket.recvfrom(4096)
            except OSError:
                return
            threading.Timer(self.delay_s, self._answer, (data, peer)).start() if self.delay_s else self._answer(
                data, peer
            )

    def _answer(self, data, peer):
        at, labels = 12, []
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        kind = struct.unpack(">H", data[at + 1 : at + 3])[0]
        question = data[12 : at + 5]
        name = ".".join(labels).lower()
        self.asked.append((name, kind))
        known = self.table.get(name)
        if known == "silent":
            return
        found = [r for r in known or () if r[0] in (kind, CNAME)]
        answers = b"".join(
            b"\xc0\x0c" + struct.pack(">HHIH", type_, 1, ttl, len(value)) + value for type_, value, ttl in found
        )
        code = 3 if known is None else 2 if known == "broken" else 0
        head = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(found), 0, 0)
        self._socket.sendto(head + question + answers, peer)

    def close(self):
        self._socket.close()


def ipv4(text, ttl=60):
    return (A, socket.inet_aton(text), ttl)


def ipv6(text, ttl=60):
    return (AAAA, socket.inet_pton(socket.AF_INET6, text), ttl)


@pytest.fixture
def names():
    server = NameServer({})
    yield server
    server.close()


def urls_of(web, *hosts):
    return [f"http://{host}:{web.port}/" for host in hosts]


def test_names_are_asked_once_and_pinned(bench, web, names):
    names.table["a.test"] = [ipv4("127.0.0.1")]
    web.site("a.test", {"*": "page"})
    settings = bench.with_settings(resolve=(), nameservers=(names.address,), allow_net=("127.0.0.0/8",))
    base = urls_of(web, "a.test")[0]
    report = bench.fetch(*(f"{base}{n}" for n in range(5)), settings=settings)
    assert report.outcomes == {"success": 5}
    assert names.asked == [("a.test", A)]
    assert bench.row(f"{base}1")["address"] == "127.0.0.1"


def test_a_name_that_leads_to_a_private_address_is_refused(bench, web, names):
    names.table["evil.test"] = [ipv4("127.0.0.1")]
    names.table["six.test"] = [ipv6("::ffff:127.0.0.1")]
    names.table["ten.test"] = [ipv4("10.1.2.3")]
    web.site("evil.test", {"*": "secret"})
    settings = bench.with_settings(resolve=(), nameservers=(names.address,))
    urls = urls_of(web, "evil.test", "six.test", "ten.test")
    report = bench.fetch(*urls, settings=settings)
    assert report.outcomes == {"denied": 3}
    assert report.reasons == {"private_address": 3}
    assert not web.log
    assert any("--allow-net 10.0.0.0/8" in notice for notice in report.notices)


def test_only_the_checked_address_of_several_is_used(bench, web, names):
    names.table["mixed.test"] = [ipv4("10.0.0.1"), ipv4("127.0.0.1")]
    web.site("mixed.test", {"*": "page"})
    settings = bench.with_settings(resolve=(), nameservers=(names.address,), allow_net=("127.0.0.0/8",))
    (url,) = urls_of(web, "mixed.test")
    bench.fetch(url, settings=settings)
    assert bench.row(url)["address"] == "127.0.0.1"


def test_the_next_address_is_tried_when_one_does_not_answer(bench, web, names):
    names.table["two.test"] = [ipv4("127.0.0.2"), ipv4("127.0.0.1")]
    web.site("two.test", {"*": "page"})
    settings = bench.with_settings(resolve=(), nameservers=(names.address,), allow_net=("127.0.0.0/8",))
    (url,) = urls_of(web, "two.test")
    bench.fetch(url, settings=settings)  # the fake web listens on 127.0.0.1 alone
    assert bench.row(url)["address"] == "127.0.0.1"


def test_failures_have_their_reasons(bench, web, names):
    names.table.update({"nothing.test": [], "broken.test": "broken"})
    settings = bench.with_settings(resolve=(), nameservers=(names.address,))
    urls = urls_of(web, "no.test", "nothing.test", "broken.test")
    report = bench.fetch(*urls, settings=settings)
    assert [bench.row(url)["reason"] for url in urls] == ["dns_failed", "dns_failed", "dns_timeout"]
    assert report.outcomes == {"retry": 3}
    assert names.asked.count(("nothing.test", AAAA)) == 1
    counted = {row["host"]: row["dns_error_count"] for row in bench.hosts("traffic")}
    assert counted["no.test"] == 1


def test_localhost_asks_nobody(bench, web, names):
    web.site("localhost", {"*": "page"})
    settings = bench.with_settings(resolve=(), nameservers=(names.address,))
    url = f"http://localhost:{web.port}/"
    bench.fetch(url, settings=settings)
    assert bench.row(url)["outcome"] == "success"
    assert not names.asked


def test_slow_names_are_looked_up_side_by_side(bench, web):
    server = NameServer({f"h{n}.test": [ipv4("127.0.0.1")] for n in range(100)}, delay_s=0.5)
    for n in range(100):
        web.site(f"h{n}.test", {"*": "page"})
    settings = bench.with_settings(
        resolve=(), nameservers=(server.address,), allow_net=("127.0.0.0/8",), timeout_s=3.0, connections=200
    )
    began = time.monotonic()
    report = bench.fetch(*urls_of(web, *(f"h{n}.test" for n in range(100))), settings=settings)
    assert report.outcomes == {"success": 100}
    assert time.monotonic() - began < 100 * 0.5 / 2  # one after the other would take 50 s
    server.close()


def test_an_answer_is_believed_for_its_ttl_only():
    server = NameServer({"a.test": [ipv4("192.0.2.1", ttl=40)], "b.test": [ipv4("192.0.2.1", ttl=10**6)]})
    now = [1000.0]
    from cobnut.fetcher.exchange import HttpIdentity, HttpLimits

    loop = Loop(
        HttpIdentity("x", (), "", True, ""), HttpLimits(1, 1, 1, 1, 1, 1), 10, (server.address,), lambda: now[0]
    )

    def ask(name):
        found = []
        loop.resolver.lookup(name, found.append)
        end = time.monotonic() + 10
        while not found and time.monotonic() < end:
            loop.turn(0.1, lambda *_: None)
        return found[0].addresses

    for at, count in ((0, 1), (39, 1), (41, 2), (70, 2), (90, 3)):
        now[0] = 1000.0 + at
        assert ask("a.test") == ("192.0.2.1",)
        assert loop.resolver.queries == count  # c-ares keeps a cache of its own behind them, on the real clock
    assert ask("b.test")
    now[0] += 90_000
    ask("b.test")
    assert loop.resolver.queries == 5
    loop.close()
    server.close()


def test_https_is_verified_and_pinned(tmp_path, bench_class, fetch_pool):
    from cobnut.testing.fakeweb import FakeWeb

    with FakeWeb(ca=tmp_path / "ca") as web:
        web.site("a.test", {"*": Answer(200, "page")})
        bench = bench_class(tmp_path / "c", web, fetch_pool)
        rules = (f"*:443:127.0.0.1:{web.tls_port}",)
        bench.fetch("https://a.test/1", settings=bench.with_settings(resolve=rules))
        assert bench.row("https://a.test/1")["reason"] == "robots_unreachable"
        assert bench.hosts("robots")[0]["reason"] == "tls_failed"
        bench = bench_class(tmp_path / "trusting", web, fetch_pool)  # the other crawl lets the host rest for now
        trusting = bench.with_settings(resolve=rules, ca_file=str(web.ca_file))
        bench.fetch("https://a.test/1", settings=trusting)
        assert bench.row("https://a.test/1")["outcome"] == "success"
        proxied = bench.with_settings(resolve=(), proxy=web.proxy_url, ca_file=str(web.ca_file), delay_s=0.0)
        bench.fetch("https://a.test/1", settings=proxied)
        assert bench.row("https://a.test/1")["outcome"] == "success"


def test_an_ipv6_address_is_connected_to(tmp_path, bench_class, fetch_pool):
    from cobnut.testing.fakeweb import FakeWeb

    try:
        with FakeWeb(address="::1") as web:
            web.site("[::1]", {"*": "six"}).site("[", {"*": "six"}).site("a.test", {"*": "six"})
            bench = bench_class(tmp_path / "c", web, fetch_pool)
            settings = bench.with_settings(resolve=(f"a.test:[::1]:{web.port}",))
            bench.fetch("http://a.test/", settings=settings)
            assert (bench.row("http://a.test/")["address"], bench.row("http://a.test/")["outcome"]) == (
                "::1",
                "success",
            )
            url = f"http://[::1]:{web.port}/"
            bench.fetch(url, settings=bench.with_settings(resolve=()))
            assert bench.row(url)["address"] == "::1"
            assert bench.fetch(url, seeds=["http://b.test/"], settings=bench.with_settings(resolve=())).outcomes == {
                "denied": 1
            }
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
