"""Is every key of a table there once, and are all rows there that were written?

Sums that cost next to nothing, at every reading and writing of a table. *Read*: each file has as many rows as the
manifest says. *Written*: rows come sorted by key, so that a key that is there twice stands beside itself; and each is
in the partition of its host, so that none is in two of them. What does not hold is an error before anything is
published.

Not here: whether a stage keeps the keys it was given (`engines.conserve`); damage that leaves the number of rows as it
was, which checksums show (`inspect.doctor`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cobnut.errors import DataError
from cobnut.records.columns import Table
from cobnut.storage.layers import rows_held

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SHOWN = 200
"""Characters of a key that an error names."""


def each_key_once(
    batches: Iterable[pa.RecordBatch | pa.Table], table: Table, store: Path
) -> Iterator[pa.RecordBatch | pa.Table]:
    """The same rows, which are sorted by key; a `DataError` at the first key that comes twice.

    `store` is the folder of the table: the error names the file in it that holds the key twice, if one does.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    last: list[Any] = []
    for batch in batches:
        for piece in batch.to_batches() if isinstance(batch, pa.Table) else [batch]:
            if not piece.num_rows:
                continue
            keys = [piece.column(name) for name in table.key]
            if last == [column[0].as_py() for column in keys]:
                raise twice(table, last, store)
            same = None
            for column in keys:
                equal = pc.equal(column.slice(1), column.slice(0, len(column) - 1))
                same = equal if same is None else pc.and_(same, equal)
            if pc.any(same).as_py():
                place = pc.index(same, True).as_py()
                raise twice(table, [column[place].as_py() for column in keys], store)
            last = [column[-1].as_py() for column in keys]
        yield batch


def each_in_its_place(
    batches: Iterable[pa.RecordBatch | pa.Table], table: Table, share: tuple[int, int], store: Path
) -> Iterator[pa.RecordBatch | pa.Table]:
    """The same rows; a `DataError` at the first batch with a host bucket that is not in the partition's range."""
    import pyarrow.compute as pc

    low, high = share
    for batch in batches:
        if table.bucket_column and batch.num_rows:
            found = pc.min_max(batch.column(table.bucket_column)).as_py()
            if found["min"] < low or found["max"] >= high:
                raise DataError(
                    f"{table.name} would hold rows of the host buckets {found['min']} to {found['max']} in a partition "
                    f"of {low} to {high - 1}; nothing was written",
                    where=str(store), remedy=f"`cobnut doctor {store.parent}` tells which table holds them so",
                )  # fmt: skip
        yield batch


def twice(table: Table, key: list[Any], store: Path) -> DataError:
    """The error for a key that comes twice; it names the file in `store`, the table's folder, that holds it twice."""
    from cobnut.storage.tables import remedy_of

    shown = " ".join(str(value)[:MOST_SHOWN] for value in key)
    for path in sorted(store.glob("g*/*.parquet"), reverse=True):  # the newest generation first
        if _has_twice(path, table, key):
            return DataError(
                f"{table.name} holds the key {shown!r} twice; nothing was written", where=str(path),
                remedy=remedy_of(path),
            )  # fmt: skip
    return DataError(
        f"{table.name} would hold the key {shown!r} twice; nothing was written", where=str(store),
        remedy=f"`cobnut doctor {store.parent}` tells which table or segment holds it twice",
    )  # fmt: skip


def _has_twice(path: Path, table: Table, key: list[Any]) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    wanted = [(name, "=", value) for name, value in zip(table.key, key, strict=True)]
    try:
        return bool(pq.read_table(path, columns=[table.key[0]], filters=wanted, partitioning=None).num_rows > 1)
    except (pa.ArrowException, OSError, ValueError):
        return False


def check_rows(table: Table, folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuses a generation, in `folder`, a file of which has other rows than its manifest says; reads footers alone."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cobnut.storage.tables import damaged, remedy_of

    total = 0
    for entry in manifest.get("files", []):
        path = folder / entry["name"]
        if not path.exists():
            return  # whoever reads it says so
        try:
            rows = pq.read_metadata(path).num_rows
        except (pa.ArrowException, OSError) as error:
            raise damaged(path, error, table.name) from error
        said = int(entry.get("rows", rows))
        total += rows_held({**entry, "rows": said})
        if rows != said:
            raise DataError(
                f"a file of {table.name} has {rows:,} rows, and its manifest says {said:,}", where=str(path),
                remedy=remedy_of(path),
            )  # fmt: skip
    if manifest.get("files") and total != manifest.get("rows", total):
        raise DataError(
            f"the files of {table.name} have {total:,} rows, and its manifest says {manifest['rows']:,}",
            where=str(folder), remedy=remedy_of(folder / "manifest.json"),
        )  # fmt: skip
