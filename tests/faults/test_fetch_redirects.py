"""Redirects: followed in the round as rows of their own, within limits, never to a private address."""

import pytest

from cobnut.fetcher.pool import FetchPool
from cobnut.testing.fakeweb import Answer, moved


def test_hops_are_rows_of_their_own(bench, web):
    web.site("www.a.test", {"/": moved("http://a.test/")})
    web.site("a.test", {"/": lambda r: "home" if r.headers["host"] == "a.test" else moved("http://a.test/")})
    report = bench.fetch("http://www.a.test/")
    source, target = bench.row("http://www.a.test/"), bench.row("http://a.test/")
    assert (source["outcome"], source["redirect_url"]) == ("redirect_perm", "http://a.test/")
    assert source["redirect_key"] == target["url_key"]
    assert (target["outcome"], target["hop_from"]) == ("success", source["url_key"])
    assert target["score"] == source["score"]
    assert report.hops == 1
    pages = [(e.host, e.target) for e in web.log if e.target != "/robots.txt"]
    assert pages == [("www.a.test", "/"), ("a.test", "/")]


def test_location_bytes_are_kept_as_they_came(bench, web):
    raw = "/fa/اعزام".encode()
    web.site("a.test", {
        "/x": Answer(raw=b"HTTP/1.1 301 M\r\nLocation: " + raw + b"\r\nContent-Length: 0\r\n\r\n"), "*": "there",
    })  # fmt: skip
    bench.fetch("http://a.test/x")
    assert bench.row("http://a.test/x")["redirect_url"] == "http://a.test/fa/%D8%A7%D8%B9%D8%B2%D8%A7%D9%85"
    assert bench.row("http://a.test/fa/%D8%A7%D8%B9%D8%B2%D8%A7%D9%85")["outcome"] == "success"


def test_loops_and_long_chains_end(bench, web):
    web.site("a.test", {
        "/self": moved("/self#x"), "/1": moved("/2", 302), "/2": moved("/1", 302),
        **{f"/long{n}": moved(f"/long{n + 1}") for n in range(9)},
    })  # fmt: skip
    bench.fetch("http://a.test/self", "http://a.test/1", "http://a.test/long0")
    rows = bench.rows()
    assert rows["http://a.test/self"]["reason"] == "redirect_loop"
    assert rows["http://a.test/2"]["reason"] == "redirect_loop"
    assert rows["http://a.test/2"]["outcome"] == "redirect_temp"
    assert rows["http://a.test/long5"]["reason"] == "redirect_limit"
    assert "http://a.test/long6" not in rows


def test_a_target_in_the_fetchlist_is_fetched_once(bench, web):
    web.site("a.test", {"/x": moved("/y"), "/z": moved("/y"), "/y": "here"})
    bench.fetch("http://a.test/x", "http://a.test/y", "http://a.test/z")
    assert len(web.requests("a.test", "/y")) == 1
    assert bench.row("http://a.test/y")["hop_from"] is None


def test_a_filter_has_its_say_about_the_target(bench, web):
    web.site("a.test", {"/x": moved("http://b.test/"), "/p": moved("/y.jpg")}).site("b.test", {"/": "out"})
    settings = bench.with_settings(scope="host")
    bench.seed("http://a.test/")
    bench.fetchlist("http://a.test/x", "http://a.test/p", depth=1)  # not seeds: those mean where they lead
    bench.fetch(settings=settings)
    row = bench.row("http://a.test/x")
    assert (row["outcome"], row["reason"]) == ("redirect_perm", "redirect_filtered:scope")
    assert (row["redirect_url"], row["redirect_key"]) == ("http://b.test/", None)
    assert bench.row("http://a.test/p")["reason"] == "redirect_filtered:suffix"
    assert not web.requests("b.test")


@pytest.mark.parametrize(
    "target",
    [
        "http://10.0.0.5/admin",
        "http://[::ffff:7f00:1]:PORT/",
        "http://127.0.0.1:PORT/x",
        "http://169.254.169.254/",
        "http://2130706433:PORT/",
        "http://localhost:PORT/",
    ],
)
def test_a_redirect_to_a_private_address_is_refused(bench, web, target):
    target = target.replace("PORT", str(web.port))
    for host in ("10.0.0.5", "127.0.0.1", "localhost", "169.254.169.254", "[::ffff:7f00:1]"):
        web.site(host, {"*": "secret"})
    web.site("public.test", {"/": moved(target, 302)})
    settings = bench.with_settings(resolve=(f"public.test:127.0.0.1:{web.port}",))
    report = bench.fetch("http://public.test/", settings=settings)
    hop = next(row for row in bench.rows().values() if row["hop_from"])
    assert (hop["outcome"], hop["reason"]) == ("denied", "private_address")
    assert {entry.host for entry in web.log} == {"public.test"}
    assert any("--allow-net" in notice for notice in report.notices)


def test_a_literal_address_is_not_caught_by_the_star_rule(bench, web):
    web.site("public.test", {"/": moved("http://10.0.0.5/admin", 302)}).site("10.0.0.5", {"*": "secret"})
    bench.fetch("http://public.test/")
    assert bench.row("http://10.0.0.5/admin")["reason"] == "private_address"
    assert not web.requests("10.0.0.5")


def test_what_the_user_typed_is_allowed_exactly(bench, web):
    url = f"http://127.0.0.1:{web.port}/"
    web.site("127.0.0.1", {"/": moved("/inside"), "/inside": moved("http://127.0.0.1:9/", 302)})
    settings = bench.with_settings(resolve=())
    bench.fetch(url, settings=settings)
    assert bench.row(url + "inside")["outcome"] == "redirect_temp"
    assert bench.row("http://127.0.0.1:9/")["reason"] == "private_address"
    assert bench.fetch(url, seeds=["http://a.test/"], settings=settings).outcomes == {"denied": 1}
    allowed = bench.with_settings(resolve=(), allow_net=("127.0.0.0/8",))
    bench.fetch(url, seeds=["http://a.test/"], settings=allowed)
    assert bench.row("http://127.0.0.1:9/")["reason"] in ("robots_unreachable", "connect_failed")


def test_hops_between_workers_stay_in_the_round(tmp_path, web, bench_class):
    web.site("a.test", {"/": moved("http://b.test/x")})
    web.site("b.test", {"/": "b", "/x": moved("http://c.test/"), "/robots.txt": "User-agent: *\nDisallow: /no"})
    web.site("c.test", {"/": moved("http://a.test/end")}).site("a.test", {"/end": "end"})
    with FetchPool(2) as pool:
        bench = bench_class(tmp_path / "c", web, pool, workers=2)
        bench.seed("http://a.test/")
        bench.fetchlist("http://a.test/", "http://b.test/", parts=2, part_of=lambda host, _: int(host == "b.test"))
        report = bench.fetch()
        rows = bench.rows()
        assert {url: row["outcome"] for url, row in rows.items()} == {
            "http://a.test/": "redirect_perm", "http://b.test/": "success", "http://b.test/x": "redirect_perm",
            "http://c.test/": "redirect_perm", "http://a.test/end": "success",
        }  # fmt: skip
        assert report.hops == 3
        assert len(web.requests("b.test", "/robots.txt")) == 1
