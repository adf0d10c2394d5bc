"""The sample site has what its page about reasons promises, and every link but the meant ones leads somewhere."""

import re
import urllib.request

import pytest

from cobnut.testing import sample

DEAD, CLOSED = "/roadmap.html", "/private/notes.html"


@pytest.fixture(scope="module")
def address():
    return sample.serve()


def get(url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=10) as answer:
        return answer.url, answer.read().decode()


def test_every_link_leads_somewhere_but_the_one_that_is_meant_to(address):
    seen, todo, dead = set(), ["/"], []
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        try:
            url, text = get(address.rstrip("/") + path)
        except urllib.error.HTTPError as error:
            dead.append((path, error.code))
            continue
        base = url.removeprefix(address.rstrip("/"))
        for href in re.findall(r'href="([^"]+)"', text):
            todo.append(href if href.startswith("/") else base.rpartition("/")[0] + "/" + href)
    assert dead == [(DEAD, 404)]
    assert len(seen - {DEAD, "/about"}) == len(sample.pages()) - len(("/about", "/robots.txt", "/sitemap.xml"))


def test_robots_and_sitemap_name_this_address(address):
    robots = get(address + "robots.txt")[1]
    assert "Disallow: /private/" in robots
    assert f"Sitemap: {address}sitemap.xml" in robots
    listed = re.findall("<loc>(.*?)</loc>", get(address + "sitemap.xml")[1])
    assert 20 <= len(listed) <= 30
    assert address + CLOSED[1:] not in listed
    for url in listed:
        assert "<" not in get(url)[1][:1] or url.endswith((".html", "/"))


def test_the_special_pages_are_special(address):
    assert get(address + "about")[0] == address
    assert get(address + "crawling.html")[1] == get(address + "print/crawling.html")[1]
    assert '<meta name="robots" content="noindex">' in get(address + "drafts.html")[1]
    for folder, lang in (("de", "de"), ("ja", "ja"), ("zh", "zh")):
        assert f'<html lang="{lang}">' in get(f"{address}{folder}/")[1]


def test_pages_are_long_enough_to_be_found_by_their_words(address):
    for path, page in sample.pages().items():
        if path.endswith(".html") and path not in (CLOSED, "/drafts.html"):
            assert len(page.body.split()) > 120, path
