"""How much of a query can be answered without holding up everybody else?

The engine has no clock to stop it, so a query's cost is estimated before it runs: in postings (one word in one
document) that will be read, from how many documents hold each word. Where it is above the budget, the costliest part is
asked for more loosely until it fits: a phrase as its words, then without its commonest words; exclusions are left out
last to first of cost. Whoever searches is told.

The estimate, which measurements bear out within a factor of two or three: a list of words that must all be held costs
as many postings per word as the rarest of them has; words of which some suffice, and exclusions, cost all of theirs; a
posting of a phrase costs eight times one of a word, for the positions have to be compared.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from cobnut.index.clauses import Clause, IndexQuery

PHRASE = 8
"""What a posting of a phrase costs."""

NOTICE = "the query was costly and was searched for more loosely"

Frequency = Callable[[str], int]
"""How many documents hold a word."""


def affordable(query: IndexQuery, most: int, doc_count: int, frequency: Frequency, *, any_word: bool) -> IndexQuery:
    """The query, or one like it that costs at most `most` postings. A single word always may.

    `any_word` says that documents with some of the words are wanted too. The frequencies are asked for only when the
    query could be too costly at all.
    """
    clauses = (*query.wanted, *query.unwanted)
    if sum(len(clause.words) * _weight(clause) for clause in clauses) * doc_count <= most:
        return query
    known = {word: frequency(word) for clause in clauses for word in clause.words}
    wanted, unwanted = list(query.wanted), list(query.unwanted)
    while True:
        rarest = min((known[word] for clause in wanted for word in clause.words), default=0)
        costs = [(_cost(clause, known, None if any_word else rarest), i) for i, clause in enumerate(wanted)]
        shut_out = [(_cost(clause, known, None), i) for i, clause in enumerate(unwanted)]
        if sum(cost for cost, _ in (*costs, *shut_out)) <= most:
            break
        dearest, dearest_out = max(costs, default=(0, 0)), max(shut_out, default=(0, 0))
        if dearest_out[0] > dearest[0]:
            del unwanted[dearest_out[1]]
            continue
        if not wanted or (len(wanted) == 1 and len(wanted[0].words) == 1):
            break
        looser = _loosened(wanted[dearest[1]], known)
        wanted[dearest[1] : dearest[1] + 1] = [looser] if looser.words else []
    if (*wanted, *unwanted) == clauses:
        return query
    return msgspec.structs.replace(query, wanted=tuple(dict.fromkeys(wanted)), unwanted=tuple(unwanted))


def _loosened(clause: Clause, known: dict[str, int]) -> Clause:
    """A phrase as its words; words without the commonest of them, which may leave none."""
    distinct = tuple(dict.fromkeys(clause.words))
    if _weight(clause) > 1 or len(distinct) < len(clause.words):
        return Clause(distinct)
    commonest = max(clause.words, key=known.__getitem__)
    return Clause(tuple(word for word in clause.words if word != commonest))


def _cost(clause: Clause, known: dict[str, int], rarest: int | None) -> int:
    """Postings, weighted; `rarest` bounds each word's when all words must be held."""
    each = (known[word] if rarest is None else min(known[word], rarest) for word in clause.words)
    return sum(each) * _weight(clause)


def _weight(clause: Clause) -> int:
    return PHRASE if clause.exactly and len(clause.words) > 1 else 1
