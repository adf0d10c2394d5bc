"""Which plug-ins have other packages brought along, and what if one of them is broken?

A package names its plug-ins as entry points of a group (`cobnut.url_normalizers` …). That one is installed means
nothing yet: only the settings make it active, and only then is it loaded.

Not here: what a plug-in of each group must be (`urls.normalizers`, `urls.filters`, `frontier.scoring`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, distributions, entry_points
from typing import Any, TypeVar

from cobnut.errors import MachineError
from cobnut.urls.nearest import unknown_name

Result = TypeVar("Result")

FAILURES = (Exception, SystemExit)
"""What a plug-in may raise without ending the process: all but the user's interrupt."""


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


def brought(name: str, group: str, setting: str, kind: str, built_in: Iterable[str]) -> tuple[EntryPoint, Any]:
    """The plug-in of this name: its entry point, and what that names.

    InputError when no package brings it along, naming the nearest of all there are, the built-in ones among them.
    """
    found = by_name(group)
    if name not in found:
        raise unknown_name(f"{kind} in {setting}", name, {*built_in, *found})
    return found[name], load(found[name], setting)


def version_of(point: EntryPoint) -> str:
    """The version of the package that brings a plug-in along; empty where that cannot be read."""
    try:
        return "" if point.dist is None else str(point.dist.version)
    except Exception:
        return ""


def load(point: EntryPoint, setting: str) -> Any:
    """What the entry point names. A `MachineError` says why it cannot be had."""
    try:
        part = point.load()
        if not callable(part):
            raise TypeError(f"it is no function and no class, but a {type(part).__name__}")
        return part
    except FAILURES as error:  # its module may fail in any way when it is imported
        raise fault(point, setting, "cannot be loaded", error) from error


def fault(point: EntryPoint, setting: str, what: str, error: BaseException) -> MachineError:
    """The error that names a plug-in, what became of it, and the setting that makes it active."""
    return MachineError(
        f"the plug-in {point.name!r} {what} ({describe(error)})",
        where=point.value,
        remedy=f"repair or remove its package, or take it out of {setting}; `cobnut plugins` shows all",
    )


def describe(error: BaseException) -> str:
    """What an error says, in one line."""
    try:
        line = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")
    except FAILURES:  # even its text may be of the plug-in's making
        line = type(error).__name__
    return line[:200]


def guarded(
    part: Callable[[str], Any], point: EntryPoint, setting: str, wanted: type[Result]
) -> Callable[[str], Result]:
    """A plug-in's function of a URL: a `MachineError` names it when it raises or gives anything else than `wanted`."""

    def run(url: str) -> Result:
        try:
            result = part(url)
            if not isinstance(result, wanted):
                raise TypeError(f"it gave {type(result).__name__}, not {wanted.__name__}")
        except FAILURES as error:
            raise fault(point, setting, f"failed on {url[:200]}", error) from error
        return result

    return run
