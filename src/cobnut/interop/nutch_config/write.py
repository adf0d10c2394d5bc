"""How does an imported configuration get into a crawl?

A new crawl gets all of it. In a crawl that is there, what its own `cobnut.toml` sets stays, and so does a file that is
there with other content, unless the user insists. Everything is checked before the first byte is written; the settings
are written last, so that they never name a rule file that is not there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cobnut.config.checks import value_of
from cobnut.config.load import DEFAULT, RULE_FILES, load_settings
from cobnut.config.template import set_values, settings_text, toml_value
from cobnut.errors import InputError
from cobnut.interop.nutch_config.found import Imported
from cobnut.storage.files import io_errors, write_atomic
from cobnut.storage.layout import SETTINGS_FILE, CrawlFolder
from cobnut.urls.rules import in_folder

SEEDS_FILE = "seeds.txt"


def write_new(folder: Path, found: Imported) -> list[str]:
    """Makes a crawl with these settings; the paths written."""
    text = settings_text(found.settings)
    _check(text.encode())
    files = _files(found, found.settings)
    crawl = CrawlFolder.create(folder, text)
    return [str(crawl.settings_path), *_write(crawl.path, files)]


def write_into(crawl: CrawlFolder, found: Imported, *, force: bool = False) -> tuple[list[str], list[str]]:
    """Adds the settings to a crawl: the paths written, and what was kept as the crawl has it."""
    values, kept = dict(found.settings), []
    loaded = load_settings(crawl.path, environ={})
    for key, value in found.settings.items():
        own, wanted = value_of(loaded.settings, key), value
        if key in RULE_FILES:
            wanted = tuple(in_folder(item, crawl.path.absolute()) for item in value)
        if own == wanted:
            continue
        if loaded.origins[key] != DEFAULT and not force:
            del values[key]
            kept.append(f"{key} = {toml_value(own)} (not {toml_value(value)})")
    files = _files(found, values)
    for name, data in files.items():
        path = crawl.path / name
        with io_errors(path, "read"):
            other = path.exists() and path.read_bytes() != data
        if other and not force:
            raise InputError("the file is there already, with other content", where=str(path), remedy="give --force")
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / SETTINGS_FILE
        draft.write_bytes(crawl.settings_path.read_bytes())
        set_values(draft, values, write_atomic)
        _check(draft.read_bytes())
    written = _write(crawl.path, files)
    if values:
        set_values(crawl.settings_path, values, write_atomic)
        written.insert(0, str(crawl.settings_path))
    return written, kept


def _check(settings: bytes) -> None:
    """An `InputError` when the settings could not be loaded again."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / SETTINGS_FILE).write_bytes(settings)
        load_settings(Path(folder), environ={})


def _files(found: Imported, values: Mapping[str, Any]) -> dict[str, bytes]:
    """Rule files that the settings name, and the seeds."""
    named = {item for key in RULE_FILES for item in values.get(key, ())}
    files = {name: text.encode() for name, text in found.texts.items() if f"rules:{name}" in named}
    if found.seeds:
        files[SEEDS_FILE] = ("\n".join(found.seeds) + "\n").encode("utf-8", "replace")
    return files


def _write(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    written = []
    for name, data in files.items():
        path = folder / name
        with io_errors(path, "write"):
            path.parent.mkdir(exist_ok=True)
        write_atomic(path, data)
        written.append(str(path))
    return written
