"""The example of docs/plugins.md is a real package: installed and named, it does what the page says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_packages import install

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


def test_every_kind_that_packages_can_add_to_is_on_the_page():
    from cobnut.inspect.plugins import KINDS

    for kind in KINDS:
        assert f"`{kind.setting}`" in TEXT
        assert kind.group is None or f"| `{kind.setting}` | `{kind.group}` |" in TEXT
