"""What does a whole Nutch configuration become?

Properties of `nutch-site.xml` are taken over. Those that stand only in `nutch-default.xml` are Nutch's defaults: they
serve to fill in `${…}`, and are left out unless asked for, since Cobnut has defaults of its own.

Not here: what single properties mean (`properties`), filters and normalizers (`chains`), writing (`write`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cobnut.config.checks import RANGES, disagreements, problem_with
from cobnut.config.load import known_keys
from cobnut.config.sections import Settings
from cobnut.config.template import toml_value
from cobnut.errors import InputError
from cobnut.interop.nutch_config import chains, scores, together
from cobnut.interop.nutch_config.active import active_plugins
from cobnut.interop.nutch_config.folder import find_conf, seed_files, seed_lines
from cobnut.interop.nutch_config.found import Became, Imported
from cobnut.interop.nutch_config.properties import Row, row_of
from cobnut.interop.nutch_config.values import KeepsDefaultError, fitted
from cobnut.interop.nutch_config.xmlconf import Property, merged, names_unknown, read_conf, substituted

_SECRET = re.compile(r"passw|secret|credential|token|\bauth\b|api[.-]?key|access[.-]?key", re.IGNORECASE)


def import_conf(given: Path, *, defaults: bool = False) -> Imported:
    """Reads the configuration at CONF; `defaults` takes what only nutch-default.xml says over, too."""
    conf = find_conf(given)
    files = [read_conf(path) for path in (conf.default, conf.site) if path is not None]
    held, notes = merged(files)
    values = {name: substituted(found.value or "", held) for name, found in held.items()}
    into = Imported(notes=notes)
    own = {name for name, found in held.items() if defaults or found.file != str(conf.default)}
    into.untouched_defaults = len(held) - len(own)
    for name, found in held.items():
        if name in own:
            into.properties.append(_became(found, values[name], into))
    mine = {name: value for name, value in values.items() if name in own}
    together.take(mine, conf, into)
    active = active_plugins(values.get("plugin.includes"), values.get("urlnormalizer.class", ""))
    chains.take_filters(conf, values.get, active, into)
    chains.take_normalizers(conf, values.get, active, into)
    scores.take_scoring(mine, values.get("plugin.includes"), active, into)
    together.scope(mine, into)
    _sane(into)
    _told(into)
    into.seeds = seed_lines(seed_files(conf), into.notes)
    return into


def _became(found: Property, value: str, into: Imported) -> Became:
    """What one property became; what it sets is put among the settings."""
    row = row_of(found.name)
    shown = "(not shown)" if _SECRET.search(found.name) and value.strip() else value
    one = Became(
        found.name, shown, row.verdict if row else "unknown", [], row.note if row else "", found.file, found.line
    )
    if row is None:
        one.note = "no property of Nutch 0.7 to 1.23 that is known here"
    elif row.settings:
        _set(one, row, value, into)
    if unknown := names_unknown(value):
        one.note = "; ".join(n for n in (one.note, f"${{{unknown[0]}}} is not in these files") if n)
    return one


def _set(one: Became, row: Row, value: str, into: Imported) -> None:
    for key, read in row.settings:
        try:
            made, changed = fitted(read(value), known_keys()[key], *RANGES.get(key, (0, 0)))
        except KeepsDefaultError as kept:
            one.verdict, one.note = "kept", str(kept)
            return
        except ValueError as error:
            one.verdict, one.note = "wrong", str(error)
            return
        put(one, key, made, into, changed)


def put(one: Became, key: str, value: Any, into: Imported, note: str = "") -> None:
    """Sets a setting for a property; a value that cannot stand there is told instead."""
    wrong = problem_with(key, value)
    if wrong is not None:
        one.verdict, one.note = "wrong", f"{key}: {wrong}"
        return
    if key in into.settings and into.settings[key] != value:
        note = "; ".join(n for n in (note, f"goes before {key} = {toml_value(into.settings[key])} of another one") if n)
    into.settings[key] = value
    one.became.append(f"{key} = {toml_value(value)}")
    one.note = one.note if note in one.note else "; ".join(n for n in (one.note, note) if n)


_TOGETHER = (
    ("urlfilter.", "urls.filters"),
    ("urlnormalizer.", "urls.normalizers"),
    ("scoring.filter.", "scoring.rules"),
    ("scoring.orphan.", "db.orphan_after_s"),
)
"""What properties that begin so set together, and `plugin.includes` with them."""


def _told(into: Imported) -> None:
    """Properties that settings made together with others name these; what set nothing says so."""
    for one in into.properties:
        if one.verdict != "sets" or one.became:
            continue
        keys = [
            key
            for begins, key in _TOGETHER
            if (one.property.startswith(begins) or one.property == "plugin.includes") and key in into.settings
        ]
        one.became = [f"{key} = {toml_value(into.settings[key])}" for key in keys]
        one.verdict = "sets" if keys else "kept"


def _sane(into: Imported) -> None:
    """Leaves out settings that are sane each for itself but not together, and says so."""
    for _ in range(8):
        problems = disagreements(with_values(into.settings))
        if not problems:
            return
        for problem in problems:
            keys = [key for key in re.findall(r"[a-z]+\.[a-z_]+", problem) if into.settings.pop(key, None) is not None]
            into.notes.append(f"{problem}: left at the default: {', '.join(keys)}")
            for one in into.properties:
                if any(text.startswith(f"{key} = ") for text in one.became for key in keys):
                    one.verdict, one.became, one.note = "wrong", [], problem
    raise InputError("the settings do not agree", where="; ".join(disagreements(with_values(into.settings))))


def with_values(values: Mapping[str, Any]) -> Settings:
    """The settings with these values, all else at the default."""
    import msgspec

    settings = Settings()
    for key, value in values.items():
        section, _, name = key.partition(".")
        changed = msgspec.structs.replace(getattr(settings, section), **{name: value})
        settings = msgspec.structs.replace(settings, **{section: changed})
    return settings
