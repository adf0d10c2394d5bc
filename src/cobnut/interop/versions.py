"""Which version of a URL stays when there are several?

Not here: what a version is worth by itself (`interop.documents`), moving records and rows (`interop.spools`).
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from cobnut.interop.documents import DERIVED, PASSING, key_hash
from cobnut.records.catalogue import CRAWLDB, FETCHED, PAGES
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import batches_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEFT_OUT = -1

_ROWS = 65_536


class Known:
    """When the crawl saw each page last: two columns of numbers, sorted by the hash of the key."""

    def __init__(self, hashes: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        import numpy as np

        order = np.lexsort((times, hashes))
        self._hashes, self._times = hashes[order], times[order]

    def _time(self, wanted: int) -> int | None:
        at = int(self._hashes.searchsorted(wanted, "right")) - 1
        return int(self._times[at]) if at >= 0 and int(self._hashes[at]) == wanted else None

    def was_fetched(self, wanted: int) -> bool:
        """The crawl has an answer of this page."""
        return self._time(wanted) is not None

    def refusal(self, wanted: int, at_ms: int) -> str | None:
        """Why a version of that time brings the crawl nothing; None when it does."""
        time = self._time(wanted)
        if time is None or time < at_ms:
            return None
        return "in_crawl" if time == at_ms else "newer_in_crawl"


def newest_known(crawl: CrawlFolder) -> Known:
    """The pages of which the crawl has an answer that says something, and when it came.

    Segments are applied in the order of their names, so an older version cannot be put below a newer one any more.
    """
    import numpy as np

    hashes, times = array("q"), array("q")
    settled = array("q")
    manifest: dict[str, Any] = {}
    version = crawl.table(CRAWLDB).current()
    if version is not None:
        with version:
            manifest = version.manifest
            columns = ["url_key", "status", "reason"]
            for batch in batches_of(CRAWLDB, version.files(), columns, _ROWS):
                for key, status, reason in zip(*(batch.column(name).to_pylist() for name in columns), strict=True):
                    # missing once is an answer; imported again it would count as missing a second time
                    if status != "unfetched" or reason == "http_404":
                        settled.append(key_hash(key))
    version = crawl.table(PAGES).current()
    if version is not None:
        known = np.unique(np.frombuffer(settled, np.int64)) if settled else np.empty(0, np.int64)
        with version:
            for batch in batches_of(PAGES, version.files(), ["url_key", "checked_at"], _ROWS):
                found = np.array([key_hash(key) for key in batch.column(0).to_pylist()], np.int64)
                for is_known, one, at in zip(np.isin(found, known), found, batch.column(1).to_pylist(), strict=True):
                    if is_known and at is not None:
                        hashes.append(int(one))
                        times.append(at)
    applied = {entry["segment"] for entry in manifest.get("applied", [])}
    for segment in crawl.segments():
        if segment.name not in applied:
            columns = ["url_key", "fetched_at", "outcome"]
            for batch in batches_of(FETCHED, segment.part_files(FETCHED), columns, _ROWS):
                for key, at, outcome in zip(*(batch.column(name).to_pylist() for name in columns), strict=True):
                    if outcome not in ("retry", "denied"):
                        hashes.append(key_hash(key))
                        times.append(at)
    return Known(numbers(hashes), numbers(times))


def numbers(values: array[int]) -> NDArray[np.int64]:
    """An array's values as numpy has them."""
    import numpy as np

    return np.array(values, np.int64)


def plan(
    hashes: array[int], times: array[int], ranks: array[int], *, all_versions: bool
) -> tuple[NDArray[np.int64], dict[str, int]]:
    """What becomes of each document, by its running number, and how many are left out by reason.

    A fate is LEFT_OUT, or the place of the version among those of its URL that stay, the oldest being 0.
    """
    import numpy as np

    count = len(hashes)
    fates = np.full(count, LEFT_OUT, np.int64)
    if not count:
        return fates, {}
    keys, at, rank = numbers(hashes), numbers(times), numbers(ranks)
    number = np.arange(count)
    # the best of a URL comes last; of equal ones the first that came
    order = np.lexsort((-number, at, rank, keys)) if not all_versions else np.lexsort((-number, rank, at, keys))
    keys, at, rank = keys[order], at[order], rank[order]
    last = np.append(keys[1:] != keys[:-1], True)
    group = np.cumsum(np.append(True, keys[1:] != keys[:-1])) - 1
    best = np.flatnonzero(last)[group]  # for each, the place of the best of its URL
    if all_versions:
        answered = np.zeros(int(group[-1]) + 1, bool)
        np.logical_or.at(answered, group, rank != DERIVED)
        superseded = (rank == DERIVED) & answered[group]
        same = np.append((keys[1:] == keys[:-1]) & (at[1:] == at[:-1]), False)
        kept = ~superseded & ~same
        running = np.cumsum(kept) - 1
        first = np.full(int(group[-1]) + 1, count, np.int64)
        np.minimum.at(first, group[kept], running[kept])
        fates[order[kept]] = running[kept] - first[group[kept]]
        dropped = {"derived": int(superseded.sum()), "same_version": int((same & ~superseded).sum())}
    else:
        fates[order[last]] = 0
        less = ~last & (rank < rank[best])
        same = ~last & ~less & (at == at[best])
        dropped = {
            "passing_failure": int((less & (rank == PASSING)).sum()),
            "derived": int((less & (rank == DERIVED)).sum()),
            "same_version": int(same.sum()),
            "older_version": int((~last & ~less & ~same).sum()),
        }
    return fates, {reason: number for reason, number in dropped.items() if number}
