"""What is a stage?

A stage is a name, what it reads, what it writes, and a list of steps. A step is `Sql` (one portable text), `Map` (a
pure function, Arrow batches in, Arrow batches out) or `Job` (driver code with declared inputs and outputs, for what is
neither). Engines run stages; stages do not know the engine.

An SQL text reads its inputs by name, and the one-row relation `params` for values that vary from run to run.

Not here: the stages themselves (`stages`), running them (`engines`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from cobnut.records.columns import Column, Table

if TYPE_CHECKING:
    import pyarrow as pa

BatchFunction = Callable[[Iterable["pa.RecordBatch"], Any], Iterator["pa.RecordBatch"]]

Source = Literal["current", "segments", "given", "files"]
"""Where rows come from: the table's current generation, the parts of the segments at hand, or the caller, who gives
rows or names Parquet files."""


class Input(msgspec.Struct, frozen=True):
    """One relation a stage reads.

    With `partitioned`, a run over one partition sees only that partition's rows; otherwise it sees them all. Rows of
    segment tables carry one more column, `segment`.
    """

    name: str
    table: Table | None
    source: Source
    partitioned: bool = True
    columns: tuple[Column, ...] = ()  # of a given relation, which has no table


class Sql(msgspec.Struct, frozen=True):
    """One portable SQL text over named inputs; `output` names the relation it makes, `columns` are its columns."""

    name: str
    inputs: tuple[str, ...]
    output: str
    columns: tuple[Column, ...]

    @property
    def text(self) -> str:
        """The text, from `stages/NAME.sql`."""
        return sql_text(self.name)


class Lazy(Sql, frozen=True):
    """A text whose rows are made when they are read: wide ones that are read once, or such as are cheap to make."""


class Map(msgspec.Struct, frozen=True):
    """A pure function over Arrow batches of `input`; the run's context (filters, settings) is its second argument."""

    name: str
    function: BatchFunction
    input: str
    output: str
    columns: tuple[Column, ...]


class Job(msgspec.Struct, frozen=True):
    """Driver code for what is neither SQL nor a map: fetching, ranking, indexing, merging."""

    name: str


class Output(msgspec.Struct, frozen=True):
    """One relation that becomes the next generation of a table.

    With `replaces` it holds only the rows that change or are new, and `replaces` names the relation that holds those
    rows of the present generation that they take the place of; all others stay. With `removes`, `replaces` holds every
    present row of the first keys that are touched: one of which the output has no row is gone. An output in which no
    key of the present generation may be missing names the relation of that in `keeps`.
    """

    relation: str
    table: Table
    replaces: str | None = None
    keeps: str | None = None
    removes: bool = False


Step = Sql | Map | Job


class Stage(msgspec.Struct, frozen=True):
    """One stage: its name is its command, its metric prefix and its log event."""

    name: str
    doc: str
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Output, ...] = ()
    params: tuple[Column, ...] = ()
    prelude: tuple[Step, ...] = ()  # run once over everything, before the partitions
    split: tuple[str, ...] = ()  # relations of the prelude of which a partition sees only its own rows
    collected: tuple[str, ...] = ()  # relations gathered over all partitions for the finale
    finale: tuple[Step, ...] = ()  # run once over what was collected
    once: tuple[str, ...] = ()  # segment inputs in which each key should be there once; where not, that is said
    whole: bool = False  # not split into partitions: the key is none of the host's
    reads: tuple[str, ...] = ()  # tables that jobs read
    writes: tuple[str, ...] = ()  # tables that jobs write

    def input(self, name: str) -> Input:
        """The input of that name."""
        return next(i for i in self.inputs if i.name == name)

    def all_steps(self) -> tuple[Step, ...]:
        """Every step, in order."""
        return (*self.prelude, *self.steps, *self.finale)

    def all_reads(self) -> tuple[str, ...]:
        """Names of all tables the stage reads, declared or through its inputs."""
        names = [i.table.name for i in self.inputs if i.table is not None] + list(self.reads)
        return tuple(dict.fromkeys(names))

    def all_writes(self) -> tuple[str, ...]:
        """Names of all tables the stage writes."""
        return tuple(dict.fromkeys([o.table.name for o in self.outputs] + list(self.writes)))


SEGMENT_COLUMN = Column("segment", "string", "Name of the segment the row comes from.", nullable=False)


def columns_of(source: Input) -> tuple[Column, ...]:
    """The columns an SQL text sees of an input."""
    if source.table is None:
        return source.columns
    more = (SEGMENT_COLUMN,) if source.source == "segments" else ()
    return source.table.columns + more


def sql_text(name: str) -> str:
    """The portable SQL text `NAME.sql` that lies beside the stages."""
    return (files("cobnut") / "stages" / f"{name}.sql").read_text(encoding="utf-8")


def column(name: str, type_: Any, nullable: bool = True) -> Column:
    """A column of an intermediate relation, which needs no sentence of its own."""
    return Column(name, type_, "", nullable)
