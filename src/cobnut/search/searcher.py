"""What answers a query?

`Searcher` takes a query as typed and gives a page of results: it parses, asks the index for candidates, ranks them, and
cuts snippets. Documents that hold all words come first; when there are too few of them, those that hold some follow.

The order is one list whatever page of it is asked for: the first `candidates` documents of the engine are ranked
anew, the rest follow as the engine has them. So no result stands on two pages, and the pages together hold `total`
results, up to `MOST_RESULTS`.

Not here: finding the index (`search.open`), JSON (`search.answer`), HTML (`web`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from cobnut.config.sections import SearchSettings
from cobnut.index.clauses import Candidate, IndexQuery
from cobnut.index.document import StoredDocument
from cobnut.index.reader import IndexReader
from cobnut.search.budget import NOTICE, affordable
from cobnut.search.query import ParsedQuery, parse
from cobnut.search.ranking import ENGINE_WEIGHTS, Feature, Ranked, Weights, rank
from cobnut.search.snippet import Matcher, Snippet, snippet

MOST_RESULTS = 10_000
"""Results that paging reaches; `total` still counts all."""

NOTHING_INDEXED = "nothing indexed yet"


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One result. `document` holds all that the index keeps of the page (inlinks, where the archived copy lies …);

    `snippet` gives plain text with the ranges that match, or, by `to_html`, escaped HTML; titles are marked with
    `search.snippet.marked`.
    """

    position: int
    url: str
    title: str
    snippet: Snippet
    score: float
    host: str
    fetched_at: int
    language: str | None
    segment: str
    document: StoredDocument
    features: tuple[Feature, ...] = ()

    @property
    def shown_url(self) -> str:
        """The URL to be shown and followed: the page's own, or a better one that redirects to it."""
        return self.document.shown_url or self.url


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """One page of results. `total` counts all documents found; `reachable` those that paging can show."""

    query: str
    parsed: ParsedQuery
    total: int
    reachable: int
    offset: int
    limit: int
    took_ms: float
    hits: tuple[Hit, ...]
    notices: tuple[str, ...] = ()

    @property
    def notice(self) -> str | None:
        """What the searcher should know beside the hits, in one line."""
        return "; ".join(self.notices) or None


class IndexSource(Protocol):
    """Where a searcher gets its index from; `reader` is None while nothing is indexed."""

    def reader(self) -> IndexReader | None:
        """The index as it is now known."""

    def refresh_if_changed(self) -> bool:
        """Look, cheaply, whether a newer version is there and open it; whether one was."""

    def close(self) -> None:
        """Let go of the index."""


class Searcher:
    """Answers queries from one index; may be used from several threads."""

    def __init__(
        self,
        source: IndexSource,
        settings: SearchSettings | None = None,
        *,
        weights: Weights | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._source = source
        self._settings = settings or SearchSettings()
        self._weights = weights or Weights()
        self._clock = clock

    @property
    def doc_count(self) -> int:
        """Documents in the index; 0 while nothing is indexed."""
        reader = self._source.reader()
        return 0 if reader is None else reader.doc_count

    def refresh_if_changed(self) -> bool:
        """Follow the index to its current generation, if that changed; cheap enough to be called every second."""
        return self._source.refresh_if_changed()

    def close(self) -> None:
        """Let go of the index."""
        self._source.close()

    def document(self, url_key: str) -> StoredDocument | None:
        """What the index holds of a URL."""
        reader = self._source.reader()
        return None if reader is None else reader.get(url_key)

    def search(self, query: str, *, limit: int = 10, offset: int = 0, explain: bool = False) -> Results:
        """One page of results: never an exception for what was typed; an empty query gives none."""
        began = self._clock()
        limit = max(0, min(limit, 1_000))
        offset = max(0, min(offset, MOST_RESULTS))
        parsed = parse(query, self._settings.max_query_chars)
        reader = self._source.reader()
        notices = list(parsed.notices)
        ranked: list[Ranked] = []
        total = 0
        if reader is None or reader.doc_count == 0:
            notices.append(NOTHING_INDEXED)
        elif not parsed.index_query.is_empty:
            need = min(offset + limit, MOST_RESULTS)
            ranked, total = self._ranked(reader, parsed, offset, need, explain, notices)
            ranked = ranked[offset:need]
        matcher = Matcher(parsed.words, parsed.text)
        hits = tuple(
            self._hit(reader, item, offset + i + 1, matcher) for i, item in enumerate(ranked) if reader is not None
        )
        return Results(
            query=query,
            parsed=parsed,
            total=total,
            reachable=min(total, MOST_RESULTS),
            offset=offset,
            limit=limit,
            took_ms=round((self._clock() - began) * 1000, 3),
            hits=hits,
            notices=tuple(notices),
        )

    def _ranked(
        self, reader: IndexReader, parsed: ParsedQuery, offset: int, need: int, explain: bool, notices: list[str]
    ) -> tuple[list[Ranked], int]:
        """The first `need` results in their final order, and how many there are.

        Those before `offset` that keep the engine's order anyway may be given without their score.
        """
        asked = self._affordable(reader, parsed.index_query, notices, any_word=False)
        found, total = reader.search(asked, ENGINE_WEIGHTS, limit=max(need, self._settings.candidates))
        best = found[0].score if found else 0.0
        ranked = self._order(reader, found, parsed, best, offset, explain)
        if total < self._settings.or_below and asked.part_count > 1:
            asked = self._affordable(reader, asked, notices, any_word=True)
            more, total = self._any_word(reader, asked, {c.place for c in found}, need)
            best = max(best, more[0].score if more else 0.0)
            ranked += self._order(reader, more, parsed, best, offset - len(ranked), explain)
        return ranked, total

    def _affordable(self, reader: IndexReader, query: IndexQuery, notices: list[str], *, any_word: bool) -> IndexQuery:
        """The query within its budget; a notice says when it had to be loosened."""
        most = self._settings.max_postings
        asked = affordable(query, most, reader.doc_count, reader.frequency, any_word=any_word)
        if asked is not query and NOTICE not in notices:
            notices.append(NOTICE)
        return asked

    def _any_word(
        self, reader: IndexReader, asked: IndexQuery, known: set[tuple[int, int]], need: int
    ) -> tuple[list[Candidate], int]:
        """Documents that hold only some of the words, and how many hold some or all."""
        found, total = reader.search(
            asked, ENGINE_WEIGHTS, limit=max(need, self._settings.candidates) + len(known), any_word=True,
            least=asked.part_count // 2,
        )  # fmt: skip
        return [c for c in found if c.place not in known], total

    def _order(
        self, reader: IndexReader, found: list[Candidate], parsed: ParsedQuery, best: float, offset: int, explain: bool
    ) -> list[Ranked]:
        """Best first; only the head is ranked anew, and only what the page shows of the rest is scored."""
        count = self._settings.candidates
        words = parsed.words
        first = rank(reader, found[:count], words, self._weights, best=best, explain=explain)
        if len(found) <= count:
            return first
        shown = max(count, offset)
        passed = [Ranked(candidate.place, 0.0) for candidate in found[count:shown]]
        rest = rank(reader, found[shown:], words, self._weights, best=best, explain=explain, reorder=False)
        return first + passed + rest

    def _hit(self, reader: IndexReader, item: Ranked, position: int, matcher: Matcher) -> Hit:
        document = reader.document(item.place)
        return Hit(
            position=position,
            url=document.url,
            title=document.title,
            snippet=snippet(document.text, matcher, chars=self._settings.snippet_chars, otherwise=document.description),
            score=item.score,
            host=document.host,
            fetched_at=document.fetched_at,
            language=document.language,
            segment=document.segment,
            document=document,
            features=item.features,
        )
