"""What scoring rules say together: in order, each on what the one before gave; one that fails changes nothing."""

from __future__ import annotations

import gc
import math
import pickle
import threading
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.config.sections import ScoringSettings
from cobnut.errors import InputError
from cobnut.frontier.scoring import (
    BUILT_IN,
    FollowedLinks,
    IndexBoost,
    IndexedPage,
    InjectedScore,
    LinkingPage,
    PassedScores,
    SortValue,
    UpdatedScore,
    told,
)
from cobnut.frontier.scoring.waiting import Watch
from cobnut.stages.generate import CANDIDATE

MICRO = 1_000_000
URL = "http://a.example/x"
PAGE = LinkingPage(URL, "a.example", 12 * MICRO)
INDEXED = IndexedPage(URL, "a.example", MICRO, 2 * MICRO, 3 * MICRO, 4, 2, 1, "en", "text/html")


def links(*hosts: str) -> FollowedLinks:
    count = len(hosts)
    return FollowedLinks(
        tuple(f"http://{host}/{n}" for n, host in enumerate(hosts)), hosts, (None,) * count, ("link",) * count
    )


def due(*rows: tuple[str, int, int]) -> pa.RecordBatch:
    """Candidates as `generate` has them: path, sort value, depth."""
    from cobnut.records.columns import pa_schema
    from cobnut.urls.keys import url_key

    values = [
        {
            "url_key": url_key(f"http://a.example/{path}"), "host": "a.example", "bucket": 1, "sort_value": value,
            "score": value, "depth": depth, "fetched_before": False, "metadata": [("section", path)],
        }
        for path, value, depth in rows
    ]  # fmt: skip
    return pa.RecordBatch.from_pylist(values, schema=pa_schema(CANDIDATE))


def updated(*scores: tuple[int, int | None]) -> pa.RecordBatch:
    from cobnut.urls.keys import url_key

    return pa.RecordBatch.from_pylist(
        [
            {"url_key": url_key(URL), "host": "a.example", "status": "fetched", "depth": 1, "score": score,
             "former_score": former}
            for score, former in scores
        ],
        schema=pa.schema({"url_key": pa.string(), "host": pa.string(), "status": pa.string(), "depth": pa.int32(),
                          "score": pa.int64(), "former_score": pa.int64()}),
    )  # fmt: skip


@pytest.fixture
def rules(monkeypatch):
    """Makes objects rules of their names, in the order given, as if they were built in."""

    def make(**named: object) -> ScoringSettings:
        for name, rule in named.items():
            monkeypatch.setitem(BUILT_IN, name, lambda _scoring, _depth, rule=rule: rule)
        return ScoringSettings(rules=tuple(named))

    return make


def rule(**methods: object) -> SimpleNamespace:
    return SimpleNamespace(**methods)


def test_by_default_only_links_ask_a_rule() -> None:
    scoring = ScoringSettings()
    assert scoring.rules == ("opic",)
    assert PassedScores(scoring).needed
    for place in (InjectedScore(scoring), SortValue(scoring, -1), UpdatedScore(scoring), IndexBoost(scoring)):
        assert not place.needed
        assert place.calls == []


def test_without_a_rule_values_stay_and_links_pass_nothing() -> None:
    scoring = ScoringSettings(rules=())
    assert InjectedScore(scoring)(URL, 7, {}) == 7
    assert IndexBoost(scoring)(INDEXED) == MICRO
    assert PassedScores(scoring)(PAGE, links("a.example", "b.example")) == [0, 0]
    assert PassedScores(scoring).shares is None


def test_an_unknown_name_is_the_users_mistake_and_the_nearest_is_named() -> None:
    with pytest.raises(InputError) as error:
        PassedScores(ScoringSettings(rules=("link_rnk",)))
    assert "did you mean 'link_rank'?" in str(error.value.remedy)


ADD = rule(
    injected_score=lambda url, score, metadata: score + 1,
    sort_value=lambda page, value: value + 1,
    passed_scores=lambda page, links, scores: [score + 1 for score in scores],
    updated_score=lambda page, score: score + 1,
    index_boost=lambda page, boost: boost + 1,
)
TWICE = rule(
    injected_score=lambda url, score, metadata: 2 * score,
    sort_values=lambda pages, values: pa.array([2 * value for value in values.to_pylist()], pa.int64()),
    passed_scores=lambda page, links, scores: [2 * score for score in scores],
    updated_score=lambda page, score: 2 * score,
    index_boost=lambda page, boost: 2 * boost,
)


def everything(scoring: ScoringSettings, value: int) -> list[int]:
    """What all places make of one value (links: of nothing)."""
    places = (InjectedScore(scoring), SortValue(scoring, 3), PassedScores(scoring), UpdatedScore(scoring))
    seed, order, passed, update = places
    found = [
        seed(URL, value, {}), order(due(("a", value, 1)))["sort_value"][0].as_py(),
        passed(PAGE, links("b.example"))[0], update(updated((value, None)))["score"][0].as_py(),
    ]  # fmt: skip
    assert not any(place.failures for place in places)
    return found


@settings(deadline=None)
@given(value=st.integers(-(10**14), 10**14))
def test_order_matters_everywhere(value: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, one in (("add", ADD), ("twice", TWICE)):
            patch.setitem(BUILT_IN, name, lambda _scoring, _depth, one=one: one)
        first, then = 2 * (value + 1), 2 * value + 1
        assert everything(ScoringSettings(rules=("add", "twice")), value) == [first, first, 2, first]
        assert everything(ScoringSettings(rules=("twice", "add")), value) == [then, then, 1, then]
        assert IndexBoost(ScoringSettings(rules=("add", "twice")))(INDEXED) == 2 * (MICRO + 1)
        assert IndexBoost(ScoringSettings(rules=("twice", "add")))(INDEXED) == 2 * MICRO + 1


class Odd:
    """Fails when it is looked at as a number, as a list, or as text."""

    def __int__(self) -> int:
        raise RuntimeError("no number")

    def __iter__(self) -> object:
        raise RuntimeError("no list")

    def __repr__(self) -> str:
        raise RuntimeError("no text")


class Unspeakable(BaseException):
    """An error that no `except Exception` catches and that cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError("nothing to say")


def raising(error: BaseException) -> object:
    def call(*_args: object) -> object:
        raise error

    return call


def endless() -> object:
    while True:
        yield 1


NO_SCORES = [math.nan, math.inf, -math.inf, 10**30, -(10**30), None, "12", b"12", "", [], {}, Odd(), object(), 1j]
ERRORS = [
    ValueError("x"),
    SystemExit(3),
    RecursionError(),
    MemoryError(),
    GeneratorExit(),
    Unspeakable(),
    StopIteration(),
]


@pytest.mark.parametrize("call", [*map(lambda v: lambda *_: v, NO_SCORES), *map(raising, ERRORS)])
def test_what_fails_leaves_the_value_is_counted_and_ends_nothing(rules, call) -> None:
    bad = rule(injected_score=call, sort_value=call, passed_scores=call, updated_score=call, index_boost=call)
    scoring = rules(add=ADD, bad=bad, twice=TWICE)
    seed, order, passed = InjectedScore(scoring), SortValue(scoring, 3), PassedScores(scoring)
    update, boost = UpdatedScore(scoring), IndexBoost(scoring)
    assert seed(URL, 5, {}) == 12
    assert order(due(("a", 5, 1), ("b", 6, 1)))["sort_value"].to_pylist() == [12, 14]
    assert passed(PAGE, links("a.example", "b.example")) == [2, 2]
    assert update(updated((5, 1), (6, None)))["score"].to_pylist() == [12, 14]
    assert boost(INDEXED) == 2 * (MICRO + 1)
    assert [dict(place.failures) for place in (seed, order, passed, update, boost)] == [
        {"bad": 1}, {"bad": 2}, {"bad": 1}, {"bad": 2}, {"bad": 1},
    ]  # fmt: skip
    assert told(order.failures, "pages") == ["scoring rule bad failed on 2 pages"]


@pytest.mark.parametrize(
    "value", [[1], [1, 2, 3], iter([]), endless(), ["1", 2], [math.nan, 1], [10**12 + 1, 1], "ab", 7]
)
def test_links_get_one_score_each_or_keep_theirs(rules, value) -> None:
    passed = PassedScores(rules(opic=BUILT_IN["opic"](ScoringSettings(), -1), bad=rule(passed_scores=lambda *_: value)))
    assert passed(PAGE, links("a.example", "b.example")) == [6 * MICRO, 6 * MICRO]
    assert passed.failures == {"bad": 1}


@pytest.mark.parametrize(
    "value",
    [[1], pa.array([1, None]), pa.array([1.5, math.nan]), pa.array(["a", "b"]), [10**18 + 1, 1], None, 3, pa.array([])],
)
def test_a_column_of_sort_values_is_whole_or_not_taken(rules, value) -> None:
    order = SortValue(rules(bad=rule(sort_values=lambda *_: value)), 3)
    assert order(due(("a", 5, 1), ("b", 6, 1)))["sort_value"].to_pylist() == [5, 6]
    assert order.failures == {"bad": 2}


def changes_what_it_is_given(about: object, *more: object) -> object:
    """Writes into everything that it is handed, as far as it lets itself be written to."""
    for one in (about, *more):
        for write in (
            lambda one=one: one.update(section="mine"), lambda one=one: one.clear(), lambda one=one: one.append(1),
            lambda one=one: one.metadata.update(section="mine"), lambda one=one: one.urls.append("x"),
            lambda one=one: setattr(one, "score", 99), lambda one=one: one.__setitem__(0, 99),
        ):  # fmt: skip
            try:
                write()
            except (AttributeError, TypeError):
                continue
            raise AssertionError(f"{one!r} could be changed")
    return more[0]


def test_no_rule_changes_what_others_and_the_tables_are_told(rules) -> None:
    seen: list[object] = []
    change = changes_what_it_is_given
    bad = rule(injected_score=lambda url, score, metadata: change(metadata, score), sort_value=change,
               passed_scores=lambda page, links, scores: change(page, scores, links), updated_score=change,
               index_boost=change)  # fmt: skip
    look = rule(
        injected_score=lambda url, score, metadata: seen.append(dict(metadata)) or score,
        sort_value=lambda page, value: seen.append(dict(page.metadata)) or value,
    )
    scoring = rules(bad=bad, look=look)
    metadata = {"section": "a"}
    seed, order, passed = InjectedScore(scoring), SortValue(scoring, 3), PassedScores(scoring)
    assert seed(URL, 5, metadata) == 5
    assert order(due(("a", 5, 1)))["sort_value"].to_pylist() == [5]
    assert passed(PAGE, links("b.example")) == [0]
    assert UpdatedScore(scoring)(updated((5, 1)))["score"].to_pylist() == [5]
    assert IndexBoost(scoring)(INDEXED) == MICRO
    assert metadata == {"section": "a"}
    assert seen == [{"section": "a"}, {"section": "a"}]
    assert [dict(place.failures) for place in (seed, order, passed)] == [{}, {}, {}]


@pytest.mark.parametrize("boost", [0, -1, 10**12 + 1])
def test_a_boost_is_above_nothing_and_has_an_end(rules, boost) -> None:
    asked = IndexBoost(rules(bad=rule(index_boost=lambda *_: boost)))
    assert asked(INDEXED) == MICRO
    assert asked.failures == {"bad": 1}


def test_the_users_interrupt_goes_through(rules) -> None:
    stop = raising(KeyboardInterrupt())
    scoring = rules(
        stop=rule(injected_score=stop, sort_values=stop, passed_scores=stop, updated_score=stop, index_boost=stop)
    )
    asks = [
        lambda: InjectedScore(scoring)(URL, 1, {}), lambda: SortValue(scoring, 3)(due(("a", 1, 1))),
        lambda: UpdatedScore(scoring)(updated((1, 1))),
        lambda: IndexBoost(scoring)(INDEXED),
    ]  # fmt: skip
    for ask in asks:
        with pytest.raises(KeyboardInterrupt):
            ask()
    passed = PassedScores(scoring)  # asked in workers that no interrupt of a user reaches
    assert passed(PAGE, links("b.example")) == [0]
    assert passed.failures == {"stop": 1}


def test_negative_values_and_fractions_are_scores_too(rules) -> None:
    scoring = rules(
        half=rule(injected_score=lambda url, score, metadata: score * -0.5, passed_scores=lambda p, n, s: [-3.9])
    )
    assert InjectedScore(scoring)(URL, 5, {}) == -2
    assert PassedScores(scoring)(PAGE, links("b.example")) == [-3]


def test_a_value_beyond_the_limit_may_stay_but_not_be_made(rules) -> None:
    update = UpdatedScore(rules(same=rule(updated_score=lambda page, score: score)))
    assert update(updated((2**62, 1)))["score"].to_pylist() == [2**62]
    assert not update.failures


def test_rules_are_told_what_they_need(rules) -> None:
    seen: list[object] = []
    keep = lambda facts, value: seen.append(facts) or value  # noqa: E731
    scoring = rules(look=rule(sort_value=keep, updated_score=keep))
    SortValue(scoring, 3)(due(("a", 5, 2)))
    UpdatedScore(scoring)(updated((5, None)))
    page, row = seen
    assert (page.url, page.host, page.score, page.depth, dict(page.metadata)) == (
        "http://a.example/a", "a.example", 5, 2, {"section": "a"},
    )  # fmt: skip
    assert (row.url, row.status, row.former_score) == (URL, "fetched", None)


@settings(deadline=None)
@given(
    score=st.integers(-(10**18), 10**18),
    hosts=st.lists(st.sampled_from(["a.example", "b.example"]), min_size=1, max_size=9),
    inside=st.sampled_from([0.0, 0.5, 1.0, 1000.0]), outside=st.sampled_from([0.0, 1.0, 3.0]),
)  # fmt: skip
def test_opic_asked_as_a_rule_gives_its_shares(score: int, hosts: list[str], inside: float, outside: float) -> None:
    scoring = ScoringSettings(internal_factor=inside, external_factor=outside)
    passed = PassedScores(scoring)
    assert passed.shares is not None
    shares = passed.shares(score, len(hosts))
    given_ = passed(LinkingPage(URL, "a.example", score), links(*hosts))
    assert given_ == [shares[0] if host == "a.example" else shares[1] for host in hosts]
    assert not passed.failures
    assert all(abs(share) <= 10**15 for share in shares)


def test_depth_multiplies_by_the_steps_that_are_left() -> None:
    order = SortValue(ScoringSettings(rules=("depth",)), 3)
    batch = due(("a", 10, 0), ("b", 10, 3), ("c", 10, 9), ("d", -10, 0), ("e", 0, 1), ("f", 10**18, 0))
    assert order(batch)["sort_value"].to_pylist() == [40, 10, 10, -10, 0, 10**18]
    assert SortValue(ScoringSettings(rules=("depth",)), -1)(due(("a", 1, 0)))["sort_value"].to_pylist() == [1000]
    assert batch.schema == order(batch).schema
    assert not order.failures


def test_link_rank_lifts_what_is_linked_to() -> None:
    boost = IndexBoost(ScoringSettings(rules=("opic", "link_rank")))
    unknown = IndexedPage(URL, "a.example", MICRO, 0, 0, 0, 0, 1, None, None)
    assert boost.names == ("link_rank",)
    assert boost(unknown) == MICRO
    assert boost(INDEXED) == round(MICRO * 12**0.25)


def test_a_watch_ends_with_its_place_and_can_be_copied_to_another_process() -> None:
    watch = Watch(every_s=0.01)
    watched = watch.watched("longest", "injected_score", max)
    assert watched(1, 2) == 2
    assert watch.under_way is None
    copy = pickle.loads(pickle.dumps(watched))
    assert copy(3, 2) == 3
    (thread,) = [t for t in threading.enumerate() if t is watch._thread]
    assert thread.daemon  # no process lives longer for it
    del watch, watched
    gc.collect()
    thread.join(60)
    assert not thread.is_alive()
