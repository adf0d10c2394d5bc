"""Is an expression over several tables read right, and is a hostile one refused in one clear line?"""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.crawl.condition import names, narrowed
from cobnut.errors import InputError
from cobnut.frontier.where import FUNCTIONS, parse_condition
from cobnut.testing.tables import START_MS


def read(text: str) -> tuple[str, tuple[object, ...]]:
    where = parse_condition(text, names())
    return where.sql, where.params


@pytest.mark.parametrize(
    ("text", "sql", "params"),
    [
        ("status = 'gone'", "(crawldb.status = ?)", ("gone",)),
        ("pages.host = hostdb.host", "(pages.host = hostdb.host)", ()),
        ("http_status >= 500 or failures > 2", "((pages.http_status >= ?) OR (hostdb.failures > ?))", (500, 2)),
        ("CRAWLDB.Depth < 3", "(crawldb.depth < ?)", (3,)),
        ("depth = '3'", "(crawldb.depth = ?)", (3,)),
        ("depth = ' -3.5'", "(crawldb.depth = ?)", (-3.5,)),
        ("checked_at < '2026-01-01'", "(pages.checked_at < ?)", (START_MS,)),
        ("url like '%/blog/%'", "(coalesce(crawldb.url, shown.url) LIKE ?)", ("%/blog/%",)),
        ("metadata['x'] = 'y'", "(pages.metadata[?] = ?)", ("x", "y")),
        ("coalesce(etag, 'none') = 'none'", "(coalesce(pages.etag, ?) = ?)", ("none", "none")),
        ("score + 0.5 > 1", "(((crawldb.score / 1e6) + ?) > ?)", (0.5, 1)),
        ("depth in (1, '2')", "(crawldb.depth IN (?, ?))", (1, 2)),
        ("reason = 'Haselnüsse 🐿️'", "(crawldb.reason = ?)", ("Haselnüsse 🐿️",)),
    ],
)
def test_what_can_be_said(text, sql, params) -> None:
    assert read(text) == (sql, params)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("status = 'a'; DROP TABLE crawldb", "cannot be read at '; DROP TABLE crawldb' (character 13)"),
        ("status = 'a' OR 1=1 --", "it ends too early (character 23)"),
        ("status = 'a' /* x */", "not expected here"),
        ("status = 'a' UNION SELECT 1", "'UNION' is not expected here (character 14)"),
        ("url_key in (select url_key from pages)", "'select' is not expected here"),
        ("exists (select 1)", "no function 'exists' (character 1)"),
        ("read_text('/etc/passwd') = 'x'", "no function 'read_text' (character 1)"),
        ("pg_sleep(10) = 1", "no function 'pg_sleep'"),
        ("status = $$a$$", "cannot be read at '$$a$$'"),
        ("status = E'a'", "no column 'E'"),
        ("status = ?", "cannot be read at '?'"),
        ("typed.v0 = 1", "no column 'typed.v0'"),
        ("main.crawldb.host = 'x'", "cannot be read at \".host = 'x'\" (character 13)"),
        ("metadata = 'x'", "a map or list is compared (character 12)"),
        ("pages.score > 1", "did you mean"),
        ("crawldb.stauts = 'x'", "did you mean crawldb.status?"),
        ("sсore > 1", "cannot be read at 'сore > 1' (character 2)"),
        ("status\u2003= 'a'\u0000", "cannot be read at"),
        ("depth > 99999999999999999999", "too large a number (character 9)"),
        ("depth > " + "9" * 3_900, "too large a number"),
        ("depth > 1e999", "too large a number"),
        ("depth > 9223372036854775808", "too large a number"),
        ("depth > '9e999'", "too large a number"),
        ("depth = 'deep'", "'deep' is no number, as what it is compared with (character 9)"),
        ("status > 5", "a text is compared with a number"),
        ("depth = host", "a text is compared with a number"),
        ("depth between 'a' and 3", "'a' is no number"),
        ("host + 1 = 2", "'+' takes numbers"),
        ("-host = 'x'", "'-' takes a number"),
        ("depth like '1%'", "LIKE compares texts"),
        ("lower(depth) = 'x'", "lower() takes texts"),
        ("abs('x') = 1", "abs() takes numbers"),
        ("lower() = 'x'", "not expected here"),
        ("starts_with(host) ", "takes 2 arguments"),
        ("metadata[1] = 'x'", "asked for a name in quotes"),
        ("metadata[host] = 'x'", "asked for a name in quotes"),
        ("(" * 3_000, "nested more than"),
        ("not " * 900 + "true", "nested more than"),
        ("lower(" * 500 + "host", "nested more than"),
        ("depth" + "+1" * 1_900 + " = 1", "more than 100 terms"),
        ("depth" + " * 2" * 900 + " = 1", "more than 100 terms"),
        ("x" * 4_001, "at most 4000 characters"),
        ("checked_at > '0001-01-01T00:00:00+23:59'", None),
        ("checked_at > '9999-12-31T23:59:59-23:59'", None),
    ],
)
def test_what_is_refused(text, part) -> None:
    if part is None:
        assert isinstance(read(text)[1][0], int)
        return
    with pytest.raises(InputError) as caught:
        narrowed(text)
    assert part in caught.value.line()
    assert "\n" not in caught.value.line()
    assert len(caught.value.line()) < 700


WORDS = (
    "status", "depth", "url", "hostdb.host", "metadata", "checked_at", "signature", "=", "<>", "'", "''", "'a'", "(",
    ")", "and", "or", "not", "in", "1", "1e5", ",", "like", "+", "-", "/", "null", "is", "[", "]", "true",
    "between", ";",
    "--", "/*", "\\", "select", "?", "$1", '"', "\x00", "é", "lower", *FUNCTIONS,
)  # fmt: skip


@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS), max_size=16).map(" ".join))
@settings(max_examples=600, deadline=None)
def test_whatever_is_typed_is_refused_or_can_be_run(text) -> None:
    try:
        made = narrowed(text)
    except InputError:
        return
    step = next(s for s in made.stage.steps if s.output == "matching")
    assert "'" not in step.text
    assert ";" not in step.text
    assert "?" not in step.text
    connection = duckdb.connect(":memory:")
    for name in ("crawldb", "pages", "hostdb"):
        source = made.stage.input(name)
        connection.register(name, source.table.schema().empty_table())
    connection.register("shown", pa.table({"url_key": pa.array([], pa.string()), "url": pa.array([], pa.string())}))
    connection.register("typed", made.typed["typed"])
    assert len(connection.extract_statements(step.text)) == 1
    assert connection.execute(step.text).fetchall() == []
    connection.close()
