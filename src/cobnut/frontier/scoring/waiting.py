"""Which call of a scoring rule does not come back?

A rule of a package that sleeps, or waits for a network, holds up its step, and nobody would see why. A call cannot be
ended from outside without harm to the process it is in, so it is told of, first after ten seconds and then ever more
seldom: which rule, on what, and how to stop. The parser's workers end a page that takes too long by themselves
(`parsers.guard`).

A thread looks every few seconds whether the same call is under way as when it looked before: a call itself costs no
look at a clock. Built-in rules are not watched. Not here: what becomes of a rule that fails (`active`).
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any

LOOKS_EVERY_S = 10.0

log = logging.getLogger("cobnut.scoring")


class Watch:
    """What is under way of the rules of one place; it may be copied to another process, which watches its own."""

    def __init__(self, every_s: float = LOOKS_EVERY_S) -> None:
        self.every_s = every_s
        self.under_way: tuple[str, str, tuple[Any, ...]] | None = None  # another object at each call
        self._thread: threading.Thread | None = None

    def __reduce__(self) -> tuple[type[Watch], tuple[float]]:
        return Watch, (self.every_s,)

    def watched(self, name: str, method: str, call: Callable[..., Any]) -> Watched:
        """The same function; a call of it that lasts is told of."""
        return Watched(self, name, method, call)

    def begin(self) -> None:
        """Something is to be watched from now on."""
        if self._thread is None:
            self._thread = threading.Thread(target=_look, args=(weakref.ref(self), self.every_s), daemon=True)
            self._thread.start()


class Watched:
    """A method of a rule that is watched."""

    def __init__(self, watch: Watch, name: str, method: str, call: Callable[..., Any]) -> None:
        self._watch, self._name, self._method, self._call = watch, name, method, call

    def __call__(self, *given: Any) -> Any:
        self._watch.begin()
        self._watch.under_way = (self._name, self._method, given)
        try:
            return self._call(*given)
        finally:
            self._watch.under_way = None


def _look(of: weakref.ref[Watch], every_s: float) -> None:
    """Tells of a call that is seen again, at the second sight, the fourth, the eighth …; ends with the watch."""
    pause, last, sights = threading.Event(), None, 0
    while not pause.wait(every_s):
        watch = of()
        if watch is None:
            return
        seen = watch.under_way
        sights = sights + 1 if seen is not None and seen is last else 1
        last = seen
        del watch
        if seen is not None and sights > 1 and sights & (sights - 1) == 0:
            name, method, given = seen
            log.warning(
                "scoring rule %s has not come back from %s (%s) for more than %d s, and the step waits for it; "
                "Ctrl-C, twice in a long command, ends the step, and without %s in scoring.rules it goes on",
                name, method, _on(given[0]), int((sights - 1) * every_s), name,
            )  # fmt: skip


def _on(facts: Any) -> str:
    """What a rule was asked about: a URL, or many pages at once."""
    pages = getattr(facts, "num_rows", None)
    if isinstance(pages, int):
        return "1 page" if pages == 1 else f"{pages:,} pages"
    return str(getattr(facts, "url", facts))[:200]
