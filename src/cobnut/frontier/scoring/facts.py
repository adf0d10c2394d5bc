"""What is a scoring rule told, and what may it say?

Scores are whole millionths (1.0 is 1_000_000), so that sums depend on neither order nor machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa


class DuePage(msgspec.Struct, frozen=True):
    """A page that may be fetched now. `metadata` are the pairs of its seed line."""

    url: str
    host: str
    score: int
    depth: int
    fetched_before: bool
    metadata: Mapping[str, str]


class LinkingPage(msgspec.Struct, frozen=True):
    """A page whose links have been read; `score` is the one it was fetched with."""

    url: str
    host: str
    score: int


class FollowedLinks(msgspec.Struct, frozen=True):
    """The links of a page that are followed, as lists of one length, in the order of the document."""

    urls: tuple[str, ...]
    hosts: tuple[str, ...]
    anchors: tuple[str | None, ...]
    kinds: tuple[str, ...]


class UpdatedPage(msgspec.Struct, frozen=True):
    """A page whose row in the crawldb a round changes; `former_score` is None where it is new."""

    url: str
    host: str
    status: str
    depth: int
    former_score: int | None


class IndexedPage(msgspec.Struct, frozen=True):
    """A page that becomes a document; ranks are millionths, and the mean page has rank 1."""

    url: str
    host: str
    score: int
    page_rank: int
    host_rank: int
    inlink_count: int
    inlink_host_count: int
    depth: int
    language: str | None
    media_type: str | None


class ScoringRule(Protocol):
    """What a scoring rule may offer: any of these methods, at least one. One that it lacks is never asked for."""

    def injected_score(self, url: str, score: int, metadata: Mapping[str, str]) -> int:
        """The score of a seed, from the one it has so far and what its line said."""
        ...

    def sort_value(self, page: DuePage, value: int) -> int:
        """Where a page stands among those that may be fetched: the highest come first. `value` is what it has so far,
        at first its score, and what `generate.ageing` adds."""
        ...

    def sort_values(self, pages: pa.RecordBatch, values: pa.Array) -> pa.Array:
        """The same for many pages at once, which is faster; a rule that has this is not asked for `sort_value`."""
        ...

    def passed_scores(self, page: LinkingPage, links: FollowedLinks, scores: Sequence[int]) -> Sequence[int]:
        """What each followed link passes on; `scores` are what they pass so far, at first 0."""
        ...

    def updated_score(self, page: UpdatedPage, score: int) -> int:
        """The score after a round; `score` is the one so far, at first the former and all that links have passed on."""
        ...

    def index_boost(self, page: IndexedPage, boost: int) -> int:
        """What lifts a page in search results; `boost` is what it has so far, at first 1_000_000, which changes
        nothing."""
        ...
