from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.inspect.show import cell, data, iso_time, plain, reason_text
from cobnut.records.outcomes import REASONS


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_shown(text: str) -> None:
    shown = plain(text)
    assert not any(
        ord(c) < 32 or 127 <= ord(c) < 160 or 0x202A <= ord(c) <= 0x202E or 0x2066 <= ord(c) <= 0x2069 for c in shown
    )
    shown.encode()


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("fetched_at", 1_767_225_600_123, "2026-01-01T00:00:00Z"),
        ("score", 1_500_000, "1.5"),
        ("signature", b"\x00\xff", "00ff"),
        ("body", b"x" * 100, "78" * 32 + "… (100 bytes)"),
        ("nofollow", True, "yes"),
        ("reason", None, "-"),
        ("metadata", {"a": "b"}, "a=b"),
        ("title", "a\nb", "a b"),
        ("due_at", 10**18, "1000000000000000000"),
    ],
)
def test_cells(column: str, value: object, text: str) -> None:
    assert cell(column, value) == text


def test_data_for_programs() -> None:
    assert data({"a": [b"\xff", ("x", 1)], "m": [("k", "v")]}) == {"a": ["ff", ["x", 1]], "m": {"k": "v"}}
    assert iso_time(None) is None


def test_every_reason_has_its_sentence() -> None:
    for reason in REASONS:
        assert reason_text(reason)
    assert reason_text("http_503") == "The server answered 503 (Service Unavailable)."
    assert reason_text("http_499") == "The server answered 499."
    assert reason_text("http_429") == REASONS["http_429"]
    assert reason_text("filtered_by:scope") == "Outside what the crawl is about (crawl.scope)."
    assert reason_text("filtered_by:mine") == "The URL filter `mine` refuses it."
    assert reason_text("never_heard") is None
