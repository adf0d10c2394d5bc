"""How does a worker write its part of a segment's table?

A part is one Parquet file that appears whole or not at all: written under a temporary name, sealed with its checksum,
fsynced, renamed. Once it has its name its rows are *acknowledged*: nothing will produce them again.

Not here: what a seal is (`storage.seals`).
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from cobnut.records.columns import Table
from cobnut.storage import seals
from cobnut.storage.files import fsync_file, fsync_folder, io_errors, temporary_name

if TYPE_CHECKING:
    import pyarrow as pa

COMPRESSION = "zstd"
LEVEL = {"segment": 3, "crawl": 1}
"""Texts and headers are worth the effort. The crawl's tables, keys in order and words that repeat, are no smaller for
it, and are written at every round."""
ROW_GROUP_ROWS = 65_536


def part_name(number: int, sequence: int | None = None) -> str:
    """`part-00003` or `part-00003-00017`: the part, and the running number of the writer's file within it."""
    return f"part-{number:05d}" if sequence is None else f"part-{number:05d}-{sequence:05d}"


class ParquetFile:
    """Writes one Parquet file of a table under exactly the path given; durable only after `close`.

    `is_sealed`: it carries its own checksum; without that, a manifest has it.
    """

    def __init__(
        self, path: Path, table: Table, row_group_rows: int = ROW_GROUP_ROWS, *, is_sealed: bool = False
    ) -> None:
        import pyarrow.parquet as pq

        self.path, self.table, self.rows = path, table, 0
        self._row_group_rows, self._is_sealed = row_group_rows, is_sealed
        with io_errors(path, "write"):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer: Any = pq.ParquetWriter(
                path, table.schema(), compression=COMPRESSION, compression_level=LEVEL[table.scope],
                write_statistics=True, use_dictionary=_with_dictionary(table),
            )  # fmt: skip

    def write(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Adds rows whose columns are those of the table, in order."""
        import pyarrow as pa

        if rows.num_rows == 0:
            return
        if isinstance(rows, pa.RecordBatch):
            rows = pa.Table.from_batches([rows])
        schema = self.table.schema()
        if not rows.schema.equals(schema):
            rows = rows.select(schema.names).cast(schema)
        with io_errors(self.path, "write"):
            self._writer.write_table(rows, row_group_size=self._row_group_rows)
        self.rows += rows.num_rows

    def close(self) -> None:
        """Closes and fsyncs the file."""
        with io_errors(self.path, "write"):
            if self._is_sealed:
                self._writer.add_key_value_metadata(seals.UNSEALED)
            self._writer.close()
            if self._is_sealed:
                seals.seal(self.path)
            fsync_file(self.path)

    def abandon(self) -> None:
        """Closes without making anything durable."""
        with contextlib.suppress(OSError):
            self._writer.close()


@cache
def _with_dictionary(table: Table) -> list[str]:
    """The columns worth a dictionary: one of keys that come once each costs time and adds to the size."""
    import pyarrow.parquet as pq

    once = table.key if table.scope == "crawl" or len(table.key) == 1 else ()
    nothing = io.BytesIO()
    pq.write_table(table.schema().empty_table(), nothing)
    schema = pq.read_metadata(nothing).schema  # which has the names of what lies within lists and maps
    return [path for n in range(len(schema)) if (path := schema.column(n).path) not in once]


class PartWriter:
    """Writes `folder/NAME.parquet` so that it appears whole, durable, or not at all."""

    def __init__(self, folder: Path, table: Table, name: str, row_group_rows: int = ROW_GROUP_ROWS) -> None:
        self.folder, self.name = folder, name
        self.path = folder / f"{name}.parquet"
        self._temporary = folder / temporary_name(name)
        self._file = ParquetFile(self._temporary, table, row_group_rows, is_sealed=True)

    @property
    def rows(self) -> int:
        """Rows written so far."""
        return self._file.rows

    def write(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Adds rows."""
        self._file.write(rows)

    def close(self) -> Path:
        """Makes the part durable under its name, which it returns."""
        self._file.close()
        with io_errors(self.path, "publish"):
            os.replace(self._temporary, self.path)
            fsync_folder(self.folder)
        return self.path

    def abort(self) -> None:
        """Leaves no trace."""
        self._file.abandon()
        self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


def part_files(folder: Path) -> list[Path]:
    """The complete parts in a folder, in name order; unfinished ones do not count."""
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.iterdir() if p.suffix == ".parquet" and not p.name.startswith("."))


def write_part(folder: Path, table: Table, name: str, batches: Iterable[pa.RecordBatch | pa.Table]) -> int:
    """Writes a whole part at once; rows written."""
    with PartWriter(folder, table, name) as writer:
        for batch in batches:
            writer.write(batch)
    return writer.rows
