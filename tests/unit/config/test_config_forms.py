from __future__ import annotations

import pytest

from cobnut.config.checks import disagreements
from cobnut.config.durations import parse_duration, show_duration
from cobnut.config.network import parse_proxy
from cobnut.config.schedules import (
    HostSchedule,
    MediaTypeSchedule,
    first_intervals,
    parse_host_delay,
    parse_host_schedule,
    parse_media_type_schedule,
)
from cobnut.config.sections import DbSettings, Settings


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


def test_schedules_of_hosts_and_media_types() -> None:
    assert parse_host_schedule("News.example interval=1h min=10m max=1d") == HostSchedule(
        "news.example", 3_600, 600, 86_400
    )
    assert parse_host_schedule("bücher.example max=60").host == "xn--bcher-kva.example", "as the crawldb has it"
    assert parse_host_schedule("[2001:DB8:0::1] min=1").host == "[2001:db8::1]"
    assert parse_media_type_schedule("Application/PDF increase=0.8") == MediaTypeSchedule("application/pdf", 0.8, None)
    assert first_intervals(["a.test interval=5m", "b.test min=1h", "A.test interval=6m"]) == {"a.test": 360}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no name with what differs"),
        ("a.test", "no name with what differs"),
        ("http://a.test interval=1h", "no host name"),
        ("a.test:80 interval=1h", "no host name"),
        ("*.a.test interval=1h", "no host name"),
        ("a<b interval=1h", "no host name"),
        ("a.test interval", "none of interval=…, min=…, max=…"),
        ("a.test every=1h", "none of interval=…, min=…, max=…"),
        ("a.test interval=soon", "no duration"),
        ("a.test interval=0", "no time between"),
        ("a.test max=101w99999999d", "no time between"),
        ("a.test min=2h max=1h", "min is greater than max"),
        ("a.test min=1h min=2h", "given twice"),
    ],
)
def test_a_schedule_of_a_host_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_host_schedule(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("text/html", "no name with what differs"),
        ("html increase=1", "no media type"),
        ("text/html;charset=utf-8 increase=1", "no media type"),
        ("text/* increase=1", "no media type"),
        ("text/html increase=much", "no number"),
        ("text/html increase=nan", "out of range"),
        ("text/html increase=-1", "out of range"),
        ("text/html decrease=1", "out of range"),
        ("text/html min=1h", "none of increase=…, decrease=…"),
    ],
)
def test_a_pace_of_a_media_type_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_media_type_schedule(text)


def test_a_host_s_shortest_interval_within_the_longest_of_all() -> None:
    def of(entry: str) -> list[str]:
        return disagreements(Settings(db=DbSettings(host_schedules=(entry,))))

    assert of("a.test min=91d") == [
        "db.host_schedules: min of a.test (7862400 s) is above db.max_interval_s (7776000 s)"
    ]
    assert not of("a.test min=91d max=92d")
    assert not of("a.test max=60"), "a longest interval below the shortest of all is one all the same"
