"""Which rows of a table have one value, found without reading the table?

A look-up for a person costs the reading of what may hold the row and no more: row groups whose statistics exclude the
value are passed over, of the others the column that is asked for is read first, and the rest of the row only where it
was found. No engine is started for it.

In a base, which is sorted by key, at most one row group of one file may hold a key. A column that nothing is sorted by
is read as a whole, by itself.

Not here: conditions (`inspect.tables`), what the rows mean (`records.catalogue`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cobnut.records.columns import Table
from cobnut.storage.layers import Layers, damaged

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH_ROWS = 4_096
WIDE_BATCH_ROWS = 65_536
MANY = 1_000


class Found(NamedTuple):
    """A row that was found: its file, and its columns by name."""

    path: Path
    row: dict[str, Any]


def find(
    table: Table,
    files: Sequence[Path],
    equal: Mapping[str, Any],
    columns: Sequence[str] | None = None,
    *,
    either: Mapping[str, Any] | None = None,
    limit: int | None = None,
) -> Iterator[Found]:
    """The rows in which every column of `equal` has its value, and one of `either`; of layers, those that hold.

    In the order of the files, those of deltas first. A `DataError` names a damaged file.
    """
    left = limit
    for path, rows in find_batches(table, files, equal, columns, either=either):
        for row in rows.to_pylist():
            if left is not None:
                if left <= 0:
                    return
                left -= 1
            yield Found(path, _plain(row, rows.schema))


def find_batches(
    table: Table,
    files: Sequence[Path],
    equal: Mapping[str, Any],
    columns: Sequence[str] | None = None,
    *,
    either: Mapping[str, Any] | None = None,
) -> Iterator[tuple[Path, pa.RecordBatch]]:
    """The same rows in batches, each with the file it comes from."""
    names = tuple(table.column_names if columns is None else columns)
    if isinstance(files, Layers) and files.newer:
        yield from _in_layers(table, files, equal, either or {}, names)
    else:
        yield from _in_files(table, files, equal, either or {}, names)


def _in_layers(
    table: Table, files: Layers, equal: Mapping[str, Any], either: Mapping[str, Any], names: tuple[str, ...]
) -> Iterator[tuple[Path, pa.RecordBatch]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    yield from _in_files(table, files.delta, equal, either, names)
    if files.key in equal:
        newer = _in_files(table, files.newer, {files.key: equal[files.key]}, {}, (files.key,))
        if not any(True for _ in newer):
            yield from _in_files(table, files.base, equal, either, names)
        return
    wanted = names if files.key in names else (*names, files.key)
    replaced: pa.ChunkedArray | None = None
    for path, rows in _in_files(table, files.base, equal, either, wanted):
        if replaced is None:
            replaced = pa.chunked_array(
                [chunk for newer in files.newer for chunk in _column(table, newer, files.key).chunks], pa.string()
            )
        kept = rows.filter(pc.invert(pc.is_in(rows.column(files.key), value_set=replaced)))
        if kept.num_rows:
            yield path, kept.select(list(names))


def _column(table: Table, path: Path, name: str) -> pa.ChunkedArray:
    with _opened(table, path) as file:
        return file.read([name], use_threads=False).column(0)


def _in_files(
    table: Table, files: Sequence[Path], equal: Mapping[str, Any], either: Mapping[str, Any], names: tuple[str, ...]
) -> Iterator[tuple[Path, pa.RecordBatch]]:
    for path in files:
        with _opened(table, path) as file:
            for rows in _in_file(file, equal, either, names, _is_one(table, equal)):
                yield path, rows


def _is_one(table: Table, equal: Mapping[str, Any]) -> bool:
    """Whether at most one row fits: the values are the whole key of a crawl's table."""
    return table.scope == "crawl" and set(table.key) <= set(equal)


def _in_file(
    file: pq.ParquetFile, equal: Mapping[str, Any], either: Mapping[str, Any], names: tuple[str, ...], is_one: bool
) -> Iterator[pa.RecordBatch]:
    metadata = file.metadata
    places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if not all(_may_hold(group.column(places[name]), value) for name, value in equal.items()):
            continue
        if either and not any(_may_hold(group.column(places[name]), value) for name, value in either.items()):
            continue
        hits = _hits(file, number, equal, either, is_one)
        if hits:
            yield from _rows(file, number, hits, names)
            if is_one:
                return


def _may_hold(column: Any, value: Any) -> bool:
    """Whether a column of a row group may hold the value, as far as its statistics say."""
    known = column.statistics
    if known is None:
        return True
    if known.has_null_count and known.null_count == column.num_values:
        return False
    if not known.has_min_max:
        return True
    least, most = known.min, known.max
    if isinstance(value, str) and isinstance(least, str):  # sorted as bytes on disk
        return bool(least.encode() <= value.encode() <= most.encode())
    return not isinstance(least, type(value)) or bool(least <= value <= most)


def _hits(
    file: pq.ParquetFile, group: int, equal: Mapping[str, Any], either: Mapping[str, Any], is_one: bool
) -> list[int]:
    """The places in a row group of the rows that fit."""
    import pyarrow.compute as pc

    asked = [*equal, *(name for name in either if name not in equal)]
    found: list[int] = []
    start = 0
    size = BATCH_ROWS if is_one else WIDE_BATCH_ROWS
    for rows in file.iter_batches(size, row_groups=[group], columns=asked, use_threads=False):
        masks = [pc.equal(rows.column(name), _scalar(rows, name, value)) for name, value in equal.items()]
        some = [pc.equal(rows.column(name), _scalar(rows, name, value)) for name, value in either.items()]
        if some:
            masks.append(functools.reduce(pc.or_kleene, some))
        found += [start + place for place in pc.indices_nonzero(functools.reduce(pc.and_kleene, masks)).to_pylist()]
        if is_one and found:
            break
        start += rows.num_rows
    return found


def _scalar(rows: pa.RecordBatch, name: str, value: Any) -> pa.Scalar:
    import pyarrow as pa

    return pa.scalar(value, rows.schema.field(name).type)


def _rows(file: pq.ParquetFile, group: int, hits: list[int], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The rows at those places; nothing after the last of them is unpacked."""
    import pyarrow as pa

    waiting = list(reversed(hits))
    start = 0
    size = BATCH_ROWS if len(hits) < MANY else WIDE_BATCH_ROWS
    for batch in file.iter_batches(size, row_groups=[group], columns=list(names), use_threads=False):
        taken = []
        while waiting and waiting[-1] < start + batch.num_rows:
            taken.append(waiting.pop() - start)
        if taken:
            yield batch.take(pa.array(taken, pa.int64())).select(list(names))
        if not waiting:
            return
        start += batch.num_rows


def _plain(row: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """Maps as dictionaries, as the engine gives them."""
    import pyarrow.types as types

    for field in schema:
        if types.is_map(field.type) and row[field.name] is not None:
            row[field.name] = dict(row[field.name])
    return row


class _opened:
    """A Parquet file for looking things up; its errors are ours."""

    def __init__(self, table: Table, path: Path) -> None:
        self._table, self._path = table, path
        self._file: pq.ParquetFile | None = None

    def __enter__(self) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        try:
            self._file = pq.ParquetFile(self._path, memory_map=True, pre_buffer=False)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self._file

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: object) -> None:
        import pyarrow as pa

        if self._file is not None:
            self._file.close()
        if isinstance(value, (pa.ArrowException, OSError, KeyError, ValueError, IndexError)):
            raise damaged(self._path, value, self._table.name) from value
