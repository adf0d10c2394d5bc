"""How do adopted rows get to disk, in constant memory?

Rows are tuples in the order of the table's columns; so many at a time become one batch of a Parquet file.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

from cobnut.records.columns import Table
from cobnut.storage.parts import PartWriter, part_name

BATCH_ROWS = 16_384
MOST_TIME = 253_402_300_799_000
"""The last millisecond of the year 9999: later times ("never") become this one, so that sums stay numbers."""
MICRO = 1_000_000
MOST_SCORE = 1_000_000_000


class Staged:
    """One part of rows of a table that is being written."""

    def __init__(self, folder: Path, table: Table) -> None:
        self._writer = PartWriter(folder / table.name, table, part_name(0))
        self._table, self._rows = table, list[tuple[Any, ...]]()
        self.rows = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """Takes a row."""
        self._rows.append(row)
        if len(self._rows) >= BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        if not self._rows:
            return
        self._writer.write(batch_of(self._table, self._rows))
        self.rows += len(self._rows)
        self._rows = []

    def close(self) -> list[Path]:
        """The part's path; nothing when there is no row."""
        self._flush()
        if not self._writer.rows:
            self._writer.abort()
            return []
        return [self._writer.close()]

    def __enter__(self) -> Staged:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._writer.abort()


def batch_of(table: Table, rows: list[tuple[Any, ...]]) -> Any:
    """Rows as an Arrow batch; halves of surrogate pairs, which UTF-8 cannot have, become U+FFFD."""
    import pyarrow as pa

    schema = table.schema()
    arrays = []
    for field, values in zip(schema, zip(*rows, strict=True), strict=True):
        try:
            arrays.append(pa.array(values, field.type))
        except UnicodeEncodeError:
            arrays.append(pa.array([_whole(value) for value in values], field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value


def whole_text(text: str) -> str:
    """Text that can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def micro_score(score: float) -> int | None:
    """A score in millionths, within bounds; None for what is no number."""
    if score != score:
        return None
    return round(max(-MOST_SCORE, min(MOST_SCORE, score)) * MICRO)


def time_or_none(at: int) -> int | None:
    """A time in ms as tables have it; None for 0 and for what lies before 1970 or beyond 9999."""
    return at if 0 < at <= MOST_TIME else None
