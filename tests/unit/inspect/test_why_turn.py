"""Does `why` say of a page's next fetch what `generate` does, and what its age adds to its place?"""

from __future__ import annotations

import msgspec
import pytest

from cobnut.config.sections import CrawlSettings, GenerateSettings, ScoringSettings, Settings
from cobnut.crawl import steps
from cobnut.frontier.admission import refusal
from cobnut.inspect.evidence import gather, plain_evidence
from cobnut.inspect.webdb import forms_of
from cobnut.inspect.why import story, verdict
from cobnut.records import catalogue as tables
from cobnut.storage.files import remove_tree
from cobnut.storage.tables import read_files
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import DAY_MS, MICRO, START_MS, key, new_crawl, page, write_segment, write_table

NOW = START_MS + 40 * DAY_MS
WEB = Settings(crawl=CrawlSettings(scope="web", depth=3), generate=GenerateSettings(min_score=0.1))
ROWS = {
    "http://a.test/old": {"score": MICRO // 2, "due_at": NOW - 12 * DAY_MS - 5},
    "http://a.test/fresh": {"score": MICRO * 6 // 10, "due_at": NOW - DAY_MS + 1},
    "http://a.test/before-all-time": {"score": MICRO, "due_at": -5},
    "http://a.test/later": {"due_at": NOW + 1},
    "http://a.test/never": {"due_at": NOW + 1_000 * DAY_MS, "score": MICRO * 2},
    "http://a.test/seldom": {"due_at": NOW + 200 * DAY_MS, "fixed_interval_s": 300 * 86_400},
    "http://a.test/low": {"score": MICRO // 10 - 1, "due_at": START_MS},
    "http://a.test/deep": {"depth": 4},
    "http://a.test/x.png": {},
    "http://down.test/": {},
    "http://a.test/listed": {},
    "http://a.test/listed-and-applied": {"score": MICRO * 3},
}  # fmt: skip


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    made = new_crawl(tmp_path_factory.mktemp("turn") / "crawl")
    rows = [{**page(url), "url": None, "due_at": NOW, **more} for url, more in ROWS.items()]
    applied = [{"segment": "20260101000000", "digest": ""}]
    write_table(made, tables.CRAWLDB, rows)
    write_table(made, tables.PAGES, [], applied=applied)
    write_table(made, tables.CRAWLDB, rows, applied=applied)
    down = {"host": "down.test", "bucket": page("http://down.test/")["bucket"], "next_fetch_at": NOW + 7_000}
    write_table(made, tables.HOSTDB, [down])
    write_segment(made, "20260101000000", fetchlist=[page("http://a.test/listed-and-applied")])
    write_segment(made, "20260102000000", fetchlist=[page("http://a.test/listed")])
    return made


def asked(crawl, url, settings=WEB, now=NOW):
    return gather(crawl, settings, url, forms_of(url, settings), refusal(crawl, settings), now)


def line(evidence):
    (found,) = [text.strip() for text in story(evidence) if text.startswith("  Next fetch")]
    return found.removeprefix("Next fetch").strip()


@pytest.mark.parametrize("rules", [("opic",), ("opic", "depth")])
def test_each_page_has_the_place_or_the_reason_that_generate_gives_it(crawl, rules):
    settings = msgspec.structs.replace(WEB, scoring=ScoringSettings(rules=rules))
    turns = {url: asked(crawl, url, settings).turn for url in ROWS}
    free = [url for url in ROWS if turns[url]["held"] is None]
    chosen = sorted(free, key=lambda url: (-turns[url]["sort_value"], key(url)))
    made, report = steps.generate(crawl, settings, clock=VirtualClock(NOW), num_fetchers=1)
    try:
        rows = read_files(tables.FETCHLIST, made.part_files(tables.FETCHLIST)).to_pylist()
    finally:
        remove_tree(made.path)
    assert [row["url"] for row in rows] == chosen, "all have depth 0: the rule `depth` changes no order among them"
    held = [turn["held"] for turn in turns.values() if turn["held"] is not None]
    assert {name: held.count(name) for name in held} == report.left_out
    assert len(report.left_out) == 6
    assert all(
        min(t["ready_at"] for t in turns.values() if t["held"] == name) == ready
        for name, ready in report.details["ready_at"].items()
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("old", "it may be fetched now; place in the order 0.62: its score 0.5 and 0.12 for 12 whole days since it was "
                "due (generate.ageing)"),
        ("fresh", "it may be fetched now; place in the order 0.6: its score 0.6"),
        ("later", "not now: it is not due before 2026-02-10T00:00:00Z"),
        ("low", "not now: it scores less than generate.min_score"),
        ("deep", "not now: depth 4 is deeper than crawl.depth"),
        ("x.png", "not now: the filter `suffix` keeps it out"),
        ("listed", "it waits in segment 20260102000000, which is not applied yet"),
    ],
)  # fmt: skip
def test_it_is_told_in_a_line(crawl, path, said):
    assert line(asked(crawl, f"http://a.test/{path}")) == said


def test_a_host_that_rests_is_named_with_its_time(crawl):
    evidence = asked(crawl, "http://down.test/")
    assert line(evidence) == "not now: its host is not asked before 2026-02-10T00:00:07Z"
    assert evidence.turn["ready_at"] == NOW + 7_000


def test_json_has_it_in_numbers(crawl):
    assert plain_evidence(asked(crawl, "http://a.test/old"))["turn"] == {
        "held": None, "ready_at": NOW - 12 * DAY_MS - 5, "waited_days": 12, "sort_value": 620_000, "segment": None,
        "aged_by": 120_000,
    }  # fmt: skip
    without = msgspec.structs.replace(WEB, generate=GenerateSettings(ageing=0.0))
    assert asked(crawl, "http://a.test/old", without).turn["sort_value"] == MICRO // 2
    assert plain_evidence(asked(crawl, "http://nobody.test/"))["turn"] is None


def test_a_scoring_rule_that_has_a_say_after_it_is_named(crawl):
    settings = msgspec.structs.replace(WEB, scoring=ScoringSettings(rules=("opic", "depth")))
    assert line(asked(crawl, "http://a.test/old", settings)).endswith("(generate.ageing), before depth has its say")


def test_the_verdict_does_not_call_due_what_is_not(crawl):
    assert "it is due since 2026-01-2" in verdict(asked(crawl, "http://a.test/old"))
    assert "it is not due before 2026-02-10T00:00:00Z" in verdict(asked(crawl, "http://a.test/later"))
