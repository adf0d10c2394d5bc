"""Which rows hold, of a table that is made of bases and deltas?

A *base* is a file of rows sorted by key. A *delta* beside it replaces rows of the base: all that have one of its first
keys (`url_key`; of the linkdb `to_key`, so that a delta has every link to a page or none). A *gone* file names first
keys of which nothing is left: it has that one column. Whoever goes through `read_files`, `batches_of` or `relation`
gets the rows that hold and need not know of any of this.

Not here: where the files lie and who writes them (`storage.tables`), finding single rows (`storage.lookup`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cobnut.errors import DataError, MachineError
from cobnut.records.columns import Table
from cobnut.storage.files import not_allowed, unreadable

if TYPE_CHECKING:
    import pyarrow as pa


class Layers(tuple[Path, ...]):
    """The files of a table: those of bases, of deltas, and of what is gone.

    As a sequence it is all of them, for who checks or copies files. `key` is the column by which rows are replaced.
    """

    base: tuple[Path, ...]
    delta: tuple[Path, ...]
    gone: tuple[Path, ...]
    key: str

    @classmethod
    def of(cls, base: Iterable[Path], delta: Iterable[Path], key: str, gone: Iterable[Path] = ()) -> Layers:
        """The files of some bases, of their deltas, and of what is gone from them."""
        base, delta, gone = tuple(base), tuple(delta), tuple(gone)
        layers = cls((*base, *delta, *gone))
        layers.base, layers.delta, layers.gone, layers.key = base, delta, gone, key
        return layers

    @property
    def newer(self) -> tuple[Path, ...]:
        """The files whose keys say which rows of the bases do not hold any more."""
        return (*self.delta, *self.gone)


class Shape(NamedTuple):
    """Rows of a partition: of its base, of its delta, how many of the base do not hold, and how many keys are gone."""

    base: int
    delta: int
    replaced: int
    gone: int = 0

    @property
    def rows(self) -> int:
        """The rows that hold."""
        return self.base + self.delta - self.replaced

    @property
    def newer(self) -> int:
        """Rows of the files beside the base."""
        return self.delta + self.gone


def layer_of(entry: Mapping[str, Any]) -> str:
    """What a file of a manifest is: `base`, `delta` or `gone`."""
    return "gone" if entry.get("gone") else "delta" if entry.get("replaced") is not None else "base"


def rows_held(entry: Mapping[str, Any]) -> int:
    """What a file of a manifest adds to the rows that hold; a delta that removes more than it brings takes some away.

    The rows that a delta replaces, and those that are gone beside it, are one number, `replaced`.
    """
    return 0 if entry.get("gone") else int(entry.get("rows", 0)) - int(entry.get("replaced") or 0)


def shape_of(entries: Iterable[Mapping[str, Any]]) -> Shape:
    """The shape of a partition whose files a manifest lists so."""
    rows = {"base": 0, "delta": 0, "gone": 0}
    replaced = 0
    for entry in entries:
        rows[layer_of(entry)] += int(entry["rows"])
        replaced += int(entry.get("replaced") or 0)
    return Shape(rows["base"], rows["delta"], replaced, rows["gone"])


def relation(files: Sequence[Path], columns: Iterable[str] = ("*",), where: str | None = None) -> str:
    """The rows of some Parquet files as a query of the embedded engine; of layers, the rows that hold.

    `where` may speak of columns only.
    """
    chosen = ", ".join(name if name == "*" else f'"{name}"' for name in columns)
    condition = f" WHERE {where}" if where else ""
    if not isinstance(files, Layers) or not files.newer:
        return f"SELECT {chosen} FROM {parquet(files)} AS base{condition}"
    delta = f"SELECT {chosen} FROM {parquet(files.delta)} AS delta{condition}" if files.delta else None
    if not files.base and delta:
        return delta
    keys = " UNION ALL ".join(
        f'SELECT "{files.key}" FROM {parquet(paths)}' for paths in (files.delta, files.gone) if paths
    )
    base = f'{parquet(files.base)} AS base ANTI JOIN ({keys}) AS newer USING ("{files.key}")'
    held = f"SELECT {chosen} FROM {base}{condition}"
    return f"{held} UNION ALL {delta}" if delta else held


def parquet(files: Iterable[Path]) -> str:
    """Some Parquet files as the embedded engine reads them."""
    quoted = ", ".join("'" + str(path).replace("'", "''") + "'" for path in files)
    return f"read_parquet([{quoted}], hive_partitioning = false)"


def read_files(table: Table, files: Sequence[Path], columns: list[str] | None = None, filters: Any = None) -> pa.Table:
    """Rows of some Parquet files of a table as one Arrow table; a `DataError` names a damaged file."""
    if isinstance(files, Layers) and files.newer:
        return _read_layers(table, files, columns, filters)
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = table.schema()
    if columns is not None:
        schema = pa.schema([schema.field(c) for c in columns])
    pieces = []
    for path in files:
        try:
            pieces.append(pq.read_table(path, columns=columns, filters=filters, partitioning=None).cast(schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, KeyError, ValueError) as error:
            raise damaged(path, error, table.name) from error
    return pa.concat_tables(pieces) if pieces else schema.empty_table()


def _read_layers(table: Table, files: Layers, columns: list[str] | None, filters: Any) -> pa.Table:
    import pyarrow as pa

    names = list(table.column_names if columns is None else columns)
    wanted = names if files.key in names else [*names, files.key]
    rows = read_files(table, files.base, wanted, filters)
    delta = read_files(table, files.delta, names, filters)
    holds = _is_kept(rows.column(files.key), newer_keys(table, files))
    return pa.concat_tables([rows.filter(holds).select(names), delta])


def newer_keys(table: Table, files: Layers) -> pa.ChunkedArray:
    """The first keys of which the bases' rows do not hold any more."""
    return read_files(table, files.newer, [files.key]).column(0)


def _is_kept(keys: pa.ChunkedArray, newer: pa.ChunkedArray) -> pa.ChunkedArray:
    """Of each key of a base, whether its row holds."""
    import pyarrow.compute as pc

    return pc.invert(pc.is_in(keys, value_set=newer))


def batches_of(
    table: Table, files: Sequence[Path], columns: list[str] | None = None, rows: int = 4_096
) -> Iterator[pa.RecordBatch]:
    """Rows of some Parquet files batch by batch, in constant memory; of layers, the rows that hold."""
    import pyarrow as pa

    if isinstance(files, Layers) and files.newer:
        newer = newer_keys(table, files)
        for path in files.base:
            # all keys at once: for each batch anew, the set of newer ones would be made as often
            holds = _is_kept(read_files(table, [path], [files.key]).column(0), newer)
            place = 0
            for batch in batches_of(table, [path], columns, rows):
                kept = batch.filter(holds.slice(place, batch.num_rows).combine_chunks())
                place += batch.num_rows
                if kept.num_rows:
                    yield kept
        yield from batches_of(table, files.delta, columns, rows)
        return
    import pyarrow.parquet as pq

    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                yield from file.iter_batches(batch_size=rows, columns=columns)
        except (pa.ArrowInvalid, OSError) as error:
            raise damaged(path, error, table.name) from error


def damaged(path: Path, error: Exception, what: str) -> DataError | MachineError:
    """The clear error for a Parquet file that cannot be read."""
    if unreadable(path) is not None:
        return not_allowed(path)
    line = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
    return DataError(f"a file of {what} is damaged ({line})", where=str(path), remedy=remedy_of(path))


def first_damaged(files: Iterable[Path]) -> Path | None:
    """The first of some Parquet files that cannot be read to its end, lacks a column of its table, or is not as it was
    sealed: what one reader minds in a foot another passes over."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cobnut.storage import seals

    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                if not _columns_of(path) <= set(file.schema_arrow.names):
                    return path
                for _ in file.iter_batches():
                    pass
            if seals.is_whole(path) is False:
                return path
        except (pa.ArrowException, OSError):
            return path
    return None


def _columns_of(path: Path) -> set[str]:
    """The columns that a file has by its place, DIR/TABLE/GENERATION/FILE or SEGMENT/TABLE/FILE; what it may do without
    is not among them."""
    from cobnut.records.catalogue import TABLES

    if path.name.startswith("gone-"):
        return set()
    name = path.parent.parent.name if path.parent.name.startswith("g0") else path.parent.name
    return next((set(table.column_names) for table in TABLES if table.name == name), set())


def remedy_of(path: Path) -> str:
    """What helps when a table's file is damaged: a crawl's tables have former versions, a segment's come from others.

    `path` is DIR/TABLE/GENERATION/FILE, or DIR/segments/SEGMENT/TABLE/FILE.
    """
    segment, table = path.parent.parent, path.parent.name
    if segment.parent.name != "segments":
        return f"use `cobnut rollback {segment.parent} {segment.name}`, or restore it"
    crawl = segment.parent.parent
    if table in ("parsed", "links"):
        folders = f"{segment / 'parsed'} and {segment / 'links'}"
        return f"remove {folders} and run `cobnut parse {crawl} {segment.name}`"
    if table == "linked":
        return f"remove it and run `cobnut updatesegs {crawl}`"
    return segment_remedy(segment)


def segment_remedy(segment: Path) -> str:
    """What helps when nothing else can make a segment's file again."""
    return f"restore it, or remove {segment}: what is not in the crawldb yet is fetched again in a later round"
