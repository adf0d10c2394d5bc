"""Are rules to resolve by read as the user means them?"""

from __future__ import annotations

import pytest

from cobnut.errors import InputError
from cobnut.urls.overrides import ResolveRule, parse_resolve, pick_rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Example.org:127.0.0.1", ResolveRule("example.org", None, "127.0.0.1", None)),
        ("example.org:443:127.0.0.1", ResolveRule("example.org", 443, "127.0.0.1", None)),
        ("example.org:127.0.0.1:8080", ResolveRule("example.org", None, "127.0.0.1", 8080)),
        ("example.org:443:127.0.0.1:8443", ResolveRule("example.org", 443, "127.0.0.1", 8443)),
        ("*:127.0.0.1:8080", ResolveRule("*", None, "127.0.0.1", 8080)),
        ("*:80:[::1]:8080", ResolveRule("*", 80, "::1", 8080)),
        ("[2001:db8::1]:[::1]", ResolveRule("[2001:db8::1]", None, "::1", None)),
        ("192.0.2.1:80:127.0.0.1", ResolveRule("192.0.2.1", 80, "127.0.0.1", None)),
        ("münchen.example.:127.0.0.1", ResolveRule("xn--mnchen-3ya.example", None, "127.0.0.1", None)),
    ],
)
def test_rules(text: str, rule: ResolveRule) -> None:
    assert parse_resolve(text) == rule


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "a host and an address are needed"),
        ("example.org", "a host and an address are needed"),
        ("example.org:", "a host and an address are needed"),
        ("a:1:127.0.0.1:2:3", "too many parts"),
        ("a:localhost", "'localhost' is no address"),
        ("a:0:127.0.0.1", "'0' is no port"),
        ("a:127.0.0.1:65536", "'65536' is no port"),
        ("a:127.0.0.1:http", "'http' is no port"),
        ("a:http:127.0.0.1:80", "'http' is no port"),
        ("a:80:127.0.0", r"'127\.0\.0' is no address"),
        ("a b:127.0.0.1", "'a b' is no host"),
        ("u@a:127.0.0.1", "'u@a' is no host"),
        ("a:[::1", "brackets do not match"),
        ("a:::1]", "brackets do not match"),
        ("a:::1", "a host and an address are needed|too many parts"),
    ],
)
def test_what_is_no_rule_is_said_to_be_none(text: str, why: str) -> None:
    with pytest.raises(InputError, match=rf"{why}.*write HOST\[:PORT\]:ADDR\[:PORT\]"):
        parse_resolve(text)


def test_the_most_exact_rule_is_picked() -> None:
    anything, any_port, exact, later = map(
        parse_resolve, ("*:127.0.0.1:1", "h:127.0.0.1:2", "h:80:127.0.0.1:3", "h:80:127.0.0.1:4")
    )
    rules = [anything, any_port, exact, later]
    assert pick_rule(rules, "H.", 80) == exact
    assert pick_rule(rules, "h", 81) == any_port
    assert pick_rule(rules, "other", 80) == anything
    assert pick_rule([exact], "other", 80) is None
    assert exact.target(80) == ("127.0.0.1", 3)
    assert parse_resolve("*:127.0.0.1").target(8081) == ("127.0.0.1", 8081)
