"""By which settings, filters and address guard is an item checked?

Without a crawl: the default settings, with what the environment and `-s` change, and no scope, since there are no
seeds. With a crawl: its settings, its scope, and the private addresses that its seeds allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from cobnut.config.sections import Settings
from cobnut.storage.layout import CrawlFolder
from cobnut.urls.addresses import AddressGuard, parse_net
from cobnut.urls.filters import Scope, compile_filter
from cobnut.urls.resolve import Forms, compile_forms, forms


class Basis(msgspec.Struct, frozen=True):
    """What holds for a check. `refuses` gives the name of the filter that keeps a normalised URL out, or None."""

    settings: Settings
    refuses: Callable[[str], str | None]
    guard: AddressGuard
    forms: Forms
    of_crawl: bool = False


def default_basis(settings: Settings) -> Basis:
    """The basis without a crawl."""
    return Basis(settings, compile_filter(settings.urls, Scope("web")), _guard(settings, ()), _forms(settings))


def crawl_basis(crawl: CrawlFolder, settings: Settings) -> Basis:
    """The basis of a crawl."""
    from cobnut.frontier.admission import refusal
    from cobnut.records.catalogue import SEEDS

    seeds = [str(url) for url in crawl.table(SEEDS).read(["url"]).column("url").to_pylist()]
    return Basis(settings, refusal(crawl, settings), _guard(settings, seeds), _forms(settings), True)


def with_typed(basis: Basis, url: str) -> Basis:
    """The same, with the address in a URL that the user typed allowed, as that of a seed is.

    Typed is what stands on the command line, never an item of a list.
    """
    endpoints = basis.guard.allowed_endpoints | _guard(basis.settings, [url]).allowed_endpoints
    return msgspec.structs.replace(basis, guard=AddressGuard(basis.guard.allow_nets, endpoints))


def _guard(settings: Settings, seeds: Iterable[str]) -> AddressGuard:
    from cobnut.stages.fetch import typed_endpoints

    return AddressGuard(tuple(map(parse_net, settings.fetcher.allow_net)), typed_endpoints(seeds))


def _forms(settings: Settings) -> Forms:
    plain = settings.urls.normalizers == Settings().urls.normalizers
    return forms if plain else compile_forms(settings.urls.normalizers)
