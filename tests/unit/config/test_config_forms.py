from __future__ import annotations

import pytest

from cobnut.config.durations import parse_duration, show_duration
from cobnut.config.network import parse_proxy
from cobnut.config.schedules import parse_host_delay


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


def test_proxies() -> None:
    assert parse_proxy("http://[::1]:3128/") == ("::1", 3128)
    for bad in ("", "https://h:1", "http://h", "http://u:p@h:1", "h:1", "http://h:70000"):
        with pytest.raises(ValueError, match=r"."):
            parse_proxy(bad)


@pytest.mark.parametrize(
    "text", ["", "a.test", "a.test 5s 6s", "http://a.test 5s", "a.test:80 5s", "a.test -1", "a.test 2h", "a.test x"]
)
def test_a_delay_of_one_host_is_read_or_refused(text):
    assert parse_host_delay("[::1] 0") == ("[::1]", 0)
    with pytest.raises(ValueError, match=r"."):
        parse_host_delay(text)
