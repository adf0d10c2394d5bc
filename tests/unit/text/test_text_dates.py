"""Which time does a date in a header, a sitemap or a feed mean, on whatever machine?"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from cobnut.fetcher.answer import retry_after_s
from cobnut.interop.nutch_export.statuses import http_time
from cobnut.interop.warc.dates import parse_date
from cobnut.text.dates import date_ms, past_ms

NEW_YEAR = 1_767_225_600_000


@pytest.fixture(params=["UTC0", "JST-9", "NST3:30"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("Thu, 01 Jan 2026 00:00:00 GMT", NEW_YEAR),
        ("Thu, 01-Jan-26 00:00:00 GMT", NEW_YEAR),
        ("Thu Jan  1 00:00:00 2026", NEW_YEAR),
        ("Thu, 01 Jan 2026 00:00:00", NEW_YEAR),
        ("Thu, 01 Jan 2026 00:00:00 -0000", NEW_YEAR),
        ("Thu, 01 Jan 2026 01:30:00 +0130", NEW_YEAR),
        ("2026", NEW_YEAR),
        ("2026-01-01", NEW_YEAR),
        (" 2026-01-01T00:00Z ", NEW_YEAR),
        ("2026-01-01T00:00:00.9", NEW_YEAR),
        ("2025-12-31T19:00:00-05:00", NEW_YEAR),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ],
)
def test_a_date_means_the_same_everywhere(text: str, ms: int) -> None:
    assert date_ms(text) == ms
    assert past_ms(text, NEW_YEAR) == (ms or None)
    assert past_ms(text, ms - 1) is None, "later than the answer"


@pytest.mark.parametrize(
    "text",
    ["", "0", "-1", "soon", "\x00", "0000-00-00", "2026-02-30", "2026-13-01", "2026-01-01T99:00Z", "9" * 9_000,
     "Sun, 31 Feb 2026 00:00:00 GMT", "Thu, 01 Jan 99999 00:00:00 GMT", "Thu, 01 Jan 2026 00:00:00 +9999"],
)  # fmt: skip
def test_what_is_no_date(text: str) -> None:
    assert date_ms(text) is None
    assert past_ms(text, 2**62) is None


def test_no_header_is_no_date() -> None:
    assert past_ms(None, NEW_YEAR) is None


@pytest.mark.usefixtures("zone")
def test_a_date_without_a_zone_wherever_one_is_read() -> None:
    text = "Thu, 01 Jan 2026 00:02:00"
    assert retry_after_s(text, NEW_YEAR / 1000) == 120
    assert http_time(text) == parse_date(text) == NEW_YEAR + 120_000
