"""Which worker processes does a crawl have?

They are spawned once and serve every round; each kind starts when it is first needed.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from cobnut.config.sections import Settings

if TYPE_CHECKING:
    from cobnut.fetcher.pool import FetchPool
    from cobnut.parsers.pool import ParsePool


class Workers:
    """The fetch and parse workers of one command; a context manager that ends them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._fetch: FetchPool | None = None
        self._parse: ParsePool | None = None

    @property
    def fetch(self) -> FetchPool:
        """The fetch workers."""
        if self._fetch is None:
            from cobnut.fetcher.pool import FetchPool

            self._fetch = FetchPool(self._settings.fetcher.workers)
        return self._fetch

    @property
    def parse(self) -> ParsePool:
        """The parse workers."""
        if self._parse is None:
            from cobnut.parsers.pool import ParsePool

            self._parse = ParsePool(self._settings)
        return self._parse

    def begin(self) -> None:
        """Starts a worker of each kind while the parent is busy with the seeds: starting takes them half a second."""
        self.fetch.start(1)
        self.parse.start(1)

    def close(self) -> None:
        """Ends all workers."""
        for pool in (self._fetch, self._parse):
            if pool is not None:
                pool.close()
        self._fetch = self._parse = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
