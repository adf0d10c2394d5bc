"""What a site sees of us: the agent, and the address to write to, as real requests carry them."""

import re

import pytest

from cobnut.config.agent import from_address, user_agent
from cobnut.config.load import load_settings
from cobnut.config.sections import FetcherSettings
from cobnut.errors import InputError
from cobnut.fetcher.pool import FetchPool
from cobnut.testing.fakeweb.scripted import Answer

# RFC 9110: product = token ["/" product-version]; comments may follow. RFC 9309 narrows the token to letters, - and _.
USER_AGENT = re.compile(r"[A-Za-z_-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+( \([\x20-\x27\x2a-\x5b\x5d-\x7e]*\))?")

FULL = {
    "agent_name": "Nut_Bot", "agent_version": "2.1", "agent_url": "https://nuts.example/bot",
    "agent_contact": "me@nuts.example",
}  # fmt: skip


@pytest.fixture
def pages(web):
    moved = Answer(301, headers={"Location": "http://b.test/"})
    web.site("a.test", {"/robots.txt": "User-agent: nut_bot\nDisallow: /private\n", "/": "<p>hello", "/moved": moved})
    web.site("b.test", {"/": "<p>there"})
    return web


def test_every_request_says_who_asks_and_whom_to_write_to(tmp_path, pages, bench_class):
    with FetchPool(1) as pool:  # of its own: a worker keeps its name
        bench = bench_class(tmp_path / "crawl", pages, pool, **FULL)
        bench.fetch("http://a.test/", "http://a.test/moved", "http://a.test/private/page")
    asked = pages.log
    assert {"/robots.txt", "/"} <= {entry.target for entry in asked}
    assert {entry.host for entry in asked} >= {"a.test"}
    for entry in asked:
        assert entry.headers["user-agent"] == "Nut_Bot/2.1 (+https://nuts.example/bot; me@nuts.example)", entry
        assert entry.headers["from"] == "me@nuts.example", entry
    assert not pages.requests("a.test", "/private/page")  # the group is found by the product token, whatever its case


def test_a_contact_that_is_a_page_is_no_from(tmp_path, pages, bench_class):
    with FetchPool(1) as pool:
        bench = bench_class(
            tmp_path / "crawl", pages, pool, agent_name="Nut", agent_contact="https://nuts.example/contact"
        )
        bench.fetch("http://a.test/")
    assert pages.log
    for entry in pages.log:
        assert entry.headers["user-agent"] == "Nut/0.1 (https://nuts.example/contact)"
        assert "from" not in entry.headers


@pytest.mark.parametrize(
    "settings",
    [
        {}, {"agent_name": "Nut"}, {"agent_name": "Nut", "agent_version": "1.0+b"}, FULL,
        {"agent_name": "Nut", "agent_contact": "https://a.example/?x=1&y=2;z"}, {"agent_contact": "me@a.example"},
        {"agent_name": "Nut", "agent_contact": '"me"@a.example'},
    ],
)  # fmt: skip
def test_whatever_may_be_set_is_a_valid_user_agent(settings):
    overrides = [f"fetcher.{key}={value}" for key, value in settings.items()]
    fetcher = load_settings(None, environ={}, overrides=overrides).settings.fetcher
    assert USER_AGENT.fullmatch(user_agent(fetcher, "0.1.0"))


@pytest.mark.parametrize(
    "override",
    [
        "agent_name=Nut Bot", "agent_name=Nut/2", "agent_name=Nüt", "agent_name=Nut2", "agent_version=1 0",
        "agent_version=1;0", "agent_contact=a) b", "agent_contact=a\\b", "agent_contact=a\nX: y", "agent_contact=ü",
        "agent_url=nuts.example", "agent_url=javascript:alert(1)", "agent_addresses=here",
    ],
)  # fmt: skip
def test_what_would_not_be_one_is_refused(override):
    with pytest.raises(InputError, match=r"fetcher\.agent_"):
        load_settings(None, environ={}, overrides=[f"fetcher.{override}"])


@pytest.mark.parametrize(
    ("contact", "address"),
    [
        ("me@a.example", "me@a.example"), ("https://a.example/@me", None), ("", None), ("me@localhost", None),
        ("me@a.example, you@a.example", None), ("me <me@a.example>", None),
    ],
)  # fmt: skip
def test_from_is_one_address(contact, address):
    assert from_address(FetcherSettings(agent_contact=contact)) == address
