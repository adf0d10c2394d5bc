"""May this URL enter the crawl?

A filter is a named rule that may only accept or refuse a URL. Those that `urls.filters` lists are compiled into
one function that gives the name of the first rule that refuses, or None; the name becomes the reason that `cobnut
why` prints.

* `scheme`: only http and https.
* `length`: not longer than `urls.max_length` characters.
* `suffix`: the last segment of the path does not end in one of `urls.deny_suffixes`, whatever its case.
* `repeat`: no part of the path comes three times in a row (`/x/x/x/`, `/a/b/a/b/a/b/`), nor one segment at every
  second place three times (`/x/1/x/2/x/`): the mark of a link that adds to its own page's path for ever.
* `scope`: inside what the crawl is about (`Scope`).
* `rules:FILE`: not refused by a rule file (`urls.rules`).
* `forgotten`: not among what the crawl was told to forget. It needs no listing: it is asked first, always.

Not here: changing a URL (`normalizers`); budgets per host and pattern (`frontier`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

from cobnut.urls import hosts, rules
from cobnut.urls.parse import split

MAX_PERIOD = 16
"""Longest part of a path, in segments, whose repetition is looked for."""


class FilterSettings(Protocol):
    """What the rules read of the settings."""

    @property
    def filters(self) -> tuple[str, ...]: ...
    @property
    def max_length(self) -> int: ...
    @property
    def deny_suffixes(self) -> tuple[str, ...]: ...


class Forgotten(msgspec.Struct, frozen=True):
    """What a crawl was told to forget: single URLs and beginnings of URLs, both normalised, and whole hosts.

    Of a prefix at the schemes' own ports http and https count as one, as in a scope; of a host scheme and port do not
    matter. Hosts below it are others.
    """

    urls: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.urls or self.hosts or self.prefixes)


NOTHING_FORGOTTEN = Forgotten()
FORGOTTEN = "forgotten"


class Scope(msgspec.Struct, frozen=True):
    """What the crawl is about: the seeds' hosts, domains or folders, or the whole web.

    `host`: the host's name is a seed's; scheme and port do not matter. `domain`: the registrable domain is a
    seed's. `prefix`: in the folder of a seed, on its host and port (at the schemes' own ports, http and https
    count as one). `seeds` are normalised.
    """

    kind: Literal["host", "domain", "prefix", "web"] = "host"
    seeds: tuple[str, ...] = ()
    forgotten: Forgotten = NOTHING_FORGOTTEN


Refuses = Callable[[str], bool]
"""One rule, ready: is this normalised URL refused?"""

Factory = Callable[[FilterSettings, Scope], Refuses]
"""Makes a rule from settings and scope."""


def _scheme(_settings: FilterSettings, _scope: Scope) -> Refuses:
    return lambda url: not url.startswith(("http://", "https://"))


def _length(settings: FilterSettings, _scope: Scope) -> Refuses:
    longest = settings.max_length
    return lambda url: len(url) > longest


def _suffix(settings: FilterSettings, _scope: Scope) -> Refuses:
    denied = frozenset(suffix.lower().lstrip(".") for suffix in settings.deny_suffixes)

    def refuses(url: str) -> bool:
        path = url.partition("?")[0]  # never without a slash after the host
        return path[path.rfind(".") + 1 :].lower() in denied

    return refuses


def _path_start(url: str) -> int:
    """Where the path begins: at the first slash after the host."""
    return url.find("/", url.find("://") + 3)


def _repeat(_settings: FilterSettings, _scope: Scope) -> Refuses:
    def refuses(url: str) -> bool:
        if url.count("/") < 5:  # two belong to the scheme, and three segments are the least
            return False
        path = url.partition("?")[0]
        segments = path[_path_start(path) + 1 :].split("/")
        return has_repetition(segments)

    return refuses


def has_repetition(segments: list[str]) -> bool:
    """Does a run of up to 16 segments come three times in a row, or one segment at every second place three times?

    Empty segments are left out of account. Time is linear in the number of segments.

    >>> has_repetition(["a", "b", "a", "b", "a", "b"]), has_repetition(["x", "1", "x", "2", "x"])
    (True, True)
    """
    parts = [part for part in segments if part]
    count = len(parts)
    if count - len(set(parts)) < 2:  # nothing can stand three times
        return False
    for at in range(count - 4):
        if parts[at] == parts[at + 2] == parts[at + 4]:
            return True
    for period in range(1, min(MAX_PERIOD, count // 3) + 1):
        run = 0
        for at in range(count - period):
            run = run + 1 if parts[at] == parts[at + period] else 0
            if run >= 2 * period:
                return True
    return False


def _scope_rule(_settings: FilterSettings, scope: Scope) -> Refuses:
    if scope.kind == "web":
        return lambda _url: False
    if scope.kind == "prefix":
        return _prefix_rule(scope.seeds)
    if scope.kind == "host":
        names = frozenset(hosts.host_of(seed) for seed in scope.seeds) - {""}
        return lambda url: _host_in(url) not in names
    domains = frozenset(hosts.domain_of(hosts.host_of(seed)) for seed in scope.seeds) - {""}
    return lambda url: hosts.domain_of(_host_in(url)) not in domains


def _host_in(normalized: str) -> str:
    """The host in a normalised URL; what is in no such form gives no host that a seed could have."""
    authority = normalized.partition("://")[2].partition("/")[0]
    if ":" in authority and authority[-1:] != "]":
        return authority.rpartition(":")[0]
    return authority


def _prefix_rule(seeds: tuple[str, ...]) -> Refuses:
    allowed = tuple(folder for seed in seeds for folder in folders_of(seed))
    return lambda url: not url.startswith(allowed)


def folders_of(seed: str) -> list[str]:
    """What a normalised URL begins with to be in the folder of this seed; at the schemes' own ports either scheme."""
    path = seed.partition("?")[0]
    return _both_schemes(path[: path.rfind("/") + 1])


def _both_schemes(prefix: str) -> list[str]:
    """A beginning of a normalised URL; at the schemes' own ports with http and with https."""
    scheme, _user, host, port, rest = split(prefix)
    return [f"{scheme}://{host}{port}{rest}"] if port else [f"http://{host}{rest}", f"https://{host}{rest}"]


def is_forgotten(forgotten: Forgotten) -> Refuses:
    """Is this normalised URL to be forgotten?"""
    urls, hosts_ = frozenset(forgotten.urls), frozenset(forgotten.hosts)
    prefixes: dict[str, tuple[str, ...]] = {}  # by host: a URL is compared with those of its own
    for prefix in forgotten.prefixes:
        host = _host_in(prefix)
        prefixes[host] = (*prefixes.get(host, ()), *_both_schemes(prefix))

    def refuses(url: str) -> bool:
        host = _host_in(url)
        return host in hosts_ or url in urls or (host in prefixes and url.startswith(prefixes[host]))

    return refuses


FILTERS: dict[str, Factory] = {
    "scheme": _scheme,
    "length": _length,
    "suffix": _suffix,
    "repeat": _repeat,
    "scope": _scope_rule,
}
"""The filters that come with Cobnut, by name."""

SETTING = "urls.filters"
ENTRY_POINTS = "cobnut.url_filters"
"""Where other packages name theirs; one is used only when `urls.filters` lists it."""


def find_filter(name: str) -> Factory:
    """The filter of this name, ours or a plug-in's. InputError when there is none, naming the nearest."""
    if name in FILTERS:
        return FILTERS[name]
    if rules.is_rules(name):
        return lambda _settings, _scope: rules.filter_file(name)
    from cobnut.urls import plugins  # the list of all installed packages is long to read

    point, factory = plugins.brought(name, ENTRY_POINTS, SETTING, "URL filter", FILTERS)

    def made(settings: FilterSettings, scope: Scope) -> Refuses:
        try:
            refuses = factory(settings, scope)
            if not callable(refuses):
                raise TypeError(f"it gave {type(refuses).__name__}, not a function")
        except plugins.FAILURES as error:
            raise plugins.fault(point, SETTING, "makes no filter", error) from error
        return plugins.guarded(refuses, point, SETTING, bool)

    return made


def compile_filter(settings: FilterSettings, scope: Scope) -> Callable[[str], str | None]:
    """The listed rules, in order, as one function of a normalised URL: the name of the rule that refuses, or None.

    What is to be forgotten is refused first, whatever is listed.
    """
    asked = tuple((rules.shown_name(name), find_filter(name)(settings, scope)) for name in settings.filters)
    if scope.forgotten:
        asked = ((FORGOTTEN, is_forgotten(scope.forgotten)), *asked)

    def refused_by(url: str) -> str | None:
        for name, refuses in asked:
            if refuses(url):
                return name
        return None

    return refused_by
