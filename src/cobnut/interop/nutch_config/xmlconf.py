"""Which properties does a Nutch configuration set?

Files in Hadoop's form: `<configuration>` (0.7: `<nutch-conf>`) with `<property>`s of `<name>`, `<value>` and, where
later files must not change it, `<final>`; the three may stand as attributes too. A later file goes before an earlier
one, within a file the later property. `${name}` in a value stands for another property's value, twenty deep at most.

The files are not trusted: no DTD and no entity of theirs is read, nothing is included, and size, depth and number are
bounded. `${…}` that names the environment or a Java system property is left as it stands.

Not here: what a property means (`properties`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from cobnut.errors import InputError, MachineError

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 16
MAX_PROPERTIES = 20_000
MAX_VALUE = 1024 * 1024
_MAX_SUBSTITUTIONS = 20

ROOTS = ("configuration", "nutch-conf")


class Property(NamedTuple):
    """One property as a file has it: the value is None where there is none. `file` and `line` say where it stands."""

    name: str
    value: str | None
    final: bool
    file: str
    line: int


class ConfFile(NamedTuple):
    """What one file holds, in its order, and what was passed over."""

    properties: list[Property]
    notes: list[str]


class Element(NamedTuple):
    """An element that has ended: its attributes and the text in it, that of its children left out."""

    tag: str
    attributes: dict[str, str]
    text: str
    line: int
    depth: int
    parents: tuple[str, ...]


def read_bytes(path: Path) -> bytes:
    """A file's bytes; errors name it."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError("no such file", where=str(path)) from None
    except (OSError, ValueError) as error:
        raise MachineError(f"cannot read the file ({error})", where=str(path)) from error
    if len(data) > MAX_BYTES:
        raise InputError(f"a configuration file holds at most {MAX_BYTES >> 20} MiB", where=str(path))
    return data


def elements(data: bytes, where: str) -> list[Element]:
    """All elements of an XML document in the order in which they end. An `InputError` names the line."""
    found: list[Element] = []
    open_tags: list[tuple[str, dict[str, str], list[str], int]] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def refuse(*_: object) -> None:
        raise InputError(
            "the file declares a document type or entities, which are not read",
            where=f"{where}:{parser.CurrentLineNumber}",
            remedy="remove <!DOCTYPE …> from it",
        )

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(open_tags) >= MAX_DEPTH or len(found) > 8 * MAX_PROPERTIES:
            what = "nested too deeply" if len(open_tags) >= MAX_DEPTH else "too many elements"
            raise InputError(f"no configuration: {what}", where=f"{where}:{parser.CurrentLineNumber}")
        open_tags.append((tag, attributes, [], parser.CurrentLineNumber))

    def text(data: str) -> None:
        if open_tags:
            open_tags[-1][2].append(data)

    def end(_tag: str) -> None:
        tag, attributes, pieces, line = open_tags.pop()
        parents = tuple(entry[0] for entry in open_tags)
        found.append(Element(tag, attributes, "".join(pieces), line, len(open_tags), parents))

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise InputError(f"not well-formed XML ({what})", where=f"{where}:{error.lineno}") from None
    except (LookupError, ValueError) as error:  # an encoding that there is not, or that cannot be read so
        raise InputError(f"cannot read the file's encoding ({error})", where=where) from None
    return found


def read_conf(path: Path) -> ConfFile:
    """The properties of one file."""
    return parse_conf(read_bytes(path), str(path))


def parse_conf(data: bytes, where: str) -> ConfFile:
    """The properties of a file with these bytes."""
    found, notes = ConfFile([], []), set()
    all_elements = elements(data, where)
    root = all_elements[-1].tag
    if root not in ROOTS:
        raise InputError(
            f"no configuration: its root is <{root[:40]}>", where=where, remedy=f"a file with <{ROOTS[0]}> is needed"
        )
    fields: dict[str, Element] = {}
    for element in all_elements:
        if element.tag.rpartition(":")[2] == "include":
            href = element.attributes.get("href", "")[:200]
            notes.add(f"{where}:{element.line}: an include is not followed ({href})")
        if element.parents and element.parents[-1] == "property" and element.tag in ("name", "value", "final"):
            fields[element.tag] = element
        if element.tag != "property":
            continue
        made = _property(element, fields, where)
        fields = {}
        if made is None:
            notes.add(f"{where}:{element.line}: a property without a name")
        elif len(found.properties) >= MAX_PROPERTIES:
            raise InputError(f"more than {MAX_PROPERTIES:,} properties", where=where)
        else:
            found.properties.append(made)
    found.notes.extend(sorted(notes))
    return found


def _property(element: Element, fields: Mapping[str, Element], where: str) -> Property | None:
    def field(tag: str) -> str | None:
        return fields[tag].text if tag in fields else element.attributes.get(tag)

    name = (field("name") or "").strip()
    value = field("value")
    if value is not None and len(value) > MAX_VALUE:
        raise InputError(f"the value of {name[:80]} is longer than {MAX_VALUE:,} characters", where=where)
    final = (field("final") or "").strip() == "true"
    return Property(name, value, final, where, element.line) if name else None


def merged(files: Iterable[ConfFile]) -> tuple[dict[str, Property], list[str]]:
    """What holds of all files, in the order in which they are read, and what was passed over."""
    held: dict[str, Property] = {}
    notes: list[str] = []
    for file in files:
        notes += file.notes
        for found in file.properties:
            before = held.get(found.name)
            if before is not None and before.final:
                if before.value != found.value:
                    notes.append(f"{found.file}:{found.line}: {found.name} is final in {before.file}: not changed")
                continue
            if found.value is None:
                notes.append(f"{found.file}:{found.line}: {found.name} has no value: passed over")
                continue
            held[found.name] = found
    return held, notes


_VARIABLE = re.compile(r"\$\{([^}$\s]+)\}")


def substituted(value: str, held: Mapping[str, Property]) -> str:
    """The value with `${name}` replaced as far as the files say what it is.

    >>> substituted("${a}/x", {"a": Property("a", "/b", False, "", 1)})
    '/b/x'
    """
    start = 0
    for _ in range(_MAX_SUBSTITUTIONS):
        match = _VARIABLE.search(value, start)
        while match is not None and (match[1] not in held or held[match[1]].value is None):
            start = match.end()
            match = _VARIABLE.search(value, start)
        if match is None:
            break
        inner = held[match[1]].value or ""
        if match[0] in inner or len(value) + len(inner) > MAX_VALUE:  # it would grow for ever
            break
        value = value[: match.start()] + inner + value[match.end() :]
    return value


def names_unknown(value: str) -> list[str]:
    """What `${…}` still stands in a value."""
    return sorted({match[1] for match in _VARIABLE.finditer(value)})
