"""Where does a redirect lead, and may it be followed?

Not here: fetching the target (`fetcher.run`); the address guard, which looks at the target like at every URL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cobnut.urls.resolve import Forms, resolve

MAX_ROBOTS_HOPS = 5


class Target(NamedTuple):
    """A redirect target that may be followed."""

    url: str
    key: str
    host: str
    bucket: int


class Refused(NamedTuple):
    """A redirect that is not followed, with the reason and its target as far as it can be told.

    A target that a filter refuses, or that lies beyond the limit, has no key: nothing is to enter the crawl database
    for it. Each round would go on from there, and a server that redirects for ever would keep a crawl going for ever.
    """

    reason: str
    url: str | None = None
    key: str | None = None


def next_hop(
    url: str, key: str, location: str, chain: tuple[str, ...], forms: Forms, refuses: Callable[[str], str | None],
    max_hops: int,
) -> Target | Refused:  # fmt: skip
    """What follows on `location` (percent-encoded, see `answer.read_headers`), after the redirects in `chain`."""
    target = resolve(url, location)
    made = forms(target) if target is not None else None
    if target is None or made is None:
        return Refused("redirect_bad")
    if made.key == key or made.key in chain:
        return Refused("redirect_loop", target, made.key)
    rule = refuses(made.normalized)
    if rule is not None:
        return Refused(f"redirect_filtered:{rule}", target)
    if len(chain) >= max_hops:
        return Refused("redirect_limit", target)
    return Target(target, made.key, made.host, made.bucket)
