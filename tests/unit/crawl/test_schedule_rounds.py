"""Do schedules, set for a crawl, for one host or for one media type, decide when pages of a crawl come again?

Rows go in and come out through the stages; what the schedules are in words is tested beside `frontier.schedule`.
"""

from __future__ import annotations

import hashlib

import pytest

from cobnut.config.sections import CrawlSettings, DbSettings, Settings
from cobnut.crawl import steps
from cobnut.records import catalogue as tables
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import DAY_MS, START_MS, by_key, key, link, new_crawl, page, write_segment

DAY_S = 86_400
PAGE, OTHER = "http://news.test/", "http://plain.test/"
ROUNDS = ("20260101000000", "20260102000000", "20260103000000", "20260104000000")


@pytest.fixture
def crawl(tmp_path):
    return new_crawl(tmp_path / "crawl")


def with_db(**more):
    return Settings(crawl=CrawlSettings(scope="web"), db=DbSettings(**more))


def inject(crawl, settings, *lines, **more):
    steps.inject(crawl, settings, lines, clock=VirtualClock(START_MS), **more)


def visit(crawl, settings, number, text="text", *, url=PAGE, at=None, media_type="text/html", links=(), **more):
    """One round that fetches one page; its row afterwards."""
    at = START_MS + number * DAY_MS if at is None else at
    signature = hashlib.md5(text.encode()).digest()
    answer = {"outcome": "success", "digest": signature, "fetched_at": at, "http_status": 200, **more}
    succeeded = answer["outcome"] == "success"
    write_segment(
        crawl, ROUNDS[number], fetchlist=[page(url)], fetched=[page(url, **answer)], links=links,
        parsed=[page(url, signature=signature, media_type=media_type, fetched_at=at)] if succeeded else [],
    )  # fmt: skip
    steps.updatedb(crawl, settings, clock=VirtualClock(at))
    return row(crawl, url)


def row(crawl, url=PAGE):
    return by_key(crawl.table(tables.CRAWLDB).read())[key(url)]


def test_pages_of_a_host_begin_with_its_interval_seeds_and_linked_ones_alike(crawl):
    settings = with_db(host_schedules=("NEWS.test interval=2h", "x.test interval=1h"))
    inject(crawl, settings, PAGE, OTHER, "http://news.test/own\tnutch.fetchInterval=600")
    links = [link(OTHER, "http://news.test/linked"), link(OTHER, "http://else.test/", 1)]
    visit(crawl, settings, 0, url=OTHER, links=links)
    found = {url: row(crawl, url)["interval_s"] for url in (
        PAGE, OTHER, "http://news.test/own", "http://news.test/linked", "http://else.test/")}  # fmt: skip
    assert list(found.values()) == [7_200, DAY_S, 600, 7_200, DAY_S]
    inject(crawl, with_db(host_schedules=("news.test interval=1d",)), PAGE, update=True)
    assert row(crawl)["interval_s"] == 7_200, "only what the seed's line says renews a row"


def test_bounds_of_a_host_are_in_the_place_of_those_of_all(crawl):
    settings = with_db(host_schedules=("news.test interval=1d min=22h max=30h",), min_interval_s=60)
    inject(crawl, settings, PAGE, OTHER)
    texts = ("a", "b", "b", "b")
    hours = [visit(crawl, settings, n, text)["interval_s"] // 3_600 for n, text in enumerate(texts)]
    assert hours == [24, 22, 30, 30], "a fifth less than 24 is below the least, two fifths more than 22 above the most"


def test_a_page_that_is_gone_waits_no_longer_than_its_host_says(crawl):
    settings = with_db(host_schedules=("news.test max=30h",))
    inject(crawl, settings, PAGE)
    gone = visit(crawl, settings, 0, outcome="gone", reason="http_410")
    assert (gone["status"], gone["interval_s"], gone["due_at"]) == ("gone", 30 * 3_600, START_MS + 30 * 3_600_000)


def test_of_two_entries_for_a_host_the_later_holds(crawl):
    settings = with_db(host_schedules=("news.test interval=2h", "news.test interval=3h"))
    inject(crawl, settings, PAGE)
    assert row(crawl)["interval_s"] == 3 * 3_600


@pytest.mark.parametrize("outcome", ["success", "not_modified"])
def test_growth_by_media_type_also_where_an_answer_says_none(crawl, outcome):
    settings = with_db(media_type_schedules=("application/pdf increase=1 decrease=0.5",))
    inject(crawl, settings, PAGE)
    intervals = [visit(crawl, settings, 0, "a", media_type="application/pdf")["interval_s"]]
    intervals.append(visit(crawl, settings, 1, "a", media_type="application/pdf", outcome=outcome)["interval_s"])
    intervals.append(visit(crawl, settings, 2, "b", media_type="application/pdf")["interval_s"])
    intervals.append(visit(crawl, settings, 3, "c", media_type="text/html")["interval_s"])
    assert intervals == [DAY_S, 2 * DAY_S, DAY_S, DAY_S * 8 // 10]


def test_the_default_schedule_knows_no_growth_of_any_kind(crawl):
    settings = with_db(schedule="default", sync_delta=True, media_type_schedules=("text/html increase=1",))
    inject(crawl, settings, PAGE)
    assert [visit(crawl, settings, n, t)["interval_s"] for n, t in enumerate("abbb")] == [DAY_S] * 4


def test_an_interval_fixed_by_the_seed_overrides_hosts_media_types_and_changes(crawl):
    settings = with_db(
        host_schedules=("news.test interval=2h min=1h max=2h",), media_type_schedules=("text/html increase=9",)
    )
    inject(crawl, settings, f"{PAGE}\tnutch.fetchInterval.fixed=777")
    for number, (text, outcome) in enumerate((("a", "success"), ("b", "success"), ("b", "not_modified"))):
        found = visit(crawl, settings, number, text, outcome=outcome)
        assert (found["interval_s"], found["due_at"] - found["fetched_at"]) == (777, 777_000)
    gone = visit(crawl, settings, 3, outcome="gone", reason="http_410")
    assert (gone["interval_s"], gone["due_at"]) == (777, START_MS + 3 * DAY_MS + 777_000)


def test_sync_delta_follows_a_page_s_own_rhythm(crawl):
    settings = with_db(sync_delta=True, sync_delta_rate=0.25)
    inject(crawl, settings, PAGE)
    visit(crawl, settings, 0, "a")
    late = visit(crawl, settings, 1, "a", at=START_MS + 8 * DAY_MS)
    assert late["interval_s"] == 8 * DAY_S, "unchanged for eight days"
    assert late["due_at"] == START_MS + 8 * DAY_MS - 2 * DAY_MS + 8 * DAY_MS


def test_what_the_server_says_of_the_last_change_is_evidence(crawl):
    settings = with_db()
    inject(crawl, settings, PAGE)
    said = START_MS - 5 * DAY_MS
    assert visit(crawl, settings, 0, "a", last_modified_at=said)["modified_at"] == said
    same = visit(crawl, settings, 1, "a", last_modified_at=START_MS + DAY_MS // 2)
    assert same["modified_at"] == said, "the same bytes have not changed, whatever the server says"
    older = visit(crawl, settings, 2, "b", last_modified_at=START_MS - 9 * DAY_MS)
    assert older["modified_at"] == START_MS + 2 * DAY_MS, "it was seen to differ since: that date is no answer"
    newer = visit(crawl, settings, 3, "c", last_modified_at=START_MS + 2 * DAY_MS + 7)
    assert newer["modified_at"] == START_MS + 2 * DAY_MS + 7


@pytest.mark.parametrize(
    ("source", "changed_at", "is_due"),
    [
        ("http://news.test/sitemap.xml", START_MS + DAY_MS // 2, True),
        ("http://news.test/sitemap.xml", START_MS, False),  # not after the fetch
        ("http://news.test/sitemap.xml", START_MS + DAY_MS, True),  # just now
        ("http://news.test/sitemap.xml", START_MS + DAY_MS + 1, False),  # in the future
        ("http://plain.test/sitemap.xml", START_MS + DAY_MS // 2, False),  # of another host
        ("http://news.test/sitemap.xml", None, False),
    ],
)
def test_a_sitemap_of_the_host_says_that_a_page_has_changed(crawl, source, changed_at, is_due):
    settings = with_db(interval_s=20 * DAY_S)
    inject(crawl, settings, PAGE, source)
    before = visit(crawl, settings, 0)
    assert before["due_at"] == START_MS + 20 * DAY_MS
    links = [link(source, PAGE, kind="sitemap", changed_at=changed_at)]
    visit(crawl, settings, 1, "<urlset>", url=source, links=links)
    now = row(crawl)
    assert now["due_at"] == (START_MS + DAY_MS if is_due else before["due_at"])
    assert {**now, "due_at": 0, "score": 0} == {**before, "due_at": 0, "score": 0}, "and nothing else"


def test_a_clock_that_was_set_back_makes_no_page_wait_for_ever(crawl):
    settings = with_db(schedule="default")
    inject(crawl, settings, PAGE)
    ahead = visit(crawl, settings, 0, at=START_MS + 400 * DAY_MS)
    assert ahead["due_at"] == START_MS + 401 * DAY_MS
    again = visit(crawl, settings, 1, "other", at=START_MS + DAY_MS)
    assert (again["fetched_at"], again["due_at"]) == (START_MS + DAY_MS, START_MS + 2 * DAY_MS)


# ---- what adds up


def test_scores_beyond_all_bounds_count_as_the_greatest(crawl):
    inject(crawl, with_db(), f"{PAGE}\tnutch.score=1e9", f"{OTHER}\tnutch.score=-1e9")
    many = [link(f"http://s.test/{n}", PAGE, contribution=10**15) for n in range(10_000)]
    many += [link(f"http://s.test/{n}", OTHER, 1, contribution=-(10**15)) for n in range(10_000)]
    for number in range(3):
        visit(crawl, with_db(), number, links=many)
        assert row(crawl)["score"] == 10**18, "a score of 1e12"
        assert row(crawl, OTHER)["score"] == -(10**18)
    _, report = steps.generate(
        crawl, with_db(), clock=VirtualClock(START_MS + 300 * DAY_MS), where="score >= 1000000000000"
    )
    assert report.counts["selected"] == 1


def test_the_order_of_a_segment_s_rows_and_their_parts_change_nothing(tmp_path):
    urls = [f"http://h{n % 3}.test/{n}" for n in range(40)]
    fetched = [
        page(u, outcome=("success", "gone", "retry", "not_modified", "redirect_temp")[n % 5], fetched_at=START_MS + m,
             reason=("http_404", "timeout", None)[n % 3], digest=bytes([m]) * 16, redirect_key=key(urls[m]))
        for n, u in enumerate(urls[:30]) for m in range(2)
    ]  # fmt: skip
    parsed = [page(u, signature=bytes([m]) * 16, fetched_at=START_MS + m) for u in urls[:30:5] for m in range(2)]
    links = [
        link(a, b, position, contribution=position * 142_857, from_depth=position % 3, changed_at=START_MS + position)
        for position, (a, b) in enumerate((a, b) for a in urls[:12] for b in urls[20:])
    ]  # fmt: skip
    results = []
    for order, parts in enumerate((1, 1, 3, 5)):
        crawl = new_crawl(tmp_path / str(order))
        inject(crawl, with_db(), *urls[:20])

        def turned(rows, order=order):
            return [row for n in range(order + 1) for row in rows[n :: order + 1]][:: -1 if order % 2 else 1]

        write_segment(
            crawl, ROUNDS[0], parts=parts, fetchlist=[page(u) for u in urls[:30]], fetched=turned(fetched),
            parsed=turned(parsed), links=turned(links),
        )  # fmt: skip
        steps.updatedb(crawl, with_db(), clock=VirtualClock(START_MS + DAY_MS))
        results.append([crawl.table(t).read().sort_by("url_key").to_pylist() for t in (tables.CRAWLDB, tables.PAGES)])
    assert len(results[0][0]) == 40
    assert results[1:] == results[:1] * 3


@pytest.mark.parametrize(
    "failed",
    [{"outcome": "gone", "reason": "http_404", "http_status": 404}, {"outcome": "retry", "reason": "http_500"}],
)
def test_a_clock_that_was_set_back_makes_no_page_due_again_at_once(crawl, failed):
    """The page failed in a year that has not come yet; it fails again now, and waits as long as any that failed."""
    settings = with_db()
    inject(crawl, settings, PAGE)
    later = visit(crawl, settings, 0, at=START_MS + 1_500 * DAY_MS, **failed)
    assert later["due_at"] == START_MS + 1_501 * DAY_MS
    again = visit(crawl, settings, 1, at=START_MS + DAY_MS, **failed)
    assert (again["status"], again["due_at"]) == ("unfetched", START_MS + 2 * DAY_MS)
    _, report = steps.generate(crawl, settings, clock=VirtualClock(START_MS + DAY_MS + 1_000))
    assert report.left_out == {"not_due": 1}
