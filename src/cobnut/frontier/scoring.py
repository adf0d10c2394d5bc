"""How important is a URL before anything is known of it?

A scoring rule is a plug-in: it is found by its name among the built-in ones and the entry points `cobnut.scoring`, and
it is active only when `scoring.rules` lists it. Rules run in that order, each on what the one before gave. A rule that
fails leaves the score as it was; the failure is logged once and counted.

Not here: how scores pass over links (the SQL of `stages.updatedb`), link rank (`graph.pagerank`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol

from cobnut.errors import InputError

log = logging.getLogger("cobnut.scoring")

SETTING = "scoring.rules"
ENTRY_POINTS = "cobnut.scoring"

MOST = 2**63 - 1
"""The greatest score that a table holds; the least is its negative."""


class ScoringRule(Protocol):
    """What a scoring plug-in offers. Scores are in millionths (1.0 is 1_000_000)."""

    def injected_score(self, url: str, score: int, metadata: Mapping[str, str]) -> int:
        """The score of a seed, from the one it has so far and what its line said."""
        ...


class Opic:
    """On-line page importance (Abiteboul, Preda, Cobena 2003) as the line has it: a seed keeps its score."""

    def injected_score(self, url: str, score: int, metadata: Mapping[str, str]) -> int:
        """The score as it is."""
        return score


BUILT_IN: dict[str, Callable[[], ScoringRule]] = {"opic": Opic}


def checked(score: object) -> int:
    """A score that a rule gave, as a table holds it; an error when it is none, or too great."""
    whole = int(score)  # type: ignore[call-overload]  # whatever it is: int says what is no number
    if not -MOST <= whole <= MOST:
        raise OverflowError("the score does not fit in 64 bits")
    return int(whole)


class InjectedScore:
    """All active rules as one function; `failures` counts what each failed rule cost."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._rules = [(name, _find(name)) for name in names]
        self.failures: Counter[str] = Counter()

    def __call__(self, url: str, score: int, metadata: Mapping[str, str]) -> int:
        for name, rule in self._rules:
            try:
                score = checked(rule.injected_score(url, score, metadata))
            except (Exception, SystemExit) as error:  # a plug-in may fail in any way; the score stays as it was
                if not self.failures[name]:
                    log.warning("scoring rule %s failed on %s: %r; the score stays %s", name, url, error, score / 1e6)
                self.failures[name] += 1
        return score


def _find(name: str) -> ScoringRule:
    if name in BUILT_IN:
        return BUILT_IN[name]()
    from cobnut.urls import plugins  # the list of all installed packages is long to read

    found = plugins.by_name(ENTRY_POINTS)
    if name not in found:
        known = ", ".join(sorted({*BUILT_IN, *found}))
        raise InputError(f"no scoring rule is called {name!r}", where="scoring.rules", remedy=f"there are: {known}")
    make = plugins.load(found[name], SETTING)
    try:
        rule: ScoringRule = make()
        if not callable(getattr(rule, "injected_score", None)):
            raise TypeError("it has no method injected_score")
    except plugins.FAILURES as error:
        raise plugins.fault(found[name], SETTING, "makes no scoring rule", error) from error
    return rule
