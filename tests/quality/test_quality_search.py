"""A gate: does searching find the page that was meant?

A small corpus of our own with distractors (a table of contents, a news page that names everything, several
languages), and queries whose answer is known. The floors are what was reached when they were set; the digest pins the
corpus, so that a better figure is not a smaller task. Lowering a floor needs a reason in the commit that does it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from cobnut.config.sections import IndexSettings
from cobnut.index.document import Document
from cobnut.index.writer import write_index
from cobnut.search.open import open_searcher
from cobnut.search.searcher import Searcher

CORPUS = Path(__file__).with_name("known_items.json")
DIGEST = "6a75be72f0ac6192"
MRR_FLOOR = 0.98
FIRST_FLOOR = 0.97


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder = tmp_path_factory.mktemp("quality") / "index"
    write_index(folder, _documents(), IndexSettings())
    return open_searcher(folder)


def _documents() -> list[Document]:
    made = []
    for address, title, text, anchors in json.loads(CORPUS.read_bytes())["pages"]:
        host, _, path = address.partition("/")
        name = ".".join(reversed(host.split(".")))
        document = Document(
            url_key=f"{name})/{path}",
            url=f"http://{address}",
            host=host,
            domain=host,
            segment="s1",
            title=title,
            text=f"{title}\n{text}",
            headings=(title.partition(" - ")[0],),
            anchors=tuple((words, f"k{n}") for n, words in enumerate(anchors)),
            page_rank=1_000_000 * (1 + len(anchors)),
            host_rank=1_000_000,
        )
        made.append(document)
    return made


def test_the_corpus_is_the_one_the_floors_were_set_on() -> None:
    assert hashlib.sha256(CORPUS.read_bytes()).hexdigest()[:16] == DIGEST


def test_known_items_are_found(searcher: Searcher) -> None:
    queries = json.loads(CORPUS.read_bytes())["queries"]
    places = {}
    for query, answer in queries:
        urls = [hit.url for hit in searcher.search(query, limit=10).hits]
        places[query] = urls.index(f"http://{answer}") + 1 if f"http://{answer}" in urls else 0
    mrr = sum(1 / place for place in places.values() if place) / len(queries)
    first = sum(place == 1 for place in places.values()) / len(queries)
    missed = {query: place for query, place in places.items() if place != 1}
    assert mrr >= MRR_FLOOR, f"MRR {mrr:.3f}; not first: {missed}"
    assert first >= FIRST_FLOOR, f"first {first:.3f}; not first: {missed}"


def test_ranking_is_better_than_the_engine_alone(searcher: Searcher) -> None:
    """The rerank must pay its way on whole anchors: what others call a page is what it is found by."""
    assert searcher.search("cobnut").hits[0].url == "http://crawl.test/"
    assert searcher.search("worms in nuts").hits[0].url == "http://garden.test/pests/weevil.html"
