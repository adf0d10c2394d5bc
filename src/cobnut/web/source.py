"""Which index is searched now?

Each search process has one `Source`. It opens the index when first asked, and looks whether a new generation was
published at most once a second, so a new one is seen well within two seconds and a busy process does not look at the
disk for each request. A crawl without an index is no error here: one may be published later. A new generation that
cannot be read is reported, and the former one goes on being searched.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cobnut.errors import CobnutError
from cobnut.search.open import open_searcher

if TYPE_CHECKING:
    from cobnut.config.sections import SearchSettings
    from cobnut.search.searcher import Searcher

LOOK_EVERY_S = 1.0


class Source:
    """Gives the current searcher. `clock` counts seconds; `report` gets one line for what an operator should know."""

    def __init__(
        self, path: Path, settings: SearchSettings, clock: Callable[[], float], report: Callable[[str], None]
    ) -> None:
        self._path, self._settings, self._clock, self._report = path, settings, clock, report
        self._searcher: Searcher | None = None
        self._looked_at = 0.0
        self._reported = ""
        self.version = 0
        """Changes with the index: answers of the same version are of the same index."""

    def current(self) -> Searcher:
        """The searcher on the newest generation; a `CobnutError` when there is none that can be read."""
        now = self._clock()
        if self._searcher is None:
            self._searcher = open_searcher(self._path, self._settings, missing_ok=True)
            self._looked_at = now
        elif now - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = now
            self._follow(self._searcher)
        return self._searcher

    def _follow(self, searcher: Searcher) -> None:
        try:
            if searcher.refresh_if_changed():
                self.version += 1
        except CobnutError as error:
            if error.line() != self._reported:
                self._reported = error.line()
                self._report(f"the newest index cannot be read, the former one is searched: {error.line()}")
        else:
            self._reported = ""
