"""Where does each form of a Location lead, and what is asked on the way?"""

import itertools

import pytest
from crawling import cobnut, to_web

from cobnut.testing.fakeweb import Answer, moved

LOCATIONS = {
    "next": "/d/next", "./next": "/d/next", "../next": "/next", "../../../next": "/next", "/next": "/next",
    " /next ": "/next", "?q=1": "/d/x?q=1", "/x#y": "/x", "next/../b/./c": "/d/b/c", "/with space": "/with%20space",
    "/ü/日本": "/%C3%BC/%E6%97%A5%E6%9C%AC", "/a\tb": "/ab", "\\next": "/next", "http:next": "/d/next",
    "%%%zz": "/d/%%%zz", "/a,/b": "/a,/b", "/x?a=1&amp;b=2": "/x?a=1&amp;b=2", "/" + "a" * 1_900: "/" + "a" * 1_900,
    "//b.test/n": "http://b.test/n", "HTTP://B.TEST/N": "http://b.test/N", "http://u:p@b.test/s": "http://b.test/s",
    "http://bücher.test/": "http://xn--bcher-kva.test/", "http://b.test:80/p": "http://b.test/p",
    "http://b.test": "http://b.test/",
}  # fmt: skip
"""What a server wrote, and what is asked for then."""

UNUSABLE = (
    "", "   ", "file:///etc/passwd", "ftp://b.test/", "javascript:alert(1)", "data:text/html,hi", "mailto:a@b.test",
    "gopher://b.test/", "http://[::1", "http://a.test:99999/", "http://", "http://a b.test/", "about:blank",
)  # fmt: skip


def answer_with(location: str, status: int = 302) -> Answer:
    head = f"HTTP/1.1 {status} Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    return Answer(raw=head.encode())


def test_every_form_of_a_location_leads_where_a_browser_goes(bench, web):
    urls = {}
    for number, (location, target) in enumerate(LOCATIONS.items()):
        host = f"h{number}.test"
        web.site(host, {"/d/x": answer_with(location), "*": "there"})
        urls[f"http://{host}/d/x"] = target if target.startswith("http:") else f"http://{host}{target}"
    for host in ("b.test", "xn--bcher-kva.test"):
        web.site(host, {"*": "there"})
    bench.fetch(*urls)
    rows = bench.rows()
    for url, target in urls.items():
        assert (rows[url]["outcome"], rows[url]["redirect_url"]) == ("redirect_temp", target), url
        hop = rows[target]
        assert rows[url]["redirect_key"] == hop["url_key"]
        # a query that the site answers with the same redirect is a page of its own, and a loop
        assert (hop["outcome"], hop["reason"]) in (("success", None), ("redirect_temp", "redirect_loop")), target
        assert hop["hop_from"] is not None
        assert hop["fetched_at"] >= rows[url]["fetched_at"] > 0


def test_what_is_no_target_is_told_and_asked_of_nobody(bench, web):
    urls = []
    for number, location in enumerate(UNUSABLE):
        web.site(f"h{number}.test", {"/d/x": answer_with(location, (301, 302, 303, 307, 308)[number % 5])})
        urls.append(f"http://h{number}.test/d/x")
    web.site("none.test", {"/d/x": Answer(302)}).site("b.test", {"*": "never"}).site("a.test", {"*": "never"})
    report = bench.fetch(*urls, "http://none.test/d/x")
    assert report.outcomes == {"retry": len(UNUSABLE) + 1}
    assert report.reasons == {"redirect_bad": len(UNUSABLE) + 1}
    assert not web.requests("b.test")
    assert not web.requests("a.test")
    for url, location in zip(urls, UNUSABLE, strict=True):
        row = bench.row(url)
        assert (row["redirect_url"], row["redirect_key"]) == (None, None)
        assert (dict(row["headers"]).get("location") or "").strip() == location.strip()


def test_a_target_that_is_too_long_is_filtered(bench, web):
    web.site("a.test", {"/x": answer_with("/" + "a" * 9_000)})
    bench.fetch("http://a.test/x")
    row = bench.row("http://a.test/x")
    assert (row["outcome"], row["reason"], row["redirect_key"]) == ("redirect_temp", "redirect_filtered:length", None)
    assert len(web.requests("a.test")) == 2  # robots.txt, and this


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(300, "redirect_perm"), (301, "redirect_perm"), (308, "redirect_perm"),
     (302, "redirect_temp"), (303, "redirect_temp"), (307, "redirect_temp"), (305, "redirect_temp")],
)  # fmt: skip
def test_every_status_is_permanent_or_temporary(bench, web, status, outcome):
    web.site("a.test", {"/x": moved("/y", status), "/y": "there"})
    bench.fetch("http://a.test/x")
    assert bench.row("http://a.test/x")["outcome"] == outcome
    assert bench.row("http://a.test/y")["outcome"] == "success"


def test_five_hops_are_followed_and_a_sixth_is_not(bench, web):
    for n in range(9):
        five = moved(f"http://h{n + 1}.test/five", 301 + n % 2)
        web.site(f"h{n}.test", {"/five": five, "/six": moved(f"http://h{n + 1}.test/six")})
    web.site("h5.test", {"/five": "the end"})
    bench.fetch("http://h0.test/five", "http://h0.test/six")
    rows = bench.rows()
    chain = [rows[f"http://h{n}.test/five"] for n in range(6)]
    assert [row["outcome"] for row in chain] == ["redirect_perm", "redirect_temp"] * 2 + ["redirect_perm", "success"]
    assert [row["hop_from"] for row in chain[1:]] == [row["url_key"] for row in chain[:-1]]
    assert [row["redirect_key"] for row in chain[:-1]] == [row["url_key"] for row in chain[1:]]
    assert {(row["score"], row["depth"]) for row in chain} == {(1_000_000, 0)}
    last = rows["http://h5.test/six"]
    assert (last["reason"], last["redirect_url"], last["redirect_key"]) == (
        "redirect_limit", "http://h6.test/six", None,
    )  # fmt: skip
    assert "http://h6.test/six" not in rows


def test_a_page_that_wants_a_cookie_back_is_a_loop(bench, web):
    def counted(request):
        return moved(f"/n?{int(request.target.partition('?')[2] or 0) + 1}", 302)

    web.site("a.test", {
        "/page": moved("/cookie?next=/page", 302), "/cookie": moved("/page", 302), "/n": counted,
    })  # fmt: skip
    bench.fetch("http://a.test/page", "http://a.test/n")
    rows = bench.rows()
    assert (rows["http://a.test/page"]["outcome"], rows["http://a.test/page"]["reason"]) == ("redirect_temp", None)
    loop = rows["http://a.test/cookie?next=/page"]
    assert (loop["outcome"], loop["reason"], loop["redirect_url"]) == (
        "redirect_temp", "redirect_loop", "http://a.test/page",
    )  # fmt: skip
    assert len(web.requests("a.test", "/page")) == 1
    assert rows["http://a.test/n?5"]["reason"] == "redirect_limit"  # each has a URL of its own: the limit ends it
    assert "http://a.test/n?6" not in rows


def test_a_crawl_of_endless_redirects_ends(tmp_path, web):
    """The limit holds for the whole run: no later round goes on where one stopped."""

    def counted(request):
        return moved(f"/n?{int(request.target.partition('?')[2] or 0) + 1}", 302)

    web.site("a.test", {"/": "<a href=/n>n</a>", "/n": counted})
    told = cobnut("crawl", tmp_path / "crawl", "http://a.test/", *to_web(web.port)).stdout
    assert "URLs known: 7 (redirect_temp 6, fetched 1)" in told
    assert [entry.target for entry in web.requests("a.test")] == [
        "/robots.txt", "/", "/n", *(f"/n?{n}" for n in range(1, 6)),
    ]  # fmt: skip
    why = cobnut("why", tmp_path / "crawl", "http://a.test/n").stdout
    assert (
        "→ http://a.test/n?5 (redirect_temp, redirect_limit: More redirects in a row than fetcher.max_redirects)" in why
    )


def test_robots_of_each_hop_is_asked_and_obeyed(bench, web):
    deny = Answer(body="User-agent: *\nDisallow: /no\n", content_type="text/plain")
    web.site("a.test", {"/x": moved("http://b.test/ok"), "/y": moved("/no/z"), "/robots.txt": deny, "/no/z": "secret"})
    web.site("b.test", {"/ok": moved("http://c.test/no"), "/robots.txt": deny})
    web.site("c.test", {"/no": "secret", "/robots.txt": deny})
    web.site("d.test", {"/x": moved("http://e.test/"), "/robots.txt": Answer(404)})
    web.site("e.test", {"/": "never", "/robots.txt": Answer(500)})
    bench.fetch("http://a.test/x", "http://a.test/y", "http://d.test/x")
    rows = bench.rows()
    for url in ("http://c.test/no", "http://a.test/no/z"):
        assert (rows[url]["outcome"], rows[url]["reason"]) == ("denied", "robots_denied")
        assert rows[url]["hop_from"] is not None
        assert rows[url]["warc_file"] is None
    assert (rows["http://e.test/"]["outcome"], rows["http://e.test/"]["reason"]) == ("retry", "robots_unreachable")
    for host, target in (("c.test", "/no"), ("a.test", "/no/z"), ("e.test", "/")):
        assert not web.requests(host, target)
        assert len(web.requests(host, "/robots.txt")) == 1


def test_hops_keep_the_pause_of_each_host(bench, web):
    web.site("a.test", {"/1": moved("/2"), "/2": moved("http://b.test/1"), "/4": "end", "/other": "x"})
    web.site("b.test", {"/1": moved("/2"), "/2": moved("http://a.test/4")})
    bench.fetch("http://a.test/1", "http://a.test/other", settings=bench.with_settings(delay_s=0.3))
    assert bench.row("http://a.test/4")["outcome"] == "success"
    for host in ("a.test", "b.test"):
        times = sorted(entry.at_s for entry in web.requests(host))
        assert len(times) >= 3
        assert min(later - earlier for earlier, later in itertools.pairwise(times)) >= 0.25
