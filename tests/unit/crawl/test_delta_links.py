"""Does a linkdb that every round changes a little hold the rows of one that is made anew?"""

import random

import msgspec
import pytest

from cobnut.config.sections import CrawlSettings, LinkdbSettings, Settings, StorageSettings
from cobnut.crawl import steps
from cobnut.records import catalogue as tables
from cobnut.testing.tables import DAY_MS, START_MS, key, link, new_crawl, page, write_segment

URLS = [f"http://h{n % 9}.example/page{n}" for n in range(40)]
ROUNDS = [f"2026010{number}000000" for number in range(1, 8)]
LATER = "20260109000000"


def settings(partition_rows=1_000, delta=True, **linkdb):
    return Settings(
        crawl=CrawlSettings(scope="web"),
        linkdb=LinkdbSettings(**linkdb),
        storage=StorageSettings(
            partition_rows=partition_rows, delta_least_rows=0, delta_share=10.0 if delta else 0.0, grace_s=0
        ),
    )


def segment_of(rng, crawl, name, most=8):
    """A few pages parsed (again), each with a few links: every round some links come and some go."""
    asked = rng.sample(URLS[:25], rng.randint(1, most))
    is_ok = {u: rng.random() < 0.85 for u in asked}
    at = START_MS + int(name[6:8]) * DAY_MS
    links = [
        link(u, rng.choice(URLS), n, from_score=rng.randint(0, 9), nofollow=rng.random() < 0.2,
             anchor=rng.choice([None, f"{name} {n}"]), kind=rng.choice(["link", "link", "frame", "image"]))
        for u in asked if is_ok[u] for n in range(rng.choice([0, 1, 2, 6]))
    ]  # fmt: skip
    write_segment(
        crawl, name, fetchlist=[page(u) for u in asked],
        fetched=[page(u, outcome="success", fetched_at=at, digest=rng.randbytes(16)) for u in asked],
        parsed=[page(u, parse_status="ok" if is_ok[u] else "failed", signature=rng.randbytes(16)) for u in asked],
        links=links,
    )  # fmt: skip


def begun(folder):
    """A crawl whose crawldb holds all rounds to come: what updatedb makes of them is no matter here."""
    crawl = new_crawl(folder)
    for table in (tables.PAGES, tables.CRAWLDB):
        with crawl.table(table).begin() as draft:
            draft.write_partition(0, [])
            draft.publish("test", applied=[{"segment": name, "digest": ""} for name in (*ROUNDS, LATER)])
    return crawl


def rows(crawl):
    found = crawl.table(tables.LINKDB).read().to_pylist()
    return sorted(found, key=lambda row: (row["to_key"], row["from_key"]))


def crawled(folder, chosen, seed=5, at_once=False, layers=None):
    """A crawl after all rounds, its links turned around after each of them, or in one run at the end."""
    crawl, rng = begun(folder), random.Random(seed)
    for name in ROUNDS:
        segment_of(rng, crawl, name)
        if not at_once:
            steps.invertlinks(crawl, chosen)
            if layers is not None:
                layers.append(checked_layers(crawl))
    if at_once:
        steps.invertlinks(crawl, chosen)
    return crawl


def checked_layers(crawl):
    """How many deltas and files of keys that are gone there are; the numbers of rows are right."""
    with crawl.table(tables.LINKDB).current() as version:
        files = version.files()
        assert version.rows == len(rows(crawl)) == sum(version.shape(p).rows for p in range(version.partitions))
        return len(files.delta), len(files.gone)


@pytest.mark.parametrize("seed", [5, 6])
@pytest.mark.parametrize("partition_rows", [15, 1_000], ids=["many_partitions", "one_piece"])
def test_rounds_with_deltas_equal_one_run_from_nothing(tmp_path, partition_rows, seed):
    layers = []
    delta = crawled(tmp_path / "delta", settings(partition_rows), seed, layers=layers)
    clean = crawled(tmp_path / "clean", settings(), seed, at_once=True)
    assert rows(delta) == rows(clean)
    deltas, gone = map(max, zip(*layers, strict=True))
    assert deltas >= (1 if partition_rows == 1_000 else 2)
    assert gone, "some pages are linked to no more"
    assert checked_layers(clean) == (0, 0)


@pytest.mark.parametrize("limits", [{"max_inlinks": 2}, {"max_inlinks": 1, "ignore_internal": True}])
def test_with_limits_a_delta_equals_writing_everything(tmp_path, limits):
    made = [
        rows(crawled(tmp_path / f"{delta}{size}", settings(size, delta=delta, **limits)))
        for delta, size in ((True, 15), (True, 1_000), (False, 1_000))
    ]
    assert made[0] == made[1] == made[2]
    per_page = [sum(r["to_key"] == k for r in made[0]) for k in {r["to_key"] for r in made[0]}]
    assert max(per_page) == limits["max_inlinks"], "the limit was reached"


def round_of(crawl, chosen, name, **links):
    """One round in which pages, called by letters, are parsed with links to the page T, or with none (score None)."""
    urls = {letter: f"http://{letter}.example/" for letter in links}
    write_segment(
        crawl, name, fetchlist=[page(u) for u in urls.values()],
        fetched=[page(u, outcome="success", fetched_at=START_MS, digest=name.encode()) for u in urls.values()],
        parsed=[page(u, signature=name.encode()) for u in urls.values()],
        links=[link(urls[n], "http://t.example/", 0, from_score=s) for n, s in links.items() if s is not None],
    )  # fmt: skip
    steps.invertlinks(crawl, chosen)


def sources(crawl):
    return [row["from_key"][8:9] for row in rows(crawl)]


def test_over_the_limit_is_forgotten_until_its_page_is_parsed_again(tmp_path):
    crawl, chosen = begun(tmp_path / "crawl"), settings(max_inlinks=2)
    round_of(crawl, chosen, ROUNDS[0], a=9, b=5, c=1, d=5)
    assert sources(crawl) == ["a", "b"], "the highest scores, equal ones by key"
    round_of(crawl, chosen, ROUNDS[1], a=None)
    assert sources(crawl) == ["b"], "d does not come back"
    round_of(crawl, chosen, ROUNDS[2], c=1)
    assert sources(crawl) == ["b", "c"]
    round_of(crawl, chosen, ROUNDS[3], b=None, c=None)
    assert sources(crawl) == []
    with crawl.table(tables.LINKDB).current() as version:
        assert (version.rows, version.shape(0).gone) == (0, 1)
    round_of(crawl, chosen, ROUNDS[4], d=3)
    assert sources(crawl) == ["d"]
    with crawl.table(tables.LINKDB).current() as version:
        assert (version.rows, version.shape(0).gone) == (1, 0), "it is linked to again"


@pytest.mark.parametrize("limits", [{"max_inlinks": 1}, {"ignore_internal": True}])
def test_other_limits_hold_for_every_page_at_once(tmp_path, limits):
    crawl = crawled(tmp_path / "crawl", settings())
    before = rows(crawl)
    stricter = msgspec.structs.replace(settings(), linkdb=LinkdbSettings(**limits))
    round_of(crawl, stricter, LATER, a=1)
    after = [row for row in rows(crawl) if row["to_key"] != key("http://t.example/")]
    if "max_inlinks" in limits:
        best = {}
        for row in sorted(before, key=lambda r: (-r["from_score"], r["from_key"])):
            best.setdefault(row["to_key"], row)
        want = list(best.values())
    else:
        want = [row for row in before if row["from_host"] != row["to_host"]]
    assert len(want) < len(before)
    assert after == sorted(want, key=lambda row: (row["to_key"], row["from_key"]))


def test_a_round_that_touches_little_leaves_the_base_and_a_grown_delta_is_folded_in(tmp_path):
    chosen = msgspec.structs.replace(
        settings(), storage=StorageSettings(delta_least_rows=0, delta_share=0.2, grace_s=0)
    )
    crawl = begun(tmp_path / "crawl")
    every = {f"s{n}": n for n in range(20)}
    write_segment(
        crawl, ROUNDS[0], fetchlist=[page(URLS[0])],
        fetched=[page(URLS[0], outcome="success", fetched_at=START_MS, digest=b"0" * 16)],
        parsed=[page(URLS[0], signature=b"0" * 16)],
        links=[link(URLS[0], f"http://t{n}.example/", n) for n in every.values()],
    )  # fmt: skip
    steps.invertlinks(crawl, chosen)
    shapes, names = [], []
    for number, name in enumerate(ROUNDS[1:6]):
        write_segment(
            crawl, name, fetchlist=[page(URLS[1 + number])],
            fetched=[page(URLS[1 + number], outcome="success", fetched_at=START_MS, digest=b"1" * 16)],
            parsed=[page(URLS[1 + number], signature=b"1" * 16)],
            links=[link(URLS[1 + number], f"http://t{number}.example/", 0)],
        )  # fmt: skip
        steps.invertlinks(crawl, chosen)
        with crawl.table(tables.LINKDB).current() as version:
            shapes.append(tuple(version.shape(0)))
            names.append(sorted(e["xxh3"] for e in version.manifest["files"] if "replaced" not in e))
    assert shapes == [(20, 2, 1, 0), (20, 4, 2, 0), (23, 0, 0, 0), (23, 2, 1, 0), (23, 4, 2, 0)]
    assert names[0] == names[1] != names[2] == names[3] == names[4], "the base is the same file"
    assert len(rows(crawl)) == 25
