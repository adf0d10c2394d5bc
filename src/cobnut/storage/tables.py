"""How are the rows of a table read and written?

A Parquet table is a folder of generations; each generation holds one or more files per partition. Partition p of n
holds the host buckets [p * 65536 / n, (p + 1) * 65536 / n): contiguous, so that doubling n splits each partition in two
and readers can prune by the statistics of a file.

A partition is a *base*, sorted by key, and may have a *delta*: rows that replace those of the base with the same key,
or are new. A round writes a delta instead of everything; a delta that has grown is folded in.

Not here: publishing and locks (`storage.generations`), what the rows mean (`records.catalogue`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

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


class Layers(tuple[Path, ...]):
    """The files of a table: those of bases, then those of deltas, whose rows replace the bases' by `key`.

    As a sequence it is all of them, for who checks or copies files. `read_files`, `batches_of` and `relation` give the
    rows that hold.
    """

    base: tuple[Path, ...]
    delta: tuple[Path, ...]
    key: str

    @classmethod
    def of(cls, base: Iterable[Path], delta: Iterable[Path], key: str) -> Layers:
        """The files of some bases and their deltas."""
        base, delta = tuple(base), tuple(delta)
        layers = cls((*base, *delta))
        layers.base, layers.delta, layers.key = base, delta, key
        return layers


class Shape(NamedTuple):
    """Rows of a partition: those of its base, those of its delta, and how many of the base the delta replaces."""

    base: int
    delta: int
    replaced: int

    @property
    def rows(self) -> int:
        """The rows that hold."""
        return self.base + self.delta - self.replaced


class TableVersion:
    """One generation of a Parquet table, open for reading; a context manager."""

    def __init__(self, table: Table, generation: Generation) -> None:
        self.table, self.generation = table, generation
        self.manifest = generation.manifest
        self.partitions: int = int(self.manifest.get("partitions", 1))
        self.rows: int = int(self.manifest.get("rows", 0))

    def files(self, partition: int | None = None, of: int | None = None) -> Layers:
        """The files that may hold rows of partition `partition` of `of` (all files when not given)."""
        found: dict[bool, list[Path]] = {False: [], True: []}
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
            found["replaced" in entry].append(path)
        return Layers.of(found[False], found[True], self.table.key[0])

    def shape(self, partition: int) -> Shape:
        """How many rows a partition's base and delta have, and how many of the base the delta replaces."""
        entries = [e for e in self.manifest.get("files", []) if int(e["partition"]) == partition]
        base = sum(int(e["rows"]) for e in entries if "replaced" not in e)
        deltas = [e for e in entries if "replaced" in e]
        return Shape(base, sum(int(e["rows"]) for e in deltas), sum(int(e["replaced"]) for e in deltas))

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

    def write_delta(
        self, version: TableVersion, partition: int, batches: Iterable[pa.RecordBatch | pa.Table], rows: int
    ) -> None:
        """Takes the base of one partition over from *version* and gives it this delta; `rows` hold then in all.

        `batches` are sorted by key, and hold what the former delta held and nothing newer replaces.
        """
        self._keep(version, partition, delta=False)
        base = version.shape(partition).base
        name = f"delta-{partition:05d}.parquet"
        file = ParquetFile(self._draft.path / name, self.table)
        try:
            for batch in batches:
                file.write(batch)
        except BaseException:
            file.abandon()
            raise
        file.close()
        self._add(name, partition, file.rows, replaced=base + file.rows - rows)

    def keep_partition(self, version: TableVersion, partition: int) -> None:
        """Takes one partition over unchanged from another version with as many partitions, at the cost of a link."""
        self._keep(version, partition, delta=True)

    def _keep(self, version: TableVersion, partition: int, delta: bool) -> None:
        for entry in version.manifest.get("files", []):
            if int(entry["partition"]) == partition and (delta or "replaced" not in entry):
                with io_errors(self._draft.path, "link a partition"):
                    link_or_copy(version.generation.path / entry["name"], self._draft.path / entry["name"])
                self._files.append(dict(entry))
                self.rows += int(entry["rows"]) - int(entry.get("replaced", 0))

    def _add(self, name: str, partition: int, rows: int, replaced: int | None = None) -> None:
        path = self._draft.path / name
        self._files.append(
            {
                "name": name,
                "partition": partition,
                "rows": rows,
                "bytes": path.stat().st_size,
                "xxh3": checksum(path),
                **({} if replaced is None else {"replaced": replaced}),
            }
        )
        self.rows += rows - (replaced or 0)

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


def relation(files: Sequence[Path], columns: Iterable[str] = ("*",), where: str | None = None) -> str:
    """The rows of some Parquet files as a query of the embedded engine; of layers, the rows that hold.

    `where` may speak of columns only.
    """
    chosen = ", ".join(name if name == "*" else f'"{name}"' for name in columns)
    condition = f" WHERE {where}" if where else ""
    if not isinstance(files, Layers) or not files.delta:
        return f"SELECT {chosen} FROM {parquet(files)} AS base{condition}"
    delta = f"SELECT {chosen} FROM {parquet(files.delta)} AS delta{condition}"
    if not files.base:
        return delta
    newer = f'(SELECT "{files.key}" FROM {parquet(files.delta)}) AS newer'
    base = f'{parquet(files.base)} AS base ANTI JOIN {newer} USING ("{files.key}")'
    return f"SELECT {chosen} FROM {base}{condition} UNION ALL {delta}"


def parquet(files: Iterable[Path]) -> str:
    """Some Parquet files as the embedded engine reads them."""
    quoted = ", ".join("'" + str(path).replace("'", "''") + "'" for path in files)
    return f"read_parquet([{quoted}], hive_partitioning = false)"


def read_files(table: Table, files: Sequence[Path], columns: list[str] | None = None, filters: Any = None) -> pa.Table:
    """Rows of some Parquet files of a table as one Arrow table; a `DataError` names a damaged file."""
    if isinstance(files, Layers) and files.delta:
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
    newer = read_files(table, files.delta, [files.key]).column(0)
    return pa.concat_tables([rows.filter(_is_kept(rows.column(files.key), newer)).select(names), delta])


def _is_kept(keys: pa.ChunkedArray, newer: pa.ChunkedArray) -> pa.ChunkedArray:
    """Of each key of a base, whether no row of the delta replaces its row."""
    import pyarrow.compute as pc

    return pc.invert(pc.is_in(keys, value_set=newer))


def batches_of(
    table: Table, files: Sequence[Path], columns: list[str] | None = None, rows: int = 4_096
) -> Iterator[pa.RecordBatch]:
    """Rows of some Parquet files batch by batch, in constant memory; of layers, the rows that hold."""
    import pyarrow as pa

    if isinstance(files, Layers) and files.delta:
        newer = read_files(table, files.delta, [files.key]).column(0)
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
