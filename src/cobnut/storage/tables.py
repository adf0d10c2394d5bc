"""How are the rows of a table read and written?

A Parquet table is a folder of generations; each generation holds one or more files per partition. Partition p of n
holds the host buckets [p * 65536 / n, (p + 1) * 65536 / n): contiguous, so that doubling n splits each partition in two
and readers can prune by the statistics of a file.

Not here: publishing and locks (`storage.generations`), what the rows mean (`records.catalogue`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from cobnut.errors import DataError, MachineError
from cobnut.records.columns import Table
from cobnut.storage.files import io_errors, link_or_copy, not_allowed, unreadable
from cobnut.storage.generations import Draft, Generation, GenerationStore
from cobnut.storage.parts import ParquetFile

if TYPE_CHECKING:
    import pyarrow as pa

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

    def files(self, partition: int | None = None, of: int | None = None) -> list[Path]:
        """The files that may hold rows of partition `partition` of `of` (all files when not given)."""
        found = []
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
            found.append(path)
        return found

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
        self.parent = draft.parent  # number of the version that is current while this one is made
        self._files: list[dict[str, Any]] = []
        self.rows = 0

    def write_partition(self, partition: int, batches: Iterable[pa.RecordBatch | pa.Table]) -> int:
        """Writes all rows of one partition; rows written."""
        name = f"part-{partition:05d}.parquet"
        file = ParquetFile(self._draft.path / name, self.table)
        try:
            for batch in batches:
                file.write(batch)
        except BaseException:
            file.abandon()
            raise
        file.close()
        self._add(name, partition, file.rows)
        return file.rows

    def keep_partition(self, version: TableVersion, partition: int) -> None:
        """Takes one partition over unchanged from another version with as many partitions, at the cost of a link."""
        for entry in version.manifest.get("files", []):
            if int(entry["partition"]) == partition:
                with io_errors(self._draft.path, "link a partition"):
                    link_or_copy(version.generation.path / entry["name"], self._draft.path / entry["name"])
                self._files.append(dict(entry))
                self.rows += int(entry["rows"])

    def _add(self, name: str, partition: int, rows: int) -> None:
        path = self._draft.path / name
        self._files.append(
            {
                "name": name,
                "partition": partition,
                "rows": rows,
                "bytes": path.stat().st_size,
                "xxh3": checksum(path),
            }
        )
        self.rows += rows

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


def checksum(path: Path) -> str:
    """xxh3-128 of a file, in hexadecimal."""
    import xxhash

    digest = xxhash.xxh3_128()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def read_files(table: Table, files: list[Path], columns: list[str] | None = None, filters: Any = None) -> pa.Table:
    """Rows of some Parquet files of a table as one Arrow table; a `DataError` names a damaged file."""
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


def batches_of(
    table: Table, files: list[Path], columns: list[str] | None = None, rows: int = 4_096
) -> Iterator[pa.RecordBatch]:
    """Rows of some Parquet files batch by batch, in constant memory."""
    import pyarrow as pa
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
    """The first of some Parquet files that cannot be read to its end."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                for _ in file.iter_batches():
                    pass
        except (pa.ArrowException, OSError):
            return path
    return None


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
