"""How do scoring rules come into a stage of SQL steps?

Only where an active rule has a say: for that run the stage has a map step more, which asks the rules about rows that
the SQL has made. Otherwise the stage is the one that is written down, and nothing is paid for rules.

Not here: what the rules are, and what becomes of one that fails (`frontier.scoring`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.crawl.condition import Condition
from cobnut.engines.portable import TYPES
from cobnut.frontier.scoring import SortValue, UpdatedScore
from cobnut.records.columns import Column
from cobnut.records.steps import Job, Map, Stage, Step, column

if TYPE_CHECKING:
    import pyarrow as pa

CANDIDATES, CHANGED = "candidates", "changed_crawldb"


class OfBatches(msgspec.Struct, frozen=True):
    """A function of one batch as the function of a map step."""

    function: Callable[[pa.RecordBatch], pa.RecordBatch]

    def __call__(self, batches: Iterable[pa.RecordBatch], _context: Any) -> Iterator[pa.RecordBatch]:
        return map(self.function, batches)


def ordered(stage: Stage, sort_value: SortValue) -> Stage:
    """The stage `generate` in which the rules say the order of what may be fetched."""
    if not sort_value.needed:
        return stage
    before, made, after = _parted(stage, CANDIDATES)
    asked = Map("sort_values", OfBatches(sort_value), "offered", CANDIDATES, made.columns)
    return _with(stage, (*before, msgspec.structs.replace(made, output="offered"), asked, *after))


def rescored(stage: Stage, updated_score: UpdatedScore) -> Stage:
    """The stage `updatedb` in which the rules say the scores of the rows that change."""
    if not updated_score.needed:
        return stage
    before, made, after = _parted(stage, CHANGED)
    columns = (*made.columns, column("former_score", "int64"))
    former = Condition("updatedb_former", ("merged", "known"), "rated", columns, _with_former(made.columns))
    asked = Map("updated_scores", OfBatches(_Rescoring(updated_score)), "rated", CHANGED, made.columns)
    return _with(stage, (*before, msgspec.structs.replace(made, output="merged"), former, asked, *after))


class _Rescoring(msgspec.Struct, frozen=True):
    """The new scores, without what they were made from."""

    updated_score: UpdatedScore

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        given = self.updated_score(batch)
        return given.select([name for name in given.schema.names if name != "former_score"])


def _with_former(columns: tuple[Column, ...]) -> str:
    """The text that sets each row's former score beside it."""
    shown = ", ".join(f"CAST(m.{c.name} AS {TYPES[str(c.type)]}) AS {c.name}" for c in columns)
    return (
        f"SELECT {shown}, CAST(k.score AS BIGINT) AS former_score "
        "FROM merged m LEFT JOIN known k ON k.url_key = m.url_key"
    )


def _parted(stage: Stage, relation: str) -> tuple[tuple[Step, ...], Any, tuple[Step, ...]]:
    """The step that makes a relation, with those before and after it."""
    place = next(i for i, s in enumerate(stage.steps) if not isinstance(s, Job) and s.output == relation)
    return stage.steps[:place], stage.steps[place], stage.steps[place + 1 :]


def _with(stage: Stage, steps: tuple[Step, ...]) -> Stage:
    return msgspec.structs.replace(stage, steps=steps)
