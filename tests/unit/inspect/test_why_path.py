"""By which pages was this one found?"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from small_crawl import key, row, small_crawl, write

from cobnut.config.load import load_settings
from cobnut.inspect.evidence import MOST_HOPS, Evidence, gather, plain_evidence
from cobnut.inspect.webdb import forms_of
from cobnut.inspect.why import story
from cobnut.records import catalogue as tables

SEED, A, B, C = "http://a.test/", "http://a.test/a", "http://b.test/b", "http://c.test:8080/c?d=e"


def ask(folder: Path, named_by: dict[str, tuple[str | None, str]], url: str) -> Evidence:
    """Evidence of a URL in a crawl in which each page was named first by another, in some way."""
    crawl = small_crawl(folder / "c")
    write(
        crawl,
        tables.PAGES,
        [
            row(
                tables.PAGES, page, discovered_at=1_780_000_000_000 + place, discovered_via=via,
                discovered_from=None if source is None else key(source),
            )
            for place, (page, (source, via)) in enumerate(named_by.items())
        ],
    )  # fmt: skip
    settings = load_settings(crawl.path, environ={}).settings
    evidence = gather(crawl, settings, url, forms_of(url, settings), lambda url: None, 0)
    json.dumps(plain_evidence(evidence))
    return evidence


def shown(evidence: Evidence) -> list[str]:
    lines = list(story(evidence))
    places = [n for n, line in enumerate(lines) if line.startswith("  Path")]
    if not places:
        return []
    found = [lines[places[0]].removeprefix("  Path").strip()]
    for line in lines[places[0] + 1 :]:
        if line[2:15].strip():
            break
        found.append(line.strip())
    return found


def test_from_a_seed_to_the_page(tmp_path: Path) -> None:
    named = {SEED: (None, "seed"), A: (SEED, "sitemap"), B: (A, "redirect"), C: (B, "link")}
    evidence = ask(tmp_path, named, C)
    assert [step["url"] for step in plain_evidence(evidence)["path"]] == [SEED, A, B, C]
    assert [step["via"] for step in evidence.path] == ["seed", "sitemap", "redirect", "link"]
    assert [step["at"] - evidence.path[0]["at"] for step in evidence.path] == [0, 1, 2, 3]
    assert evidence.path_end is None
    assert shown(evidence) == [f"{SEED} (seed)", f"→ {A} (sitemap)", f"→ {B} (redirect)", f"→ {C} (link)"]


@pytest.mark.parametrize("url", [SEED, A])
def test_a_short_path_is_told_already(tmp_path: Path, url: str) -> None:
    evidence = ask(tmp_path, {SEED: (None, "seed"), A: (SEED, "link")}, url)
    assert shown(evidence) == []
    assert evidence.path[-1]["url"] == url


def test_pages_that_name_each_other(tmp_path: Path) -> None:
    """A seed's row may have gone and come back: the path then ends where it would begin again."""
    evidence = ask(tmp_path, {A: (B, "link"), B: (A, "link"), C: (B, "link")}, C)
    assert (evidence.path_end, [step["url"] for step in evidence.path]) == ("loop", [A, B, C])
    assert shown(evidence)[0] == "from pages that name each other"


def test_a_page_that_is_not_known_any_more(tmp_path: Path) -> None:
    evidence = ask(tmp_path, {B: (A, "link"), C: (B, "link")}, C)
    assert (evidence.path_end, [step["url"] for step in evidence.path]) == ("unknown", [A, B, C])
    assert shown(evidence)[0] == f"{A}, of which nothing more is known"


def test_a_long_way(tmp_path: Path) -> None:
    urls = [f"http://a.test/{n}" for n in range(100)]
    named: dict[str, tuple[str | None, str]] = {url: (source, "link") for source, url in itertools.pairwise(urls)}
    evidence = ask(tmp_path, {urls[0]: (None, "seed"), **named}, urls[-1])
    assert evidence.path_end == "long"
    assert [step["url"] for step in evidence.path] == urls[-MOST_HOPS:]
    assert shown(evidence)[0] == "from …"


def test_nothing_known(tmp_path: Path) -> None:
    assert (ask(tmp_path, {SEED: (None, "seed")}, B)).path == []
