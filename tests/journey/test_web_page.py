"""The search page in a real browser: searching, paging, keyboard, narrow windows, night colours, hostile pages."""

import shutil
from urllib.parse import quote

import pytest
from browser import ENTER, Browser
from search_pages import HOSTILE, Server, document, make_crawl, publish

from cobnut.config.credentials import new_api_key, new_login

pytestmark = [
    pytest.mark.browser,
    pytest.mark.serial,
    pytest.mark.skipif(not shutil.which("chromedriver"), reason="no chromedriver: install the package chromium-driver"),
]

TAB = "\ue004"
LONG = "Donaudampfschifffahrtsgesellschaftskapitänswitwenrente" * 6


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    crawl = make_crawl(tmp_path_factory.mktemp("page") / "crawl")
    pages = [document(n) for n in range(155)]
    pages += [
        document(300, title=HOSTILE, text=f"wildwood {HOSTILE}", path="?x=" + quote(HOSTILE), language='x" onload="'),
        document(
            301,
            title=f"wildwood {LONG}",
            text=f"wildwood {LONG}",
            path=f"{LONG}/{LONG}?{LONG}",
            host="a" * 60 + ".example",
        ),
        document(302, title="wildwood", url="javascript:alert(1)", text="wildwood"),
        document(
            303, title="شجرة البندق wildwood", text="البندق شجرة من الفصيلة البتولية", language="ar", host="ar.example"
        ),
    ]
    publish(crawl, pages)
    with Server(crawl) as running:
        yield running


@pytest.fixture(scope="module", params=[(360, 640), (1280, 800)], ids=["360x640", "1280x800"])
def browser(request, tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile"), *request.param) as running:
        yield running


ADDRESSES = [
    "",
    "search?q=hazel",
    "search?q=hazel&page=8",
    "search?q=hazel&explain=1",
    "search?q=wildwood&explain=1",
    f"search?q={quote(HOSTILE)}",
    f"search?q={quote(LONG)}",
    "search?q=hazel&page=999",
    "search?q=hazel&page=x",
    "nowhere",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_window_scrolls_sideways_and_nothing_is_cut_off(server, browser, address, scheme):
    browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open(server.url + address)
    assert not browser.has_dialog()
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    outside = browser.run(
        "return [...document.querySelectorAll('main *, header *, footer *')]"
        ".filter(e => !e.closest('.aside') && e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML)"
    )
    assert outside == []
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(253, 251, 247)", "dark": "rgb(26, 23, 20)"}[scheme]
    errors = [line for line in browser.complaints() if "status of 40" not in line]
    assert errors == []


def test_a_search_from_the_first_page_to_the_last_result(server, browser):
    browser.open(server.url)
    browser.wait_for("document.activeElement.name == 'q'")
    browser.press("hazel" + ENTER)
    browser.wait_for(
        "location.href == arguments[0] && document.readyState == 'complete'", f"{server.url}search?q=hazel"
    )
    assert browser.title == "hazel – Cobnut"
    assert browser.run("return document.querySelectorAll('.hit').length") == 10
    browser.click(".pages a[rel=next]")
    browser.wait_for("location.href == arguments[0]", f"{server.url}search?q=hazel&page=2")
    browser.open(f"{server.url}search?q=hazel&page=16")
    assert browser.run("return document.querySelectorAll('.hit').length") == 5
    assert browser.run("return document.querySelector('[aria-current=page]').innerText").split()[-1] == "16"
    browser.click(".name")
    browser.wait_for("location.href == arguments[0]", server.url)


def test_reasons_are_shown_on_demand(server, browser):
    browser.open(f"{server.url}search?q=hazel")
    browser.click(".summary a")
    browser.wait_for("document.querySelectorAll('details').length == 10")
    assert browser.run("return [...document.querySelectorAll('details')].filter(e => e.open).length") == 1
    browser.click(".hit:nth-child(2) summary")
    assert browser.run("return document.querySelectorAll('details')[1].querySelector('table').offsetHeight") > 20


def test_the_keyboard_reaches_everything_and_shows_where_it_is(server, browser):
    browser.open(f"{server.url}search?q=hazel")
    browser.press(TAB)
    assert browser.run("return document.activeElement.className") == "skip"
    assert browser.run("return document.activeElement.getBoundingClientRect().top") >= 0
    reached = []
    for _ in range(7):
        browser.press(TAB)
        reached.append(browser.run("return document.activeElement.id || document.activeElement.innerText"))
        assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid", reached
    assert reached[:4] == ["Cobnut", "q", "Search", "Why these results?"]
    assert reached[4].startswith("Page ")


def test_hostile_pages_stay_text(server, browser):
    browser.open(f"{server.url}search?q=wildwood&explain=1")
    assert not browser.has_dialog()
    assert browser.run("return document.querySelectorAll('script, svg, iframe, [onload], [onerror]').length") == 0
    assert HOSTILE in browser.run("return document.querySelector('main').innerText")
    assert browser.run("return [...document.links].filter(a => !/^https?:$/.test(a.protocol)).length") == 0
    browser.open(f"{server.url}search?q={quote(HOSTILE)}")
    assert browser.run("return document.querySelector('#q').value") == HOSTILE


def test_right_to_left_titles_stand_right(server, browser):
    browser.open(f"{server.url}search?q={quote('البندق')}")
    assert browser.run("return getComputedStyle(document.querySelector('.hit h2')).direction") == "rtl"
    assert browser.run("return document.querySelector('.hit').lang") == "ar"
    assert browser.run("return getComputedStyle(document.querySelector('.place')).direction") == "ltr"


def test_the_policy_stops_what_a_page_might_smuggle_in(server, browser):
    browser.open(f"{server.url}search?q=hazel")
    browser.run(
        "window.ran = 0; const e = document.createElement('div');"
        "e.innerHTML = '<img src=x onerror=\"window.ran = 1\">'; document.body.append(e);"
        "const s = document.createElement('script'); s.textContent = 'window.ran = 2'; document.body.append(s);"
    )
    assert browser.run("return window.ran") == 0
    assert any("Content Security Policy" in line for line in browser.complaints())


@pytest.fixture
def closed(tmp_path):
    crawl = make_crawl(tmp_path / "crawl")
    publish(crawl, [document(n) for n in range(3)])
    settings = [
        f"serve.basic_auth={new_login('alice', 'secret').text()}", "serve.rate_per_s=0.05", "serve.rate_burst=6",
        "fetcher.agent_name=NutBot", f"fetcher.agent_contact=https://nuts.example/{'long' * 90}",
        "fetcher.agent_addresses=192.0.2.0/28,2001:db8::7",
    ]  # fmt: skip
    with Server(crawl, settings=settings) as running:
        yield running


def test_a_search_for_those_with_a_key(tmp_path, browser):
    crawl = make_crawl(tmp_path / "crawl")
    publish(crawl, [document(1)])
    with Server(crawl, settings=[f"serve.api_keys={new_api_key('ci')[1].text()}"]) as server:
        browser.open(f"{server.url}search?q=hazel")  # with a login instead of a key the browser asks by itself
        assert "Please log in" in browser.run("return document.querySelector('main').innerText")
        assert browser.run("return getComputedStyle(document.body).fontFamily").startswith("system-ui")
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")


def test_a_closed_page_about_the_crawler_login_and_limit(closed, browser):
    fits = "return document.documentElement.scrollWidth <= window.innerWidth"
    browser.open(f"{closed.url}bot")
    assert browser.title == "About the crawler NutBot"
    assert browser.run(fits)
    assert browser.run("return getComputedStyle(document.querySelector('pre')).whiteSpaceCollapse") == "preserve"
    browser.open(f"{closed.url.replace('//', '//alice:secret@')}search?q=hazel")
    assert browser.run("return document.querySelectorAll('.hit').length") == 3
    for _ in range(8):
        browser.open(f"{closed.url}search?q=hazel&page=1")
    assert "Too many requests" in browser.run("return document.querySelector('main').innerText")
    assert browser.run("return getComputedStyle(document.body).fontFamily").startswith("system-ui")  # its style came
    assert browser.run(fits)
    assert browser.run("return document.querySelector('main a').href") == f"{closed.url}search?q=hazel&page=1"
