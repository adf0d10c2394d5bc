"""Scoring rules in the stages: generate, updatedb, parse and index ask them where one has a say, and only there."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pyarrow as pa
import pytest
from plugin_packages import install

from cobnut.config.sections import CrawlSettings, GenerateSettings, ScoringSettings, Settings, StorageSettings
from cobnut.crawl import steps
from cobnut.crawl.scored import ordered, rescored
from cobnut.engines.portable import lint_stage
from cobnut.frontier.scoring import BUILT_IN, SortValue, UpdatedScore
from cobnut.parsers.page import PageInput, parse_page
from cobnut.records import catalogue as tables
from cobnut.stages import generate as generate_stage
from cobnut.stages import updatedb as updatedb_stage
from cobnut.storage.tables import read_files
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import MICRO, START_MS, by_key, key, link, new_crawl, page, write_segment, write_table

URLS = [f"http://{host}.test/{n}" for host in ("a", "b", "c") for n in range(5)]


def settings(*rules: str, partition_rows: int = 1_000_000, depth: int = -1) -> Settings:
    return Settings(
        crawl=CrawlSettings(scope="web", depth=depth), scoring=ScoringSettings(rules=rules),
        generate=GenerateSettings(ageing=0.0), storage=StorageSettings(partition_rows=partition_rows),
    )  # fmt: skip


@pytest.fixture
def crawl(tmp_path):
    crawl = new_crawl(tmp_path / "crawl")
    rows = [
        {**page(url), "url": None, "score": n * MICRO, "depth": n % 3, "status": "unfetched", "due_at": START_MS}
        for n, url in enumerate(URLS)
    ]
    write_table(crawl, tables.CRAWLDB, rows)
    return crawl


@pytest.fixture
def rule(monkeypatch):
    """A rule under a name, with the methods given, as if it were built in."""

    def make(name: str, **methods: object) -> None:
        monkeypatch.setitem(BUILT_IN, name, lambda _scoring, _depth: SimpleNamespace(**methods))

    return make


def listed(crawl, using: Settings, **more) -> tuple[list[str], list[int], list[str]]:
    segment, report = steps.generate(crawl, using, clock=VirtualClock(START_MS), num_fetchers=1, **more)
    assert segment is not None
    rows = read_files(tables.FETCHLIST, segment.part_files(tables.FETCHLIST)).to_pylist()
    return [row["url"] for row in rows], [row["score"] for row in rows], report.messages


@pytest.mark.parametrize("partition_rows", [1_000_000, 4])
@pytest.mark.parametrize("where", [None, "depth < 2"])
def test_a_rule_turns_the_order_of_a_fetchlist_around(crawl, rule, partition_rows, where) -> None:
    rule("lowest_first", sort_value=lambda page, value: -value)
    using = settings("opic", "lowest_first", partition_rows=partition_rows)
    urls, scores, messages = listed(crawl, using, where=where, top_n=4)
    wanted = [n for n in range(len(URLS)) if where is None or n % 3 < 2][:4]
    assert urls == [URLS[n] for n in wanted]
    assert scores == [n * MICRO for n in wanted], "the score itself stays"
    assert messages == []


def test_depth_brings_pages_near_a_seed_first(crawl) -> None:
    urls, _, _ = listed(crawl, settings("opic", "depth", depth=2), top_n=5)
    factors = {url: n * (3 - n % 3) for n, url in enumerate(URLS)}
    assert urls == sorted(URLS, key=lambda url: (-factors[url], URLS.index(url) % 3))[:5]


def test_a_rule_that_fails_leaves_the_order_and_is_told(crawl, rule) -> None:
    def fails(page, value):
        raise SystemExit(1) if page.url.endswith("/1") else ValueError

    rule("bad", sort_value=fails)
    urls, _, messages = listed(crawl, settings("bad"))
    assert urls == URLS[::-1]
    assert messages == ["scoring rule bad failed on 15 pages, which keep their place in the order"]


def test_the_interrupt_of_a_user_leaves_no_segment(crawl, rule) -> None:
    def stops(page, value):
        raise KeyboardInterrupt

    rule("stops", sort_value=stops)
    with pytest.raises(KeyboardInterrupt):
        listed(crawl, settings("stops"))
    assert crawl.segments() == []


def test_without_a_say_stages_are_those_written_down(rule) -> None:
    rule("elsewhere", index_boost=lambda page, boost: boost)
    scoring = ScoringSettings(rules=("opic", "link_rank", "elsewhere"))
    assert ordered(generate_stage.STAGE, SortValue(scoring, -1)) is generate_stage.STAGE
    assert rescored(updatedb_stage.STAGE, UpdatedScore(scoring)) is updatedb_stage.STAGE


def test_the_steps_that_rules_bring_are_portable(rule) -> None:
    rule("all", sort_value=lambda page, value: value, updated_score=lambda page, score: score)
    scoring = ScoringSettings(rules=("all",))
    for stage in (
        ordered(generate_stage.STAGE, SortValue(scoring, -1)), rescored(updatedb_stage.STAGE, UpdatedScore(scoring))
    ):  # fmt: skip
        assert {name: found for name, found in lint_stage(stage).items() if found} == {}


def round_of(crawl, name: str = "20260101000000") -> None:
    """Page 0 is fetched again, links to 1 and to a new page."""
    write_segment(
        crawl, name, fetchlist=[page(URLS[0])],
        fetched=[page(URLS[0], outcome="success", fetched_at=START_MS)],
        parsed=[page(URLS[0], parse_status="ok", signature=b"0" * 16, outlink_count=2)],
        links=[link(URLS[0], URLS[1], 0, contribution=3), link(URLS[0], "http://new.test/", 1, contribution=4)],
    )  # fmt: skip


@pytest.mark.parametrize("partition_rows", [1_000_000, 4])
def test_a_rule_says_the_score_after_a_round_of_the_rows_that_change(crawl, rule, partition_rows) -> None:
    seen = {}

    def halved(page, score):
        seen[page.url] = (page.former_score, score, page.status)
        return score // 2 + 100

    rule("halved", updated_score=halved)
    round_of(crawl)
    before = by_key(crawl.table(tables.CRAWLDB).read())
    report = steps.updatedb(
        crawl, settings("opic", "halved", partition_rows=partition_rows), clock=VirtualClock(START_MS)
    )
    after = by_key(crawl.table(tables.CRAWLDB).read())
    assert seen == {
        URLS[0]: (0, 0, "fetched"), URLS[1]: (MICRO, MICRO + 3, "unfetched"),
        "http://new.test/": (None, 4, "unfetched"),
    }  # fmt: skip
    changed = {key(url): score // 2 + 100 for url, (_, score, _) in seen.items()}
    assert {k: row["score"] for k, row in after.items()} == {
        **{k: row["score"] for k, row in before.items()}, **changed,
    }  # fmt: skip
    assert report.messages == []


def test_a_rule_that_changes_nothing_gives_the_rows_of_a_round_without_it(crawl, rule, tmp_path) -> None:
    rule("same", updated_score=lambda page, score: score)
    rule("bad", updated_score=lambda page, score: "much")
    found = []
    for rules in ((), ("same",), ("bad",)):
        other = new_crawl(tmp_path / "-".join(("c", *rules)))
        write_table(other, tables.CRAWLDB, crawl.table(tables.CRAWLDB).read().to_pylist())
        round_of(other)
        report = steps.updatedb(other, settings(*rules), clock=VirtualClock(START_MS))
        found.append([other.table(t).read().to_pylist() for t in (tables.CRAWLDB, tables.PAGES, tables.HOSTDB)])
    assert found[0] == found[1] == found[2]
    assert report.messages == ["scoring rule bad failed on 3 pages, which keep their score"]


HTML = b"<title>t</title><a href=/1>one</a><a href=http://b.test/ rel=nofollow>two</a><a href=http://c.test/>three</a>"


def test_a_rule_says_what_the_followed_links_of_a_page_pass_on(rule) -> None:
    seen = []

    def look(page, links, scores):
        seen.append((page, links, tuple(scores)))
        return [7, 9]

    rule("look", passed_scores=look)
    task = PageInput("http://a.test/", HTML, {"content-type": "text/html"}, score=10 * MICRO)
    links = parse_page(task, settings("opic", "look")).links
    assert links.contributions == [7, 0, 9]
    (page_, followed, scores) = seen[0]
    assert (page_.url, page_.host, page_.score) == ("http://a.test/", "a.test", 10 * MICRO)
    assert followed.urls == ("http://a.test/1", "http://c.test/")
    assert (followed.hosts, followed.anchors) == (("a.test", "c.test"), ("one", "three"))
    assert scores == (5 * MICRO, 5 * MICRO)
    assert parse_page(task, settings()).links.contributions == [0, 0, 0], "no rule: nothing is passed on"
    assert parse_page(task, settings("opic")).links.contributions == [5 * MICRO, 0, 5 * MICRO]
    assert parse_page(task, settings("opic", "depth", "link_rank")).links.contributions == [5 * MICRO, 0, 5 * MICRO]


def test_scores_beyond_what_a_table_holds_do_not_end_the_parse() -> None:
    using = msgspec.structs.replace(settings("opic"), scoring=ScoringSettings(internal_factor=1000.0))
    links = parse_page(PageInput("http://a.test/", HTML, {}, score=2**62), using).links
    assert pa.array(links.contributions, pa.int64()).to_pylist() == links.contributions


BOOSTS = '''
class ShortFirst:
    """Pages with a short address are lifted."""
    def index_boost(self, page, boost):
        return 4 * boost if page.url.endswith("/0") else boost
class Broken:
    def index_boost(self, page, boost):
        return float("nan")
'''
PYPROJECT = """
[project]
name = "boosts"
version = "{}"
[project.entry-points."cobnut.scoring"]
short_first = "boosts:ShortFirst"
broken = "boosts:Broken"
"""


@pytest.fixture
def boosts(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    install(site, PYPROJECT.format("1"), {"boosts.py": BOOSTS})
    monkeypatch.syspath_prepend(str(site))
    return site


def indexed(crawl, using: Settings):
    report = steps.index(crawl, using)
    steps.merge(crawl, using)
    return report


def parsed_segment(crawl, name: str, numbers: range) -> None:
    rows = [page(URLS[n]) for n in numbers]
    write_segment(
        crawl, name, fetchlist=rows, fetched=[{**row, "outcome": "success", "fetched_at": START_MS} for row in rows],
        parsed=[
            {**row, "parse_status": "ok", "signature": row["url"].encode()[:16].ljust(16), "title": "walnut",
             "text": "walnut words"} for row in rows
        ],
    )  # fmt: skip


def test_a_boost_is_in_the_index_is_explained_and_changes_with_its_package(crawl, boosts) -> None:
    from cobnut.search.open import open_searcher

    parsed_segment(crawl, "20260101000000", range(5))
    plain = settings("opic")
    assert indexed(crawl, plain).counts["unchanged"] == 0
    before = open_searcher(crawl.path).search("walnut", explain=True).hits
    assert {f.value for hit in before for f in hit.features if f.name == "boost"} == {0.0}
    assert indexed(crawl, settings("opic", "link_rank")).counts["unchanged"] == 0
    using = settings("opic", "short_first")
    assert indexed(crawl, using).counts["unchanged"] == 0
    assert indexed(crawl, using).counts["unchanged"] == 1, "the same rules of the same version: the same index"
    hits = open_searcher(crawl.path).search("walnut", explain=True).hits
    assert hits[0].url == URLS[0]
    values = {hit.url: next(f for f in hit.features if f.name == "boost") for hit in hits}
    assert values[URLS[0]].contribution == pytest.approx(1.386294, abs=1e-6)
    assert {feature.value for url, feature in values.items() if url != URLS[0]} == {0.0}
    for hit in hits:
        assert sum(f.contribution for f in hit.features) == pytest.approx(hit.score)
    (boosts / "boosts-1.dist-info").rename(boosts / "boosts-2.dist-info")
    info = boosts / "boosts-2.dist-info" / "METADATA"
    info.write_text(info.read_text().replace("Version: 1", "Version: 2"))
    assert indexed(crawl, using).counts["unchanged"] == 0, "another version may say other boosts"
    assert indexed(crawl, plain).counts["unchanged"] == 0


def test_a_broken_boost_is_counted_and_the_index_is_made(crawl, boosts) -> None:
    parsed_segment(crawl, "20260101000000", range(5))
    report = indexed(crawl, settings("broken"))
    assert report.counts["documents"] == 5
    assert report.messages == ["scoring rule broken failed on 5 pages, which keep their boost"]
