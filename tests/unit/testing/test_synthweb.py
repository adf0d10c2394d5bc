"""The made-up web is the same for ever: figures measured on it stay comparable."""

import hashlib

import pytest

from cobnut.testing.fakeweb import Request, SynthWeb
from cobnut.testing.fakeweb.synthweb import options

PATHS = (
    "/", "/robots.txt", "/sitemap.xml", "/feed.xml", "/p/1.html", "/p/7.html", "/p/34.html", "/p/50.html", "/p/51.html",
    "/private/x", "/cal/2024/12", "/list?a=1&b=2", "/d/x/", "/loop/a", "/m/3/1", "/q/1.html", "/nowhere",
    "/x/many-links", "/x/utf16",
)  # fmt: skip


def ask(web: SynthWeb, k: int, path: str):
    return web.respond(Request(f"GET {path} HTTP/1.1\r\nHost: {web.name(k)}".encode(), "http"))


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("hosts=300,pages=6000,seed=3,delay=0", "5479c9d0cb1db0a77e759c0b513f16dd52cde4ae8bf5c47f1a158d78a2b729e7"),
        ("hosts=20,pages=3000,links=96,kb=46", "5ab2dd3fda583ed6fac5cca125f191c7955b4dda3245b35fdf94911641cc7745"),
        (
            "hosts=40,pages=2000,quirks=0,seed=9,zipf=0.7",
            "2a19a5bab5d4f286262285b6a94e1de3ab0982b1bd97f1eb2831c7227ef6be81",
        ),
    ],
)
def test_the_same_options_give_the_same_bytes_for_ever(text, digest):
    web, found = SynthWeb(**options(text)), hashlib.sha256()
    for k in range(web.host_count):
        for path in PATHS:
            answer = ask(web, k, path)
            body = hashlib.sha256(answer.body).hexdigest()
            found.update(repr((k, path, answer.status, answer.headers, body)).encode())
    assert found.hexdigest() == digest


@pytest.fixture(scope="module")
def web() -> SynthWeb:
    return SynthWeb(hosts=300, pages=6000, seed=3, delay=0)


def host_with(web: SynthWeb, **wanted: object) -> int:
    return next(
        k
        for k in range(web.host_count)
        if web.size[k] > 2 and all(getattr(web.kind(k), name) == value for name, value in wanted.items())
    )


def test_another_seed_is_another_web(web):
    k = host_with(web, quirk="plain")
    assert web.page(k, 1).body != SynthWeb(hosts=300, pages=6000, seed=4).page(k, 1).body


def test_every_page_of_a_host_is_reached_by_links(web):
    k = host_with(web, quirk="plain")
    seen, todo = {0}, [0]
    while todo:
        for j, n in web.targets(k, todo.pop()):
            if j == k and n not in seen:
                seen.add(n)
                todo.append(n)
    assert len(seen) == web.size[k]


def test_each_page_has_a_word_of_its_own_that_stands_on_it(web):
    originals = [(k, n) for k in range(web.host_count) for n in range(web.size[k]) if web.origin(k, n) == (k, n)]
    assert len({web.page_word(k, n) for k, n in originals}) == len(originals)
    for k, n in originals[:50]:
        body = web.page(k, n).body.decode(web.kind(k).charset)
        assert web.page_word(k, n) in body


def test_a_mirror_shows_the_pages_of_its_neighbour(web):
    k = host_with(web, quirk="mirror")
    assert web.page_word(k - 1, 1).encode() in web.page(k, 1).body


@pytest.mark.parametrize(
    ("robots", "status"),
    [("none", 404), ("allow", 200), ("all", 200), ("error403", 403), ("error503", 503), ("redirect", 301)],
)
def test_robots_kinds(web, robots, status):
    assert ask(web, host_with(web, robots=robots, quirk="plain"), "/robots.txt").status == status


def test_quirks(web):
    assert ask(web, host_with(web, quirk="soft404"), "/nowhere").status == 200
    assert ask(web, host_with(web, quirk="plain"), "/nowhere").status == 404
    assert b"/cal/2025/1" in ask(web, host_with(web, quirk="calendar"), "/cal/2024/12").body
    burst = host_with(web, quirk="burst")
    assert {ask(web, burst, "/").status for _ in range(40)} == {200, 503}
    session = host_with(web, quirk="session")
    assert ask(web, session, "/").body != ask(web, session, "/").body


def test_a_page_is_filled_to_the_size_asked_for():
    web = SynthWeb(hosts=3, pages=300, links=96, kb=46, quirks=0)
    sizes = [len(web.page(0, n).body) for n in range(100)]
    assert 38_000 < sum(sizes) / len(sizes) < 50_000


def test_the_description_counts_every_host(web):
    truth = web.describe()
    assert sum(truth["quirk"].values()) == truth["hosts"] == 300
    assert truth["pages"] == sum(web.size)
    assert len(web.describe(limit=5)["by_host"]) == 5
