"""Which refusals are a challenge or want a login, and which only refuse?

The pages are written by hand after the structure of real ones.
"""

# ruff: noqa: E501

import gzip

import pytest

from cobnut.fetcher.refusal import CHALLENGING, flags_of_refusal, sketch
from cobnut.records.outcomes import FLAGS

HTML = {"content-type": "text/html; charset=utf-8"}
WORDS = "The quick brown fox jumps over the lazy dog near the bank of a slow river. "
FORM = "<form method=post><label>Name<input name=u></label><input type=password name=p><button>Sign in</button></form>"
CHALLENGE = (
    "<title>Just a moment...</title><body><noscript>Enable JavaScript and cookies to continue</noscript>"
    "<script>(function(){window._cf_chl_opt={cvId:'3'};})();</script>"
)
HOLD = '<title>Access to this page has been denied</title><p>Press &amp; Hold to confirm you are a human</p><div id="px-captcha"></div>'
TRAFFIC = (
    "<title>Sorry</title><script>x()</script><p>Our systems have detected unusual traffic from your computer network."
)
LOGIN_WORDS = "<title>Forbidden</title><h1>403</h1><p>You must be logged in to view this page."


@pytest.mark.parametrize("status", sorted(CHALLENGING))
@pytest.mark.parametrize("body", [CHALLENGE, HOLD, TRAFFIC])
def test_challenges_come_with_any_refusal(status, body):
    assert flags_of_refusal(status, HTML, body.encode()) == ("bot_challenge",)


@pytest.mark.parametrize(
    ("status", "headers", "body", "expected"),
    [
        (401, {"www-authenticate": "Basic realm=x"}, "", "login_wall"),
        (401, {"www-authenticate": "Negotiate"} | HTML, "<h1>Unauthorized</h1>", "login_wall"),
        (403, {"www-authenticate": "Bearer"}, "", "login_wall"),
        (401, HTML, f"<title>Sign in</title>{FORM}", "login_wall"),
        (403, HTML, f"<title>Sign in</title>{FORM}", "login_wall"),
        (403, HTML, LOGIN_WORDS, "login_wall"),
        (403, {}, f"  <html>{FORM}", "login_wall"),
        (401, HTML, "", None),
        (401, {"www-authenticate": " "}, "", None),
        (503, HTML | {"www-authenticate": "Basic"}, FORM, None),
        (429, HTML, LOGIN_WORDS, None),
        (403, {"cf-mitigated": "challenge"}, "", "bot_challenge"),
        (405, {"x-amzn-waf-action": "captcha"}, "", "bot_challenge"),
        (403, HTML, "<title>403 Forbidden</title><center><h1>403 Forbidden</h1></center><hr>nginx", None),
        (403, HTML, "<title>Access denied</title><p>You are not allowed to see this.", None),
        (429, HTML, "<title>429 Too Many Requests</title><h1>Too Many Requests</h1>", None),
        (503, HTML, "<title>503</title><p>We are down for maintenance. Please come back later.", None),
        (403, HTML, "<title>Join</title><form><input type=password><input type=password></form>", None),
        (403, HTML, "<title>New</title><form><input type=password autocomplete=new-password></form>", None),
        (403, HTML, f"<title>Blog</title><p>{WORDS * 20}Checking your browser before accessing.", None),
        (403, {"content-type": "application/json"}, CHALLENGE, None),
        (403, {"content-type": "application/pdf"}, "%PDF", None),
        (404, HTML, CHALLENGE, None),
        (500, HTML, CHALLENGE, None),
        (200, HTML, CHALLENGE, None),
        (301, {"cf-mitigated": "challenge"}, "", None),
    ],
)
def test_what_refuses_says_whom_or_nothing(status, headers, body, expected):
    assert flags_of_refusal(status, headers, body.encode()) == (expected and (expected,))


@pytest.mark.parametrize(
    ("coding", "packed"),
    [("gzip", gzip.compress(CHALLENGE.encode())), ("gzip", CHALLENGE.encode()), ("identity", CHALLENGE.encode()),
     ("gzip", gzip.compress(CHALLENGE.encode())[:-20]), ("x-unknown", CHALLENGE.encode())],
)  # fmt: skip
def test_the_coding_of_the_body_is_undone(coding, packed):
    assert flags_of_refusal(503, HTML | {"content-encoding": coding}, packed) == ("bot_challenge",)


def test_other_charsets_are_read():
    body = "<meta charset=gbk><title>登录</title><script></script><p>请完成安全验证".encode("gbk")
    assert flags_of_refusal(403, {"content-type": "text/html"}, body) == ("bot_challenge",)


def test_only_the_beginning_is_looked_at_and_a_bomb_stays_small():
    late = b"<p>" + b" " * 70_000 + CHALLENGE.encode()
    assert flags_of_refusal(403, HTML, late) is None
    bomb = gzip.compress(b"<p>" + b"a " * 50_000_000, 1)
    assert flags_of_refusal(403, HTML | {"content-encoding": "gzip"}, bomb) is None


@pytest.mark.parametrize(
    "part",
    ["<noscript>", "<noscript", "<script", "<script>", "<title", "<input", "<input type=", "<!--", "<", "<a ", "&#", "&amp",
     "type = ", "İ<script>", "</script", "verify you are ", "\x00", " "],
)  # fmt: skip
def test_no_body_makes_it_slow(part):
    """What goes back and forth over the text would take minutes, and the test would not end."""
    body = (part * (3_000_000 // len(part.encode()))).encode()
    assert flags_of_refusal(403, HTML, body) in (None, ("bot_challenge",))


def test_what_a_page_shows():
    seen = sketch(
        "<title> A &amp;\n B</title><!-- <p>no --><style>p{}</style><p>shown <b>too</b></p><SCRIPT>x<y</SCRIPT >after"
        "<template>no</template><a href=x>y</a><script>never ends"
    )
    assert (seen.title, seen.text, seen.links, seen.scripts) == ("A & B", "shown too after y", 1, 2)
    seen = sketch("<input TYPE = 'Password' autocomplete=off><input type=text value=password>")
    assert (seen.passwords, seen.new_passwords) == (1, 0)


def test_the_flags_are_those_of_the_list():
    assert {"bot_challenge", "login_wall"} <= FLAGS.keys()
