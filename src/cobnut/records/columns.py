"""What does a table look like?

`Column` and `Table` describe a table once; the Arrow schema, the reference page and the checks of every engine are made
from that description.

Not here: which tables there are (`records.catalogue`), where they lie on disk (`storage`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa

ColumnType = Literal[
    "string", "int64", "int32", "double", "bool", "binary", "map", "strings", "anchors"
]  # map: string to string; strings: list of string; anchors: list of {from_key, anchor}

Scope = Literal["crawl", "segment"]


class Column(msgspec.Struct, frozen=True):
    """One column: its name with the unit in it, its type, whether it may be NULL, and one sentence."""

    name: str
    type: ColumnType
    doc: str
    nullable: bool = True


SCORES = frozenset({"score", "from_score", "contribution", "page_rank", "host_rank", "inject_score"})
"""Columns whose int64 holds a score in millionths; a person sees the score."""

MOST_SCORE = 10**18
"""The greatest score of a page, 1e12; the least is its negative. What is beyond counts as that. Room is left in 64 bits
for what is added on the way: shares of links, and the age of what waits."""


class Table(msgspec.Struct, frozen=True):
    """One table: its key, the column that decides the partition, the one stage that writes it, and its columns.

    `bucket_column` names the int32 column that holds the host bucket (0 to 65535) rows are partitioned by; None for a
    table that is kept in one piece or in the parts its writers made.
    """

    name: str
    scope: Scope
    key: tuple[str, ...]
    bucket_column: str | None
    writers: tuple[str, ...]
    doc: str
    columns: tuple[Column, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def schema(self) -> pa.Schema:
        """The Arrow schema, built once."""
        return _schema(self)


@cache
def _schema(table: Table) -> pa.Schema:
    return pa_schema(table.columns)


def pa_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """The Arrow schema of some columns."""
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "int64": pa.int64(),
        "int32": pa.int32(),
        "double": pa.float64(),
        "bool": pa.bool_(),
        "binary": pa.binary(),
        "map": pa.map_(pa.string(), pa.string()),
        "strings": pa.list_(pa.string()),
        "anchors": pa.list_(pa.struct([pa.field("from_key", pa.string()), pa.field("anchor", pa.string())])),
    }
    return pa.schema([pa.field(c.name, types[c.type], nullable=c.nullable) for c in columns])
