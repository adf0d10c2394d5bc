"""How are the rows of a table read and written?

A Parquet table is a folder of generations; each generation holds one or more files per partition. Partition p of n
holds the host buckets [p * 65536 / n, (p + 1) * 65536 / n): contiguous, so that doubling n splits each partition in two
and readers can prune by the statistics of a file.

A partition is a *base*, sorted by key, and may have a *delta*: rows that replace those of the base with the same key,
or are new; and a *gone* file beside it, the keys of which nothing is left. A round writes these instead of everything;
a delta that has grown is folded in. Readers see the rows that hold (`storage.layers`, whose names are given here too).

Not here: publishing and locks (`storage.generations`), what the rows mean (`records.catalogue`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.errors import DataError
from cobnut.records.columns import Table
from cobnut.storage.conserve import each_in_its_place, each_key_once
from cobnut.storage.files import io_errors, link_or_copy
from cobnut.storage.generations import Draft, Generation, GenerationStore
from cobnut.storage.layers import (
    Layers,
    Shape,
    batches_of,
    damaged,
    first_damaged,
    layer_of,
    parquet,
    read_files,
    relation,
    remedy_of,
    rows_held,
    segment_remedy,
    shape_of,
)
from cobnut.storage.parts import ParquetFile

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Layers", "Shape", "TableDraft", "TableStore", "TableVersion", "batches_of", "checksum", "damaged", "first_damaged",
    "parquet", "partition_of", "partition_range", "partitions_for", "read_files", "relation", "remedy_of",
    "segment_remedy",
]  # fmt: skip

BUCKETS = 65_536
MOST_PARTITIONS = 4_096
KEPT_TOGETHER = ("crawldb", "pages", "linkdb")
"""Tables that stand for one another's having been written. A linkdb that is missing can be made anew."""


def partition_range(partition: int, partitions: int) -> tuple[int, int]:
    """First host bucket of a partition, and the first one after it."""
    return partition * BUCKETS // partitions, (partition + 1) * BUCKETS // partitions


def partition_of(bucket: int, partitions: int) -> int:
    """The partition that holds a host bucket (`partitions` is a power of two)."""
    return bucket * partitions // BUCKETS


def partitions_for(rows: int, rows_per_partition: int) -> int:
    """Number of partitions for a table of that many rows: a power of two."""
    count = 1
    while count * rows_per_partition < rows and count < MOST_PARTITIONS:
        count *= 2
    return count


class TableVersion:
    """One generation of a Parquet table, open for reading; a context manager."""

    def __init__(self, table: Table, generation: Generation) -> None:
        self.table, self.generation = table, generation
        self.manifest = generation.manifest
        self.partitions: int = int(self.manifest.get("partitions", 1))
        self.rows: int = int(self.manifest.get("rows", 0))

    def files(self, partition: int | None = None, of: int | None = None) -> Layers:
        """The files that may hold rows of partition `partition` of `of` (all files when not given)."""
        found: dict[str, list[Path]] = {"base": [], "delta": [], "gone": []}
        for entry in self.manifest.get("files", []):
            if partition is not None:
                low, high = partition_range(partition, of or self.partitions)
                first, last = partition_range(int(entry["partition"]), self.partitions)
                if first >= high or last <= low:
                    continue
            path = self.generation.path / entry["name"]
            if not path.exists():
                raise DataError(
                    f"a file of {self.table.name} is missing", where=str(path),
                    remedy=remedy_of(path),
                )  # fmt: skip
            found[layer_of(entry)].append(path)
        return Layers.of(found["base"], found["delta"], self.table.key[0], found["gone"])

    def shape(self, partition: int) -> Shape:
        """How many rows a partition's files have, and how many of the base do not hold any more."""
        return shape_of(e for e in self.manifest.get("files", []) if int(e["partition"]) == partition)

    def read(self, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
        """Rows as one Arrow table; `filters` as `pyarrow.parquet.read_table` takes them."""
        return read_files(self.table, self.files(), columns, filters)

    def close(self) -> None:
        """Ends the reading."""
        self.generation.close()

    def __enter__(self) -> TableVersion:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class TableStore:
    """One Parquet table of a crawl."""

    def __init__(self, path: Path, table: Table, *, lock_wait_s: float = 0.0, grace_s: float = 60.0) -> None:
        self.path, self.table = path, table
        self.generations = GenerationStore(path, table.name, lock_wait_s=lock_wait_s, grace_s=grace_s)

    def current(self) -> TableVersion | None:
        """The current version, held against removal; None when the table was never written."""
        generation = self.generations.current()
        if generation is None:
            self.check_lost()
            return None
        return TableVersion(self.table, generation)

    def check_lost(self) -> None:
        """A `DataError` when there is no version of a table that others show to have been there.

        The crawldb and the pages are written before the first segment is made; what holds segments came later.
        """
        if self.table.name not in KEPT_TOGETHER[:2]:
            return
        for name in KEPT_TOGETHER:
            other = None if name == self.table.name else GenerationStore(self.path.parent / name, name).current()
            if other is not None:
                with other:
                    if other.manifest.get("applied"):
                        raise DataError(
                            f"{self.table.name} is missing, though {name} holds {len(other.manifest['applied'])} "
                            "segments",
                            where=str(self.path), remedy="restore it from a backup, or crawl into a new folder",
                        )  # fmt: skip

    def manifest(self) -> dict[str, Any]:
        """The current manifest; empty when the table was never written."""
        version = self.current()
        if version is None:
            return {}
        with version:
            return dict(version.manifest)

    def read(self, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
        """All rows of the current version; an empty table when there is none."""
        version = self.current()
        if version is None:
            return read_files(self.table, [], columns, filters)
        with version:
            return version.read(columns, filters)

    def begin(self, partitions: int = 1) -> TableDraft:
        """Begins a new version under the writer's lock."""
        return TableDraft(self.table, self.generations.begin(), partitions)


class TableDraft:
    """A version being made: write each partition's rows, then `publish`. A context manager; unpublished is aborted."""

    def __init__(self, table: Table, draft: Draft, partitions: int) -> None:
        self.table, self.partitions, self._draft = table, partitions, draft
        self.messages = draft.messages
        self.store = draft.store.path  # the folder of the table
        self.parent = draft.parent  # number of the version that is current while this one is made
        self._files: list[dict[str, Any]] = []
        self.rows = 0

    def write_partition(self, partition: int, batches: Iterable[pa.RecordBatch | pa.Table]) -> int:
        """Writes all rows of one partition, sorted by key; rows written."""
        name = f"part-{partition:05d}.parquet"
        file = self._written(name, self.table, self._checked(partition, batches))
        self._add(name, partition, file.rows)
        return file.rows

    def write_delta(
        self, version: TableVersion, partition: int, batches: Iterable[pa.RecordBatch | pa.Table], rows: int,
        gone: Iterable[pa.RecordBatch | pa.Table] = (),
    ) -> None:  # fmt: skip
        """Takes the base of one partition over from *version* and gives it this delta; `rows` hold then in all.

        `batches` are sorted by key, and hold what the former delta held and nothing newer replaces. `gone` are the
        first keys of which nothing is left, sorted, one column; those of the former delta are among them.
        """
        self._keep(version, partition, delta=False)
        base = version.shape(partition).base
        name = f"delta-{partition:05d}.parquet"
        file = self._written(name, self.table, self._checked(partition, batches))
        self._add(name, partition, file.rows, replaced=base + file.rows - rows)
        keys = [batch for batch in gone if batch.num_rows]
        if keys:
            name = f"gone-{partition:05d}.parquet"
            self._add(name, partition, self._written(name, keys_of(self.table), keys).rows, gone=True)

    def _checked(
        self, partition: int, batches: Iterable[pa.RecordBatch | pa.Table]
    ) -> Iterator[pa.RecordBatch | pa.Table]:
        share = partition_range(partition, self.partitions)
        return each_key_once(each_in_its_place(batches, self.table, share, self.store), self.table, self.store)

    def _written(self, name: str, table: Table, batches: Iterable[pa.RecordBatch | pa.Table]) -> ParquetFile:
        file = ParquetFile(self._draft.path / name, table)
        try:
            for batch in batches:
                file.write(batch)
        except BaseException:
            file.abandon()
            raise
        file.close()
        return file

    def keep_partition(self, version: TableVersion, partition: int) -> None:
        """Takes one partition over unchanged from another version with as many partitions, at the cost of a link."""
        self._keep(version, partition, delta=True)

    def _keep(self, version: TableVersion, partition: int, delta: bool) -> None:
        for entry in version.manifest.get("files", []):
            if int(entry["partition"]) == partition and (delta or layer_of(entry) == "base"):
                with io_errors(self._draft.path, "link a partition"):
                    link_or_copy(version.generation.path / entry["name"], self._draft.path / entry["name"])
                self._files.append(dict(entry))
                self.rows += rows_held(entry)

    def _add(self, name: str, partition: int, rows: int, **layer: int | bool) -> None:
        path = self._draft.path / name
        size, digest = path.stat().st_size, checksum(path)
        entry = {"name": name, "partition": partition, "rows": rows, "bytes": size, "xxh3": digest, **layer}
        self._files.append(entry)
        self.rows += rows_held(entry)

    def publish(self, stage: str, **more: Any) -> int:
        """Makes this the current version; its number. `more` goes into the manifest (inputs, applied, settings)."""
        return self._draft.publish(
            {
                "table": self.table.name,
                "stage": stage,
                "partitions": self.partitions,
                "rows": self.rows,
                "files": sorted(self._files, key=lambda f: (f["partition"], f["name"])),
                **more,
            }
        )

    def abort(self) -> None:
        """Leaves the current version as it is."""
        self._draft.abort()

    def __enter__(self) -> TableDraft:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._draft.__exit__(kind, value, trace)


def keys_of(table: Table) -> Table:
    """A table of the first keys of a table, and nothing else."""
    name = table.key[0]
    column = next(c for c in table.columns if c.name == name)
    return msgspec.structs.replace(table, key=(name,), bucket_column=None, columns=(column,))


def checksum(path: Path) -> str:
    """xxh3-128 of a file, in hexadecimal."""
    import xxhash

    digest = xxhash.xxh3_128()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
