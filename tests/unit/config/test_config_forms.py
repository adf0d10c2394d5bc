from __future__ import annotations

import pytest

from cobnut.config.durations import parse_duration, show_duration
from cobnut.config.network import ResolveRule, is_loopback, parse_net, parse_proxy, parse_resolve


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10m", 600),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("45", 45),
        ("0.5", 0.5),
        ("1.5h", 5400),
        ("2D", 172_800),
        ("1w1d", 691_200),
        ("-1", -1),
        (" 3s ", 3),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "10x", "1h1h", "1 2", "10m5", "-5m", "1e3s", "٣s", "9" * 40])
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.94, "59.9s"), (60, "1m"), (5400, "1h30m"), (3601, "1h"), (90061, "1d1h")]
)
def test_durations_shown(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text


@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        ("*:127.0.0.1", ("*", None, "127.0.0.1", None)),
        ("*:*:127.0.0.1:81", ("*", None, "127.0.0.1", 81)),
        ("*:80:127.0.0.1:81", ("*", 80, "127.0.0.1", 81)),
        ("Example.ORG:443:[2001:db8::1]:8443", ("example.org", 443, "2001:db8::1", 8443)),
        ("[::1]:80:[::2]", ("[::1]", 80, "::2", None)),
        ("10.0.0.1:10.0.0.2", ("10.0.0.1", None, "10.0.0.2", None)),
    ],
)
def test_resolve_rules(rule: str, parts: tuple[object, ...]) -> None:
    assert parse_resolve(rule) == ResolveRule(*parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "a",
        "a:b",
        "a:80",
        "a:1.2.3",
        "a:0:1.2.3.4",
        "a:1.2.3.4:99999",
        "a:::1",
        "a b:1.2.3.4",
        "a:[1.2.3.4",
        "a:80:81:1.2.3.4",
    ],
)
def test_no_resolve_rules(rule: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_resolve(rule)


def test_proxies_and_nets() -> None:
    assert parse_proxy("http://[::1]:3128/") == ("::1", 3128)
    for bad in ("", "https://h:1", "http://h", "http://u:p@h:1", "h:1"):
        with pytest.raises(ValueError, match=r"."):
            parse_proxy(bad)
    assert str(parse_net("10.1.2.3/8")) == "10.0.0.0/8"
    assert str(parse_net("[::1]")) == "::1/128"


@pytest.mark.parametrize(
    ("host", "answer"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("[::1]", True),
        ("localhost", True),
        ("a.localhost.", True),
        ("example.org", False),
        ("10.0.0.1", False),
        ("localhost.example.org", False),
        ("127.0.0.1.example.org", False),
    ],
)
def test_loopback(host: str, answer: bool) -> None:
    assert is_loopback(host) is answer
