from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.config.load import default_of, known_keys, load_settings
from cobnut.config.sections import DOCS, Settings
from cobnut.config.template import set_values, settings_text, toml_value, with_value
from cobnut.errors import InputError


def plain_write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def test_the_fresh_file_changes_nothing_and_names_every_setting(tmp_path: Path) -> None:
    text = settings_text()
    (tmp_path / "cobnut.toml").write_text(text)
    loaded = load_settings(tmp_path, environ={})
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}
    for key, sentence in DOCS.items():
        assert f"# {sentence}\n# {key.partition('.')[2]} = " in text


def test_uncommenting_everything_gives_the_defaults(tmp_path: Path) -> None:
    lines = settings_text().splitlines()
    names = {key.partition(".")[2] for key in known_keys()}
    bare = [line[2:] if line.startswith("# ") and line[2:].partition(" = ")[0] in names else line for line in lines]
    (tmp_path / "cobnut.toml").write_text("\n".join(bare))
    loaded = load_settings(tmp_path, environ={})
    assert loaded.settings == Settings()
    assert "default" not in loaded.origins.values()


def test_given_values_are_set(tmp_path: Path) -> None:
    (tmp_path / "cobnut.toml").write_text(settings_text({"crawl.depth": 3, "fetcher.resolve": ("*:127.0.0.1:80",)}))
    settings = load_settings(tmp_path, environ={}).settings
    assert (settings.crawl.depth, settings.fetcher.resolve) == (3, ("*:127.0.0.1:80",))


def test_setting_a_value_uncomments_its_line_and_keeps_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "cobnut.toml"
    path.write_text(settings_text() + "# my own note\n")
    set_values(path, {"fetcher.agent_name": "Acorn", "fetcher.agent_contact": '"a.b"@c.example.org'}, plain_write)
    text = path.read_text()
    assert text.count("agent_name =") == 1
    assert "# my own note\n" in text
    settings = load_settings(tmp_path, environ={}).settings
    assert (settings.fetcher.agent_name, settings.fetcher.agent_contact) == ("Acorn", '"a.b"@c.example.org')
    set_values(path, {"fetcher.agent_name": "Beech"}, plain_write)
    assert load_settings(tmp_path, environ={}).settings.fetcher.agent_name == "Beech"
    assert len(path.read_text().splitlines()) == len(text.splitlines())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "\n[crawl]\ndepth = 7\n"),
        ("[fetcher]\nworkers = 1", "[fetcher]\nworkers = 1\n\n[crawl]\ndepth = 7\n"),
        ("[crawl]\n[fetcher]\n", "[crawl]\ndepth = 7\n[fetcher]\n"),
        ("[crawl]\nscope = 'web'\n\n[db]\n", "[crawl]\nscope = 'web'\ndepth = 7\n\n[db]\n"),
        ("[crawl]\n  depth=1 # mine\n", "[crawl]\ndepth = 7\n"),
        ("crawl.depth = 1\n", "crawl.depth = 7\n"),
        ("[db]\n# depth = 2\n[crawl]\n# depth = 3\n", "[db]\n# depth = 2\n[crawl]\ndepth = 7\n"),
        ("[crawl]\ndepth = 1\n[[x]]\n", "[crawl]\ndepth = 7\n[[x]]\n"),
    ],
)
def test_the_right_line_is_changed(before: str, after: str) -> None:
    assert with_value(before, "crawl.depth", 7) == after


def test_a_list_over_several_lines_is_replaced_whole() -> None:
    text = '[fetcher]\nallow_net = [\n  "10.0.0.0/8",\n  "fd00::/8",\n]\nworkers = 2\n'
    assert with_value(text, "fetcher.allow_net", ("::1/128",)) == '[fetcher]\nallow_net = ["::1/128"]\nworkers = 2\n'


def test_a_file_that_cannot_be_changed_safely_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "cobnut.toml"
    path.write_text("crawl = {depth = 1}\n")
    with pytest.raises(InputError, match=r"set crawl\.depth = 7 yourself"):
        set_values(path, {"crawl.depth": 7}, plain_write)
    assert path.read_text() == "crawl = {depth = 1}\n"
    with pytest.raises(InputError, match=r"nearest known one is crawl\.depth"):
        set_values(path, {"crawl.dept": 7}, plain_write)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives(text: str) -> None:
    assert tomllib.loads(f"v = {toml_value(text)}")["v"] == text


def test_defaults_survive() -> None:
    for key in known_keys():
        value = default_of(key)
        assert tomllib.loads(f"v = {toml_value(value)}")["v"] == (list(value) if isinstance(value, tuple) else value)
