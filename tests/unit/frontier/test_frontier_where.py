"""Is an expression over several tables read right, and is a hostile one refused in one clear line?"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cobnut.crawl.condition import names, narrowed
from cobnut.errors import InputError
from cobnut.frontier.where import FUNCTIONS, parse_condition
from cobnut.records import catalogue as tables
from cobnut.testing.tables import START_MS, page, rows_of


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
        ("'2' in (1, depth)", "(? IN (?, crawldb.depth))", (2, 1)),
        ("'7' between '1' and depth", "(? BETWEEN ? AND crawldb.depth)", (7, 1)),
        ("score > .5 and depth < '.5e1'", "(((crawldb.score / 1e6) > ?) AND (crawldb.depth < ?))", (0.5, 5.0)),
        ("coalesce(checked_at, '2026-01-01') = 5", "(coalesce(pages.checked_at, ?) = ?)", (START_MS, 5)),
        ("coalesce(null, depth, '3') = 3", "(coalesce(NULL, crawldb.depth, ?) = ?)", (3, 3)),
        ("coalesce(etag, null) is null", "(coalesce(pages.etag, NULL) IS NULL)", ()),
        ("depth / 2 % .5 = 1", "(((crawldb.depth / ?) % ?) = ?)", (2, 0.5, 1)),
        ("1 / depth > 0", "((? / nullif(crawldb.depth, 0)) > ?)", (1, 0)),
        ("depth % (2 - 2) = 0", "((crawldb.depth % nullif((? - ?), 0)) = ?)", (2, 2, 0)),
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
        ("", "--where is empty"),
        (" \n", "--where is empty"),
        ('host = "a.test"', "a text stands in single quotes"),
        ("host = 'a.test", "a text stands in single quotes"),
        ("status = null", "nothing equals NULL (character 10): 'status = null'; write IS NULL or IS NOT NULL"),
        ("depth not in (1, null)", "nothing equals NULL"),
        ("depth between null and 3", "nothing equals NULL"),
        ("depth = true", "a number is compared with true or false"),
        ("status = true", "a text is compared with true or false"),
        ("(depth > 1) = 1", "a number is compared with true or false"),
        ("contains(host, 'a') = 'true'", "a text is compared with true or false"),
        ("signature = 5", "a number is compared with bytes"),
        ("signature = host", "a text is compared with bytes"),
        ("checked_at = host", "a text is compared with a time"),
        ("'x' in (depth)", "'x' is no number"),
        ("coalesce(status, 1) = 'x'", "a text is compared with a number"),
        ("coalesce(1, signature) is null", "a number is compared with bytes"),
        ("coalesce(metadata, 'x') is null", "a map or list is compared"),
        ("checked_at > 'yesterday'", "'yesterday' is no time (character 14)"),
        ("score > 5.", "cannot be read at '.'"),
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
        ("score/0 > 1", "nothing can be divided by 0 (character 7)"),
        ("score % 0.0 > 1", "nothing can be divided by 0"),
        ("status=fetched", "write a text in single quotes: 'fetched', or did you mean"),
        ("host in ('b.test', a.test)", "write a text in single quotes: 'a.test'"),
        ("host not like abc", "write a text in single quotes: 'abc'"),
        ("lower(abc) = 'x'", "no column 'abc' (character 7): \"lower(abc) = 'x'\"; columns: "),
        (", abc", "',' is not expected here"),
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


NUMBERS = st.sampled_from(
    ["depth", "score", "failures", "pages.fingerprint", "0", "1", ".5", "1e300", "9223372036854775807"]
)
TIMES = st.sampled_from(["checked_at", "due_at", "hostdb.next_fetch_at"])
TEXTS = st.sampled_from(
    ["host", "url", "reason", "etag", "metadata['n']", "'a'", "'it''s'", "''", "'%'", "'💥'", "'\\'"]
)
BYTES = st.just("signature")
ANY = st.one_of(
    NUMBERS, TIMES, TEXTS, BYTES, st.sampled_from(["metadata", "null", "true", "'7'", "'2026-01-01'", "'ff'"])
)


def numbers_of(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/%"), inner),
        st.builds("-{}".format, inner),
        st.builds("abs({})".format, inner),
        st.builds("length({})".format, TEXTS),
        st.builds("coalesce({}, {})".format, inner, inner),
    )


def claims_of(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or", "="]), inner),
        st.builds("not {}".format, inner),
    )


VALUES = st.recursive(NUMBERS | TIMES, numbers_of, max_leaves=6)
COMPARED = st.one_of(
    st.builds("{} {} {}".format, VALUES, st.sampled_from(["=", "<>", "<", ">="]), VALUES),
    st.builds("{} {} {}".format, ANY, st.sampled_from(["=", "!=", "<=", ">", "like", "not ilike"]), ANY),
    st.builds("{} in ({}, {})".format, ANY, ANY, ANY),
    st.builds("{} not between {} and {}".format, ANY, ANY, VALUES),
    st.builds("{} is not null".format, ANY),
    st.builds("{}({}, {})".format, st.sampled_from(["starts_with", "ends_with", "contains"]), TEXTS, TEXTS),
    st.builds("coalesce({}, {}) = upper(lower({}))".format, ANY, TEXTS, TEXTS),
)


@pytest.fixture(scope="module")
def rows() -> Iterator[duckdb.DuckDBPyConnection]:
    """A page whose columns are all at their greatest, one all NULL or at the least, and one in between."""
    connection = duckdb.connect(":memory:")
    url = page("http://a.test/")
    odd = {**url, "url": None, "score": 2**63 - 1, "due_at": 2**63 - 1, "depth": 2**31 - 1, "reason": "💥%_\\'"}
    least = {**page("http://b.test/"), "score": -(2**63), "due_at": -(2**63), "depth": -(2**31)}
    told = {k: v for k, v in url.items() if k != "url"}
    for table, of_table in (
        (tables.CRAWLDB, [odd, least, page("http://c.test/", signature=b"\xff" * 16)]),
        (
            tables.PAGES,
            [{**told, "checked_at": 2**63 - 1, "fingerprint": -(2**63), "metadata": [("n", None), ("", "x")]}],
        ),
        (
            tables.HOSTDB,
            [{"host": "a.test", "bucket": url["bucket"], "failures": 2**63 - 1, "next_fetch_at": -(2**63)}],
        ),
    ):
        connection.register(table.name, rows_of(table, of_table))
    connection.register("shown", pa.table({"url_key": [url["url_key"]], "url": ["http://a.test/"]}))
    yield connection
    connection.close()


@given(st.recursive(COMPARED, claims_of, max_leaves=5))
@settings(max_examples=500, deadline=None)
def test_what_is_read_fits_together_and_only_numbers_can_be_too_large(rows, text) -> None:
    try:
        made = narrowed(text)
    except InputError:
        return
    step = next(s for s in made.stage.steps if s.output == "matching")
    rows.register("typed", made.typed["typed"])
    said = ""
    try:
        rows.execute(step.text).fetchall()
    except (duckdb.OutOfRangeException, duckdb.InvalidInputException, duckdb.ConversionException) as error:
        said = str(error)
    assert not said or "overflow" in said.lower() or "out of range" in said
    event("cannot be computed" if said else "computed")


@pytest.mark.parametrize("text", ["1 / (depth - depth) > 0", "not 0 / (depth * 0) = 1", "score % (depth - depth) <> 7"])
def test_a_comparison_with_what_is_divided_by_0_holds_for_no_row(rows, text) -> None:
    small = "depth between 0 and 99 and "  # the greatest numbers can be computed no further
    for condition, count in ((small + "true", 1), (small + text, 0)):
        made = narrowed(condition)
        step = next(s for s in made.stage.steps if s.output == "matching")
        rows.register("typed", made.typed["typed"])
        assert len(rows.execute(step.text).fetchall()) == count
