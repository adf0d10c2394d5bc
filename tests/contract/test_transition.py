"""Is the crawldb's SQL the rule that `frontier.transition` states?"""

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cobnut.engines.session import Session
from cobnut.frontier.transition import Answer, Row, Rules, Target, transition
from cobnut.records.columns import MOST_SCORE
from cobnut.records.outcomes import OUTCOMES, REASONS, STATUSES
from cobnut.stages import updatedb
from cobnut.testing.tables import DAY_MS, START_MS, rows_of
from tests.support.sql_steps import UPDATE

STEP = next(s for s in updatedb.STAGE.steps if s.name == "updatedb")
SIGNATURES = st.sampled_from([None, b"a" * 16, b"b" * 16])
TIMES = st.sampled_from([START_MS + hours * DAY_MS // 24 for hours in (-30, -1, 0, 1, 30)]) | st.integers(0, 2**42)
ANY_REASON = st.sampled_from([None, "http_404", "http_404", "http_410", "http_500", *REASONS])
ANY_INT64 = st.sampled_from([-(2**63), -(10**18) - 1, 10**18, 2**63 - 1]) | st.integers(-(2**63), 2**63 - 1)
SCORES = st.integers(-(10**15), 10**15) | ANY_INT64
PASSED = st.integers(-(10**15), 10**15) | st.integers(-MOST_SCORE, MOST_SCORE)  # links are summed within these bounds
INTERVALS = st.sampled_from([0, 1, 59, 3_599, 3_600, 86_401, 90 * 86_400, 91 * 86_400]) | st.integers(0, 4 * 10**9)
COUNTS = st.none() | st.integers(0, 10_000)
DEPTHS = st.integers(0, 4)
PLACE = {"url_key": st.just("k"), "host": st.just("h"), "bucket": st.just(0)}

olds = st.builds(
    Row, **PLACE, url=st.sampled_from([None, "old"]), status=st.sampled_from(sorted(STATUSES)), reason=ANY_REASON,
    due_at=TIMES | ANY_INT64, fetched_at=st.none() | TIMES, modified_at=st.none() | TIMES, retries=st.integers(0, 4),
    interval_s=INTERVALS, fixed_interval_s=st.none() | INTERVALS, score=SCORES, signature=SIGNATURES,
    outlink_count=COUNTS, depth=DEPTHS,
)  # fmt: skip
answers = st.builds(
    Answer, **PLACE, url=st.just("asked"), outcome=st.sampled_from(sorted(OUTCOMES)), reason=ANY_REASON,
    fetched_at=TIMES, depth=DEPTHS, parse_status=st.sampled_from([None, "ok", "ok", "failed", "skipped"]),
    parse_reason=ANY_REASON, noindex=st.sampled_from([None, False, True]), outlink_count=COUNTS, signature=SIGNATURES,
    last_modified_at=st.none() | TIMES | ANY_INT64, host_failed=st.booleans(), score=SCORES,
)  # fmt: skip
targets = st.builds(
    Target,
    **PLACE,
    url=st.sampled_from([None, "linked"]),
    depth=DEPTHS,
    contribution=PASSED,
    changed_at=st.none() | TIMES | ANY_INT64,
)
cases = st.tuples(st.none() | olds, st.none() | answers, st.none() | targets).filter(any)
rules = st.builds(
    Rules, now_ms=TIMES, interval_s=st.integers(1, 10**7), min_interval_s=st.sampled_from([0, 60, 3_600]),
    max_interval_s=st.sampled_from([60, 86_400, 90 * 86_400]), grow=st.sampled_from([1.0, 1.4, 1.1]),
    shrink=st.sampled_from([1.0, 0.8, 0.3]), gone_grow=st.sampled_from([1.0, 1.5]), retry_max=st.integers(1, 4),
    retry_delay_s=st.integers(0, 10**6), sync=st.booleans(), sync_rate=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
)  # fmt: skip


NO_INTERVAL = Row(
    url_key="k", url=None, host="h", bucket=0, status="fetched", reason=None, due_at=START_MS, fetched_at=START_MS,
    modified_at=START_MS, retries=0, interval_s=1, fixed_interval_s=None, score=0, signature=b"a" * 16,
    outlink_count=0, depth=0,
)  # fmt: skip
CHANGED = Answer(
    url_key="k", url="asked", host="h", bucket=0, outcome="success", reason=None, fetched_at=START_MS, depth=0,
    parse_status="ok", parse_reason=None, noindex=None, outlink_count=0, signature=b"b" * 16,
)  # fmt: skip
SHRINKING = Rules(**{**UPDATE, "interval_s": 1, "min_interval_s": 0, "shrink": 0.8})


@pytest.fixture(scope="module")
def duck():
    session = Session(memory_mib=512, threads=1)
    yield session
    session.close()


def with_key(number, known):
    """The row with a key and a host of its own, so that many cases run as one batch."""
    return {**msgspec.structs.asdict(known), "url_key": f"k{number:05d}", "host": f"h{number}", "bucket": number}


def paces_of(number, rule):
    """Every third host and every second media type has a pace of its own: its rows, and the rules it makes."""
    rows = []
    if number % 3 == 0:
        rows.append({"kind": "host", "name": f"h{number}", "interval_s": 7_000, "max_interval_s": 50_000})
        rule = msgspec.structs.replace(rule, interval_s=7_000, max_interval_s=50_000)
    if number % 3 == 1:
        rows.append({"kind": "host", "name": f"h{number}", "min_interval_s": 4_000})
        rule = msgspec.structs.replace(rule, min_interval_s=4_000)
    if number % 2 == 0:
        rows.append({"kind": "media_type", "name": f"text/{number}", "grow": 2.0, "shrink": 0.5})
        if media_type(number) is not None:
            rule = msgspec.structs.replace(rule, grow=2.0, shrink=0.5)
    return rows, rule


def media_type(number):
    """The media type of one answer; that of some is not known."""
    return None if number % 5 == 4 else f"text/{number}"


def inputs_for(batch, rule, own_pace=False):
    found = {"known": [], "answers": [], "targets": []}
    for number, (old, answer, target) in enumerate(batch):
        if old is not None:
            linked = {} if target is None else {
                "links_depth": target.depth, "links_contribution": target.contribution, "listed_at": target.changed_at,
            }  # fmt: skip
            found["known"].append({**with_key(number, old), **linked})
        if answer is not None:
            found["answers"].append({**with_key(number, answer), "media_type": media_type(number)})
        if target is not None and old is None:
            found["targets"].append(with_key(number, target))
    own = [row for number in range(len(batch)) for row in paces_of(number, rule)[0]] if own_pace else []
    return {
        "known": rows_of(updatedb.KNOWN, found["known"]),
        "answers": rows_of(updatedb.ANSWERS, found["answers"]),
        "targets": rows_of(updatedb.ADMITTED, found["targets"]),
        "paces": rows_of(updatedb.PACES, own),
        "params": rows_of(updatedb.PARAMS, [msgspec.structs.asdict(rule)]),
    }


def by_function(batch, rule, own_pace=False):
    return [
        with_key(number, transition(*case, paces_of(number, rule)[1] if own_pace else rule))
        for number, case in enumerate(batch)
        if says_something(*case)
    ]


def says_something(old, answer, target):
    """Whether the round says anything of a page that could change its row."""
    if answer is not None or target is None or old is None:
        return answer is not None or target is not None
    return target.contribution != 0 or target.depth < old.depth or target.changed_at is not None


def by_sql(session, inputs):
    for name, rows in inputs.items():
        session.bind_arrow(name, rows)
    session.run(STEP, None)
    return session.table(STEP.output, STEP.columns).sort_by("url_key").to_pylist()


@settings(max_examples=150, deadline=None)
@given(batch=st.lists(cases, min_size=1, max_size=60), rule=rules)
@example(batch=[(NO_INTERVAL, CHANGED, None)], rule=SHRINKING)
def test_sql_is_the_function(duck, batch, rule):
    assert by_sql(duck, inputs_for(batch, rule)) == by_function(batch, rule)


@settings(max_examples=100, deadline=None)
@given(batch=st.lists(cases, min_size=1, max_size=60), rule=rules)
def test_sql_is_the_function_where_hosts_and_media_types_have_their_own_pace(duck, batch, rule):
    assert by_sql(duck, inputs_for(batch, rule, own_pace=True)) == by_function(batch, rule, own_pace=True)


def every_case():
    """Each state with each outcome, and each reason that decides something: all combinations that have a rule."""
    place = {"url_key": "k", "url": None, "host": "h", "bucket": 0}
    olds_, answers_ = [None], [None]
    for status in sorted(STATUSES):
        for reason in (None, "http_404", "noindex", "timeout"):
            for retries in (0, 2):
                for signature in (None, b"a" * 16):
                    olds_.append(
                        Row(
                            **place,
                            status=status,
                            reason=reason,
                            due_at=START_MS,
                            fetched_at=None,
                            modified_at=None,
                            retries=retries,
                            interval_s=86_400,
                            fixed_interval_s=None,
                            score=5,
                            signature=signature,
                            outlink_count=None,
                            depth=3,
                        )
                    )
    for outcome in sorted(OUTCOMES):
        for reason in (None, "http_404", "http_410", "timeout", "dns_failed"):
            for parse_status in (None, "ok", "failed", "skipped"):
                for fetched_at in (START_MS - 1, START_MS):
                    for signature in (None, b"a" * 16, b"b" * 16):
                        answers_.append(
                            Answer(
                                **{**place, "url": "u"},
                                outcome=outcome,
                                reason=reason,
                                fetched_at=fetched_at,
                                depth=1,
                                parse_status=parse_status,
                                parse_reason="media_type",
                                noindex=None,
                                outlink_count=7,
                                signature=signature,
                            )
                        )
    return [(o, a, None) for o in olds_ for a in answers_ if o or a]


def test_sql_is_the_function_for_every_state_and_outcome(duck):
    batch, rule = every_case(), Rules(**UPDATE)
    assert len(batch) > 100_000
    chunk = 20_000
    for start in range(0, len(batch), chunk):
        part = batch[start : start + chunk]
        assert by_sql(duck, inputs_for(part, rule)) == by_function(part, rule)


@settings(max_examples=100, deadline=None)
@given(case=cases, rule=rules)
@example(case=(NO_INTERVAL, CHANGED, None), rule=SHRINKING)
def test_what_holds_for_every_row(case, rule):
    old, answer, target = case
    row = transition(old, answer, target, rule)
    assert row.retries >= 0
    assert row.interval_s > 0 or row.fixed_interval_s == 0
    known = old.score if old else answer.score if answer and not target else 0
    assert -MOST_SCORE <= row.score <= MOST_SCORE
    summed = known + (target.contribution if target else 0)
    assert row.score == summed or abs(row.score) == MOST_SCORE or abs(known) > MOST_SCORE
    if old is not None:
        assert row.depth <= old.depth
        assert row.url == old.url
    if answer is None and old is not None:
        listed = target is not None and target.changed_at is not None
        assert row.due_at == old.due_at or (listed and row.due_at == rule.now_ms < old.due_at)
        kept = msgspec.structs.replace(
            row, score=old.score, depth=old.depth, interval_s=old.interval_s, due_at=old.due_at
        )
        assert kept == old, "a link changes nothing but score and depth, and a list the next visit"
    if answer is not None and answer.outcome in ("gone", "denied", "retry"):
        assert row.signature == (old.signature if old else None)
        assert row.fetched_at == (old.fetched_at if old else None)


@pytest.mark.spark
def test_spark_is_the_function_too(spark):
    from cobnut.engines.spark import run_sql

    batch, rule = every_case()[::37], Rules(**UPDATE)
    rows = run_sql(spark, STEP, inputs_for(batch, rule))
    assert rows.sort_by("url_key").to_pylist() == by_function(batch, rule)


@pytest.mark.spark
@settings(max_examples=4, deadline=None)
@given(batch=st.lists(cases, min_size=60, max_size=90), rule=rules)
def test_spark_is_the_function_at_the_ends_of_every_range_too(spark, batch, rule):
    from cobnut.engines.spark import run_sql

    rows = run_sql(spark, STEP, inputs_for(batch, rule, own_pace=True))
    assert rows.sort_by("url_key").to_pylist() == by_function(batch, rule, own_pace=True)
