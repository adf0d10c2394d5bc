"""What can be told of a whole column of url_keys at once?

`urls_of_keys` makes their URLs. `surely_passing` makes a test that says of each key whether no URL filter refuses it,
without a look at the single URL: it may leave open what passes (then the filters are asked), never say that something
passes which a filter refuses. Of a table whose rows were let in by these same filters it leaves nearly nothing open.

Filters that are not ours (rule files, plug-ins) can only be asked URL by URL: with one of them all is left open.

Not here: the filters (`filters`), and the key of one URL (`keys`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from cobnut.errors import DataError
from cobnut.urls import filters, hosts
from cobnut.urls.keys import key_to_host, key_to_url, url_key

if TYPE_CHECKING:
    import pyarrow as pa

Mask = Callable[["pa.Array"], "pa.Array"]
"""Url_keys in, booleans out."""

MOST_FOLDERS = 16
"""Folders of seeds that are tried one by one; with more, the scope is left open."""
_PLAIN = re.compile("[a-z0-9]*")


def urls_of_keys(keys: pa.Array, known: dict[str, str] | None = None) -> pa.Array:
    """The normalised URLs of these keys, none of which is NULL. DataError when one has not the form of a key.

    Names, schemes and ports are made into the beginnings of URLs once each, however many keys share them; `known` keeps
    them from one call to the next.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(keys):
        return pa.array([], pa.string())
    # the first slash ends name, scheme and port, none of which has one
    start, path = _halves(keys, "/", "not the key of a URL")
    distinct = start.dictionary_encode()
    known = {} if known is None else known
    names = distinct.dictionary.to_pylist()
    for name in names:
        if name not in known:
            known[name] = key_to_url(f"{name}/")[:-1]
    starts = pa.array([known[name] for name in names], pa.string()).take(distinct.indices)
    return pc.binary_join_element_wise(starts, path, "/")


def _halves(texts: pa.Array, pattern: str, complaint: str) -> tuple[pa.Array, pa.Array]:
    """What stands before and after the first `pattern` of each text."""
    import pyarrow.compute as pc

    parts = pc.split_pattern(texts, pattern, max_splits=1)
    odd = pc.not_equal(pc.list_value_length(parts), 2)
    if pc.any(odd).as_py():
        raise DataError(complaint, where=repr(texts.filter(odd)[0].as_py()[:200]))
    return pc.list_element(parts, 0), pc.list_element(parts, 1)


def surely_passing(settings: filters.FilterSettings, scope: filters.Scope) -> Mask:
    """A test of url_keys: true where none of the listed filters refuses the page, false where they must be asked."""
    tests: list[Mask] = []
    for name in settings.filters:
        made = _TESTS[name](settings, scope) if name in _TESTS else None
        if made is None:
            return _nothing
        tests.append(made)
    if scope.forgotten:
        tests.append(_unconcerned(scope.forgotten))

    def passes(keys: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        mask = pa.repeat(True, len(keys))
        for test in tests:
            mask = pc.and_(mask, test(keys))
        return mask

    return passes


def _nothing(keys: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.repeat(False, len(keys))


def _scheme(_settings: filters.FilterSettings, _scope: filters.Scope) -> Mask:
    return _always  # a key has no other scheme; what has not the form of one is found when its URL is made


def _length(settings: filters.FilterSettings, _scope: filters.Scope) -> Mask:
    longest = settings.max_length

    def test(keys: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        # `)` becomes `://`, and escapes in the host become shorter
        return pc.less_equal(pc.add(pc.utf8_length(keys), 2), longest)

    return test


def _suffix(settings: filters.FilterSettings, _scope: filters.Scope) -> Mask | None:
    denied = {suffix.lower().lstrip(".") for suffix in settings.deny_suffixes}
    if not all(_PLAIN.fullmatch(suffix) for suffix in denied):
        return None
    pattern = rf"(?i)\.({'|'.join(sorted(denied))})(\?|$)"

    def test(keys: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        return pc.invert(pc.match_substring_regex(keys, pattern)) if denied else pa.repeat(True, len(keys))

    return test


def _repeat(_settings: filters.FilterSettings, _scope: filters.Scope) -> Mask:
    def test(keys: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        short = pc.less(pc.count_substring(keys, "/"), 3)
        if pc.all(short).as_py():
            return short
        # a repetition needs two segments more than there are different ones: without its last segment, and whatever
        # follows, at least one
        long = keys.filter(pc.invert(short))
        folders = pc.replace_substring_regex(long, r"(\?.*)?$", "")
        folders = pc.replace_substring_regex(folders, "[^/]*/?$", "").dictionary_encode()
        plain = [_all_differ(folder) for folder in folders.dictionary.to_pylist()]
        return pc.replace_with_mask(short, pc.invert(short), _taken(plain, folders.indices))

    return test


def _all_differ(folder: str) -> bool:
    segments = [part for part in folder.split("/")[1:] if part]
    return len(segments) == len(set(segments))


def _scope_test(_settings: filters.FilterSettings, scope: filters.Scope) -> Mask | None:
    if scope.kind == "web":
        return _always
    if scope.kind == "prefix":
        return _in_folders(scope.seeds)
    if scope.kind == "host":
        names = frozenset(hosts.host_of(seed) for seed in scope.seeds) - {""}
        return _by_host(lambda host: host in names)
    domains = frozenset(hosts.domain_of(hosts.host_of(seed)) for seed in scope.seeds) - {""}
    return _by_host(lambda host: hosts.domain_of(host) in domains)


def _always(keys: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.repeat(True, len(keys))


def _in_folders(seeds: tuple[str, ...]) -> Mask | None:
    folders = sorted({folder for seed in seeds for folder in filters.folders_of(seed)})
    if len(folders) > MOST_FOLDERS:
        return None
    starts = [url_key(folder) for folder in folders]

    def test(keys: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        mask = pa.repeat(False, len(keys))
        for start in starts:
            mask = pc.or_(mask, pc.starts_with(keys, start))
        return mask

    return test


def _unconcerned(forgotten: filters.Forgotten) -> Mask:
    concerned = set(forgotten.hosts) | {hosts.host_of(url) for url in (*forgotten.urls, *forgotten.prefixes)}
    return _by_host(lambda host: host not in concerned)


def _by_host(allowed: Callable[[str], bool]) -> Mask:
    def test(keys: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        names = pc.list_element(pc.split_pattern(keys, ")", max_splits=1), 0).dictionary_encode()
        return _taken([allowed(key_to_host(name)) for name in names.dictionary.to_pylist()], names.indices)

    return test


def _taken(values: list[bool], indices: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.array(values, pa.bool_()).take(indices)


_TESTS: dict[str, Callable[[filters.FilterSettings, filters.Scope], Mask | None]] = {
    "scheme": _scheme,
    "length": _length,
    "suffix": _suffix,
    "repeat": _repeat,
    "scope": _scope_test,
}
"""The tests that stand for our filters, by the filter's name."""
