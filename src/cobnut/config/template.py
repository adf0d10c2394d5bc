"""What does a `cobnut.toml` look like?

A settings file that `create` writes holds every setting as a comment, with its sentence and its default. Setting one
later changes its line and keeps everything else.

Not here: reading (`config.load`), writing to disk safely (the caller hands in how).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cobnut.config.load import default_of, known_keys, unknown_key
from cobnut.config.sections import DOCS, Settings
from cobnut.errors import DataError, InputError, MachineError

HEAD = """\
# Settings of this crawl. What is commented out has its default.
# The environment (COBNUT_FETCHER__DELAY_S=0) and the command line (-s fetcher.delay_s=0) go before this file.
# Times in seconds may be written as durations: "10m", "1h30m", "7d".
# `cobnut config show DIR --origin` tells what holds, and why.
"""


def settings_text(values: Mapping[str, Any] | None = None) -> str:
    """A whole `cobnut.toml`: the values given are set, all others stand as comments at their defaults."""
    values = values or {}
    _refuse_unknown(values)
    pieces = [HEAD]
    for section in Settings.__struct_fields__:
        pieces.append(f"\n[{section}]\n")
        for key in (k for k in known_keys() if k.startswith(section + ".")):
            name = key.partition(".")[2]
            given = key in values
            value = toml_value(values[key] if given else default_of(key))
            pieces.append(f"# {DOCS[key]}\n{'' if given else '# '}{name} = {value}\n")
    return "".join(pieces)


def toml_value(value: Any) -> str:
    """A setting's value in TOML.

    >>> toml_value("a\\"b"), toml_value(True), toml_value(("x", "y"))
    ('"a\\\\"b"', 'true', '["x", "y"]')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return '"' + "".join(_ESCAPES.get(c) or _plain(c) for c in str(value)) + '"'


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _plain(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 32 or ord(char) == 127 else char


def set_values(path: Path, values: Mapping[str, Any], write: Callable[[Path, bytes], None]) -> None:
    """Sets some values in an existing file, keeping its comments; `write` replaces the file safely."""
    _refuse_unknown(values)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise MachineError(f"cannot read the settings ({error.strerror})", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise DataError("the settings are not UTF-8 text", where=str(path)) from error
    for key, value in values.items():
        text = with_value(text, key, value)
    try:
        tree = tomllib.loads(text)
        taken = all(_plainly(tree[k.partition(".")[0]][k.partition(".")[2]]) == _plainly(v) for k, v in values.items())
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        taken = False
    if not taken:
        wanted = ", ".join(f"{key} = {toml_value(value)}" for key, value in values.items())
        raise InputError(f"cannot change the settings file for you; set {wanted} yourself", where=str(path))
    write(path, text.encode())


def _plainly(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def with_value(text: str, key: str, value: Any) -> str:
    """The text of a settings file with one more value set: its line is replaced, or uncommented, or added."""
    section, _, name = key.partition(".")
    new = f"{name} = {toml_value(value)}\n"
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    start, end = _section(lines, section)
    if start is None:
        if dotted := _find(lines, 0, len(lines), rf"\s*{section}\s*\.\s*{name}\s*="):
            return _replaced(lines, dotted, f"{section}.{new}")
        return "".join(lines) + f"\n[{section}]\n{new}"
    for pattern in (rf"\s*{name}\s*=", rf"\s*#\s*{name}\s*="):
        span = _find(lines, start, end, pattern)
        if span is not None:
            return _replaced(lines, span, new)
    while end > start and not lines[end - 1].strip():
        end -= 1
    return "".join([*lines[:end], new, *lines[end:]])


def _replaced(lines: list[str], span: tuple[int, int], new: str) -> str:
    return "".join([*lines[: span[0]], new, *lines[span[1] :]])


def _section(lines: list[str], section: str) -> tuple[int | None, int]:
    """First line below `[section]`, and the line where the next section begins."""
    start, end = None, len(lines)
    for index, line in enumerate(lines):
        header = re.match(r"\s*\[\s*([^\]\s]+)\s*\]", line)
        if header is None:
            continue
        if start is not None:
            end = index
            break
        if header[1] == section:
            start = index + 1
    return start, end


def _find(lines: list[str], start: int, end: int, pattern: str) -> tuple[int, int] | None:
    """Lines of an entry: one, or all those of a list that goes over several."""
    for index in range(start, end):
        if re.match(pattern, lines[index]):
            return index, _entry_end(lines, index, end)
    return None


def _entry_end(lines: list[str], index: int, end: int) -> int:
    if lines[index].lstrip().startswith("#"):
        return index + 1
    for last in range(index + 1, end + 1):
        try:
            tomllib.loads("".join(lines[index:last]))
        except tomllib.TOMLDecodeError:
            continue
        return last
    return index + 1


def _refuse_unknown(values: Mapping[str, Any]) -> None:
    for key in values:
        if key not in known_keys():
            raise InputError(unknown_key(key, "given"))
