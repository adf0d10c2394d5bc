"""Does `generate` choose what it says, whatever the limits, conditions and partitions are?

A model in a few lines of Python says which pages; the stage must choose the same.
"""

from __future__ import annotations

import random

import msgspec
import pytest

from cobnut.config.sections import CrawlSettings, GenerateSettings, Settings, StorageSettings
from cobnut.crawl import fetchlists, steps
from cobnut.errors import InputError
from cobnut.frontier.turn import NO_LIMIT
from cobnut.records import catalogue as tables
from cobnut.stages.generate import CANDIDATE
from cobnut.storage.tables import read_files
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import DAY_MS, MICRO, START_MS, key, new_crawl, page, rows_of, write_table
from cobnut.urls.hosts import domain_of
from cobnut.urls.keys import key_to_url

NOW = START_MS + 40 * DAY_MS
WEB = Settings(crawl=CrawlSettings(scope="web"))


@pytest.fixture
def crawl(tmp_path):
    return new_crawl(tmp_path / "crawl")


def generate(crawl, settings=WEB, at=NOW, **more):
    return steps.generate(crawl, settings, clock=VirtualClock(at), **more)


def with_limits(settings=WEB, **limits):
    return msgspec.structs.replace(settings, generate=GenerateSettings(**{"ageing": 0.0, **limits}))


def listed(crawl, report):
    """The URLs of each segment that a run made, in the order of its fetchlist (one part)."""
    found = []
    for name in report.segments:
        segment = crawl.segment(name)
        rows = read_files(tables.FETCHLIST, segment.part_files(tables.FETCHLIST)).to_pylist()
        found.append([row["url"] for row in rows])
    return found


def random_crawl(crawl, seed, count=240, settings=WEB):
    """Rows on hosts of few domains, with ties in score and depth; what the crawldb says of each URL."""
    rng = random.Random(seed)
    rows = {}
    for number in range(count):
        host = f"h{rng.randrange(5) * rng.randrange(5)}.{rng.choice(('a', 'b.a', 'c', 'd.e'))}.test"
        url = f"http://{host}/{number}"
        rows[url] = {
            **page(url), "url": None, "score": rng.choice((0, 1, 1, 5, rng.randrange(9))) * MICRO // 4,
            "depth": rng.randrange(3), "due_at": NOW - rng.choice((0, 0, 5, 30)) * DAY_MS,
            "status": rng.choice(("unfetched", "fetched", "gone")),
        }  # fmt: skip
    steps.inject(crawl, settings, rows, clock=VirtualClock(START_MS))
    write_table(crawl, tables.CRAWLDB, rows.values())
    return rows


def model(rows, *, top_n=-1, max_per_host=-1, max_per_domain=-1, min_score=0.0, ageing=0.0, segments=1, keep=None):
    """The URLs to be chosen, best first."""

    def best(item):
        row = item[1]
        waited = (NOW - row["due_at"]) // DAY_MS
        return -(row["score"] + round(ageing * MICRO) * waited), row["depth"], row["url_key"]

    hosts, domains, chosen = {}, {}, []
    for url, row in sorted(rows.items(), key=best):
        if row["score"] < min_score * MICRO or (keep is not None and not keep(row)):
            continue
        hosts[row["host"]] = hosts.get(row["host"], 0) + 1
        if 0 <= max_per_host * segments < hosts[row["host"]]:
            continue
        domain = domain_of(row["host"])
        domains[domain] = domains.get(domain, 0) + 1
        if not 0 <= max_per_domain * segments < domains[domain]:
            chosen.append(url)
    return chosen if top_n < 0 else chosen[: top_n * segments]


CASES = [
    {},
    {"top_n": 37},
    {"top_n": 1},
    {"max_per_host": 3},
    {"max_per_domain": 7},
    {"max_per_host": 4, "max_per_domain": 9, "top_n": 20},
    {"max_per_host": 1, "max_per_domain": 2, "top_n": 500},
    {"ageing": 0.02, "top_n": 50},
    {"ageing": 1.0, "top_n": 50, "max_per_domain": 20},
    {"min_score": 0.3, "max_per_host": 5},
    {"max_per_host": 0},
    {"max_per_domain": 0},
]


@pytest.mark.parametrize("rows_each", [1_000_000, 40])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_pages_as_the_model_in_one_piece_and_in_many(crawl, monkeypatch, case, rows_each):
    monkeypatch.setattr(fetchlists, "LEAST_PRUNED", 5)
    monkeypatch.setattr(fetchlists, "SLICE_ROWS", 7)
    base = msgspec.structs.replace(WEB, storage=StorageSettings(partition_rows=rows_each))
    rows = random_crawl(crawl, len(str(case)), settings=base)
    assert crawl.table(tables.CRAWLDB).manifest()["partitions"] == (1 if rows_each > 240 else 8)
    expected = model(rows, **case)
    _, report = generate(crawl, with_limits(base, **case), num_fetchers=1)
    assert report.counts["selected"] == len(expected)
    assert sum(report.left_out.values()) == len(rows) - len(expected), "every page is chosen or has a reason"
    assert (listed(crawl, report) or [[]])[0] == expected


@pytest.mark.parametrize(
    "limits",
    [
        {"top_n": 90, "max_per_host": NO_LIMIT, "max_per_domain": NO_LIMIT},
        {"top_n": 60, "max_per_host": 4, "max_per_domain": 25},
        {"top_n": NO_LIMIT, "max_per_host": NO_LIMIT, "max_per_domain": 20},
    ],
    ids=str,
)
def test_an_engine_may_give_its_rows_in_any_order_and_in_any_pieces(monkeypatch, limits):
    """What may be fetched is said by SQL, which of it by us: ties must not be decided by who came first."""
    monkeypatch.setattr(fetchlists, "LEAST_PRUNED", 5)
    rng, seen = random.Random(3), []
    offered = [
        {
            **{k: v for k, v in page(f"http://h{n % 17}.{'ab'[n % 2]}.test/{n}").items() if k != "url"}, "url": None,
            "domain": f"{'ab'[n % 2]}.test", "sort_value": rng.randrange(4), "score": 0, "depth": rng.randrange(2),
            "fetched_before": False,
        }
        for n in range(300)
    ]  # fmt: skip
    for _ in range(6):
        partitions = [[row for row in offered if row["bucket"] % 3 == number] for number in range(3)]
        rng.shuffle(partitions)
        gathered = fetchlists.Gathered(**limits)
        for rows in partitions:
            rng.shuffle(rows)
            gathered.add(rows_of(CANDIDATE, rows).to_batches(max_chunksize=rng.choice((1, 7, 1_000))))
        chosen = gathered.chosen()
        keys = chosen.columns["url_key"].to_pylist()
        dealt = [[keys[number] for number in numbers] for numbers in chosen.dealt(3)]
        seen.append(([keys[number] for number in chosen.order], dealt, sum(gathered.beyond.values())))
    assert seen[1:] == seen[:1] * 5
    assert len(seen[0][0]) == 300 - seen[0][2]


@pytest.mark.parametrize("case", [{}, {"top_n": 11}, {"max_per_host": 2}, {"max_per_domain": 5, "max_per_host": 2}])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_several_segments_share_hosts_and_pages_evenly_within_all_limits(crawl, case, count):
    rows = random_crawl(crawl, 5)
    clock = VirtualClock(NOW)
    first, report = steps.generate(crawl, with_limits(**case), segments=count, num_fetchers=1, clock=clock)
    made = listed(crawl, report)
    assert report.counts["segments"] == len(made) == count
    assert first.name == report.segments[0]
    assert [int(name[-2:]) for name in report.segments] == list(range(count)), "consecutive seconds"
    expected = model(rows, segments=count, **case)
    together = [url for urls in made for url in urls]
    assert sorted(together) == sorted(expected)
    place = {url: n for n, url in enumerate(expected)}
    assert all(urls == sorted(urls, key=place.__getitem__) for urls in made), "best first in each"
    sizes = [len(urls) for urls in made]
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= case.get("top_n", 240)
    for of, limit in ((lambda r: r["host"], "max_per_host"), (lambda r: domain_of(r["host"]), "max_per_domain")):
        for name in {of(rows[url]) for url in expected}:
            shares = [sum(of(rows[url]) == name for url in urls) for urls in made]
            assert max(shares) - min(shares) <= 1, "each has its share"
            assert max(shares) <= case.get(limit, 240)
    assert generate(crawl, with_limits(**case), at=NOW + 60_000)[1].left_out["in_segment"] == len(expected)


def test_fewer_pages_than_segments_make_fewer_segments(crawl):
    write_table(crawl, tables.CRAWLDB, [page("http://a.test/1"), page("http://a.test/2")])
    _, report = generate(crawl, segments=5)
    assert [len(urls) for urls in listed(crawl, report)] == [1, 1]
    for wrong in (0, -1, 10**9):
        with pytest.raises(InputError, match="between 1 and 1000 segments"):
            generate(crawl, segments=wrong)


def test_what_waits_grows_older_and_comes_at_last(crawl):
    low = {**page("http://a.test/low"), "score": 1, "due_at": START_MS}
    fresh = [{**page(f"http://a.test/{n}"), "score": MICRO // 10, "due_at": NOW} for n in range(5)]
    write_table(crawl, tables.CRAWLDB, [low, *fresh])
    starving = with_limits(ageing=0.0)
    assert "http://a.test/low" not in listed(crawl, generate(crawl, starving, top_n=5)[1])[0]
    crawl = new_crawl(crawl.path.parent / "again")
    write_table(crawl, tables.CRAWLDB, [low, *fresh])
    _, report = generate(crawl, top_n=1)  # as it comes: 40 days at 0.01 are more than 0.1
    assert listed(crawl, report) == [["http://a.test/low"]]
    (row,) = read_files(tables.FETCHLIST, crawl.segments()[0].part_files(tables.FETCHLIST)).to_pylist()
    assert row["score"] == 1, "its age is no part of its score"


def test_absurd_times_and_scores_do_no_harm(crawl):
    odd = [
        {**page("http://a.test/1"), "due_at": -(2**63)},
        {**page("http://a.test/2"), "due_at": 2**62, "score": 2**62},
        {**page("http://a.test/3"), "due_at": 0, "score": -(2**62)},
    ]
    write_table(crawl, tables.CRAWLDB, odd)
    _, report = generate(crawl, with_limits(ageing=1e6, min_score=-1e9))
    assert set(listed(crawl, report)[0]) == {"http://a.test/1", "http://a.test/2"}
    assert report.left_out == {"min_score": 1}


# ---- which pages are meant


def meant_crawl(crawl):
    urls = {name: f"http://{name}.test/x" for name in "abcd"}
    write_table(crawl, tables.CRAWLDB, [
        {**page(urls["a"]), "url": None, "score": MICRO, "status": "fetched"},
        {**page(urls["b"]), "url": "http://b.test/x#", "score": 2 * MICRO, "depth": 3},
        {**page(urls["c"]), "url": None, "score": 3 * MICRO, "status": "gone", "reason": "http_404"},
        {**page(urls["d"]), "url": None, "score": MICRO // 2},
    ])  # fmt: skip
    write_table(crawl, tables.PAGES, [
        {**{k: v for k, v in page(urls["a"]).items() if k != "url"}, "http_status": 200, "etag": '"x"',
         "metadata": [("topic", "it's nuts")], "checked_at": START_MS},
        {**{k: v for k, v in page(urls["c"]).items() if k != "url"}, "http_status": 404},
    ])  # fmt: skip
    write_table(crawl, tables.HOSTDB, [
        {"host": "b.test", "bucket": page(urls["b"])["bucket"], "failures": 4, "last_error": "timeout"},
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("score >= 1", "abc"),
        ("score > 0.5 and score < 2.5", "ab"),
        ("http_status = 404", "c"),
        ("pages.http_status is null", "bd"),
        ("failures > 3 or hostdb.last_error = 'dns'", "b"),
        ("failures is null and depth = 0", "acd"),
        ("metadata['topic'] = 'it''s nuts'", "a"),
        ("checked_at < '2026-01-02'", "a"),
        ("url like '%b.test%'", "b"),
        ("url = 'http://a.test/x'", "a"),
        ("url in ('http://a.test/x', 'http://b.test/x#', 'http://c.test/')", "ab"),
        ("upper(reason) like 'HTTP%' or coalesce(etag, '-') = '\"x\"'", "ac"),
        ("length(host) + depth between 7 and 9", "b"),
        ("not (status = 'gone' or host in ('a.test'))", "bd"),
        ("true", "abcd"),
        ("1 = 2", ""),
    ],
)
@pytest.mark.parametrize("rows_each", [1_000_000, 2])
def test_where_means_rows_of_three_tables(crawl, where, names, rows_each):
    base = msgspec.structs.replace(WEB, storage=StorageSettings(partition_rows=rows_each))
    meant_crawl(crawl)
    _, report = generate(crawl, base, where=where)
    found = "".join(sorted(url[7] for urls in listed(crawl, report) for url in urls))
    assert found == names
    assert report.left_out.get("where", 0) == 4 - len(names)


def test_a_condition_that_cannot_be_computed_is_no_fault_of_the_engine(crawl):
    meant_crawl(crawl)
    with pytest.raises(InputError, match="--where cannot be computed"):
        generate(crawl, where="(due_at + 1) * 9000000000000000000 > 1")
    assert crawl.segments() == []


@pytest.mark.parametrize(
    ("statuses", "names"), [(["unfetched"], "bd"), (["fetched", "gone"], "ac"), (["orphan"], ""), ([], "abcd")]
)
def test_only_some_statuses(crawl, statuses, names):
    meant_crawl(crawl)
    _, report = generate(crawl, statuses=statuses)
    assert "".join(sorted(url[7] for urls in listed(crawl, report) for url in urls)) == names
    assert report.left_out.get("status", 0) == 4 - len(names)
    with pytest.raises(InputError, match="unknown status: 'unfetchd'; did you mean 'unfetched'"):
        generate(crawl, statuses=["unfetchd"])


def test_everything_at_once(crawl):
    rows = random_crawl(crawl, 9)
    case = {"top_n": 30, "max_per_host": 4, "max_per_domain": 12, "ageing": 0.01, "min_score": 0.2}
    _, report = generate(
        crawl,
        with_limits(**case),
        where="depth < 2 and host like '%.test'",
        statuses=["gone", "fetched"],
        num_fetchers=1,
    )
    expected = model(rows, **case, keep=lambda r: r["depth"] < 2 and r["status"] != "unfetched")
    assert listed(crawl, report) == [expected]
    assert len(expected) == 30


def test_a_filter_that_refuses_is_named_and_its_pages_take_no_place(crawl):
    urls = ["http://a.test/1", "http://a.test/x.png", "http://a.test/a/b/a/b/a/b", "http://b.test/2"]
    write_table(crawl, tables.CRAWLDB, [{**page(u), "url": None, "score": (4 - n) * MICRO} for n, u in enumerate(urls)])
    assert [key_to_url(key(u)) for u in urls] == urls
    _, report = generate(crawl, top_n=2)
    assert sorted(u for found in listed(crawl, report) for u in found) == [urls[0], urls[3]]
    assert report.left_out == {"filtered_by:suffix": 1, "filtered_by:repeat": 1}


def test_parts_are_even():
    sizes = {f"h{n}": n % 7 + 1 for n in range(50)}
    for count in (1, 2, 5):
        parts = fetchlists.parts_by_host(sizes, count)
        assert parts == fetchlists.parts_by_host(dict(reversed(sizes.items())), count)
        loads = [sum(sizes[h] for h in sizes if parts[h] == part) for part in range(count)]
        assert max(loads) - min(loads) <= 1
    assert fetchlists.parts_by_host({"a": 1}, 0) == {"a": 0}
