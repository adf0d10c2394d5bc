"""From a typed query to a page of results: order, paging, explanations, and strings that broke other engines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.config.sections import IndexSettings, SearchSettings
from cobnut.errors import DataError, InputError
from cobnut.index.document import Document
from cobnut.index.writer import write_index
from cobnut.search.answer import as_json
from cobnut.search.open import open_searcher
from cobnut.search.ranking import FEATURES, Weights
from cobnut.search.searcher import Searcher


def page(name: str, title: str = "", text: str = "", **more: object) -> Document:
    values: dict[str, object] = {
        "url_key": f"test,example)/{name}", "url": f"http://example.test/{name}", "host": "example.test",
        "domain": "example.test", "segment": "s1", "title": title, "text": text, **more,
    }  # fmt: skip
    return Document(**values)  # type: ignore[arg-type]


def searcher(folder: Path, *documents: Document, settings: SearchSettings | None = None) -> Searcher:
    write_index(folder / "index", documents, IndexSettings())
    return open_searcher(folder / "index", settings)


def names(found: Searcher, query: str, **more: int) -> list[str]:
    return [hit.url.rpartition("/")[2] for hit in found.search(query, **more).hits]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('devices usb-c adapter""', ["1"]),
        ("https://wiki.example.test", ["1"]),
        ("following:", ["1"]),
        (">>>", None),
        ('">>>"', None),
        ('"devices usb-c adapter" ""', ["1"]),
        ("-adapter", None),
        ("+ 2", None),
        ("\\>\\>\\>", None),
        ("comment:\nwords", None),
        ("y+(y+25)", ["3"]),
        ("(((((((((", None),
        ('"' * 5_000, None),
        ("a OR (b AND", None),
        ("title:[a TO", None),
        ("*", None),
        ("\x00\ud800", None),
    ],
)
def test_strings_that_broke_other_engines(tmp_path: Path, query: str, expected: list[str] | None) -> None:
    found = searcher(
        tmp_path,
        page("1", "USB adapter", "devices usb-c adapter for https://wiki.example.test following: >>> done 2021-08-22"),
        page("2", "Other", "nothing here"),
        page("3", "f", "we define y+(y+25) here"),
    )
    hits = names(found, query)
    if expected is not None:
        assert hits[: len(expected)] == expected


def test_pages_of_results_fit_together(tmp_path: Path) -> None:
    documents = [page(f"p{n:03d}", f"Number {n}", "walnut " * (1 + n % 7) + f"x{n}", page_rank=n) for n in range(155)]
    found = searcher(tmp_path, *documents)
    pages = [found.search("walnut", limit=10, offset=10 * n) for n in range(17)]
    assert {p.total for p in pages} == {155}
    assert [len(p.hits) for p in pages] == [10] * 15 + [5, 0]
    urls = [hit.url for p in pages for hit in p.hits]
    assert len(set(urls)) == 155
    assert [hit.position for p in pages for hit in p.hits] == list(range(1, 156))
    assert urls == [hit.url for hit in found.search("walnut", limit=200).hits]


def test_all_words_first_then_some(tmp_path: Path) -> None:
    found = searcher(
        tmp_path,
        page("walnut", "walnut walnut walnut", "walnut " * 30),
        page("both", text="a walnut for a sparrow, among many other words " + "filler " * 200),
        page("sparrow", text="sparrow"),
        page("none", text="nothing"),
    )
    results = found.search("walnut sparrow")
    assert names(found, "walnut sparrow") == ["both", "walnut", "sparrow"]
    assert results.total == 3
    assert names(found, "walnut sparrow", limit=1, offset=1) == ["walnut"]
    strict = Searcher(found._source, SearchSettings(or_below=1))
    assert names(strict, "walnut sparrow") == ["both"]


def test_one_compound_falls_apart_when_no_page_holds_all_of_it(tmp_path: Path) -> None:
    found = searcher(tmp_path, page("tea", text="茶叶的保存"), page("nut", text="walnut"), page("other", text="else"))
    assert names(found, "茶叶保存") == ["tea"]
    assert names(found, "walnut-sparrow") == ["nut"]
    assert names(found, '"walnut sparrow"') == []


def test_paging_holds_where_documents_with_some_words_follow(tmp_path: Path) -> None:
    documents = [page(f"a{n}", text="walnut sparrow") for n in range(3)]
    documents += [page(f"b{n}", text="walnut " * (1 + n % 5)) for n in range(120)]
    found = searcher(tmp_path, *documents, settings=SearchSettings(candidates=20))
    urls = [hit.url for n in range(13) for hit in found.search("walnut sparrow", offset=10 * n).hits]
    assert len(urls) == len(set(urls)) == found.search("walnut sparrow").total == 123
    assert {u.rpartition("/")[2] for u in urls[:3]} == {"a0", "a1", "a2"}


def test_phrases_exclusions_and_sites(tmp_path: Path) -> None:
    found = searcher(
        tmp_path,
        page("a", text="the red fox jumps"),
        page("b", text="the fox is red"),
        page("c", text="the red fox sleeps", host="other.test"),
    )
    assert sorted(names(found, '"red fox"')) == ["a", "c"]
    assert names(found, '"red fox" -sleeps') == ["a"]
    assert sorted(names(found, "fox site:example.test")) == ["a", "b"]
    assert names(found, "site:other.test") == ["c"]
    assert sorted(names(found, "fox -site:other.test")) == ["a", "b"]
    assert names(found, "fox site:none.test") == []


def test_an_explanation_names_every_feature_and_adds_up(tmp_path: Path) -> None:
    found = searcher(
        tmp_path,
        page(
            "pickle", "pickle", "pickle and more", page_rank=3_000_000, inlink_host_count=4, anchors=(("pickle", "k"),)
        ),
        page("other", "About pickle", "pickle " * 50),
    )
    results = found.search("pickle", explain=True)
    for hit in results.hits:
        assert [f.name for f in hit.features] == list(FEATURES) == list(Weights.__struct_fields__)
        assert sum(f.contribution for f in hit.features) == pytest.approx(hit.score)
    first = {f.name: f.value for f in results.hits[0].features}
    assert results.hits[0].url.endswith("/pickle")
    assert (first["exact_title"], first["exact_anchor"], first["exact_url"]) == (1, 1, 1)
    assert not found.search("pickle").hits[0].features


def test_the_answer_of_the_api(tmp_path: Path) -> None:
    found = searcher(tmp_path, page("a", "<b>A</b>", "a walnut & more", language="en", fetched_at=86_400_000))
    answer = as_json(found.search("walnut"))
    assert {"query", "total", "took_ms", "hits"} <= answer.keys()
    (hit,) = answer["hits"]
    assert (hit["url"], hit["title"], hit["snippet"]) == ("http://example.test/a", "<b>A</b>", "a walnut & more")
    assert hit["snippet_html"] == "a <mark>walnut</mark> &amp; more"
    assert hit["fetched_at"] == "1970-01-02T00:00:00Z"
    assert "features" not in hit
    assert len(as_json(found.search("walnut", explain=True))["hits"][0]["features"]) == len(FEATURES)


def test_an_empty_query_and_an_empty_index_are_normal(tmp_path: Path) -> None:
    empty = searcher(tmp_path)
    assert empty.search("word").notice == "nothing indexed yet"
    (tmp_path / "other").mkdir()
    full = searcher(tmp_path / "other", page("a", text="word"))
    results = full.search("   ")
    assert (results.total, results.hits, results.notice) == (0, (), None)


def test_hostile_limits_are_bounded(tmp_path: Path) -> None:
    found = searcher(tmp_path, page("a", text="word"))
    assert found.search("word", limit=10**9, offset=-5).total == 1
    assert found.search("word", limit=-1).hits == ()
    assert found.search("word", offset=10**12).hits == ()


def test_what_holds_no_index_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        open_searcher(tmp_path / "absent")
    with pytest.raises(DataError, match="not an index"):
        open_searcher(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="not a folder"):
        open_searcher(tmp_path / "file")


def test_searching_loads_no_heavy_library(tmp_path: Path) -> None:
    searcher(tmp_path, page("a", text="word"))
    code = (
        "import sys; from pathlib import Path; from cobnut.search.open import open_searcher;"
        "from cobnut.search.answer import as_json;"
        f"assert as_json(open_searcher(Path({str(tmp_path / 'index')!r})).search('word'))['total'] == 1;"
        "print([m for m in ('numpy','pyarrow','duckdb','scipy','starlette','rich','selectolax') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return searcher(
        tmp_path_factory.mktemp("small"),
        page("a", "a b c", "a b a b c 漢字漢字 é", language="en"),
        page("b", "b", "b b b", host="[::1]"),
    )


@given(
    st.lists(
        st.sampled_from(['"', "-", "site:", "a", "b", " ", "c", "漢字", "é", "'s", "example.test", "/"]), max_size=30
    )
)
@settings(max_examples=300, deadline=None)
def test_no_mixture_of_words_and_signs_raises(small: Searcher, parts: list[str]) -> None:
    results = small.search("".join(parts), explain=True)
    assert len(results.hits) <= results.total <= 2
    assert len({hit.url for hit in results.hits}) == len(results.hits) == results.total


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_no_text_raises(small: Searcher, text: str) -> None:
    as_json(small.search(text))
