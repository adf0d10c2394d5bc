"""Every part is shown; one that is broken is shown with its error, and nothing that a package does ends the command."""

import json
import os
import subprocess
import sys

import pytest
from plugin_packages import install

from cobnut.config import sections
from cobnut.inspect.plugins import KINDS, parts_of
from cobnut.testing.fakeweb import FakeWeb

GROUPS = {
    "cobnut.url_normalizers": {
        "gone": "not_installed:rule", "wrong": "bad_parts:gives_nothing", "raises": "bad_parts:raises",
        "ends": "ends_here:rule", "basic": "bad_parts:same", "noisy": "noisy_part:same",
        "deep": "bad_parts:deep", "quits": "bad_parts:quits", "late": "bad_parts:late",
    },
    "cobnut.url_filters": {
        "numbers": "bad_parts:numbers", "no_colon": "bad_parts", "no_factory": "bad_parts:raises",
        "arity": "bad_parts:same", "no_function": "bad_parts:Text.injected_score", "refuses_to": "bad_parts:refuses_to",
    },
    "cobnut.scoring": {
        "text": "bad_parts:Text", "missing_name": "bad_parts:nowhere", "unmade": "bad_parts:Unmade",
        "methodless": "bad_parts:Methodless", "vast": "bad_parts:Vast",
    },
}  # fmt: skip
BAD_PARTS = '''
def gives_nothing(url): pass
def raises(url): raise ValueError("two\\nlines \\x1b[31m")
def same(url):
    """The URL as it is."""
    return url
def numbers(settings, scope): return lambda url: 1
def deep(url): return deep(url)
def late(url): return None if url.endswith("/next") else url
def quits(url): raise SystemExit(0)
def refuses_to(settings, scope):
    def refuses(url): raise KeyError(url)
    return refuses
class Unmade:
    def __init__(self): raise RuntimeError("no")
class Methodless: pass
class Vast:
    def injected_score(self, url, score, metadata): return 2**63
class Text:
    def injected_score(self, url, score, metadata): return "much"
'''


@pytest.fixture
def environment(tmp_path):
    points = "".join(
        f'[project.entry-points."{group}"]\n' + "".join(f'{n} = "{v}"\n' for n, v in named.items())
        for group, named in GROUPS.items()
    )
    modules = {
        "bad_parts.py": BAD_PARTS,
        "ends_here.py": "raise SystemExit(0)\n",
        "noisy_part.py": "print('hello')\ndef same(url): return url\n",
    }
    install(tmp_path, f'[project]\nname = "broken-parts"\nversion = "3"\n{points}', modules)
    return {k: v for k, v in os.environ.items() if not k.startswith("COBNUT_")} | {"PYTHONPATH": str(tmp_path)}


def run(environment, *words):
    return subprocess.run(
        [sys.executable, "-m", "cobnut.cli", *map(str, words)], capture_output=True, text=True, env=environment
    )


def test_broken_parts_are_shown_with_their_error(environment):
    done = run(environment, "plugins", "--json")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    errors = {r["name"]: r["error"] for r in rows if r["source"] == "broken-parts 3"}
    assert set(errors) == {name for named in GROUPS.values() for name in named}
    assert "not_installed" in errors["gone"]
    assert "gave NoneType" in errors["wrong"]
    assert errors["raises"] == "ValueError: two"
    assert errors["ends"] == "SystemExit: 0"
    assert "gave int" in errors["numbers"]
    assert "gave str" in errors["text"]
    assert all(errors[name] for name in errors if name not in ("noisy", "late"))
    assert "nowhere" in errors["missing_name"]
    assert errors["no_colon"]
    assert "another part has this name" in errors["basic"]
    assert errors["noisy"] is None
    assert "hello" in done.stderr
    assert [r["active"] for r in rows if r["name"] == "basic"] == [True, False]


def test_a_person_sees_them_too_and_no_escape_reaches_the_terminal(environment):
    done = run(environment, "plugins", "-s", "urls.normalizers=basic,raises,nowhere_at_all")
    assert done.returncode == 0
    assert "! ValueError: two" in done.stdout
    assert "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[1].split()[:2] == ["1", "basic"]
    assert any(line.split()[:3] == ["3", "nowhere_at_all", "missing"] for line in lines)


@pytest.mark.parametrize(
    "setting",
    [
        *(f"urls.normalizers={name}" for name in ("gone", "wrong", "raises", "ends", "deep", "basic,quits")),
        *(f"urls.filters={n}" for n in ("no_colon", "numbers", "no_factory", "arity", "no_function", "refuses_to")),
        *(f"scoring.rules={name}" for name in ("missing_name", "unmade", "methodless")),
    ],
)
def test_a_broken_part_in_force_is_one_clear_line(environment, tmp_path, setting):
    assert run(environment, "create", tmp_path / "c").returncode == 0
    (tmp_path / "seeds").write_text("http://h.example/\n")
    done = run(environment, "inject", tmp_path / "c", tmp_path / "seeds", "-s", setting)
    assert done.returncode == 4, done.stderr
    assert done.stderr.count("\n") == 1
    key, _, names = setting.partition("=")
    assert f"the plug-in {names.rpartition(',')[2]!r} " in done.stderr
    assert f"take it out of {key}" in done.stderr


@pytest.mark.parametrize("name", ["text", "vast"])
def test_a_rule_whose_score_is_none_leaves_it_as_it_was(environment, tmp_path, name):
    assert run(environment, "create", tmp_path / "c").returncode == 0
    (tmp_path / "seeds").write_text("http://h.example/\n")
    done = run(environment, "inject", tmp_path / "c", tmp_path / "seeds", "-s", f"scoring.rules={name}")
    assert done.returncode == 0, done.stderr
    assert f"scoring rule {name} failed" in done.stdout + done.stderr
    rows = run(environment, "read", "crawldb", tmp_path / "c", "--json")
    assert json.loads(rows.stdout.splitlines()[0])["score"] == 1_000_000, rows.stdout


def test_a_part_that_fails_on_a_link_ends_the_crawl_and_is_no_fault_of_the_page(environment, tmp_path):
    """What fails only later is told as clearly, and the page is parsed once the part is gone."""
    with FakeWeb().site("a.test", {"/": "<title>Home</title><a href=/next>n</a>", "/next": "<p>nuts"}) as web:
        words = ("crawl", tmp_path / "c", "http://a.test/", "--resolve", f"*:127.0.0.1:{web.port}")
        done = run(environment, *words, "-s", "urls.normalizers=basic,late")
        assert done.returncode == 4, done.stdout
        (told,) = done.stderr.splitlines()[-1:]
        assert "the plug-in 'late' failed on http://a.test/next" in told
        assert "take it out of urls.normalizers" in told
        assert run(environment, *words, "-s", "urls.normalizers=basic").returncode == 0
    rows = run(environment, "read", "crawldb", tmp_path / "c", "--json").stdout.splitlines()
    assert {json.loads(row)["url"]: json.loads(row)["status"] for row in rows} == {
        "http://a.test/": "fetched", "http://a.test/next": "fetched",
    }  # fmt: skip


def test_a_package_whose_list_is_unreadable_hides_no_other(environment, tmp_path):
    info = tmp_path / "aaa_unreadable-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: aaa-unreadable\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[cobnut.scoring]\nno equals sign\n")
    done = run(environment, "plugins", "--json")
    assert done.returncode == 0, done.stderr
    assert '"noisy"' in done.stdout


def test_all_that_can_be_named_in_the_settings_is_shown():
    from cobnut.frontier.scoring import BUILT_IN
    from cobnut.urls.filters import FILTERS
    from cobnut.urls.normalizers import RULES

    shown = {(part.kind, part.name) for part in parts_of(sections.Settings())}
    assert shown >= {
        *(("URL normalizer", name) for name in RULES),
        *(("URL filter", name) for name in FILTERS),
        *(("scoring rule", name) for name in BUILT_IN),
        ("fetch schedule", "adaptive"), ("fetch schedule", "default"), ("engine", "local"),
    }  # fmt: skip
    assert len(shown) == sum(len(kind.built_in) for kind in KINDS)


def test_active_parts_come_first_in_the_order_of_the_setting():
    settings = sections.Settings(urls=sections.UrlSettings(normalizers=("www", "basic"), filters=()))
    parts = parts_of(settings)
    assert [p.name for p in parts if p.kind == "URL normalizer"][:3] == ["www", "basic", "session_ids"]
    assert not any(p.active for p in parts if p.kind == "URL filter")
