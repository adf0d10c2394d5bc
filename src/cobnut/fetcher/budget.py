"""How many more pages may a worker bring?

A page counts once it has its row with outcome success; pages under way count as if they had: so the limit holds
whatever the answers are. Not here: how the workers share a limit (`fetcher.pool`).
"""

from __future__ import annotations

_NO_LIMIT = 1 << 62


class PageBudget:
    """The share of one worker in one round; without `allow` there is no limit."""

    def __init__(self) -> None:
        self._share: int | None = None
        self.pages = self.under_way = 0

    def allow(self, pages: int) -> None:
        """So many pages (more) may be fetched."""
        self._share = (self._share or 0) + pages

    def has_room(self) -> bool:
        """Another page may be fetched, beside those under way."""
        return self._share is None or self.pages + self.under_way < self._share

    def room(self, beside: int) -> int:
        """How many more may be fetched, beside those under way and so many others."""
        return _NO_LIMIT if self._share is None else max(0, self._share - self.pages - self.under_way - beside)

    def give_back(self) -> int:
        """Pages that were allowed and did not come; only an idle worker knows that it has no use for them."""
        unused = 0 if self._share is None else max(0, self._share - self.pages)
        if unused:
            self._share = self.pages
        return unused
