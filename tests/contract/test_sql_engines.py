"""Does each SQL step make the same rows of the same input: in any order of its rows, and on every engine?

Inputs are random, from a seed: realistic and nasty (`cobnut.testing.relations`).
"""

import pyarrow as pa
import pytest

from cobnut.engines.session import Session
from cobnut.records.columns import pa_schema
from cobnut.testing.relations import difference, inputs_of, multiset, shuffled
from tests.support.sql_steps import PARAMS, STEPS

CASES = [(0, 0), (1, 150), (2, 12), (3, 150), (4, 60)]  # seed, rows an input
SPARK_CASES = [(0, 0), (1, 150), (3, 150)]  # a second each
IDS = [step.name for _, step in STEPS]


@pytest.fixture(scope="module")
def duck():
    session = Session(memory_mib=512, threads=2)
    yield session
    session.close()


def run_duck(session, step, inputs):
    for name, rows in inputs.items():
        session.bind_arrow(name, rows)
    session.run(step, None)
    raw = session.connection.sql(f"SELECT * FROM {step.output}").to_arrow_table()
    rows = session.table(step.output, step.columns)
    for name in (*inputs, step.output):
        session.drop(name)
    return raw, rows


def made_inputs(stage, step, seed, rows):
    return inputs_of(stage, step, seed, rows, PARAMS[stage.name][(seed + 2) % 3])


def assert_columns(raw, step):
    declared = pa_schema(step.columns)
    assert raw.schema.names == declared.names
    for have, want in zip(raw.schema, declared, strict=True):
        nested = pa.types.is_nested(want.type)
        # the names inside a nested type are the engine's own
        assert type(have.type) is type(want.type) if nested else have.type == want.type, have.name


@pytest.mark.parametrize(("stage", "step"), STEPS, ids=IDS)
@pytest.mark.parametrize(("seed", "rows"), CASES)
def test_order_of_the_input_does_not_matter(duck, stage, step, seed, rows):
    inputs = made_inputs(stage, step, seed, rows)
    raw, result = run_duck(duck, step, inputs)
    assert_columns(raw, step)
    expected = multiset(result)
    assert expected or seed != 1, "no rows: the input tests nothing"
    for order in (1, 2, 3):
        again = run_duck(duck, step, {name: shuffled(table, order) for name, table in inputs.items()})[1]
        assert multiset(again) == expected, difference(expected, multiset(again))


@pytest.mark.parametrize(("stage", "step"), [(s, t) for s, t in STEPS if t.columns[0].name == "url_key"])
def test_columns_that_may_not_be_null_are_not(duck, stage, step):
    result = run_duck(duck, step, made_inputs(stage, step, 1, 150))[1]
    for field in pa_schema(step.columns):
        assert field.nullable or result.column(field.name).null_count == 0, field.name


OUTPUTS = [(s, t, o.table) for s, t in STEPS for o in s.outputs if o.relation == t.output]


@pytest.mark.parametrize(("stage", "step", "table"), OUTPUTS, ids=[t.name for _, t, _ in OUTPUTS])
@pytest.mark.parametrize("seed", [1, 3, 4])
def test_a_table_has_one_row_a_key(duck, stage, step, table, seed):
    result = run_duck(duck, step, made_inputs(stage, step, seed, 150))[1]
    assert result.num_rows == len(multiset(result.select(list(table.key))))


@pytest.mark.spark
@pytest.mark.parametrize(("stage", "step"), STEPS, ids=IDS)
@pytest.mark.parametrize(("seed", "rows"), SPARK_CASES)
def test_spark_makes_the_same_rows(duck, spark, stage, step, seed, rows):
    from cobnut.engines.spark import run_text

    inputs = made_inputs(stage, step, seed, rows)
    expected = multiset(run_duck(duck, step, inputs)[1])
    raw = run_text(spark, step.text, {name: shuffled(table, 7) for name, table in inputs.items()})
    assert_columns(raw, step)
    found = multiset(raw)
    assert found == expected, difference(expected, found)


@pytest.mark.spark
def test_a_difference_between_engines_is_seen(duck, spark):
    """The comparison can fail: a cast of a fraction, which the lint forbids, differs."""
    from cobnut.engines.spark import run_text

    text = "SELECT CAST(p.grow + CAST(p.now_ms AS DOUBLE) AS BIGINT) AS n FROM params p"
    rows = pa.table({"grow": [0.7], "now_ms": [3]})
    duck.bind_arrow("params", rows)
    assert duck.connection.sql(text).fetchall() == [(4,)]
    assert run_text(spark, text, {"params": rows}).to_pylist() == [{"n": 3}]
