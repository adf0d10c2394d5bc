"""What was set, and by whom?

Defaults < `cobnut.toml` < environment (`COBNUT_FETCHER__DELAY_S`) < `-s fetcher.delay_s=0`. Every problem found is told
at once, each with the place where it was set.

Not here: which settings there are (`config.sections`), which values are sane (`config.checks`), writing the file
(`config.template`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from cobnut.config.checks import disagreements, problem_with
from cobnut.config.durations import parse_duration
from cobnut.config.sections import Settings
from cobnut.errors import CobnutError, InputError, MachineError
from cobnut.urls.rules import in_folder

SETTINGS_FILE = "cobnut.toml"
RULE_FILES = ("urls.normalizers", "urls.filters")
"""Settings that may name rule files, whose paths are relative to the crawl's folder."""

DEFAULT = "default"


class Loaded(msgspec.Struct, frozen=True):
    """The settings, and for every key where its value came from (`default`, FILE:LINE, a variable, an option)."""

    settings: Settings
    origins: dict[str, str]


class _Given(msgspec.Struct, frozen=True):
    key: str
    value: Any
    origin: str
    text: bool
    """Whether the value is text to be read (environment, -s), not a TOML value."""


def load_settings(
    crawl_path: Path | None, *, environ: Mapping[str, str], overrides: Sequence[str] = (),
    options: Mapping[str, Sequence[str]] | None = None,
) -> Loaded:  # fmt: skip
    """The settings that hold for one command; an `InputError` names every problem.

    `crawl_path` is the crawl's folder (its `cobnut.toml` may be missing), or None for a command without a crawl.
    `overrides` are the texts of `-s`; `options` those that other options stand for, by the option's name; they win.
    """
    problems: list[str] = []
    values: dict[str, dict[str, Any]] = {}
    origins = dict.fromkeys(known_keys(), DEFAULT)
    for given in _everything(crawl_path, environ, {"-s": overrides, **(options or {})}, problems):
        if given.key not in known_keys():
            problems.append(unknown_key(given.key, given.origin))
            continue
        try:
            value = _converted(given)
        except ValueError as error:
            problems.append(f"{given.key}: {error} ({given.origin})")
            continue
        wrong = problem_with(given.key, value)
        if wrong is not None:
            problems.append(f"{given.key}: {wrong} ({given.origin})")
            continue
        if given.key in RULE_FILES and crawl_path is not None:
            value = tuple(in_folder(item, crawl_path.absolute()) for item in value)
        section, _, name = given.key.partition(".")
        values.setdefault(section, {})[name] = value
        origins[given.key] = given.origin
    settings = _built(values)
    if not problems:
        problems += disagreements(settings)
    if problems:
        raise _error(problems)
    return Loaded(settings, origins)


@lru_cache(maxsize=1)
def known_keys() -> dict[str, Any]:
    """Every key `section.name` with the type of its value."""
    keys = {}
    for section in Settings.__struct_fields__:
        for field in msgspec.structs.fields(type(getattr(_DEFAULTS, section))):
            keys[f"{section}.{field.name}"] = field.type
    return keys


_DEFAULTS = Settings()


def default_of(key: str) -> Any:
    """The default of a key."""
    section, _, name = key.partition(".")
    return getattr(getattr(_DEFAULTS, section), name)


def nearest_key(key: str) -> str | None:
    """The known key most like an unknown one."""
    import difflib  # only on the way to an error

    key = key.lower()
    close: list[str] = difflib.get_close_matches(key, known_keys(), n=1, cutoff=0.6)
    if close:
        return close[0]
    names: dict[str, str] = {k.partition(".")[2]: k for k in known_keys()}
    close = difflib.get_close_matches(key.rpartition(".")[2], names, n=1, cutoff=0.75)
    return names[close[0]] if close else None


def unknown_key(key: str, origin: str) -> str:
    """The line about a key that nobody knows."""
    near = nearest_key(key)
    hint = f"the nearest known one is {near}" if near else "`cobnut config show` lists all"
    return f"no setting is called {key[:80]!r} ({origin}): {hint}"


def is_duration(key: str) -> bool:
    """Whether a setting is a time in seconds, and so may be written `10m`."""
    return key.endswith("_s") and not key.endswith("_bytes_s")


def read_override(text: str) -> tuple[str, str]:
    """Key and value of one `-s KEY=VALUE`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"{text[:80]!r} is not KEY=VALUE", where="-s", remedy="for example -s fetcher.delay_s=0")
    return key.strip(), value.strip()


def _everything(
    crawl_path: Path | None, environ: Mapping[str, str], typed: Mapping[str, Sequence[str]], problems: list[str]
) -> Iterator[_Given]:
    if crawl_path is not None:
        yield from _from_file(crawl_path / SETTINGS_FILE, problems)
    yield from _from_environment(environ, problems)
    for option, texts in typed.items():
        for text in texts:
            try:
                key, value = read_override(text)
            except InputError as error:
                problems.append(f"{error.what} ({option})")
                continue
            yield _Given(key, value, option, True)


def _from_file(path: Path, problems: list[str]) -> Iterator[_Given]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return
    except UnicodeDecodeError as error:
        problems.append(f"{path}: not UTF-8 text (byte {error.start})")
        return
    except OSError as error:
        raise MachineError(f"cannot read the settings ({error.strerror})", where=str(path)) from error
    try:
        tree = tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        problems.append(_syntax(path, str(error), len(text.splitlines())))
        return
    lines = line_numbers(text)
    for section, content in tree.items():
        if isinstance(content, dict):
            for name, value in content.items():
                key = f"{section}.{name}"
                yield _Given(key, value, f"{path}:{lines.get(key, 0) or '?'}", False)
        else:
            where = f"{path}:{lines.get(section, 0) or '?'}"
            problems.append(f"{section[:80]!r} stands outside a section ({where}): {_section_of(section)}")


def _section_of(name: str) -> str:
    near = nearest_key(name)
    return (
        f"perhaps {near}, below a line [{near.partition('.')[0]}]" if near else "settings stand below [section] lines"
    )


def _syntax(path: Path, message: str, last: int) -> str:
    """`path:line: what`, from tomllib's `what (at line 3, column 7)`, or `(at end of document)`, its last line."""
    match = re.search(r"\(at line (\d+), column (\d+)\)", message)
    what = message[: match.start()].strip() if match else message
    return f"{path}:{match[1] if match else last}: not TOML: {what[:1].lower()}{what[1:]}"


_SECTION_LINE = re.compile(r"\s*\[\s*([A-Za-z0-9_-]+)\s*\]")
_KEY_LINE = re.compile(r"\s*([A-Za-z0-9_-]+(?:\s*\.\s*[A-Za-z0-9_-]+)?)\s*=")


def line_numbers(text: str) -> dict[str, int]:
    """Line of each `section.name` of a settings file; what a plain scan does not find is missing."""
    found: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _SECTION_LINE.match(line):
            section = header[1]
            found.setdefault(section, number)
        elif entry := _KEY_LINE.match(line):
            name = re.sub(r"\s", "", entry[1])
            found.setdefault(f"{section}.{name}" if section else name, number)
    return found


_PREFIX = "COBNUT_"
OTHER_VARIABLES = ("COBNUT_DEBUG", "COBNUT_COMPLETE", "COBNUT_NO_INSTALL")
"""Variables that are no settings."""

_VARIABLE = re.compile(r"COBNUT_([A-Z0-9]+(?:_[A-Z0-9]+)*)__([A-Z0-9_]+)", re.IGNORECASE)


def _from_environment(environ: Mapping[str, str], problems: list[str]) -> Iterator[_Given]:
    for name in sorted(environ):
        match = _VARIABLE.fullmatch(name)
        if match is None:
            if name.startswith(_PREFIX) and name not in OTHER_VARIABLES and (near := _nearest_variable(name)):
                problems.append(f"no setting is called {name}: the nearest known one is {near}")
            continue
        section, key = match[1].lower(), match[2].lower()
        if section in Settings.__struct_fields__:
            yield _Given(f"{section}.{key}", environ[name], name, True)
        elif near := _nearest_section(section):
            problems.append(
                f"no section is called {section!r} ({name}): "
                f"the nearest known one is {nearest_key(f'{near}.{key}') or near}"
            )


def _nearest_variable(name: str) -> str | None:
    import difflib

    known = [f"{_PREFIX}{key.replace('.', '__').upper()}" for key in known_keys()]
    close = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.85)
    return close[0] if close else None


def _nearest_section(section: str) -> str | None:
    import difflib

    close = difflib.get_close_matches(section, Settings.__struct_fields__, n=1, cutoff=0.7)
    return close[0] if close else None


def _converted(given: _Given) -> Any:
    """The value in the type of its key; a `ValueError` says what was expected."""
    kind, value = known_keys()[given.key], given.value
    if kind == tuple[str, ...]:
        value = _as_list(value) if given.text else value
        if isinstance(value, str):
            value = [value]
    elif kind in (int, float) and isinstance(value, str):
        value = _as_number(given.key, value, kind)
    try:
        return msgspec.convert(value, kind, strict=not given.text)
    except msgspec.ValidationError as error:
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        raise ValueError(_plain(str(error), value, choices)) from None


def _as_list(text: str) -> list[Any]:
    text = text.strip()
    if text.startswith("[") and not _looks_like_address(text):
        try:
            value = tomllib.loads(f"v = {text}")["v"]
        except tomllib.TOMLDecodeError:
            raise ValueError(f'{text[:60]!r} is no list; write a,b or ["a", "b"]') from None
        return list(value)
    return [piece.strip() for piece in text.split(",") if piece.strip()]


def _looks_like_address(text: str) -> bool:
    """`[::1]:…` begins a resolve rule, not a list."""
    return re.match(r"\[[0-9A-Fa-f:.]+\]", text) is not None


def _as_number(key: str, text: str, kind: type) -> Any:
    plain = text.strip().replace("_", "")
    if is_duration(key) and not re.fullmatch(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?", plain):
        seconds = parse_duration(text)
        if kind is int and seconds != int(seconds):
            raise ValueError(f"{text[:40]!r} is not a whole number of seconds")
        return kind(seconds)
    try:
        return kind(plain)
    except ValueError:
        noun = "whole number" if kind is int else "number"
        also = " or duration such as 10m" if is_duration(key) else ""
        raise ValueError(f"{text[:40]!r} is no {noun}{also}") from None


def _plain(message: str, value: Any, choices: tuple[str, ...]) -> str:
    """msgspec's message in the words of a settings file."""
    shown = value if isinstance(value, str) else str(value)
    if choices:
        return f"{shown[:40]!r} is not one of {', '.join(choices)}"
    expected = re.search(r"Expected `([^`]+)`", message)
    words = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text", "array": "a list"}
    names = [words.get(n.strip(), n.strip()) for n in expected[1].split("|")] if expected else ["another type"]
    return f"{shown[:40]!r} is not {' or '.join(names)}"


def _built(values: dict[str, dict[str, Any]]) -> Settings:
    """The settings with the values given; they are of the right types already."""
    sections = {
        section: msgspec.structs.replace(getattr(_DEFAULTS, section), **given) for section, given in values.items()
    }
    return msgspec.structs.replace(_DEFAULTS, **sections)


def _error(problems: list[str]) -> CobnutError:
    if len(problems) == 1:
        return InputError(problems[0])
    return InputError(f"{len(problems)} problems with the settings: " + "; ".join(problems))
