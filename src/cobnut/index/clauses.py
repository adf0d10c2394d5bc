"""What can the index be asked?

Plain values, so that `search` needs to know nothing of the engine: a query is a list of clauses over words that were
cut by `schema.words_of`, with filters, and weights for the fields.
"""

from __future__ import annotations

import msgspec


class Clause(msgspec.Struct, frozen=True):
    """Some words in a row: one word, several written as one (`usb-c`), or, with `exactly`, a quoted phrase."""

    words: tuple[str, ...]
    exactly: bool = False


class IndexQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What a document must hold, must not hold, and where it must lie. Sites are hosts or domains in lower case."""

    wanted: tuple[Clause, ...] = ()
    unwanted: tuple[Clause, ...] = ()
    sites: tuple[str, ...] = ()
    other_sites: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()

    @property
    def part_count(self) -> int:
        """Wanted words and phrases."""
        return sum(1 if clause.exactly else len(clause.words) for clause in self.wanted)

    @property
    def is_empty(self) -> bool:
        """Nothing is asked for."""
        return not (self.wanted or self.sites or self.languages)


class FieldWeights(msgspec.Struct, frozen=True, kw_only=True):
    """How much a word in each field counts; `tie` is the share of the weaker fields (0: only the best field counts).

    `phrase` is what all wanted words in a row count beside the words themselves, with up to `slop` moves.
    """

    title: float = 1.0
    headings: float = 1.0
    body: float = 1.0
    anchors: float = 1.0
    url: float = 1.0
    tie: float = 0.3
    phrase: float = 0.0
    slop: int = 0


class Candidate(msgspec.Struct, frozen=True):
    """One document the engine found: where it stands in this reader, and the engine's score."""

    place: tuple[int, int]
    score: float
