"""In which order are the candidates shown, and why?

The engine finds candidates by words (its score is the feature `text`); `rank` adds what the engine does not weigh:
whether the query is the whole title, anchor or name of the page, how many pages and hosts link to it, how
long its address is, what the scoring rules make of it. Every feature is a value times a weight, and the score of a hit
is their sum, so that an explanation adds up.

The weights were set by measuring known-item queries on real sites, not by taste; `tests/quality` holds a floor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from cobnut.index.clauses import Candidate, FieldWeights
from cobnut.index.reader import IndexReader

ENGINE_WEIGHTS = FieldWeights(title=1.0, headings=1.0, body=1.0, anchors=1.0, url=1.0, tie=0.45, phrase=0.4)


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """One weight a feature; see `FEATURES` for what each value is."""

    text: float = 10.0
    exact_title: float = 2.0
    exact_anchor: float = 5.0
    exact_url: float = 1.0
    page_rank: float = 0.15
    host_rank: float = 0.05
    inlink_hosts: float = 0.1
    url_length: float = -0.1
    boost: float = 1.0


FEATURES: dict[str, str] = {
    "text": "How well the words match (BM25 over title, headings, body, anchors and URL); the best document has 1.",
    "exact_title": "1 when the query is the whole title, or one part of it.",
    "exact_anchor": "1 when the query is the whole text of a link to the page.",
    "exact_url": "1 when the query is the name of the page in its URL.",
    "page_rank": "Logarithm of 1 + the page's link rank (the mean page has rank 1).",
    "host_rank": "The same for its host.",
    "inlink_hosts": "Logarithm of 1 + the number of other hosts that link to the page.",
    "url_length": "Length of the URL in hundreds of characters.",
    "boost": "Logarithm of the boost that the scoring rules gave the page (1, which adds nothing, where none did).",
}
"""Every feature with what its value is."""


class Feature(msgspec.Struct, frozen=True):
    """One line of an explanation: contribution = weight * value."""

    name: str
    value: float
    contribution: float


class Ranked(msgspec.Struct, frozen=True):
    """A candidate with its score, and, when asked for, what it is made of."""

    place: tuple[int, int]
    score: float
    features: tuple[Feature, ...] = ()


_NUMBERS = ("page_rank", "host_rank", "inlink_host_count", "url_length", "boost")
_EXACT = (("exact_title", "t"), ("exact_anchor", "a"), ("exact_url", "u"))


def rank(
    reader: IndexReader,
    candidates: Sequence[Candidate],
    words: Sequence[str],
    weights: Weights,
    *,
    best: float,
    reorder: bool = True,
    explain: bool = False,
) -> list[Ranked]:
    """The candidates with their scores, best first (in the given order without `reorder`).

    `words` are the query's words as the index has them; `best` is the engine's score of the best candidate.
    """
    if not candidates:
        return []
    columns = _features(reader, candidates, words, best)
    scores = [0.0] * len(candidates)
    for name, values in columns:
        weight = getattr(weights, name)
        scores = [score + weight * value for score, value in zip(scores, values, strict=True)]
    ranked = [Ranked(candidate.place, score) for candidate, score in zip(candidates, scores, strict=True)]
    if explain:
        ranked = [
            Ranked(item.place, item.score, _explanation(columns, weights, position))
            for position, item in enumerate(ranked)
        ]
    if reorder:
        ranked.sort(key=lambda r: (-r.score, r.place))
    return ranked


def _explanation(columns: Sequence[tuple[str, list[float]]], weights: Weights, position: int) -> tuple[Feature, ...]:
    return tuple(Feature(name, v[position], getattr(weights, name) * v[position]) for name, v in columns)


def _features(
    reader: IndexReader, candidates: Sequence[Candidate], words: Sequence[str], best: float
) -> list[tuple[str, list[float]]]:
    scale = best if best > 0 else 1.0
    columns: list[tuple[str, list[float]]] = [("text", [c.score / scale for c in candidates])]
    whole = " ".join(words)
    nowhere = [0.0] * len(candidates)
    for name, kind in _EXACT:
        found = set(reader.find_exact(f"{kind}:{whole}", 500)) if 0 < len(words) <= 24 else set()
        columns.append((name, [1.0 if c.place in found else 0.0 for c in candidates] if found else nowhere))
    log1p = math.log1p
    ranks, hosts, inlinks, lengths, boosts = reader.numbers(_NUMBERS, candidates)
    columns.append(("page_rank", [log1p(v / 1e6) for v in ranks]))
    columns.append(("host_rank", [log1p(v / 1e6) for v in hosts]))
    columns.append(("inlink_hosts", [log1p(v) for v in inlinks]))
    columns.append(("url_length", [v / 100 for v in lengths]))
    lifted = boosts.count(None) < len(boosts)
    columns.append(("boost", [math.log(max(v, 1) / 1e6) if v else 0.0 for v in boosts] if lifted else nowhere))
    return columns
