"""The example of docs/plugins.md is a real package: installed and named, it does what the page says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from crawling import to_web
from plugin_packages import install

from cobnut.testing.fakeweb import FakeWeb

TEXT = (Path(__file__).resolve().parents[2] / "docs/plugins.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def cobnut(tmp_path):
    site = tmp_path / "site-packages"
    site.mkdir()
    pyproject, _settings = blocks("toml")
    (module,) = blocks("python")
    install(site, pyproject, {"shop_rules.py": module})
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COBNUT_")} | {"PYTHONPATH": str(site)}

    def run(*words: object) -> str:
        command = [sys.executable, "-m", "cobnut.cli", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def parts(output: str) -> dict[str, dict]:
    return {row["name"]: row for row in map(json.loads, output.splitlines())}


def test_installed_alone_it_changes_nothing(cobnut):
    found = parts(cobnut("plugins", "--json"))
    for name in ("no_currency", "no_baskets", "sale_first"):
        assert found[name]["active"] is False
        assert found[name]["error"] is None
        assert found[name]["source"] == "shop-rules 1.0"
        assert found[name]["does"]


def test_named_in_the_settings_it_works(cobnut, tmp_path):
    cobnut("create", "mycrawl")
    settings = blocks("toml")[1]
    (tmp_path / "mycrawl/cobnut.toml").write_text(settings)
    (seeds,) = blocks("text")
    assert "\tsection=sale" in seeds
    (tmp_path / "seeds.txt").write_text(seeds)

    found = parts(cobnut("plugins", "mycrawl", "--json"))
    assert {n: found[n]["order"] for n in ("no_currency", "no_baskets", "sale_first")} == {
        "no_currency": 2, "no_baskets": 6, "sale_first": 2,
    }  # fmt: skip
    assert found == parts(cobnut("plugins", "--dir", "mycrawl", "--json"))

    assert "left out by no_baskets: http://shop.example/basket/add?id=1" in cobnut(
        "inject", "mycrawl", "seeds.txt", "--verbose"
    )
    rows = [json.loads(line) for line in cobnut("read", "crawldb", "mycrawl", "--json").splitlines()]
    keys = {row["url_key"]: row for row in rows}
    assert len(keys) == 2
    assert {k.rpartition("/")[2]: row["score"] for k, row in keys.items()} == {
        "item?id=1": 2_000_000, "item?id=2": 1_000_000,
    }  # fmt: skip
    requested = {row["url"] for row in rows}
    assert "http://shop.example/item?id=1&currency=EUR" in requested, "what is requested stays the URL as found"


SHOP = {
    "/": "<title>Shop</title><a href=/a/1>one</a><a href=/a/2>two</a>"
    "<a href=/imprint>who we are</a><a href=/sale/3>3</a>",
    "/a/1": "<title>Walnut</title>walnut", "/a/2": "<title>Walnut</title>walnut, too",
    "/sale/3": "<title>Walnuts</title>a long row of words with a walnut at its end",
    "/imprint": "<title>Imprint</title>we",
}  # fmt: skip


def test_its_scoring_rule_has_a_say_wherever_the_page_says(cobnut, tmp_path):
    cobnut("create", "mycrawl")
    (tmp_path / "mycrawl/cobnut.toml").write_text(blocks("toml")[1] + "injected_score = 500.0\n")
    with FakeWeb().site("shop.example", SHOP) as web:
        cobnut("crawl", "mycrawl", "http://shop.example/", *to_web(web.port), "-s", "fetcher.workers=1")
        order = [entry.target for entry in web.requests("shop.example") if entry.target != "/robots.txt"]
    assert order == ["/", "/sale/3", "/a/1", "/a/2", "/imprint"]
    rows = [json.loads(line) for line in cobnut("read", "crawldb", "mycrawl", "--json").splitlines()]
    assert {row["url"].removeprefix("http://shop.example"): row["score"] for row in rows} == {
        "/": 100_000_000, "/a/1": 100_000_000, "/a/2": 100_000_000, "/sale/3": 100_000_000, "/imprint": 0,
    }  # fmt: skip
    hits = json.loads(cobnut("search", "mycrawl", "walnut", "--explain", "--json"))["hits"]
    boosts = {hit["url"]: next(f["contribution"] for f in hit["features"] if f["name"] == "boost") for hit in hits}
    assert {url.rpartition("/")[2]: round(boost, 3) for url, boost in boosts.items()} == {"1": 0, "2": 0, "3": 1.099}
    assert "scored by opic (links), sale_first (seeds, fetch order, links, updates, index)" in cobnut(
        "why", "mycrawl", "http://shop.example/"
    )


def test_all_methods_and_built_in_rules_are_on_the_page():
    from cobnut.frontier import scoring

    for method in (m for methods in scoring.PLACES.values() for m in methods):
        assert f"`{method}(" in TEXT
    for name in scoring.BUILT_IN:
        assert f"`{name}` has `" in " ".join(TEXT.split())
    for facts in (
        scoring.DuePage,
        scoring.LinkingPage,
        scoring.FollowedLinks,
        scoring.UpdatedPage,
        scoring.IndexedPage,
    ):
        assert " ".join(f"`{name}`" for name in facts.__struct_fields__) in TEXT


def test_every_kind_that_packages_can_add_to_is_on_the_page():
    from cobnut.inspect.plugins import KINDS

    for kind in KINDS:
        assert f"`{kind.setting}`" in TEXT
        assert kind.group is None or f"| `{kind.setting}` | `{kind.group}` |" in TEXT
