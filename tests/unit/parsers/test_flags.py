"""Which pages are no pages to be read, and which only look like it?

The pages are written by hand after the structure of real ones.
"""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from cobnut.config.sections import Settings
from cobnut.parsers.page import PageInput, parse_page
from cobnut.records.outcomes import FLAGS

WORDS = "The quick brown fox jumps over the lazy dog near the bank of a slow river. "
SCRIPT = "<script src=/static/js/main.3f2a.js></script>"
FORM = "<form action=/session method=post><label>Name<input name=u></label><input type=password name=p><button>Sign in</button></form>"


def flags(html: str) -> list[str]:
    page = PageInput("http://a.test/", html.encode(), [("Content-Type", "text/html; charset=utf-8")])
    found = parse_page(page, Settings()).flags
    assert found is None or found
    return found or []


CHALLENGES = {
    "interstitial": "<title>Just a moment...</title><body><noscript>Enable JavaScript and cookies to continue</noscript>"
    "<script>(function(){window._cf_chl_opt={cvId:'3'};})();</script>",
    "interstitial of old": "<title>Just a moment...</title><h1>Checking your browser before accessing a.test.</h1>"
    '<p>This process is automatic. Your browser will redirect shortly.<form id="challenge-form"></form>',
    "captcha host": "<title>a.test</title><p id=cmsg>Please enable JS and disable any ad blocker</p>"
    "<script>var dd={'rt':'c'}</script><script src=https://ct.captcha-delivery.com/c.js></script>",
    "press and hold": '<title>Access to this page has been denied</title><p>Press &amp; Hold to confirm you are a human</p><div id="px-captcha"></div>',
    "captcha alone": "<title>Security check</title><p>Please verify you are human</p><div class=g-recaptcha data-sitekey=x></div>"
    "<script src=https://www.google.com/recaptcha/api.js></script>",
    "nothing but a frame": "<html><head><meta name=robots content=noindex></head><body>"
    '<iframe src="/_Incapsula_Resource?CWUDNSAI=9">Request unsuccessful. Incapsula incident ID: 1</iframe></body>',
    "unusual traffic": f"<title>http://a.test/</title>{SCRIPT}<p>Our systems have detected unusual traffic from your computer network.",
    "proof of work": "<title>Making sure you&#39;re not a bot!</title><script id=anubis_challenge type=application/json>{}</script>"
    "<p>Making sure you're not a bot!",
    "cookie": "<title>You are being redirected...</title><noscript>Javascript is required.</noscript>"
    "<script>var s={},u,c; sucuri_cloudproxy_js='';</script>",
    "chinese": f"<title>百度安全验证</title><div>请完成安全验证</div>{SCRIPT}",
    "token": "<title></title><script>window.awsWafCookieDomainList=[];</script><script src=https://x.token.awswaf.com/challenge.js></script>"
    "<body><div id=challenge-container></div><script>AwsWafIntegration.checkForceRefresh()</script>",
}
SCRIPTED = {
    "app root": f"<title>Shop</title><body><noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>{SCRIPT}",
    "root, no noscript": f'<title>Shop</title><body><div id="__next"><!-- --> </div>{SCRIPT}',
    "own element": f"<title>App</title><body><app-root></app-root>{SCRIPT}",
    "noscript": f"<title>Map</title><body><noscript><p>This site requires JavaScript.</p></noscript><div class=map></div>{SCRIPT}",
    "said in the text": f"<title>Board</title><body><p>Sorry, this page does not work without JavaScript.</p>{SCRIPT}",
    "german": f"<title>Seite</title><body><noscript>Bitte JavaScript aktivieren</noscript>{SCRIPT}",
    "nothing at all": f"<title>X</title><body><div class=loader></div>{SCRIPT}",
    "redirect by script": "<title>Moved</title><body>Loading<script>window.location.replace('/start')</script>",
}
WALLS = {
    "form": f"<title>Sign in</title><body><h1>Sign in</h1>{FORM}<a href=/forgot>Forgot?</a>",
    "words": "<title>Forum</title><body><p>You must be logged in to view this topic.</p><a href=/login>Log in</a>",
    "words and form": f"<title>Archive</title><body><nav>{'<a href=/x>Section of it</a> ' * 30}</nav><p>Please log in to continue.</p>{FORM}",
    "single sign-on": "<title>Docs</title><body><h1>Sign in to continue</h1><a href=/oauth>Continue with your organisation</a>",
    "chinese": f"<title>登录</title><body><p>请先登录</p>{FORM}",
}
ORDINARY = {
    "article about challenges": f"<title>Just a moment: how challenges work</title><p>{WORDS * 12}Checking your browser before accessing. "
    f"Verify you are human.</p>{SCRIPT}",
    "protection script on a page": f"<title>News</title><p>{WORDS * 3}</p><script>a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'</script>"
    "<script src=/_Incapsula_Resource?SWJIYLWA=7></script>",
    "comment form with a captcha": f"<title>Post</title><p>{WORDS * 4}</p><form><textarea></textarea><div class=h-captcha></div></form>{SCRIPT}",
    "short page without scripts": "<title>Hello</title><p>Hello, world.",
    "short page with scripts": f"<title>Hello</title><p>Hello, world. <a href=/a>a</a> <a href=/b>b</a> <a href=/c>c</a></p>{SCRIPT}",
    "rendered app": f"<title>Shop</title><noscript>Enable JavaScript to run this app.</noscript><div id=root><p>{WORDS * 8}</p></div>{SCRIPT}",
    "short page with counters": f"<title>Contact</title><p>Write to us: 1 Long Street, Springfield. Phone 555 0100.</p>{SCRIPT}",
    "gallery": f"<title>Photos</title>{'<img src=/p.jpg alt=p>' * 9}{SCRIPT}",
    "player": f"<title>Film</title><video src=/v.mp4></video>{SCRIPT}",
    "login box beside text": f"<title>Forum</title><header>{FORM}</header><main><p>{WORDS * 12}</p></main>",
    "front page of a forum": f"<title>Forum</title><p>{WORDS * 22}</p>{FORM}<p>Please log in to post.",
    "registration": "<title>Join</title><h1>Join us</h1><form><input name=u><input type=password><input type=password></form>",
    "new password": "<title>Reset</title><form><input type=password autocomplete=new-password></form>",
    "text about javascript": f"<title>JS</title><p>{WORDS * 10}This tutorial requires JavaScript to be enabled.</p>{SCRIPT}",
    "empty": "",
    "frameset": f"<title>F</title><frameset><frame src=/a><frame src=/b></frameset>{SCRIPT}",
}


@pytest.mark.parametrize("name", CHALLENGES)
def test_bot_challenges(name: str) -> None:
    assert flags(CHALLENGES[name]) == ["bot_challenge"]


@pytest.mark.parametrize("name", SCRIPTED)
def test_pages_that_need_javascript(name: str) -> None:
    assert flags(SCRIPTED[name]) == ["needs_javascript"]


@pytest.mark.parametrize("name", WALLS)
def test_login_walls(name: str) -> None:
    assert flags(WALLS[name]) == ["login_wall"]


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_pages(name: str) -> None:
    assert flags(ORDINARY[name]) == []


def test_a_page_may_be_two_things() -> None:
    assert flags(f"<title>In</title><noscript>Please enable JavaScript.</noscript>{FORM}{SCRIPT}") == [
        "needs_javascript", "login_wall",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "part",
    [
        "<noscript>", "<noscript>x", "<noscript", "<script", "<div id=root>", "<div id=root><!--", "<script>location", "javascript ", "enable ",
        "<div id=", "<!-- -->", " ", "verify you are ", "<app-root>", "<app-root><!-- -->", "\n",
    ],
)  # fmt: skip
def test_no_page_makes_the_patterns_slow(part: str) -> None:
    """Patterns that go back and forth would take minutes, and the test would not end."""
    flags("<body><script></script>" + part * (400_000 // len(part)))


def test_every_flag_is_documented() -> None:
    assert set(FLAGS) == {"needs_javascript", "login_wall", "bot_challenge"}
