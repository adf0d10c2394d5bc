"""No query costs more than its budget, whatever is typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_pages import document, make_crawl, publish

from cobnut.config.sections import SearchSettings
from cobnut.index.clauses import Clause, IndexQuery
from cobnut.search.budget import NOTICE, PHRASE, affordable
from cobnut.search.open import open_searcher
from cobnut.search.query import parse

HELD = {"the": 1_000, "of": 900, "and": 800, "histori": 40, "hazel": 3}
DOCS = 1_000


def asked(text, most, any_word=False):
    query = parse(text).index_query
    return affordable(query, most, DOCS, lambda word: HELD.get(word, 0), any_word=any_word)


def words(query):
    return [" ".join(clause.words) for clause in query.wanted]


def test_a_query_that_cannot_be_too_costly_is_not_even_looked_up():
    query = parse("the of").index_query
    assert affordable(query, 2 * DOCS, DOCS, lambda word: pytest.fail("looked up"), any_word=True) is query


def test_words_that_must_all_be_held_cost_as_often_as_the_rarest():
    query = parse("the history of hazel and more").index_query
    assert affordable(query, 20, DOCS, lambda word: HELD.get(word, 7), any_word=False) is query
    assert affordable(query, 17, DOCS, lambda word: HELD.get(word, 7), any_word=False) is not query


def test_words_of_which_some_suffice_lose_the_commonest():
    assert words(asked("the history of hazel", 1_000, any_word=True)) == ["histori", "of", "hazel"]
    assert words(asked("the history of hazel", 100, any_word=True)) == ["histori", "hazel"]


def test_a_phrase_becomes_words_before_words_are_lost():
    query = asked('"the of and"', 2_400)
    assert query.wanted == (Clause(("the", "of", "and")),)
    assert asked('"the of and"', 3 * 800 * PHRASE).wanted == (Clause(("the", "of", "and"), True),)


def test_one_word_always_may_be_asked_for():
    assert words(asked("the", 1)) == ["the"]
    assert words(asked('"the of and the of"', 1)) == ["and"]


def test_exclusions_go_when_they_are_what_costs():
    query = asked('hazel -the -"of and"', 1_003)
    assert (words(query), query.unwanted) == (["hazel"], (Clause(("the",)),))
    assert asked('hazel -the -"of and"', 10).unwanted == ()


def test_sites_stay():
    query = asked("the of and site:a.example -site:b.example", 10)
    assert (query.sites, query.other_sites) == (("a.example",), ("b.example",))


PARTS = st.lists(
    st.tuples(st.sampled_from(["", "-"]), st.lists(st.sampled_from([*HELD, "none"]), min_size=1)), max_size=9
)


@given(PARTS, st.integers(1, 40_000), st.booleans(), st.booleans())
def test_whatever_is_asked_ends_and_is_no_more_than_was_asked(parts, most, any_word, exactly):
    wanted = tuple(Clause(tuple(ws), exactly) for sign, ws in parts if not sign)
    unwanted = tuple(Clause(tuple(ws), exactly) for sign, ws in parts if sign)
    query = IndexQuery(wanted=wanted, unwanted=unwanted)
    found = affordable(query, most, DOCS, lambda word: HELD.get(word, 0), any_word=any_word)
    assert {w for c in found.wanted for w in c.words} <= {w for c in wanted for w in c.words}
    assert set(found.unwanted) <= set(unwanted)
    assert bool(found.wanted) == bool(wanted)
    if not any_word and found is not query and sum(len(c.words) for c in found.wanted) > 1:
        rarest = min(HELD.get(w, 0) for c in found.wanted for w in c.words)
        assert sum(min(rarest, HELD.get(w, 0)) for c in found.wanted for w in c.words) <= most


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    path = make_crawl(tmp_path_factory.mktemp("budget") / "crawl")
    publish(path, [document(n, text=f"the of and to in a is that number {n}") for n in range(400)])
    return path


NASTY = [
    " ".join(f'"{a} {b}"' for a in ["the", "of", "and", "to"] for b in ["in", "a", "is", "that"]),
    "zzz " + " ".join(f"-{w}" for w in ["the", "of", "and", "to", "in", "a", "is", "that"]),
    '"' + "the of and to in a is that " * 8 + '"',
    "the-of-and-to-in-a-is-that-number",
    "中文" * 200,
    '-"the of' * 60,
]


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("most", [1_000, 20_000_000])
def test_nasty_queries_are_answered(crawl, text, most):
    searcher = open_searcher(crawl, SearchSettings(max_postings=most))
    found = searcher.search(text, limit=100, offset=300, explain=True)
    assert found.took_ms >= 0
    assert not [n for n in found.notices if n == NOTICE] or most == 1_000


def test_whoever_searches_is_told(crawl):
    text = '"the of" "and to" "in a"'
    assert NOTICE in open_searcher(crawl, SearchSettings(max_postings=1_000)).search(text).notices
    assert NOTICE not in open_searcher(crawl).search(text).notices
