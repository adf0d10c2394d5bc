"""What docs/serving.md says can be typed is what the program takes."""

import re
from pathlib import Path

from cobnut.config.credentials import parse_api_key, parse_login
from cobnut.config.load import known_keys, load_settings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "serving.md").read_text("utf-8")


def test_every_setting_exists():
    named = set(re.findall(r"`((?:serve|search|fetcher)\.[a-z_]+)`", PAGE))
    assert len(named) > 10
    assert named <= set(known_keys())
    assert {key for key in known_keys() if key.startswith("serve.")} - named <= {"serve.bind", "serve.port"}


def test_the_example_is_a_settings_file(tmp_path):
    (tmp_path / "cobnut.toml").write_text(re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1])
    settings = load_settings(tmp_path, environ={}).settings.serve
    assert settings.hosts == ("search.example.org",)
    assert settings.trusted_proxies == ("127.0.0.1",)


def test_the_entries_shown_are_entries():
    assert parse_login(re.search(r"^alice:.*$", PAGE, re.MULTILINE)[0]).user == "alice"
    assert parse_api_key(re.search(r"^nightly:.*$", PAGE, re.MULTILINE)[0]).name == "nightly"
