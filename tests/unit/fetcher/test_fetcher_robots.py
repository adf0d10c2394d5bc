"""robots.txt: RFC 9309, what Google's matcher adds, and hostile files."""

import pytest

from cobnut.fetcher.robots import MAX_STARS_IN_ALL, RobotsRules, product_token, state_of_status

SITE = "https://example.test"


def allowed(text, path, agent="examplebot"):
    body = text if isinstance(text, bytes) else text.encode()
    return RobotsRules.parse(body, agent).allows(SITE + path)


@pytest.mark.parametrize(
    ("text", "checks"),
    [
        (
            "User-agent: *\nUser-agent: BadBot\nDisallow: /private/\nDisallow: /hide?\n",
            {"/private/x": False, "/hide?id=1": False, "/hide": True},
        ),
        (
            "User-agent: *\n\nDisallow: /private/\n\nDisallow: /tmp/\n",
            {"/private/x": False, "/tmp/x": False, "/x": True},
        ),
        ("User-agent: examplebot\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n", {"/a": False, "/b": True}),
        ("User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot/2.1\nAllow: /\n", {"/a": True}),
        ("User-agent: otherbot\nDisallow: /\n", {"/a": True}),
        ("User-agent: examplebot-news\nDisallow: /\n", {"/a": True}),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b\n", {"/a/c": False, "/a/b/c": True}),
        ("User-agent: *\nDisallow: /*.pdf$\n", {"/x/y.pdf": False, "/x/y.pdf?z": True}),
        ("User-agent: *\nDisallow:\n", {"/": True}),
        ("", {"/": True}),
        ("\ufeffUser-agent: *\nDisallow: /x\n", {"/x": False}),
        ("User-agent: *\rDisallow: /x\r", {"/x": False}),
        ("user-agent : *\ndisallow : /x # why\n", {"/x": False, "/y": True}),
        ("<html><body>Not found</body></html>", {"/": True}),
        ("User-agent: examplebot\nDisallow: /a\nUser-agent: otherbot\nDisallow: /b\n", {"/a": False, "/b": True}),
        (
            "User-agent: examplebot\nDisallow: /a\n\nUser-agent: otherbot\nDisallow: /b\n\nUser-agent: examplebot\n"
            "Disallow: /c\n",
            {"/a": False, "/b": True, "/c": False},
        ),
        ("User-agent: otherbot\nUser-agent: examplebot\nDisallow: /a\n", {"/a": False}),
        ("Disallow: /a\nUser-agent: *\nDisallow: /b\n", {"/a": True, "/b": False}),
        ("User-agent: *\nDisallow: /ä\n", {"/%C3%A4": False, "/%E4": True}),
        # RFC 9309 2.2.2: escapes of reserved characters are not these characters, all others are
        ("User-agent: *\nDisallow: /a%2fb\n", {"/a%2Fb": False, "/a%2fb/c": False, "/a/b": True, "/a%252Fb": True}),
        ("User-agent: *\nDisallow: /a/b\n", {"/a%2Fb": True, "/a/b": False}),
        ("User-agent: *\nDisallow: /a%3Fb\n", {"/a?b": True, "/a%3fb": False}),
        ("User-agent: *\nDisallow: /~%62az\n", {"/%7Ebaz": False, "/~%62az": False}),
        ("User-agent: *\nDisallow: /f-%2A.html\n", {"/f-*.html": False, "/f-x.html": True}),
        ("User-agent: *\nDisallow: /f-%24\n", {"/f-$x": False, "/f-": True}),
        ("User-agent: *\nDisallow: /\n", {"/robots.txt": True, "/a/robots.txt": False, "/robots.txt?x": False}),
    ],
)
def test_rules(text, checks):
    assert {path: allowed(text, path) for path in checks} == checks


def test_a_rule_in_another_charset_matches_its_own_bytes():
    assert not allowed(b"User-agent: *\nDisallow: /\xe4\n", "/%E4x")


def test_what_decides_can_be_told():
    rules = RobotsRules.parse(b"# hello\nUser-agent: *\n\nDisallow:  /a # secret\nAllow: /a/b\n", "examplebot", True)
    assert rules.rule_for(SITE + "/a/x") == "Disallow:  /a # secret"
    assert rules.rule_for(SITE + "/a/b") == "Allow: /a/b"
    assert rules.rule_for(SITE + "/z") is None


def test_crawl_delay_is_that_of_our_group():
    text = b"User-agent: *\nCrawl-delay: 7\n\nUser-agent: examplebot\nCrawl-delay: 2.5\nDisallow:\n"
    assert RobotsRules.parse(text, "examplebot").crawl_delay_ms == 2500
    assert RobotsRules.parse(text, "someoneelse").crawl_delay_ms == 7000
    assert RobotsRules.parse(b"User-agent: *\nCrawl-delay: soon\n", "x").crawl_delay_ms is None
    assert RobotsRules.parse(b"User-agent: *\nCrawl-delay: -1\n", "x").crawl_delay_ms is None
    assert RobotsRules.parse(b"User-agent: *\nCrawl-delay: 1e999\n", "x").crawl_delay_ms is None


def test_sitemaps_stand_anywhere_in_any_case_and_may_be_relative():
    text = (
        b"Sitemap: https://cdn.other.test/s1.xml\nsitemap: /s2.xml\nUser-agent: *\nDisallow:\n"
        b"SITEMAP:https://example.test/s3.xml\n"
    )
    rules = RobotsRules.parse(text, "examplebot")
    assert rules.resolve_sitemaps("https://example.test/robots.txt") == (
        "https://cdn.other.test/s1.xml",
        "https://example.test/s2.xml",
        "https://example.test/s3.xml",
    )


def test_hostile_files_stay_cheap_and_err_on_the_side_of_the_site():
    stars = "User-agent: *\nDisallow: /" + "*a" * 200 + "\nAllow: /" + "*a" * 200 + "\n"
    assert not allowed(stars, "/" + "a" * 400)
    assert allowed(stars, "/b")
    many = "User-agent: *\n" + "".join(f"Disallow: /p{n}/\n" for n in range(60_000))
    rules = RobotsRules.parse(many.encode(), "examplebot")
    assert not rules.allows(f"{SITE}/p25000/")  # all that lies within 500 KiB counts (RFC 9309 2.5)
    starred = "User-agent: *\n" + "".join(f"Allow: /b*{n}\nDisallow: /a*a*a*{n}\n" for n in range(5_000))
    rules = RobotsRules.parse(starred.encode(), "examplebot")
    assert rules._text.count("*") <= MAX_STARS_IN_ALL + 1
    assert not rules.allows(f"{SITE}/a/4999")
    assert rules.allows(f"{SITE}/b/4999")
    others = "".join(f"User-agent: bot{n}\nDisallow: /\n" for n in range(10_000)) + "User-agent: *\nDisallow: /x\n"
    rules = RobotsRules.parse(others.encode(), "examplebot")
    assert not rules.allows(SITE + "/x")
    assert len(rules._text) < 100


@pytest.mark.parametrize("body", [b"\0" * 1000, b"\xff\xfe\0", b"User-agent", b":" * 5000, b"\n" * 100_000])
def test_rubbish_allows(body):
    assert RobotsRules.parse(body, "examplebot").allows(SITE + "/")


@pytest.mark.parametrize(
    ("status", "state"),
    [(200, "rules"), (403, "allow_all"), (401, "allow_all"), (404, "allow_all"), (410, "allow_all"),
     (429, "disallow_all"), (500, "disallow_all"), (503, "disallow_all"), (304, "allow_all")],
)  # fmt: skip
def test_statuses(status, state):
    assert state_of_status(status)[0] == state


def test_product_token_has_only_the_letters_that_count():
    assert product_token("My-Bot_x/2.0 (+https://a)") == "My-Bot_x"
    assert product_token("") == ""
