"""How important is a page, from the seed to the search result?

A scoring rule is a plug-in: it is found by its name among the built-in ones and the entry points `cobnut.scoring`, and
it is active only when `scoring.rules` lists it. Five *places* ask the rules, each for a method that a rule may have or
lack: the score of a seed, the place in a fetchlist, what a page passes to those it links to, the score after a round,
and the boost in the index. Rules run in the order listed, each on what the one before gave.

`facts` is what a rule is told and the form it has, `rules` are the built-in ones, `active` makes one function of all
active rules for each place. A place that no active rule answers is left out: it costs nothing.

Not here: link rank (`graph.pagerank`), what the score does (`stages`).
"""

from cobnut.frontier.scoring.active import (
    ENTRY_POINTS,
    PLACES,
    SETTING,
    IndexBoost,
    InjectedScore,
    PassedScores,
    SortValue,
    UpdatedScore,
    active_rules,
    places_of,
    told,
    tried,
)
from cobnut.frontier.scoring.facts import (
    DuePage,
    FollowedLinks,
    IndexedPage,
    LinkingPage,
    ScoringRule,
    UpdatedPage,
)
from cobnut.frontier.scoring.rules import BUILT_IN

__all__ = [
    "BUILT_IN",
    "ENTRY_POINTS",
    "PLACES",
    "SETTING",
    "DuePage",
    "FollowedLinks",
    "IndexBoost",
    "IndexedPage",
    "InjectedScore",
    "LinkingPage",
    "PassedScores",
    "ScoringRule",
    "SortValue",
    "UpdatedPage",
    "UpdatedScore",
    "active_rules",
    "places_of",
    "told",
    "tried",
]
