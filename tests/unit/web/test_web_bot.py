"""The page about the crawler: it says what the settings say, escaped, served and as a file of its own."""

import re
from html import unescape

import pytest
from search_pages import HOSTILE, Server, document, make_crawl, publish

from cobnut.config.agent import user_agent
from cobnut.config.sections import FetcherSettings
from cobnut.fetcher.robots import RobotsRules, product_token
from cobnut.parsers.directives import robots_of_header, robots_of_page
from cobnut.web.bot import standalone

FULL = FetcherSettings(
    agent_name="NutBot", agent_version="2", agent_contact="me@nuts.example", agent_url="https://nuts.example/bot",
    agent_addresses=("192.0.2.0/28", "2001:db8::7"), delay_s=2.5, max_delay_s=90, connections_per_host=2,
)  # fmt: skip


def text_of(html):
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)).split())


def test_it_says_what_the_crawler_goes_by():
    text = text_of(standalone(FULL, "0.1"))
    assert f"User-Agent: {user_agent(FULL, '0.1')}" in text
    for said in (
        "From: me@nuts.example", "192.0.2.0/28 , 2001:db8::7", "at most 2 connections to a host at a time",
        "waits 2.5 seconds between", "Crawl-delay of up to 90 seconds", "at most 24 hours", "first 500 KiB",
    ):  # fmt: skip
        assert said in text, said
    assert 'href="mailto:me@nuts.example"' in standalone(FULL, "0.1")


def examples():
    return [unescape(text) for text in re.findall(r"<pre>(User-agent:.*?)</pre>", standalone(FULL, "0.1"), re.DOTALL)]


def test_the_examples_for_robots_txt_do_what_is_said():
    everything, part, slower = (
        RobotsRules.parse(text.encode(), product_token(user_agent(FULL, "0.1"))) for text in examples()
    )
    assert not everything.allows("http://a.test/x")
    assert not part.allows("http://a.test/private/x")
    assert part.allows("http://a.test/x")
    assert slower.crawl_delay_ms == 10_000


def test_the_examples_for_pages_do_what_is_said():
    agent = user_agent(FULL, "0.1")
    assert robots_of_page([("robots", "noindex")], [], agent).noindex
    assert robots_of_page([("NutBot", "noindex")], [], agent).noindex
    assert robots_of_header("noindex", agent).noindex
    assert robots_of_header("nutbot: nofollow", agent).nofollow


def test_little_is_known_and_said_so():
    text = text_of(standalone(FetcherSettings(agent_name="Nut", agent_contact="https://a.example/me"), "0.1"))
    assert "waits 1 second between" in text
    assert "addresses are not published" in text
    assert "From:" not in text
    assert "left no address" in text_of(standalone(FetcherSettings(agent_name="Nut"), "0.1"))


def test_it_needs_nothing_beside_it():
    html = standalone(FULL, "0.1")
    assert not re.search(r'src=|<link|url\(|@import|<script|href="/', html)
    assert "<style>" in html
    assert "main > *" in html  # the style sheet as it is, not escaped


def test_settings_never_become_markup():
    fetcher = FetcherSettings(
        agent_name=HOSTILE, agent_contact=HOSTILE, agent_url="https://x/" + HOSTILE.replace(" ", "")
    )
    html = standalone(fetcher, "0.1")
    assert not re.search(r"<(script|svg)", html)
    for link in re.findall(r'href="([^"]*)"', html):
        assert link.startswith(("https://x/", "mailto:"))


@pytest.fixture
def crawl(tmp_path):
    path = make_crawl(tmp_path / "crawl")
    publish(path, [document(1)])
    return path


def test_served_when_there_is_a_name(crawl):
    with Server(crawl, settings=["fetcher.agent_name=NutBot", "fetcher.agent_contact=me@nuts.example"]) as server:
        answer = server.get("/bot")
        assert (answer.status, answer.headers["cache-control"]) == (200, "public, max-age=3600")
        assert "User-Agent: NutBot/0.1 (me@nuts.example)" in text_of(answer.text)
        assert "noindex" not in answer.text.partition("</head>")[0]
        assert "Skip to the content" in answer.text
        assert "Skip to the results" in server.get("/search?q=hazel").text
        assert 'href="/bot"' in server.get("/").text
        assert server.get("/bot", method="HEAD").body == b""


def test_not_without_one(crawl):
    with Server(crawl) as server:
        assert server.get("/bot").status == 404
        assert "/bot" not in server.get("/").text
