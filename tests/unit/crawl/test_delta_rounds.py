"""Does a table made of bases and deltas hold the same rows as one that is written whole at every round?"""

import random

import pyarrow.compute as pc
import pytest

from cobnut.config.sections import CrawlSettings, Settings, StorageSettings
from cobnut.crawl import steps
from cobnut.fetcher.known import KnownPages
from cobnut.inspect.stats import table_stats
from cobnut.inspect.tables import Selection, one_row, rows_of_table
from cobnut.records import catalogue as tables
from cobnut.stages.fetch import make_spec
from cobnut.storage.tables import batches_of, read_files
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import DAY_MS, START_MS, link, new_crawl, page, write_segment

CHANGING = (tables.CRAWLDB, tables.PAGES)
URLS = [f"http://h{n % 9}.example/page{n}" for n in range(120)]


def settings(delta, partition_rows):
    share = 10.0 if delta else 0.0
    return Settings(
        crawl=CrawlSettings(scope="web"),
        storage=StorageSettings(partition_rows=partition_rows, delta_least_rows=0, delta_share=share, grace_s=0),
    )


def segment_of(rng, crawl, name, at):
    asked = rng.sample(URLS, rng.randint(1, 25))
    outcomes = {u: rng.choice(["success", "success", "success", "gone", "retry", "not_modified"]) for u in asked}
    reasons = {"gone": "http_410", "retry": "timeout"}
    return write_segment(
        crawl, name,
        fetchlist=[page(u, fetched_before=rng.random() < 0.5) for u in asked],
        fetched=[page(u, outcome=o, reason=reasons.get(o), fetched_at=at, digest=rng.randbytes(16))
                 for u, o in outcomes.items()],
        parsed=[page(u, signature=rng.randbytes(16), outlink_count=2) for u, o in outcomes.items() if o == "success"],
        links=[link(u, rng.choice(URLS), n, contribution=rng.randint(0, 9_000), from_depth=rng.randint(0, 3))
               for u, o in outcomes.items() if o == "success" for n in range(rng.randint(0, 5))],
    )  # fmt: skip


def rows(table, crawl):
    found = crawl.table(table).read().sort_by("url_key").to_pylist()
    assert len({row["url_key"] for row in found}) == len(found)
    return found


@pytest.fixture(params=[20, 1_000], ids=["many_partitions", "one_piece"])
def two_crawls(request, tmp_path):
    made = {}
    for delta in (True, False):
        crawl = new_crawl(tmp_path / f"delta_{delta}")
        rng, chosen = random.Random(7), settings(delta, request.param)
        steps.inject(crawl, chosen, URLS[:30], clock=VirtualClock(START_MS))
        for number in range(1, 7):
            at = START_MS + number * DAY_MS
            segment_of(rng, crawl, f"2026010{number}000000", at)
            steps.updatedb(crawl, chosen, clock=VirtualClock(at))
        made[delta] = crawl, chosen
    return made


def test_rows_are_equal(two_crawls):
    (delta, _), (whole, _) = two_crawls[True], two_crawls[False]
    for table in CHANGING:
        assert rows(table, delta) == rows(table, whole)
        with delta.table(table).current() as version:
            assert version.files().delta, "it has a delta"
            assert version.rows == len(rows(table, whole))
            assert sum(version.shape(p).rows for p in range(version.partitions)) == version.rows
        with whole.table(table).current() as version:
            assert not version.files().delta


def test_every_way_to_read_gives_the_rows_that_hold(two_crawls):
    crawl, chosen = two_crawls[True]
    expected = rows(tables.CRAWLDB, two_crawls[False][0])
    with crawl.table(tables.CRAWLDB).current() as version:
        files = version.files()
        for batch_rows in (1, 7, 4096):
            batches = batches_of(tables.CRAWLDB, files, ["score", "url_key"], batch_rows)
            found = sorted((k, s) for b in batches for s, k in zip(*(c.to_pylist() for c in b.columns), strict=True))
            assert found == [(row["url_key"], row["score"]) for row in expected]
        fetched = read_files(tables.CRAWLDB, files, ["host"], pc.field("status") == "fetched")
        assert sorted(fetched.column("host").to_pylist()) == sorted(
            row["host"] for row in expected if row["status"] == "fetched"
        )
        by_partition = [
            row for number in range(version.partitions)
            for row in read_files(tables.CRAWLDB, version.files(number)).to_pylist()
        ]  # fmt: skip
        assert sorted(by_partition, key=lambda row: row["url_key"]) == expected
        spec = make_spec(crawl, crawl.segments()[-1], chosen, [version], None)
        known = KnownPages(spec.crawldb_files)
        for row in expected:
            assert known.due_at(row["url_key"], row["bucket"]) == row["due_at"]
            assert one_row(crawl, tables.CRAWLDB, row["url_key"], row["bucket"]) == row
        known.close()
    gone = list(rows_of_table(crawl, tables.CRAWLDB, Selection(where="status = 'gone'")).as_dicts())
    assert {row["url_key"] for row in gone} == {row["url_key"] for row in expected if row["status"] == "gone"}
    stats = table_stats(crawl, tables.CRAWLDB, START_MS)
    assert stats["rows"] == len(expected) == sum(stats["by_status"].values())


def test_a_round_that_changes_little_writes_little_and_a_grown_delta_is_folded_in(tmp_path):
    crawl = new_crawl(tmp_path / "crawl")
    chosen = Settings(storage=StorageSettings(delta_least_rows=0, delta_share=0.1, grace_s=0))
    steps.inject(crawl, chosen, URLS, clock=VirtualClock(START_MS))
    shapes = []
    for number in range(1, 8):
        asked = URLS[number * 3 : number * 3 + 3]
        write_segment(
            crawl, f"2026010{number}000000", fetchlist=[page(u) for u in asked],
            fetched=[page(u, outcome="gone", reason="http_410", fetched_at=START_MS + number) for u in asked],
            parsed=[], links=[],
        )  # fmt: skip
        before = crawl.table(tables.CRAWLDB).manifest()["files"]
        steps.updatedb(crawl, chosen, clock=VirtualClock(START_MS + number))
        with crawl.table(tables.CRAWLDB).current() as version:
            shapes.append(version.shape(0))
            if version.shape(0).delta:
                kept = [entry for entry in version.manifest["files"] if "replaced" not in entry]
                assert kept == [entry for entry in before if "replaced" not in entry], "the base is the same file"
    assert [shape.rows for shape in shapes] == [120] * 7
    assert [shape.delta for shape in shapes] == [3, 6, 9, 12, 0, 3, 6]
    gone = {row["url_key"] for row in rows(tables.CRAWLDB, crawl) if row["status"] == "gone"}
    assert gone == {page(u)["url_key"] for u in URLS[3:24]}


def test_other_stages_and_a_way_back_go_over_a_delta(tmp_path):
    crawl, chosen = new_crawl(tmp_path / "crawl"), settings(True, 20)
    steps.inject(crawl, chosen, URLS[:40], clock=VirtualClock(START_MS))
    rng = random.Random(3)
    segment_of(rng, crawl, "20260101000000", START_MS)
    steps.updatedb(crawl, chosen, clock=VirtualClock(START_MS))
    before = rows(tables.CRAWLDB, crawl)
    steps.inject(crawl, chosen, [f"{u}/more" for u in URLS[:10]], clock=VirtualClock(START_MS))
    added = rows(tables.CRAWLDB, crawl)
    assert len(added) == len(before) + 10
    assert [row for row in added if not row["url_key"].endswith("/more")] == before
    segment_of(rng, crawl, "20260102000000", START_MS)
    steps.updatedb(crawl, chosen, clock=VirtualClock(START_MS))
    crawl.table(tables.CRAWLDB).generations.rollback()
    assert rows(tables.CRAWLDB, crawl) == added
