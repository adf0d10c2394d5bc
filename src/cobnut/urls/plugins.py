"""Which plug-ins have other packages brought along, and what if one of them is broken?

A package names its plug-ins as entry points of a group (`cobnut.url_normalizers` …). That one is installed means
nothing yet: only the settings make it active, and only then is it loaded.

Not here: what a plug-in of each group must be (`urls.normalizers`, `urls.filters`, `frontier.scoring`).
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, distributions, entry_points
from typing import Any

from cobnut.errors import MachineError


def offered(group: str) -> list[EntryPoint]:
    """The entry points of a group, by name; those of a package whose list cannot be read are left out."""
    try:
        found = list(entry_points(group=group))
    except Exception:  # one unreadable package must not take the others away
        found = []
        for package in distributions():
            try:
                found += [point for point in package.entry_points if point.group == group]
            except Exception:
                continue
    return sorted(found, key=lambda point: (point.name, point.value))


def by_name(group: str) -> dict[str, EntryPoint]:
    """The entry point that a name means: where two packages offer one name, the first by module."""
    return {point.name: point for point in reversed(offered(group))}


def load(point: EntryPoint, setting: str) -> Any:
    """What the entry point names. A `MachineError` says why it cannot be had."""
    try:
        part = point.load()
        if not callable(part):
            raise TypeError(f"it is no function and no class, but a {type(part).__name__}")
        return part
    except Exception as error:  # its module may fail in any way when it is imported
        line = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise MachineError(
            f"the plug-in {point.name!r} cannot be loaded ({line})",
            where=point.value,
            remedy=f"repair or remove its package, or take it out of {setting}; `cobnut plugins` shows all",
        ) from error
