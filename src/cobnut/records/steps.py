"""What is a stage?

A stage is a name, what it reads, what it writes, and a list of steps. A step is `Sql` (one portable text), `Map` (a pure
function, Arrow batches in, Arrow batches out) or `Job` (driver code with declared inputs and outputs, for what is
neither). Engines run stages; stages do not know the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.records.columns import Column

if TYPE_CHECKING:
    import pyarrow as pa

BatchFunction = Callable[[Iterable["pa.RecordBatch"], Any], Iterator["pa.RecordBatch"]]


class Sql(msgspec.Struct, frozen=True):
    """One portable SQL text over named inputs; it reads the one-row view `params` for values that vary.

    `output` names the relation that later steps, or the writer, take. `columns` are the output's columns, in order.
    """

    name: str
    text: str
    inputs: tuple[str, ...]
    output: str
    columns: tuple[Column, ...]
    params: tuple[Column, ...] = ()


class Map(msgspec.Struct, frozen=True):
    """A pure function over Arrow batches of `input`; `context` is what it is given beside them (settings, filters)."""

    name: str
    function: BatchFunction
    input: str
    output: str
    columns: tuple[Column, ...]


class Job(msgspec.Struct, frozen=True):
    """Driver code for what is neither SQL nor a map: fetching, ranking, indexing, merging."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


Step = Sql | Map | Job


class Stage(msgspec.Struct, frozen=True):
    """One stage: its name is its command, its metric prefix and its log event."""

    name: str
    doc: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    steps: tuple[Step, ...]
