"""Which URL stands for a page that a redirect leads to?

The rule of the line, as Yahoo's crawler had it: a redirect to another domain is known by its target; a permanent one
too, unless it leaves the root of a site; a temporary one by whichever of the two people would rather type. A chain is
judged from its beginning, hop by hop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cobnut.urls.hosts import domain_of, host_of
from cobnut.urls.parse import split

MOST_HOPS = 5

Sources = Callable[[str], Iterable[tuple[str, bool]]]
"""What redirects to a URL: each source, and whether it does so temporarily."""


def representative(source: str, target: str, temporary: bool) -> str:
    """The one of two normalised URLs that stands for the page when the first redirects to the second."""
    source_host, target_host = host_of(source), host_of(target)
    if domain_of(source_host) != domain_of(target_host):
        return target
    source_is_root, target_is_root = _parts(source) == 0, _parts(target) == 0
    if not temporary:
        return source if source_is_root else target
    if source_is_root != target_is_root:
        return source if source_is_root else target
    if source_host == target_host and not source_is_root:
        return source if (_parts(source), len(source)) <= (_parts(target), len(target)) else target
    return source if source_host.count(".") <= target_host.count(".") else target


def shown_for(page: str, sources: Sources) -> str:
    """The URL that stands for *page*, whatever redirects to it; the page itself where nothing better does.

    Of several the one with the fewest parts of its path, then the shortest, then the first by its text.
    """
    return _shown(page, sources, frozenset((page,)), MOST_HOPS)


def _shown(page: str, sources: Sources, passed: frozenset[str], hops: int) -> str:
    if not hops:
        return page
    found = [page]
    for source, temporary in sources(page):
        if source not in passed:
            beginning = _shown(source, sources, passed | {source}, hops - 1)
            found.append(representative(beginning, page, temporary))
    better = [url for url in found if url != page]
    return min(better, key=lambda url: (_parts(url), len(url), url)) if better else page


def _parts(url: str) -> int:
    """How many parts the path has; 0 is the root of a site, without a query."""
    return len([part for part in split(url)[4].split("/") if part])
