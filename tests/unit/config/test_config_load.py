from __future__ import annotations

from pathlib import Path

import pytest

from cobnut.config.checks import RANGES, problem_with, value_of
from cobnut.config.load import default_of, known_keys, line_numbers, load_settings
from cobnut.config.sections import DOCS, Settings
from cobnut.errors import InputError


def written(folder: Path, text: str) -> Path:
    (folder / "cobnut.toml").write_text(text)
    return folder


def refused(
    folder: Path | None = None, environ: dict[str, str] | None = None, overrides: list[str] | None = None
) -> str:
    with pytest.raises(InputError) as caught:
        load_settings(folder, environ=environ or {}, overrides=overrides or [])
    assert "\n" not in caught.value.line()
    return caught.value.line()


def test_every_setting_has_its_sentence_and_every_number_its_range() -> None:
    assert set(DOCS) == set(known_keys())
    numbers = {key for key, kind in known_keys().items() if kind in (int, float)}
    assert set(RANGES) == numbers


def test_the_defaults_are_sane() -> None:
    for key in known_keys():
        assert problem_with(key, default_of(key)) is None, key
    assert load_settings(None, environ={}).settings == Settings()


def test_command_line_goes_before_environment_before_file_before_default(tmp_path: Path) -> None:
    written(tmp_path, "[fetcher]\ndelay_s = 5\nworkers = 5\ntimeout_s = 5\n")
    environ = {"COBNUT_FETCHER__WORKERS": "6", "COBNUT_FETCHER__TIMEOUT_S": "6"}
    loaded = load_settings(tmp_path, environ=environ, overrides=["fetcher.timeout_s=7", "fetcher.timeout_s=8"])
    fetcher = loaded.settings.fetcher
    assert (fetcher.delay_s, fetcher.workers, fetcher.timeout_s, fetcher.connections) == (5, 6, 8, 500)
    assert isinstance(fetcher.delay_s, float)
    assert loaded.origins["fetcher.delay_s"] == f"{tmp_path / 'cobnut.toml'}:2"
    assert loaded.origins["fetcher.workers"] == "COBNUT_FETCHER__WORKERS"
    assert loaded.origins["fetcher.timeout_s"] == "-s"
    assert loaded.origins["fetcher.connections"] == "default"


def test_a_missing_file_means_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path, environ={}).settings == Settings()


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    written(tmp_path, "# c\n[fetcher]\ndelay = 1\nworkers = 'many'\n\n[bogus]\nx = 1\n")
    line = refused(tmp_path, {"COBNUT_CRAWL__DEPHT": "1"}, ["serve.port=70000", "crawl.scope=galaxy"])
    assert line.startswith("6 problems")
    path = tmp_path / "cobnut.toml"
    assert f"'fetcher.delay' ({path}:3): the nearest known one is fetcher.delay_s" in line
    assert f"fetcher.workers: 'many' is no whole number ({path}:4)" in line
    assert "'bogus.x'" in line
    assert "'crawl.depht' (COBNUT_CRAWL__DEPHT): the nearest known one is crawl.depth" in line
    assert "serve.port: 70,000 is not between 0 and 65,535 (-s)" in line
    assert "crawl.scope: 'galaxy' is not one of host, domain, prefix, web (-s)" in line


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("fetcher.resolve=a:1.2.3.4, b:80:[::1]:8080", ("a:1.2.3.4", "b:80:[::1]:8080")),
        ("fetcher.resolve=[::1]:80:127.0.0.1", ("[::1]:80:127.0.0.1",)),
        ('fetcher.allow_net=["10.0.0.0/8", "fd00::/8"]', ("10.0.0.0/8", "fd00::/8")),
        ("fetcher.allow_net=", ()),
        ("fetcher.tls_verify=false", False),
        ("fetcher.agent_contact=a=b@example.org", "a=b@example.org"),
        ("crawl.max_time_s=1h30m", 5400),
        ("crawl.max_pages=10_000", 10_000),
        ("fetcher.delay_s=0.25", 0.25),
        ("fetcher.delay_s=-1", -1.0),
    ],
)
def test_text_becomes_the_type_of_its_setting(text: str, value: object) -> None:
    loaded = load_settings(None, environ={}, overrides=[text])
    assert value_of(loaded.settings, text.partition("=")[0]) == value


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("fetcher.agent_name=my crawler", "product token"),
        ("fetcher.agent_name=bot/1.0", "product token"),
        ("fetcher.agent_contact=x\r\nEvil: 1", "header"),
        ("fetcher.agent_contact=nobody", "neither an e-mail address"),
        ("fetcher.agent_contact=me@localhost", "neither an e-mail address"),
        ("fetcher.agent_contact=https://", "neither an e-mail address"),
        ("fetcher.agent_contact=Me <me@a.example>", "neither an e-mail address"),
        ("fetcher.proxy=socks5://h:1", "http://HOST:PORT"),
        ("fetcher.proxy=http://h:99999", "no port"),
        ("fetcher.resolve=nonsense", "HOST[:PORT]:ADDR[:PORT]"),
        ("fetcher.resolve=a:999.1.1.1", "is no address"),
        ("fetcher.allow_net=10.0.0.0/99", "not a network"),
        ("fetcher.allow_net=10.0.0.1/8", "did you mean 10.0.0.0/8?"),
        ("fetcher.nameservers=example.org", "no IP address"),
        ("fetcher.timeout_s=nan", "no duration"),
        ("db.increase=nan", "not between"),
        ("db.increase=inf", "not between"),
        ("crawl.max_time_s=1.5s", "whole number of seconds"),
        ("crawl.max_time_s=soon", "no duration"),
        ("fetcher.workers=1.5", "no whole number"),
        ("fetcher.tls_verify=perhaps", "true or false"),
        ('fetcher.allow_net=["a"', "no list"),
        ("fetcher.low_speed_bytes_s=10m", "no whole number"),
        ("delay", "KEY=VALUE"),
        ("=1", "KEY=VALUE"),
        ("db.min_interval_s=91d", "above db.max_interval_s"),
    ],
)
def test_what_is_not_sane_is_refused(text: str, part: str) -> None:
    assert part in refused(overrides=[text])


def test_types_in_the_file_are_not_guessed(tmp_path: Path) -> None:
    written(tmp_path, "[fetcher]\ntls_verify = 'false'\nworkers = true\nagent_name = 3\n[crawl]\nmax_time_s = '10m'\n")
    line = refused(tmp_path)
    assert "fetcher.tls_verify: 'false' is not true or false" in line
    assert "fetcher.workers: 'True' is not a whole number" in line
    assert "fetcher.agent_name: '3' is not a text" in line
    written(tmp_path, "[crawl]\nmax_time_s = '10m'\n[fetcher]\nallow_net = '10.0.0.0/8'\n")
    settings = load_settings(tmp_path, environ={}).settings
    assert (settings.crawl.max_time_s, settings.fetcher.allow_net) == (600, ("10.0.0.0/8",))


def test_broken_toml_names_file_and_line(tmp_path: Path) -> None:
    written(tmp_path, "[fetcher]\ndelay_s = = 1\n")
    assert f"{tmp_path / 'cobnut.toml'}:2: not TOML" in refused(tmp_path)
    written(tmp_path, "[urls]\nfilters = [\n'scheme',\n")  # it ends too early
    assert f"{tmp_path / 'cobnut.toml'}:3: not TOML" in refused(tmp_path)
    (tmp_path / "cobnut.toml").write_bytes(b"# \xff\n")
    assert "not UTF-8" in refused(tmp_path)


def test_a_setting_outside_its_section_is_explained(tmp_path: Path) -> None:
    written(tmp_path, "delay_s = 1\n")
    assert "below a line [fetcher]" in refused(tmp_path)


def test_foreign_variables_are_left_alone() -> None:
    environ = {"COBNUT_DEBUG": "1", "COBNUT_HOME": "x", "COBNUT_QQQQ__ZZ": "1", "OTHER_FETCHER__X": "1"}
    assert load_settings(None, environ=environ).settings == Settings()
    assert "fetcher.delay_s" in refused(environ={"COBNUT_FETCHR__DELAY_S": "1"})


def test_lines_of_dotted_keys_are_found() -> None:
    assert line_numbers("fetcher.delay_s = 1\n[crawl]\n  depth=2\n") == {
        "fetcher.delay_s": 1,
        "crawl": 2,
        "crawl.depth": 3,
    }


@pytest.mark.parametrize(
    "name", ["COBNUT_FETCHER_DELAY_S", "COBNUT__FETCHER__DELAY_S", "COBNUT_FETCHER__DELAYS", "cobnut_fetcher_delay"]
)
def test_a_variable_nearly_a_setting_is_told(name):
    """The likeliest slip, one underscore for two, would crawl faster than its author meant."""
    if not name.startswith("COBNUT_"):
        load_settings(None, environ={name: "4"})  # other letters, other programs
        return
    with pytest.raises(InputError, match=r"COBNUT_FETCHER__DELAY_S|fetcher\.delay_s"):
        load_settings(None, environ={name: "4"})


def test_variables_of_other_meaning_are_left_alone():
    load_settings(None, environ={"COBNUT_DEBUG": "1", "COBNUT_NO_INSTALL": "1", "COBNUT_FOO": "x"})
