"""Is the SQL that says what may be fetched the rule that `frontier.turn` states?"""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.engines.session import Session
from cobnut.frontier.turn import Limits, Waiting, turn
from cobnut.records import catalogue as tables
from cobnut.records.steps import columns_of
from cobnut.stages.generate import STAGE
from cobnut.testing.tables import DAY_MS, MICRO, START_MS, rows_of
from tests.support.sql_steps import PARAMS

STEP = next(s for s in STAGE.steps if s.name == "generate_due")
ANY_INT64 = st.sampled_from([-(2**63), 2**63 - 1, 10**18, -(10**18)]) | st.integers(-(2**63), 2**63 - 1)
TIMES = st.sampled_from([START_MS + hours * DAY_MS // 24 for hours in (-30, -24, -1, 0, 1, 24)]) | st.integers(0, 2**42)

pages = st.builds(
    Waiting,
    due_at=TIMES | ANY_INT64,
    interval_s=st.sampled_from([0, 1, 60, 86_400]) | st.integers(0, 4 * 10**9),
    fixed_interval_s=st.none() | st.integers(0, 4 * 10**9),
    score=st.integers(-MICRO, MICRO) | ANY_INT64,
    depth=st.integers(0, 4),
    in_segment=st.sampled_from([False, False, True]),
    checked_at=st.none() | TIMES,
    rests_until=st.none() | TIMES,
)
limits = st.builds(
    Limits, now_ms=TIMES, farthest_ms=st.sampled_from([DAY_MS, 90 * DAY_MS]),
    min_score=st.sampled_from([-(10**15), 0, 0, 1, MICRO]), max_depth=st.sampled_from([0, 2, 2**62]),
    ageing=st.sampled_from([0, 1, MICRO // 100, 10**12]), begun_ms=st.just(0) | TIMES,
    early_permille=st.sampled_from([0, 100, 900]), ahead_ms=st.sampled_from([0, 0, 1, DAY_MS]), refresh=st.booleans(),
)  # fmt: skip


@pytest.fixture(scope="module")
def duck():
    session = Session(memory_mib=512, threads=1)
    yield session
    session.close()


def inputs_for(batch, told):
    given = {i.name: columns_of(i) for i in STAGE.inputs}
    place = [{"url_key": f"k{n:04d}", "host": f"h{n}", "bucket": n} for n in range(len(batch))]
    both = list(zip(place, batch, strict=True))
    names = ("due_at", "interval_s", "fixed_interval_s", "score", "depth")
    step = next(s for s in STAGE.all_steps() if getattr(s, "output", None) == "in_segments")
    return {
        "crawldb": rows_of(tables.CRAWLDB, [{**at, **{n: getattr(p, n) for n in names}} for at, p in both]),
        "pages": rows_of(
            tables.PAGES, [{**at, "checked_at": p.checked_at} for at, p in both if p.checked_at is not None]
        ),
        "in_segments": rows_of(
            step.columns, [{"url_key": at["url_key"], "bucket": at["bucket"]} for at, p in both if p.in_segment]
        ),
        "matching": rows_of(given["matching"], []),
        "statuses": rows_of(given["statuses"], []),
        "hostdb": rows_of(
            tables.HOSTDB,
            [{"host": at["host"], "bucket": at["bucket"], "next_fetch_at": p.rests_until} for at, p in both],
        ),
        "params": rows_of(STAGE.params, [{**PARAMS["generate"][0], **msgspec.structs.asdict(told)}]),
    }


def by_function(batch, told):
    return [msgspec.to_builtins(turn(page, told)) for page in batch]


def of_rows(batch, told, rows):
    """The columns of the SQL that the function speaks of, in the order of the pages."""
    made = []
    for page, row in zip(batch, rows.sort_by("url_key").to_pylist(), strict=True):
        days = turn(page, told).waited_days  # in the SQL it is part of the sort value alone
        made.append(
            {"held": row["held"], "ready_at": row["ready_at"], "waited_days": days, "sort_value": row["sort_value"]}
        )
    return made


@settings(max_examples=200, deadline=None)
@given(batch=st.lists(pages, min_size=1, max_size=50), told=limits)
def test_sql_is_the_function(duck, batch, told):
    for name, rows in inputs_for(batch, told).items():
        duck.bind_arrow(name, rows)
    duck.run(STEP, None)
    assert of_rows(batch, told, duck.table(STEP.output, STEP.columns)) == by_function(batch, told)


@pytest.mark.spark
@settings(max_examples=3, deadline=None)
@given(batch=st.lists(pages, min_size=40, max_size=50), told=limits)
def test_spark_is_the_function_too(spark, batch, told):
    from cobnut.engines.spark import run_sql

    assert of_rows(batch, told, run_sql(spark, STEP, inputs_for(batch, told))) == by_function(batch, told)
