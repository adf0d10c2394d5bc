"""An installed package with scoring rules: it turns a crawl around, in which order pages are fetched and found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from crawling import command, to_web
from plugin_packages import install

from cobnut.testing.fakeweb import FakeWeb

PYPROJECT = """
[project]
name = "upside-down"
version = "1.0"
[project.entry-points."cobnut.scoring"]
last_first = "upside_down:LastFirst"
last_shown = "upside_down:LastShown"
by_number = "upside_down:ByNumber"
broken = "upside_down:Broken"
stops = "upside_down:Stops"
writes = "upside_down:Writes"
waits = "upside_down:Waits"
"""
MODULE = '''
import select
import sys


class LastFirst:
    """What others fetch last is fetched first."""

    def sort_value(self, page, value):
        return -value


class ByNumber:
    """Each page passes to page N what N says, and no page ever scores more than 6."""

    def passed_scores(self, page, links, scores):
        return [1_000_000 * int(url.rpartition("/")[2] or 0) for url in links.urls]

    def updated_score(self, page, score):
        return min(score, 6_000_000)


class LastShown:
    """Pages with high numbers are shown first."""

    def index_boost(self, page, boost):
        return boost * int(page.url.rpartition("/")[2] or 1)


class Broken:
    """Fails everywhere, in all ways."""

    def injected_score(self, url, score, metadata):
        raise SystemExit(7)

    def sort_value(self, page, value):
        return float("nan")

    def passed_scores(self, page, links, scores):
        return [10**40 for _ in scores]

    def updated_score(self, page, score):
        raise RecursionError("too deep")

    def index_boost(self, page, boost):
        return -1


class Writes:
    """Takes what it is told for its own."""

    def injected_score(self, url, score, metadata):
        metadata["section"] = 7
        return 2 * score


class Waits:
    """Does not come back before it is told to."""

    def injected_score(self, url, score, metadata):
        select.select([sys.stdin], [], [], 60)
        return score + 1


class Stops:
    def passed_scores(self, page, links, scores):
        if page.host == "a.test":
            raise KeyboardInterrupt
        return scores
'''
NUMBERS = range(1, 9)
PAGES = {
    "/": "<title>Home</title>" + "".join(f"<a href=/{n}>n</a>" for n in NUMBERS),
    **{f"/{n}": f"<title>Walnut</title><p>walnut cake, recipe {n} of a long row of recipes" for n in NUMBERS},
}


@pytest.fixture
def web() -> Any:
    with FakeWeb().site("a.test", PAGES) as web:
        yield web


class Kitchen:
    """Runs the command with the package installed, on a web of its own."""

    def __init__(self, folder: Path, web: FakeWeb) -> None:
        site = folder / "site"
        site.mkdir()
        install(site, PYPROJECT, {"upside_down.py": MODULE})
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("COBNUT_")}
        self.environment["PYTHONPATH"] = str(site)
        self.folder, self.web = folder, web

    def run(self, *words: object, rules: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command(*words, "-s", f"scoring.rules={rules}"), capture_output=True, text=True, env=self.environment
        )
        assert done.returncode == expect, done.stderr
        assert "Traceback" not in done.stderr
        return done

    def crawl(self, name: str, rules: str) -> tuple[Path, list[str]]:
        """A crawl by these rules, and the paths in the order they were fetched."""
        self.web.reset()
        crawl = self.folder / name
        self.run("crawl", crawl, "http://a.test/", *to_web(self.web.port), "-s", "fetcher.workers=1", rules=rules)
        return crawl, [e.target for e in self.web.requests("a.test") if e.target != "/robots.txt"]

    def scores(self, crawl: Path) -> dict[str, int]:
        lines = self.run("read", "crawldb", crawl, "--json", rules="").stdout.splitlines()
        return {row["url"].rpartition("/")[2]: row["score"] for row in map(json.loads, lines)}

    def found(self, crawl: Path) -> list[dict[str, Any]]:
        answer = json.loads(self.run("search", crawl, "walnut", "--explain", "--json", rules="").stdout)
        return list(answer["hits"])


@pytest.fixture
def kitchen(tmp_path: Path, web: FakeWeb) -> Kitchen:
    return Kitchen(tmp_path, web)


def test_a_package_turns_the_order_of_fetching_around(kitchen: Kitchen) -> None:
    crawl, order = kitchen.crawl("plain", "opic,by_number")
    assert order == ["/", "/6", "/7", "/8", "/5", "/4", "/3", "/2", "/1"], "best first; equal ones by key"
    assert kitchen.scores(crawl) == {"": 1_000_000, **{str(n): min(n, 6) * 1_000_000 for n in NUMBERS}}
    _, turned = kitchen.crawl("turned", "opic,by_number,last_first")
    assert turned == ["/", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8"]


def test_a_boost_leads_in_search_and_is_explained(kitchen: Kitchen) -> None:
    crawl, _ = kitchen.crawl("c", "opic,last_shown")
    hits = kitchen.found(crawl)
    assert [hit["url"] for hit in hits] == [f"http://a.test/{n}" for n in reversed(NUMBERS)]
    lifted = [next(f["value"] for f in hit["features"] if f["name"] == "boost") for hit in hits]
    assert lifted == sorted(lifted, reverse=True)
    assert lifted[-1] == 0
    told = kitchen.run("why", crawl, "http://a.test/8", rules="opic,last_shown").stdout
    assert "scored by opic (links), last_shown (index)" in told


def test_a_rule_that_fails_everywhere_changes_nothing_and_is_told(kitchen: Kitchen) -> None:
    plain, order = kitchen.crawl("plain", "opic")
    broken, same = kitchen.crawl("broken", "opic,broken")
    assert same == order
    assert kitchen.scores(broken) == kitchen.scores(plain)
    assert [hit["url"] for hit in kitchen.found(broken)] == [hit["url"] for hit in kitchen.found(plain)]
    told = {}
    for path in (broken / "reports").glob("*.json"):
        report = json.loads(path.read_bytes())
        for message in report["messages"]:
            if message.startswith("scoring rule broken failed on "):
                told.setdefault(report["stage"], []).append(message)
    assert set(told) == {"inject", "generate", "parse", "updatedb", "index"}
    assert "scoring rule broken failed on 1 seeds, which keep their score" in told["inject"]
    shown = kitchen.run("plugins", rules="opic,broken").stdout
    assert "SystemExit: 7" in shown


def test_a_rule_that_writes_into_what_it_is_told_is_told_of_in_the_summary(kitchen: Kitchen) -> None:
    crawl, seeds = kitchen.folder / "c", kitchen.folder / "seeds.txt"
    seeds.write_text("http://a.test/\tsection=own\n")
    options = (*to_web(kitchen.web.port), "-s", "fetcher.workers=1")
    kitchen.run("create", crawl, rules="opic")
    told = kitchen.run("inject", crawl, seeds, rules="opic,writes,broken").stderr
    assert "scoring rule writes failed on 1 seeds, which keep their score" in told
    told = kitchen.run("crawl", crawl, "http://a.test/", *options, rules="opic,writes,broken").stdout
    for failed in ("writes failed on 1 seeds", "broken failed on 1 seeds", "broken failed on 9 pages"):
        assert f"Note: scoring rule {failed}" in told
    why = kitchen.run("why", crawl, "http://a.test/", rules="opic").stdout
    assert "section=own" in why
    assert kitchen.scores(crawl)[""] == 1_000_000


WAITING = """
from cobnut.config.sections import ScoringSettings
from cobnut.frontier.scoring import InjectedScore

seeds = InjectedScore(ScoringSettings(rules=("opic", "waits")))
seeds.watch.every_s = 0.05
print(seeds("http://a.test/x", 5, {}), dict(seeds.failures))
"""


def test_a_rule_that_does_not_come_back_is_told_of_while_it_is_waited_for(kitchen: Kitchen) -> None:
    words, pipe = [sys.executable, "-c", WAITING], subprocess.PIPE
    with subprocess.Popen(
        words, text=True, env=kitchen.environment, stdin=pipe, stdout=pipe, stderr=pipe
    ) as process:  # fmt: skip
        assert process.stderr is not None
        told = process.stderr.readline()
        out, _ = process.communicate("go on\n", timeout=60)
    assert told.startswith("scoring rule waits has not come back from injected_score (http://a.test/x) for more than ")
    assert "without waits in scoring.rules" in told
    assert out == "6 {}\n"


def test_a_rule_that_claims_to_be_an_interrupt_harms_no_page(kitchen: Kitchen) -> None:
    crawl, order = kitchen.crawl("c", "opic,stops")
    assert len(order) == 9
    assert len(kitchen.found(crawl)) == 8
    (told,) = {
        message
        for path in (crawl / "reports").glob("*-parse-*.json")
        for message in json.loads(path.read_bytes())["messages"]
    }
    assert told == "scoring rule stops failed on 1 pages, whose links pass on what they passed without it"
