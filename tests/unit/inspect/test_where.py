from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.errors import InputError
from cobnut.inspect.where import parse_where
from cobnut.records.catalogue import CRAWLDB, PAGES, TABLES


@pytest.mark.parametrize(
    ("text", "sql", "params"),
    [
        ("status = 'gone'", '("status" = ?)', ("gone",)),
        ("STATUS != 'it''s'", '("status" <> ?)', ("it's",)),
        ('"retries">=2', '("retries" >= ?)', (2,)),
        ("retries + 1 * -2 < 3.5", '(("retries" + (? * (-?))) < ?)', (1, 2, 3.5)),
        ("not status = 'a' or depth in (1, 2)", '((NOT ("status" = ?)) OR ("depth" IN (?, ?)))', ("a", 1, 2)),
        ("host is not null and reason is null", '(("host" IS NOT NULL) AND ("reason" IS NULL))', ()),
        ("score > 0.5", '(("score" / 1e6) > ?)', (0.5,)),
        ("url like '%/a'", '(coalesce("url", cobnut_url("url_key")) LIKE ?)', ("%/a",)),
        (
            "'http://a.test/x' = url",
            '(("url" = ?) OR ("url" IS NULL AND "url_key" = ?))',
            ("http://a.test/x", "test,a)http/x"),
        ),
        ("url = 'http://A.test'", '("url" IS NOT NULL AND "url" = ?)', ("http://A.test",)),
        ("depth not between 1 and 2", '("depth" NOT BETWEEN ? AND ?)', (1, 2)),
        ("lower(host) not like '%.test'", '(lower("host") NOT LIKE ?)', ("%.test",)),
        ("due_at < '2026-01-01'", '("due_at" < ?)', (1_767_225_600_000,)),
        ("'2026-01-01T01:00:00+01:00' = due_at", '(? = "due_at")', (1_767_225_600_000,)),
        ("signature = '00ff'", '("signature" = ?)', (b"\x00\xff",)),
        ("starts_with(url_key, 'org,')", 'starts_with("url_key", ?)', ("org,",)),
        ("(depth) = (1)", '("depth" = ?)', (1,)),
        ("true", "TRUE", ()),
    ],
)
def test_what_can_be_said(text: str, sql: str, params: tuple[object, ...]) -> None:
    where = parse_where(text, CRAWLDB.columns)
    assert (where.sql, where.params) == (sql, params)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "--where is empty"),
        ("status", "a comparison is expected"),
        ("status = 'a' and depth", "a comparison is expected"),
        ("status = 'a'; drop table x", "cannot be read at '; drop table x'"),
        ("status = 'a' -- x", "no column 'x'"),
        ("status = (select 1)", "'select' is not expected here"),
        ("stattus = 'a'", "did you mean status?"),
        ("read_csv('/etc/passwd') = 'a'", "no function 'read_csv'"),
        ("status = 'a", "cannot be read at"),
        ("status = 'a' 'b'", "not expected here"),
        ("(status = 'a'", "')' expected"),
        ("depth in ()", "not expected here"),
        ("depth between 1", "AND expected"),
        ("depth not 1", "not expected here"),
        ("due_at < 'yesterday'", "no time"),
        ("signature = 'xyz'", "not hexadecimal"),
        ("status = \x00", "cannot be read at"),
        ("(" * 100 + "depth" + ")" * 100 + " = 1", "nested more than"),
        ("- " * 100 + "1 = 1", "nested more than"),
        ("not " * 100 + "true", "nested more than"),
        ("depth = 1 " * 1_000, "at most"),
        ("abs(depth, (select 1)) = 1", "not expected here"),
    ],
)
def test_what_cannot(text: str, part: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_where(text, CRAWLDB.columns)
    assert part in caught.value.line()
    assert caught.value.exit_code == 2


def test_maps_are_asked_by_key() -> None:
    assert parse_where("metadata['topic'] = 'nuts'", PAGES.columns).sql == '("metadata"[?] = ?)'


@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(
            [
                "status",
                "depth",
                "=",
                "'",
                "(",
                ")",
                "and",
                "or",
                "not",
                "in",
                "1",
                ",",
                "like",
                "+",
                "-",
                "*",
                "null",
                "is",
                "[",
                "]",
                "true",
            ]
        ),
        max_size=14,
    ).map(" ".join)
)
def test_nothing_typed_reaches_the_engine_as_text(text: str) -> None:
    """Whatever is typed is refused clearly, or gives SQL made of our own words that the engine can at least parse."""
    try:
        where = parse_where(text, CRAWLDB.columns)
    except InputError:
        return
    assert "'" not in where.sql
    assert ";" not in where.sql
    assert where.sql.count("?") == len(where.params)
    connection = duckdb.connect(":memory:")
    statements = connection.extract_statements(f"SELECT 1 FROM t WHERE {where.sql}")
    assert len(statements) == 1
    connection.close()


def test_columns_named_as_words_of_the_language_can_be_asked() -> None:
    for table in TABLES:
        for column in table.columns:
            assert f'"{column.name}"' in parse_where(f'"{column.name}" IS NULL', table.columns).sql
