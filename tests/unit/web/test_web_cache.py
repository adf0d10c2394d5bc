"""Answers at hand: bounded, least recently used first out, never from a former index."""

import time
import tracemalloc

import pytest
from search_pages import Server, document, make_crawl, publish

from cobnut.web.cache import OVERHEAD, AnswerCache
from cobnut.web.parameters import Asked


def test_the_least_recently_used_goes_first():
    cache = AnswerCache(10 * (OVERHEAD + 100))
    for number in range(10):
        cache.put(number, bytes(100))
    assert cache.get(0) == bytes(100)
    cache.put(10, bytes(100))
    assert cache.get(1) is None
    assert cache.get(0) is not None
    assert len(cache) == 10


def test_replacing_does_not_count_twice():
    cache = AnswerCache(1_000_000)
    for _ in range(5):
        cache.put("a", bytes(1_000))
    assert cache.bytes == 1_000 + OVERHEAD


def test_large_answers_do_not_push_out_all_others():
    cache = AnswerCache(100_000)
    cache.put("small", b"x")
    cache.put("large", bytes(20_000))
    assert cache.get("large") is None
    assert cache.get("small") == b"x"


def test_no_memory_keeps_nothing():
    cache = AnswerCache(0)
    cache.put("a", b"")
    assert cache.get("a") is None


def test_it_takes_no_more_memory_than_it_says():
    cache = AnswerCache(4 * 1024 * 1024)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(20_000):
        query = f"{number} " + "ü" * 390  # the longest query, two bytes a character
        cache.put(("page", 0, Asked(query, False, 10, 0)), bytes(100))
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert used <= 4 * 1024 * 1024
    assert len(cache) > 1_000


@pytest.mark.parametrize("path", ["/search", "/api/search"])
def test_a_new_index_is_answered_from_at_once(tmp_path, path):
    crawl = make_crawl(tmp_path / "crawl")
    publish(crawl, [document(1)])
    with Server(crawl) as server:
        first = server.get(path, q="hazel")
        assert server.get(path, q="hazel").body == first.body  # took_ms included: it was not searched for again
        other = server.get(path, q="hazel", explain=1)
        assert other.body != first.body
        publish(crawl, [document(n) for n in range(5)])
        for _ in range(400):
            time.sleep(0.02)
            if (answer := server.get(path, q="hazel")).body != first.body:
                break
        assert ("5 results" if path == "/search" else '"total":5') in answer.text


def test_errors_are_not_kept(tmp_path):
    crawl = make_crawl(tmp_path / "crawl")
    publish(crawl, [document(1)])
    with Server(crawl, settings=["serve.cache_mib=0"]) as server:
        assert server.get("/search", q="hazel", page="x").status == 400
        assert server.get("/search", q="hazel").status == 200
        assert server.get("/api/search", q="hazel").json()["total"] == 1
