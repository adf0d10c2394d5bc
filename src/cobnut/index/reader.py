"""What does an index answer?

`IndexReader` opens one index folder and answers queries made of plain values (`index.clauses`) with candidates, their
numbers for ranking, and their stored documents. It stays on the version it opened.

Not here: following new generations, query syntax, ranking (`search`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import tantivy
from tantivy import Occur, Query

from cobnut.errors import CobnutError, DataError, MachineError
from cobnut.index import schema as cut
from cobnut.index.clauses import Candidate, Clause, FieldWeights, IndexQuery
from cobnut.index.damage import damage, damaged_file, fault, is_panic, remedy
from cobnut.index.document import StoredDocument, decode
from cobnut.index.manifest import IndexManifest, read_manifest
from cobnut.index.writer import read_meta

_LONGEST_ROW = 12  # words that are looked for in a row
_PHRASE_FIELDS = ("title", "headings", "body", "anchors", "url")
_LOCK = ".tantivy-meta.lock"

CHECKED_BYTES = 32 * 1024 * 1024
"""An index up to this size is checked whole when it is opened, which takes some hundredths of a second; of a larger one
the faults are found when a search meets them.
"""


class IndexReader:
    """One index folder, open; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: IndexManifest = read_manifest(folder)
        if self.manifest.schema_digest != cut.SCHEMA_DIGEST:
            raise DataError(
                "the index was made with other fields than this program reads",
                where=str(folder),
                remedy=remedy(folder),
            )
        self._fault: CobnutError | None = None
        with self._guard(opening=True):
            if (broken := damaged_file(folder, CHECKED_BYTES)) is not None:
                raise damage(folder, broken.name)
            self._links = None if _may_lock(folder) else _linked_folder(folder)
            index = cut.register(tantivy.Index.open(str(folder if self._links is None else self._links.name)))
            index.config_reader("manual")
            self._searcher = index.searcher()
            self._lacks = frozenset(cut.LATER_FIELDS) - _fields(folder)
        self._schema = index.schema

    @contextmanager
    def _guard(self, opening: bool = False) -> Iterator[None]:
        """Makes one clear error of what the engine says, or how it breaks off, when files are damaged or closed."""
        if self._fault is not None:  # looking for it again and again would cost a server dear
            raise type(self._fault)(self._fault.what, where=self._fault.where, remedy=self._fault.remedy)
        try:
            yield
        except CobnutError:
            raise
        except (ValueError, TypeError, OSError, msgspec.MsgspecError) as error:
            self._fault = fault(self.folder)
            if self._fault is None and opening:
                self._fault = damage(self.folder, str(error))
            if self._fault is None:
                raise
            raise self._fault from None
        except BaseException as error:
            if not is_panic(error):
                raise
            self._fault = fault(self.folder)
            if self._fault is None:
                raise RuntimeError(f"the search engine broke off ({str(error)[:200]})") from None
            raise self._fault from None

    @property
    def doc_count(self) -> int:
        """Documents that are not deleted."""
        count: int = self._searcher.num_docs
        return count

    @property
    def index_segment_count(self) -> int:
        """Index segments inside; each costs every query a little."""
        count: int = self._searcher.num_segments
        return count

    def search(
        self, query: IndexQuery, weights: FieldWeights, *, limit: int, any_word: bool = False, least: int = 1
    ) -> tuple[list[Candidate], int]:
        """The best `limit` documents by the engine's score, and how many there are in all.

        A document holds every wanted clause, or, with `any_word`, at least `least` of their words (and phrases).
        Equal scores stand in the index's order, so a longer list begins with the shorter one.
        """
        if self.doc_count == 0:
            return [], 0
        with self._guard():
            return self._run(self._compile(query, weights, any_word, least), limit)

    def find_exact(self, form: str, limit: int) -> list[tuple[int, int]]:
        """Places of documents with this whole title, anchor or URL name (see `schema.exact_form`)."""
        query = Query.term_query(self._schema, "exact", form, index_option="basic")
        with self._guard():
            hits = self._searcher.search(query, limit, count=False).hits
        return [(place.segment_ord, place.doc) for _, place in hits]

    def frequency(self, word: str) -> int:
        """How many documents hold a word in their text; deleted ones may be counted."""
        with self._guard():
            count: int = self._searcher.doc_freq("body", word)
        return count

    def numbers(self, names: Sequence[str], candidates: Sequence[Candidate]) -> list[list[Any]]:
        """Some fast fields of some candidates, one list a field; None where a document lacks one that came later."""
        places = [tantivy.DocAddress(*candidate.place) for candidate in candidates]
        with self._guard():
            return [
                [None] * len(places) if name in self._lacks else self._searcher.fast_field_values(name, places)
                for name in names
            ]

    def document(self, place: tuple[int, int]) -> StoredDocument:
        """The stored document at a place."""
        with self._guard():
            return self._stored(tantivy.DocAddress(*place))

    def get(self, url_key: str) -> StoredDocument | None:
        """The document of a URL (its newest version, when an index holds several)."""
        found = self._by_term("url_key", url_key, 64)
        return max(found, key=lambda d: d.segment, default=None)

    def doc_keys(self, beginning: str = "") -> list[str]:
        """The keys of all documents, or of those whose keys begin so, in order."""
        if self.doc_count == 0:
            return []
        with self._guard():
            alive = self._searcher.terms_with_prefix("doc", beginning, filter_query=Query.all_query())
        return [key for key, _ in alive]

    def documents(self, segment: str | None = None, batch: int = 1_000) -> Iterator[StoredDocument]:
        """All documents, or those of one crawl segment, in the index's order."""
        if self.doc_count == 0:
            return
        query = Query.all_query() if segment is None else self._term("segment", segment)
        offset = 0
        while True:
            with self._guard():
                hits = self._searcher.search(query, batch, count=False, offset=offset).hits
                found = [self._stored(place) for _, place in hits]
            yield from found
            if len(hits) < batch:
                return
            offset += batch

    def _by_term(self, field: str, value: str, limit: int) -> list[StoredDocument]:
        if self.doc_count == 0:
            return []
        with self._guard():
            hits = self._searcher.search(self._term(field, value), limit, count=False).hits
            return [self._stored(place) for _, place in hits]

    def _stored(self, place: tantivy.DocAddress) -> StoredDocument:
        return decode(self._searcher.doc(place).get_first("blob"))

    def _term(self, field: str, value: str) -> Query:
        return Query.term_query(self._schema, field, value, index_option="basic")

    def _run(self, query: Query, limit: int) -> tuple[list[Candidate], int]:
        result = self._searcher.search(query, max(1, limit))
        found = [Candidate((place.segment_ord, place.doc), score) for score, place in result.hits]
        return found[:limit], result.count

    def _compile(self, query: IndexQuery, weights: FieldWeights, any_word: bool, least: int) -> Query:
        parts: list[tuple[Any, Query]] = []
        clauses = _single_words(query.wanted) if any_word else query.wanted
        wanted = [self._clause(clause, weights) for clause in clauses]
        if any_word and len(wanted) > 1:
            least = max(1, min(least, len(wanted)))
            parts.append((Occur.Must, Query.boolean_query([(Occur.Should, q) for q in wanted], least)))
        else:
            parts.extend((Occur.Must, q) for q in wanted)
        row = [word for clause in query.wanted for word in clause.words]
        if weights.phrase > 0 and 1 < len(row) <= _LONGEST_ROW:
            in_a_row = self._over_fields(
                weights, lambda field: Query.phrase_query(self._schema, field, row, weights.slop)
            )
            parts.append((Occur.Should, Query.boost_query(in_a_row, weights.phrase)))
        if not wanted:
            parts.append((Occur.Must, Query.all_query()))
        for field, values in (("site", query.sites), ("language", query.languages)):
            if values:
                among = Query.boolean_query([(Occur.Should, self._term(field, value)) for value in values])
                parts.append((Occur.Must, Query.const_score_query(among, 0.0)))
        parts.extend((Occur.MustNot, self._clause(clause, weights)) for clause in query.unwanted)
        parts.extend((Occur.MustNot, self._term("site", site)) for site in query.other_sites)
        return parts[0][1] if len(parts) == 1 else Query.boolean_query(parts)

    def _clause(self, clause: Clause, weights: FieldWeights) -> Query:
        if clause.exactly and len(clause.words) > 1:
            return self._over_fields(weights, lambda field: Query.phrase_query(self._schema, field, list(clause.words)))
        words = [self._word(word, weights) for word in dict.fromkeys(clause.words)]
        return words[0] if len(words) == 1 else Query.boolean_query([(Occur.Must, q) for q in words])

    def _word(self, word: str, weights: FieldWeights) -> Query:
        return self._over_fields(
            weights, lambda field: Query.term_query(self._schema, field, word, index_option="freq")
        )

    def _over_fields(self, weights: FieldWeights, make: Any) -> Query:
        queries = []
        for field in _PHRASE_FIELDS:
            weight = getattr(weights, field)
            if weight > 0:
                query = make(field)
                queries.append(query if weight == 1.0 else Query.boost_query(query, weight))
        return Query.disjunction_max_query(queries, weights.tie)


def _fields(folder: Path) -> set[str]:
    """The names of an index's fields."""
    return {field["name"] for field in read_meta(folder)["schema"]}


def _may_lock(folder: Path) -> bool:
    """May the engine make, or take, its lock file in the folder? What left it there may have been another user."""
    lock = folder / _LOCK
    return os.access(folder, os.W_OK) and (not lock.exists() or os.access(lock, os.W_OK))


def _linked_folder(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder of links: the engine makes a lock file where it opens an index, which may be read-only."""
    try:
        links = tempfile.TemporaryDirectory(prefix="cobnut-index-")
    except OSError as error:
        raise MachineError(
            f"no temporary folder can be made ({error.strerror or error})",
            remedy="set TMPDIR to a folder you may write to",
        ) from None
    for entry in os.scandir(folder):
        if not entry.name.endswith(".lock"):
            os.symlink(os.path.abspath(entry.path), os.path.join(links.name, entry.name))
    return links


def _single_words(clauses: Sequence[Clause]) -> list[Clause]:
    """Each word by itself; phrases stay whole."""
    single = [
        part for clause in clauses for part in ([clause] if clause.exactly else [Clause((w,)) for w in clause.words])
    ]
    return list(dict.fromkeys(single))
