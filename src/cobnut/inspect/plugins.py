"""Which parts can be exchanged, which are in force, and in which order?

A *kind* is one place where a crawl takes parts by name (URL normalizers, URL filters, scoring rules), or one choice
among built-in parts (fetch schedule, engine). A *part* is built in or brought along by a package, and *active* when the
settings name it; its order is its place in that list. Beside each stands what does the same in Nutch.

Every part is tried on a small example, active or not: one that cannot be loaded, or is not what its kind asks for, is
shown with its error.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

import msgspec

from cobnut.config.checks import value_of
from cobnut.config.sections import Settings
from cobnut.errors import CobnutError
from cobnut.frontier import scoring
from cobnut.urls import filters, normalizers, plugins, rules

EXAMPLE = "http://example.org/a?b=1"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part. `order` counts from 1; NULL when it is not active. `source` is built-in, a package, or missing."""

    kind: str
    name: str
    setting: str
    active: bool
    order: int | None
    source: str
    nutch: str | None
    does: str
    error: str | None = None


class Kind(msgspec.Struct, frozen=True):
    """One place where parts are named. `group` is the entry points' group, None where packages can add nothing."""

    name: str
    setting: str
    group: str | None
    built_in: dict[str, tuple[str, str]]  # name to (what does the same in Nutch, what it does)
    trial: Callable[[Any, Settings], None] = lambda part, settings: None


def _try_normalizer(rule: Any, settings: Settings) -> None:
    changed = rule(EXAMPLE)
    if not isinstance(changed, str):
        raise TypeError(f"a normalizer takes a URL and gives a URL; this one gave {type(changed).__name__}")


def _try_filter(factory: Any, settings: Settings) -> None:
    refused = factory(settings.urls, filters.Scope("web"))(EXAMPLE)
    if not isinstance(refused, bool):
        raise TypeError(f"a filter says True (refused) or False; this one gave {type(refused).__name__}")


def _try_scoring(make: Any, settings: Settings) -> None:
    rule = make()
    if not scoring.places_of(rule):
        raise TypeError("it has no method of a scoring rule")
    for method, given in scoring.tried(rule):
        if not isinstance(given, int) or isinstance(given, bool):
            raise TypeError(f"a score is a whole number of millionths; {method} gave {type(given).__name__}")


KINDS: tuple[Kind, ...] = (
    Kind(
        "URL normalizer", "urls.normalizers", normalizers.ENTRY_POINTS,
        {
            "basic": ("urlnormalizer-basic", "escapes in one form, dot segments and default ports gone"),
            "session_ids": ("urlnormalizer-regex", "session identifiers dropped from path and query"),
            "sort_query": ("urlnormalizer-querystring", "parameters in the order of their names"),
            "trailing_dot": ("urlnormalizer-basic", "the dot after the host dropped"),
            "index_page": ("urlnormalizer-regex", "index.html and its like at the end of the path dropped"),
            "www": ("urlnormalizer-host", "www. before the host dropped"),
        },
        _try_normalizer,
    ),
    Kind(
        "URL filter", "urls.filters", filters.ENTRY_POINTS,
        {
            "scheme": ("urlfilter-regex", "only http and https"),
            "length": ("urlfilter-regex", "not longer than urls.max_length"),
            "suffix": ("urlfilter-suffix", "no path that ends in one of urls.deny_suffixes"),
            "repeat": ("urlfilter-regex", "no part of the path that repeats itself, as in a trap"),
            "scope": ("urlfilter-domain, urlfilter-prefix", "inside crawl.scope: host, domain, prefix or web"),
        },
        _try_filter,
    ),
    Kind(
        "scoring rule", "scoring.rules", scoring.ENTRY_POINTS,
        {
            "opic": ("scoring-opic", "a page shares its score among its links (links)"),
            "depth": ("scoring-depth", "pages near a seed are fetched first (fetch order)"),
            "link_rank": ("scoring-link", "what many pages link to is lifted in search results (index)"),
        },
        _try_scoring,
    ),
    Kind(
        "fetch schedule", "db.schedule", None,
        {
            "adaptive": ("AdaptiveFetchSchedule", "the interval follows how often a page changes"),
            "default": ("DefaultFetchSchedule", "a fixed interval"),
        },
    ),
    Kind("engine", "engine.name", None, {"local": ("local job runner", "runs the stages on this machine")}),
)  # fmt: skip


def parts_of(settings: Settings) -> list[Part]:
    """All parts, kind by kind: the active ones in their order, then what else there is. Never raises for a plug-in."""
    return [part for kind in KINDS for part in _parts(kind, settings)]


def _parts(kind: Kind, settings: Settings) -> list[Part]:
    chosen = value_of(settings, kind.setting)
    active = list(chosen) if isinstance(chosen, tuple) else [chosen]
    found = [_built_in(kind, name, active) for name in kind.built_in]
    if kind.group is not None:
        met = set(kind.built_in)
        for point in plugins.offered(kind.group):
            found.append(_brought(kind, point, active, settings, hidden=point.name in met))
            met.add(point.name)
    there = {part.name for part in found}
    found += [_missing(kind, name, active, settings) for name in dict.fromkeys(active) if name not in there]
    return sorted(found, key=lambda part: (part.order is None, part.order or 0))


def _order(name: str, active: list[str]) -> int | None:
    return active.index(name) + 1 if name in active else None


def _built_in(kind: Kind, name: str, active: list[str]) -> Part:
    nutch, does = kind.built_in[name]
    return Part(
        kind=kind.name, name=name, setting=kind.setting, active=name in active, order=_order(name, active),
        source="built-in", nutch=nutch, does=does,
    )  # fmt: skip


def _brought(kind: Kind, point: EntryPoint, active: list[str], settings: Settings, *, hidden: bool) -> Part:
    does, error = _examine(kind, point, settings)
    if hidden:
        error = "never used: another part has this name; rename it in its package"
    order = None if hidden else _order(point.name, active)
    return Part(
        kind=kind.name, name=point.name, setting=kind.setting, active=order is not None, order=order,
        source=_package(point), nutch=None, does=does, error=error,
    )  # fmt: skip


def _missing(kind: Kind, name: str, active: list[str], settings: Settings) -> Part:
    if kind.group in (filters.ENTRY_POINTS, normalizers.ENTRY_POINTS) and rules.is_rules(name):
        return _rule_file(kind, name, active, settings)
    return Part(
        kind=kind.name, name=name, setting=kind.setting, active=True, order=_order(name, active), source="missing",
        nutch=None, does="", error=f"named in {kind.setting}, but neither built in nor brought along by a package",
    )  # fmt: skip


def _rule_file(kind: Kind, name: str, active: list[str], settings: Settings) -> Part:
    error = None
    try:
        if kind.group == filters.ENTRY_POINTS:
            _try_filter(filters.find_filter(name), settings)
        else:
            _try_normalizer(normalizers.find_rule(name), settings)
    except CobnutError as problem:
        error = problem.line()
    return Part(
        kind=kind.name, name=rules.shown_name(name), setting=kind.setting, active=True, order=_order(name, active),
        source="file", nutch=None, does=name.removeprefix(rules.PREFIX), error=error,
    )  # fmt: skip


def _examine(kind: Kind, point: EntryPoint, settings: Settings) -> tuple[str, str | None]:
    """The first line of what a plug-in says of itself, and what is wrong with it."""
    does = ""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what it prints must not get into our output
            part = point.load()
            does = str(part.__doc__ or "").strip().partition("\n")[0]
            kind.trial(part, settings)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may even end the process when it is imported
        line = str(error).strip().partition("\n")[0]
        return does, f"{type(error).__name__}: {line}" if line else type(error).__name__
    return does, None


def _package(point: EntryPoint) -> str:
    try:
        package = point.dist
        return point.value if package is None else f"{package.metadata['Name']} {package.version}"
    except Exception:  # unreadable metadata: the module is still known
        return point.value
