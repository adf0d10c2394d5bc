"""Is every SQL text within the portable subset, and does the lint see what is not?"""

import pytest

from cobnut.engines.portable import Known, lint, lint_stage
from cobnut.records.columns import Column
from cobnut.records.steps import Input, Sql, Stage, column
from tests.support.sql_steps import STAGES, STEPS


@pytest.mark.parametrize("stage", STAGES, ids=lambda s: s.name)
def test_every_step_is_portable(stage):
    found = lint_stage(stage)
    assert found.keys() == {s.name for s in stage.all_steps() if isinstance(s, Sql)}
    problems = [f"{name}.sql {finding}" for name, findings in found.items() for finding in findings]
    assert not problems, "\n".join(problems)


def test_all_sql_files_belong_to_a_step():
    from importlib.resources import files

    on_disk = {p.name.removesuffix(".sql") for p in (files("cobnut") / "stages").iterdir() if p.name.endswith(".sql")}
    assert on_disk == {step.name for _, step in STEPS}


GOOD = """
-- a comment with max_by(x), and 3.5 / 2 :: VARCHAR
WITH ranked AS (
    SELECT t.*, row_number() OVER (PARTITION BY t.k ORDER BY t.score DESC NULLS LAST, t.k ASC NULLS LAST) AS place
    FROM t /* at
    qualify */ WHERE t.k IN ('at', 'list(', '//')
)
SELECT DISTINCT
    CAST(r.k AS STRING) AS k,
    CAST(COALESCE(SUM(r.n), 0) + CAST(r.i AS BIGINT) * 1000 AS BIGINT) AS n,
    CAST(FLOOR(CAST(r.n AS DOUBLE) / CAST(r.i AS DOUBLE)) AS BIGINT) AS whole,
    CAST(CASE WHEN r.k = 'x' THEN CAST(FLOOR(CAST(r.n AS DOUBLE) * r.f) AS BIGINT) ELSE NULL END AS BIGINT) AS w,
    r.m AS m
FROM ranked r
WHERE r.m['key'] IS NULL
"""
COLUMNS = (
    column("k", "string"), column("n", "int64"), column("whole", "int64"), column("w", "int64"), column("m", "map"),
)  # fmt: skip
KNOWN = Known(fractions=frozenset({"f"}), narrow=frozenset({"i"}), outputs=COLUMNS)


def test_portable_text_has_no_findings():
    assert lint(GOOD, KNOWN) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("SUM(r.n)", "max_by(r.n, r.i)", "max_by()"),
        ("SUM(r.n)", "min_by(r.n, r.i)", "min_by()"),
        ("SUM(r.n)", "array_agg(r.n)", "array_agg()"),
        ("SUM(r.n)", "list(r.n)", "list()"),
        ("SUM(r.n)", "element_at(r.m, 'a')", "element_at()"),
        ("SUM(r.n)", "hash(r.n)", "hash()"),
        ("SUM(r.n)", "concat(r.k, 'a')", "concat()"),
        ("SUM(r.n)", "ANY_VALUE (r.n)", "ANY_VALUE()"),
        ("SUM(r.n)", "now()", "now()"),
        ("SUM(r.n)", "rank() OVER (ORDER BY r.k ASC NULLS LAST)", "rank()"),
        ("SUM(r.n)", "row_number() OVER (PARTITION BY r.k)", "row_number()"),
        ("SUM(r.n)", "r.n::BIGINT", "::"),
        ("SUM(r.n)", "r.n // 2", "//"),
        ("SUM(r.n)", "r.n div 2", "div"),
        ("SUM(r.n)", "r.n / 2", "/"),
        ("SUM(r.n)", "CAST(r.n AS DOUBLE) / 2", "/"),
        ("SUM(r.n)", "r.n / CAST(2 AS DOUBLE)", "/"),
        ("SUM(r.n)", "r.i * 1000", "i *"),
        ("SUM(r.n)", "1000 * i", "i *"),
        ("SUM(r.n)", "1.5", "1.5"),
        ("SUM(r.n)", "[1, 2]", "["),
        ("SUM(r.n)", "CAST(r.f AS BIGINT)", "CAST of a fraction"),
        ("SUM(r.n)", "CAST(FLOOR(r.f) + r.f AS INT)", "CAST of a fraction"),
        ("SUM(r.n)", "CAST(CAST(r.n AS DOUBLE) AS BIGINT)", "CAST of a fraction"),
        ("FLOOR(CAST(r.n AS DOUBLE) / CAST(r.i AS DOUBLE))", "(CAST(r.n AS DOUBLE) / CAST(r.i AS DOUBLE))", "CAST of"),
        ("t.k ASC NULLS LAST", "t.k ASC", "ORDER BY"),
        ("t.k ASC NULLS LAST", "t.k", "ORDER BY"),
        ("t.k ASC NULLS LAST", "t.k NULLS LAST", "ORDER BY"),
        ("t.score DESC NULLS LAST", "t.score DESC", "ORDER BY"),
        ("WHERE r.m['key'] IS NULL", "ORDER BY r.k", "ORDER BY"),
        ("WHERE r.m['key'] IS NULL", "QUALIFY row_number() OVER (ORDER BY r.k ASC NULLS LAST) = 1", "QUALIFY"),
        ("WHERE r.m['key'] IS NULL", "LIMIT 3", "LIMIT"),
        ("WHERE r.m['key'] IS NULL", "WHERE r.at > 0", "at"),
        ("WHERE r.m['key'] IS NULL", "WHERE r.k = 'a''b'", "'a''b'"),
        ("WHERE r.m['key'] IS NULL", "WHERE r.k = 'a\\n'", "'a\\n'"),
        ("WHERE r.m['key'] IS NULL", 'WHERE r."k" = 1', '"k"'),
        ("WHERE r.m['key'] IS NULL", "WHERE r.`k` = 1", "`k`"),
        ("WHERE r.m['key'] IS NULL", "LEFT ANTI JOIN u ON u.k = r.k", "ANTI"),
        ("WHERE r.m['key'] IS NULL", "GROUP BY ALL", "BY ALL"),
        ("WHERE r.m['key'] IS NULL", ";", ";"),
        ("WHERE r.m['key'] IS NULL", "WHERE (r.k = 1", "parentheses"),
        ("CAST(r.k AS STRING) AS k", "CAST(r.k AS VARCHAR) AS k", "VARCHAR"),
        ("CAST(r.k AS STRING) AS k", "r.k AS k", "k"),
        ("CAST(r.k AS STRING) AS k", "r.k", "k"),
        ("CAST(r.k AS STRING) AS k", "CAST(r.k AS BIGINT) AS k", "k"),
        ("CAST(r.k AS STRING) AS k", "CAST(r.k AS STRING) || CAST(r.k AS STRING) AS k", "k"),
        ("CAST(r.k AS STRING) AS k", "CAST(r.k AS STRING) AS another", "SELECT"),
        ("CAST(r.k AS STRING) AS k,", "", "SELECT"),
    ],
)  # fmt: skip
def test_each_trap_is_found(old, new, says):
    assert GOOD.count(old) == 1
    found = lint(GOOD.replace(old, new), KNOWN)
    assert any(f.what.startswith(says) for f in found), found
    line = GOOD[: GOOD.index(old)].count("\n") + 1
    assert any(abs(f.line - line) <= 1 or says in ("parentheses", "SELECT") for f in found), found


def test_a_finding_names_the_line_and_the_remedy():
    (finding,) = lint("SELECT\n  CAST(a AS STRING) AS a,\n  -- two\n  b\nFROM t", None)
    assert str(finding) == "line 4: b: CAST every output column: CAST(… AS TYPE) AS name"


def test_both_sides_of_a_union_are_looked_at():
    assert [f.line for f in lint("SELECT CAST(a AS INT) AS a FROM t\nUNION ALL\nSELECT a FROM u")] == [3]


def test_fractions_and_narrow_columns_are_read_off_the_stage():
    stage = Stage(
        "s", "", inputs=(Input("t", None, "given", columns=(column("count_of", "int32"),)),),
        steps=(Sql("links_sources", ("t", "params", "nowhere"), "out", (Column("url_key", "string", ""),)),),
        params=(column("factor", "double"),),
    )  # fmt: skip
    said = [str(f) for f in lint_stage(stage)["links_sources"]]
    assert any("nowhere" in s for s in said), said
    assert any("not the declared columns" in s for s in said), said
