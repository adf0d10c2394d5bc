"""Which scoring rules come with Cobnut?

* `opic`: a page shares its score among the links that are followed (on-line page importance: Abiteboul, Preda, Cobena
  2003), times `scoring.internal_factor` or `scoring.external_factor`.
* `depth`: pages near a seed are fetched first: the place in a fetchlist times 1 + what is left of `crawl.depth`.
* `link_rank`: what many pages link to is lifted in search results, more than their ranking does by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cobnut.config.sections import ScoringSettings
from cobnut.frontier.scoring.facts import FollowedLinks, IndexedPage, LinkingPage
from cobnut.records.columns import MOST_SCORE

if TYPE_CHECKING:
    import pyarrow as pa

MICRO = 1_000_000
MOST = MOST_SCORE
"""The greatest score and sort value; the least is its negative."""

MOST_SHARED = 10**15
"""The most that one link passes on by `opic`, a score of 1e9: as much as a seed can have."""

UNLIMITED_DEPTH = 999
"""What `depth` counts from when `crawl.depth` sets no limit."""


class Opic:
    """Each page shares its score among the pages it links to."""

    def __init__(self, scoring: ScoringSettings) -> None:
        self._inside, self._outside = round(scoring.internal_factor * MICRO), round(scoring.external_factor * MICRO)

    def shares(self, score: int, followed: int) -> tuple[int, int]:
        """What each followed link passes on: to a page of the same host, to one of another."""
        if followed <= 0:
            return 0, 0
        inside, outside = score * self._inside // (MICRO * followed), score * self._outside // (MICRO * followed)
        return max(-MOST_SHARED, min(inside, MOST_SHARED)), max(-MOST_SHARED, min(outside, MOST_SHARED))

    def passed_scores(self, page: LinkingPage, links: FollowedLinks, scores: Sequence[int]) -> Sequence[int]:
        """The shares, on top of what the links pass already."""
        inside, outside = self.shares(page.score, len(links.hosts))
        return [
            score + (inside if host == page.host else outside) for score, host in zip(scores, links.hosts, strict=True)
        ]


class Depth:
    """Pages near a seed come first."""

    def __init__(self, max_depth: int) -> None:
        self._max = max_depth if max_depth >= 0 else UNLIMITED_DEPTH

    def sort_values(self, pages: pa.RecordBatch, values: pa.Array) -> pa.Array:
        """Each value times 1 + the steps left; one that is not above 0 stays, it would fall."""
        import numpy as np
        import pyarrow as pa

        before = np.asarray(values.fill_null(0))
        left = self._max - np.asarray(pages.column("depth").fill_null(0)).astype(np.int64)
        factor = 1 + np.maximum(left, 0)
        fits = before <= MOST // factor
        return pa.array(np.where(before <= 0, before, np.where(fits, before * np.where(fits, factor, 1), MOST)))


class LinkRank:
    """Pages and hosts of high link rank are lifted in search results."""

    def index_boost(self, page: IndexedPage, boost: int) -> int:
        """Times the fourth roots of 1 + the page's rank and of 1 + its host's."""
        ranks = (1 + max(page.page_rank, 0) / MICRO) * (1 + max(page.host_rank, 0) / MICRO)
        return max(1, round(boost * float(ranks**0.25)))


BUILT_IN: dict[str, Callable[[ScoringSettings, int], Any]] = {
    "opic": lambda scoring, _max_depth: Opic(scoring),
    "depth": lambda _scoring, max_depth: Depth(max_depth),
    "link_rank": lambda _scoring, _max_depth: LinkRank(),
}
"""The rules that come with Cobnut, each made from the section `scoring` and `crawl.depth`."""
