"""What do all active scoring rules together say?

One function for each of the five places, made once from the settings. `needed` tells whether any active rule has a say
there. A rule that fails, or gives what is no score, leaves the value as it was; that is logged once and counted in
`failures`, and no stage ends for it. Only the user's interrupt goes through, where there can be one. One that does not
come back is told of (`waiting`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.config.sections import ScoringSettings
from cobnut.frontier.scoring.facts import DuePage, FollowedLinks, IndexedPage, LinkingPage, UpdatedPage
from cobnut.frontier.scoring.rules import BUILT_IN, MICRO, MOST, Opic
from cobnut.frontier.scoring.waiting import Watch

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("cobnut.scoring")

SETTING = "scoring.rules"
ENTRY_POINTS = "cobnut.scoring"

PLACES: dict[str, tuple[str, ...]] = {
    "seeds": ("injected_score",),
    "fetch order": ("sort_values", "sort_value"),
    "links": ("passed_scores",),
    "updates": ("updated_score",),
    "index": ("index_boost",),
}
"""Where rules are asked, and the methods for it; the first that a rule has is called."""

MOST_GIVEN = 10**15
"""The most that a rule gives a seed, a score of 1e9; the least is its negative."""
MOST_PASSED = 10**12
"""The most that a plug-in lets one link pass on, a score of 1e6: what millions of links add up to fits in 64 bits."""
MOST_BOOST = 10**12
"""The greatest boost, a million; the least is a millionth."""


class Active(msgspec.Struct, frozen=True):
    """A rule in force."""

    name: str
    rule: Any


def active_rules(scoring: ScoringSettings, max_depth: int = -1) -> list[Active]:
    """The rules that the settings name, in their order; an error for one that is unknown or cannot be made."""
    return [Active(name, _made(name, scoring, max_depth)) for name in scoring.rules]


def _made(name: str, scoring: ScoringSettings, max_depth: int) -> Any:
    if name in BUILT_IN:
        return BUILT_IN[name](scoring, max_depth)
    from cobnut.urls import plugins  # the list of all installed packages is long to read

    point, make = plugins.brought(name, ENTRY_POINTS, SETTING, "scoring rule", BUILT_IN)
    try:
        rule = make()
        if not places_of(rule):
            raise TypeError(f"it has no method of {', '.join(m for ms in PLACES.values() for m in ms)}")
    except plugins.FAILURES as error:
        raise plugins.fault(point, SETTING, "makes no scoring rule", error) from error
    return rule


def places_of(rule: object) -> tuple[str, ...]:
    """The places where a rule has a say."""
    return tuple(place for place, methods in PLACES.items() if any(_is_there(rule, method) for method in methods))


def _is_there(rule: object, method: str) -> bool:
    return callable(getattr(rule, method, None))


def tried(rule: Any) -> Iterator[tuple[str, Any]]:
    """What each method of a rule gives for an example, by its name. Whatever the rule raises goes through."""
    import pyarrow as pa

    url, host, score = "http://example.org/a?b=1", "example.org", MICRO
    page = {"url_key": [url], "host": [host], "score": [score], "depth": [1], "fetched_before": [False]}
    due = pa.record_batch({**page, "metadata": pa.array([None], pa.map_(pa.string(), pa.string()))})
    links = FollowedLinks(("http://example.org/b",), (host,), ("words",), ("link",))
    arguments: dict[str, tuple[Any, ...]] = {
        "injected_score": (url, score, MappingProxyType({})),
        "sort_values": (due, pa.array([score], pa.int64())),
        "sort_value": (DuePage(url, host, score, 1, False, MappingProxyType({})), score),
        "passed_scores": (LinkingPage(url, host, score), links, (0,)),
        "updated_score": (UpdatedPage(url, host, "fetched", 1, score), score),
        "index_boost": (IndexedPage(url, host, score, MICRO, MICRO, 1, 1, 1, "en", "text/html"), MICRO),
    }
    for method, given in arguments.items():
        if not _is_there(rule, method):
            continue
        said = getattr(rule, method)(*given)
        if method in ("sort_values", "passed_scores"):
            several = said.to_pylist() if isinstance(said, (pa.Array, pa.ChunkedArray)) else list(islice(said, 2))
            if len(several) != 1:
                raise TypeError(f"{method} gave {len(several)} or more values for 1")
            said = several[0]
        if isinstance(said, int):
            checked(said, 0, MOST_PASSED if method == "passed_scores" else MOST)
        yield method, said


def told(failures: Mapping[str, int], what: str) -> list[str]:
    """What a step's report says of rules that failed on so many of *what*."""
    return [f"scoring rule {name} failed on {count:,} {what}" for name, count in sorted(failures.items())]


def checked(given: object, former: int, most: int) -> int:
    """A score that a rule gave; an error when it is none, or changed beyond the limit."""
    if isinstance(given, (str, bytes, bytearray)):
        raise TypeError(f"it gave {type(given).__name__}, no number")
    whole = int(given)  # type: ignore[call-overload]  # whatever it is: int says what is no number
    if whole != former and not -most <= whole <= most:
        raise OverflowError(f"it gave a score beyond {most // MICRO:,}")
    return int(whole)


class _Place:
    """The methods of the active rules for one place, in order."""

    def __init__(self, place: str, scoring: ScoringSettings, max_depth: int = -1) -> None:
        self.calls: list[tuple[str, str, Any]] = []  # name of the rule, of its method, the method
        self.watch = Watch()
        for active in active_rules(scoring, max_depth) if scoring.rules else ():
            method = next((m for m in PLACES[place] if _is_there(active.rule, m)), None)
            if method is not None:
                call = getattr(active.rule, method)
                call = call if active.name in BUILT_IN else self.watch.watched(active.name, method, call)
                self.calls.append((active.name, method, call))
        self.failures: Counter[str] = Counter()

    @property
    def needed(self) -> bool:
        """Whether any active rule has a say here."""
        return bool(self.calls)

    @property
    def names(self) -> tuple[str, ...]:
        """The rules that have a say here."""
        return tuple(name for name, _, _ in self.calls)

    def _ask(self, facts: Any, value: int, most: int = MOST) -> int:
        """One value, from rule to rule."""
        for name, _, call in self.calls:
            value = self._one(name, call, facts, value, most)
        return value

    def _one(self, name: str, call: Any, facts: Any, value: int, most: int) -> int:
        try:
            return checked(call(facts, value), value, most)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plug-in may fail in any way; the value stays as it was
            self._failed(name, facts.url, error)
            return value

    def _failed(self, name: str, on: str, error: BaseException, count: int = 1) -> None:
        if not self.failures[name]:
            from cobnut.urls.plugins import describe

            log.warning("scoring rule %s failed on %s: %s; what it was asked for stays", name, on, describe(error))
        self.failures[name] += count


class InjectedScore(_Place):
    """The score of a seed."""

    def __init__(self, scoring: ScoringSettings) -> None:
        super().__init__("seeds", scoring)

    def __call__(self, url: str, score: int, metadata: Mapping[str, str]) -> int:
        told = MappingProxyType(metadata)  # what the line said is kept: no rule may change it
        for name, _, call in self.calls:
            try:
                score = checked(call(url, score, told), score, MOST_GIVEN)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self._failed(name, url, error)
        return score


class SortValue(_Place):
    """The order of a fetchlist: takes pages that may be fetched, gives them with other values in `sort_value`."""

    def __init__(self, scoring: ScoringSettings, max_depth: int) -> None:
        super().__init__("fetch order", scoring, max_depth)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        values, pages = batch.column("sort_value"), None
        for name, method, call in self.calls:
            if method == "sort_values":
                values = self._column(name, call, batch, values)
                continue
            pages = pages or list(_due_pages(batch))
            given = [self._one(name, call, *one, MOST) for one in zip(pages, values.to_pylist(), strict=True)]
            values = pa.array(given, pa.int64())
        return _with(batch, "sort_value", values)

    def _column(self, name: str, call: Any, batch: pa.RecordBatch, values: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not batch.num_rows:
            return values
        try:
            given = pa.array(call(batch, values), pa.int64())
            if len(given) != batch.num_rows or given.null_count:
                raise ValueError(f"it gave {len(given) - given.null_count} values for {batch.num_rows} pages")
            ends = pc.min_max(given).as_py()
            checked(ends["min"], 0, MOST)
            checked(ends["max"], 0, MOST)
            return given
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._failed(name, f"{batch.num_rows} pages", error, batch.num_rows)
            return values


class PassedScores(_Place):
    """What the followed links of a page pass on."""

    def __init__(self, scoring: ScoringSettings) -> None:
        super().__init__("links", scoring)
        only = self.calls[0][2].__self__ if len(self.calls) == 1 and self.names == ("opic",) else None
        self.shares = only.shares if isinstance(only, Opic) else None
        """Where `opic` is the only rule: what a link inside and one outside of the host pass on; none need be asked."""

    def __call__(self, page: LinkingPage, links: FollowedLinks) -> list[int]:
        scores = [0] * len(links.urls)
        for name, _, call in self.calls:
            try:
                answer = call(page, links, tuple(scores))
                if isinstance(answer, (str, bytes, bytearray)):
                    raise TypeError(f"it gave {type(answer).__name__}, no list")
                given = list(islice(answer, len(scores) + 1))
                if len(given) != len(scores):
                    raise ValueError(f"it gave {len(given)} or more scores for {len(scores)} links")
                most = 2 * MOST_GIVEN if name == "opic" else MOST_PASSED
                scores = [checked(one, former, most) for one, former in zip(given, scores, strict=True)]
            except BaseException as error:  # asked in workers, which no interrupt of the user reaches: it is the rule's
                self._failed(name, page.url, error)
        return scores


class UpdatedScore(_Place):
    """The score after a round: takes rows with `score` and `former_score`, gives them with other scores."""

    def __init__(self, scoring: ScoringSettings) -> None:
        super().__init__("updates", scoring)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        scores = batch.column("score").to_pylist()
        given = [self._ask(page, score) for page, score in zip(_updated_pages(batch), scores, strict=True)]
        return _with(batch, "score", pa.array(given, pa.int64()))


class IndexBoost(_Place):
    """The boost of a document, in millionths: 1_000_000 changes nothing."""

    def __init__(self, scoring: ScoringSettings) -> None:
        super().__init__("index", scoring)

    def versions(self) -> tuple[str, ...]:
        """The rules that have a say, with the versions of their packages: when one changes, so may every boost."""
        from cobnut.urls import plugins

        found = {} if set(self.names) <= BUILT_IN.keys() else plugins.by_name(ENTRY_POINTS)
        return tuple(f"{name} {plugins.version_of(found[name])}" if name in found else name for name in self.names)

    def __call__(self, page: IndexedPage) -> int:
        boost = MICRO
        for name, _, call in self.calls:
            try:
                given = checked(call(page, boost), boost, MOST_BOOST)
                if given < 1:
                    raise ValueError("it gave a boost that is not above 0")
                boost = given
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self._failed(name, page.url, error)
        return boost


def _due_pages(batch: pa.RecordBatch) -> Iterator[DuePage]:
    metadata = [MappingProxyType(dict(pairs) if pairs else {}) for pairs in batch.column("metadata").to_pylist()]
    columns = [batch.column(name).to_pylist() for name in ("host", "score", "depth", "fetched_before")]
    return map(DuePage, _urls(batch), *columns, metadata)


def _updated_pages(batch: pa.RecordBatch) -> Iterator[UpdatedPage]:
    columns = [batch.column(name).to_pylist() for name in ("host", "status", "depth", "former_score")]
    return map(UpdatedPage, _urls(batch), *columns)


def _urls(batch: pa.RecordBatch) -> Sequence[str]:
    """The normalised URL of each row."""
    from cobnut.urls.keys import key_to_url

    return [key_to_url(key) for key in batch.column("url_key").to_pylist()]


def _with(batch: pa.RecordBatch, name: str, values: pa.Array) -> pa.RecordBatch:
    return batch.set_column(batch.schema.get_field_index(name), name, values)
