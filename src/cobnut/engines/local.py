"""How does one machine run a stage?

SQL runs in an embedded DuckDB, partition by partition, so that one partition fits in memory; maps run on Arrow batches
between two SQL steps. Every output becomes the next generation of its table; the tables are published in the order in
which the stage names them.

Not here: what the stages are (`stages`), other engines (`engines.spark`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.config.sections import Settings
from cobnut.errors import DataError, MachineError
from cobnut.records.columns import Column, Table, pa_schema
from cobnut.records.steps import Input, Job, Map, Output, Sql, Stage, Step, columns_of
from cobnut.storage.files import TEMPORARY_PREFIX, not_allowed, remove_tree, temporary_name, unreadable
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.tables import (
    Layers,
    TableDraft,
    TableVersion,
    first_damaged,
    parquet,
    partition_range,
    partitions_for,
    relation,
    remedy_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

BATCH_ROWS = 16_384
SCRATCH = "engine"


class Run(msgspec.Struct):
    """One run of a stage: the tables and segments it reads, what varies, and what it is told."""

    crawl: CrawlFolder
    stage: Stage
    segments: list[SegmentFolder] = []
    params: dict[str, Any] = {}
    given: dict[str, Any] = {}  # relation name to Arrow table
    files: dict[str, list[Path]] = {}  # relation name to Parquet files
    context: Any = None
    manifest: dict[str, Any] = {}
    rows_hint: int = 0
    skip_outputs: frozenset[str] = frozenset()  # tables that hold this run's work already
    expects: dict[str, int | None] = {}  # generation of a table that the other fields were made from
    on_partition: Callable[[Session, int, int], None] | None = None
    on_whole: Callable[[Session], None] | None = None
    on_publish: Callable[[str], None] | None = None  # called before each table is published; tests kill here


class Outcome(msgspec.Struct):
    """What a run made: rows of each table, relations collected, messages for the user."""

    rows: dict[str, int] = {}
    collected: dict[str, Any] = {}
    messages: list[str] = []
    partitions: int = 1


class Session:
    """Relations by name in one embedded database."""

    def __init__(self, memory_mib: int, threads: int, scratch: Path | None = None) -> None:
        import duckdb

        self._duckdb = duckdb
        self.connection = duckdb.connect(
            config={
                "memory_limit": f"{memory_mib}MiB",
                "threads": threads or os.cpu_count() or 1,
                # what does not fit in memory; the engine's default is a folder where the command was typed
                "temp_directory": "" if scratch is None else str(scratch),
            }
        )
        self.connection.execute("SET preserve_insertion_order = false")
        self._kinds: dict[str, str] = {}
        self._files: dict[str, list[Path]] = {}

    def close(self) -> None:
        """Forgets everything."""
        self.connection.close()

    def drop(self, name: str) -> None:
        """Forgets one relation."""
        kind = self._kinds.pop(name, None)
        self._files.pop(name, None)
        if kind == "arrow":
            self.connection.unregister(name)
        elif kind is not None:
            self.connection.execute(f"DROP {kind} {name}")

    def bind_files(
        self, name: str, columns: tuple[Column, ...], sources: list[tuple[Path, str | None]], where: str | None
    ) -> None:
        """Makes Parquet files one relation; the second of each source is the segment its rows come from."""
        self.drop(name)
        if not sources:
            self.bind_arrow(name, pa_schema(columns).empty_table())
            return
        plain = [c.name for c in columns if not (c.name == "segment" and sources[0][1] is not None)]
        selected = ", ".join(f'"{name}"' for name in plain)  # `fetch` is a word of SQL
        by_segment: dict[str | None, list[str]] = {}
        for path, segment in sources:
            by_segment.setdefault(segment, []).append(_literal(str(path)))
        parts = []
        for segment, paths in by_segment.items():
            more = "" if segment is None else f", {_literal(segment)} AS segment"
            parts.append(
                f"SELECT {selected}{more} FROM read_parquet([{', '.join(paths)}], hive_partitioning = false)"
                + (f" WHERE {where}" if where else "")
            )
        self._files[name] = [path for path, _ in sources]
        with _engine_errors(self, name):
            self.connection.execute(f"CREATE TEMP VIEW {name} AS {' UNION ALL '.join(parts)}")
        self._kinds[name] = "VIEW"

    def bind_layers(self, name: str, columns: tuple[Column, ...], files: Layers, where: str | None) -> None:
        """Makes the rows that hold of a table one relation."""
        self.drop(name)
        if not files:
            self.bind_arrow(name, pa_schema(columns).empty_table())
            return
        self._files[name] = list(files)
        with _engine_errors(self, name):
            self.connection.execute(f"CREATE TEMP VIEW {name} AS {relation(files, [c.name for c in columns], where)}")
        self._kinds[name] = "VIEW"

    def bind_arrow(self, name: str, rows: pa.Table) -> None:
        """Makes an Arrow table a relation."""
        self.drop(name)
        self.connection.register(name, rows)
        self._kinds[name] = "arrow"

    def bind_view(self, name: str, query: str) -> None:
        """Makes a query a relation."""
        self.drop(name)
        self.connection.execute(f"CREATE TEMP VIEW {name} AS {query}")
        self._kinds[name] = "VIEW"

    def run(self, step: Step, context: Any) -> None:
        """Runs one step; its output is a relation afterwards."""
        if isinstance(step, Sql):
            self.drop(step.output)
            with _engine_errors(self, step.name):
                self.connection.execute(f"CREATE TEMP TABLE {step.output} AS {step.text}")
            self._kinds[step.output] = "TABLE"
        elif isinstance(step, Map):
            import pyarrow as pa

            schema = pa_schema(step.columns)
            batches = step.function(self.batches(step.input), context)
            rows = pa.Table.from_batches([b.cast(schema) if b.schema != schema else b for b in batches], schema)
            self.bind_arrow(step.output, rows)

    def batches(self, name: str, order: str = "") -> Iterator[pa.RecordBatch]:
        """The rows of a relation, batch by batch."""
        return self.query(f"SELECT * FROM {name} {order}", name)

    def query(self, text: str, what: str) -> Iterator[pa.RecordBatch]:
        """The rows of a query, batch by batch; *what* it asks for is named in errors."""
        with _engine_errors(self, what):
            yield from self.connection.sql(text).to_arrow_reader(BATCH_ROWS)

    def table(self, name: str, columns: tuple[Column, ...]) -> pa.Table:
        """All rows of a relation as one Arrow table with exactly those columns."""
        import pyarrow as pa

        batches = list(self.batches(name))
        schema = pa_schema(columns)
        return pa.Table.from_batches(batches).select(schema.names).cast(schema) if batches else schema.empty_table()

    def count(self, name: str) -> int:
        """Rows of a relation."""
        # all of it: a result that is not read to its end bars the connection
        return int(self.connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0])

    def damaged_file(self) -> Path | None:
        """The first file of the present relations that cannot be read to its end."""
        return first_damaged(dict.fromkeys(path for paths in self._files.values() for path in paths))


class _engine_errors:
    """Turns the engine's errors into ours, naming the step."""

    def __init__(self, session: Session, step: str) -> None:
        self._session, self._duckdb, self._step = session, session._duckdb, step

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: object) -> None:
        if value is None or not isinstance(value, self._duckdb.Error):
            return
        line = str(value).splitlines()[0][:300]
        if "KeyboardInterrupt" in line:  # raised within a function of ours that the engine called
            raise KeyboardInterrupt from value
        if isinstance(value, (self._duckdb.OutOfMemoryException,)):
            raise MachineError(f"{self._step} ran out of memory ({line})", remedy="raise storage.memory_mib") from value
        if isinstance(value, self._duckdb.IOException) and "No space left" in str(value):
            raise MachineError(
                f"{self._step}: the disk is full ({line})", remedy="free some space, run it again"
            ) from value
        # the engine's own words do not always name the file
        if (path := self._session.damaged_file()) is not None:
            if unreadable(path) is not None:
                raise not_allowed(path) from value
            raise DataError(
                f"{self._step} met a damaged file ({line})", where=str(path), remedy=remedy_of(path)
            ) from value
        raise MachineError(f"{self._step} failed in the engine ({line})") from value


class LocalEngine:
    """Runs stages on this machine."""

    def __init__(self, settings: Settings) -> None:
        self.memory_mib = settings.storage.memory_mib
        self.partition_rows = settings.storage.partition_rows
        self.delta_least_rows, self.delta_share = settings.storage.delta_least_rows, settings.storage.delta_share
        self.threads = settings.engine.threads

    def run(self, run: Run) -> Outcome:
        """Runs all steps and publishes the outputs; either every row of a table is new or none is."""
        with ExitStack() as stack:
            versions = {
                i.name: stack.enter_context(version)
                for i in run.stage.inputs
                if i.source == "current" and i.table and (version := run.crawl.table(i.table).current()) is not None
            }
            _sweep_scratch(run.crawl.path)
            scratch = run.crawl.path / temporary_name(SCRATCH)
            stack.callback(remove_tree, scratch)
            session = Session(self.memory_mib, self.threads, scratch)
            stack.callback(session.close)
            return self._run(run, session, versions, stack)

    def _partitions(self, run: Run, versions: Mapping[str, TableVersion]) -> int:
        if run.stage.whole:
            return 1
        rows = max([run.rows_hint, *(v.rows for v in versions.values())])
        present = max([1, *(v.partitions for v in versions.values())])
        return max(present, partitions_for(rows, self.partition_rows))

    def _run(self, run: Run, session: Session, versions: Mapping[str, TableVersion], stack: ExitStack) -> Outcome:
        stage = run.stage
        outcome = Outcome(partitions=self._partitions(run, versions))
        _bind_params(session, stage, run.params)
        for source in stage.inputs:
            if source.source == "given":
                session.bind_arrow(source.name, run.given[source.name])
            elif not source.partitioned:
                _bind(session, source, run, versions, None)
        for step in stage.prelude:
            session.run(step, run.context)
        for name in stage.split:
            session.connection.execute(f"ALTER TABLE {name} RENAME TO {name}__all")
            session._kinds[f"{name}__all"] = session._kinds.pop(name)

        drafts = {}
        for output in stage.outputs:
            if output.table.name not in run.skip_outputs:
                count = outcome.partitions if output.table.bucket_column and not stage.whole else 1
                drafts[output.relation] = stack.enter_context(run.crawl.table(output.table).begin(count))
                outcome.messages += drafts[output.relation].messages
                _check_unchanged(run, drafts[output.relation], versions)
        finale_outputs = {s.output for s in stage.finale if not isinstance(s, Job)}

        collected: dict[str, list[pa.Table]] = {name: [] for name in stage.collected}
        columns = {s.output: s.columns for s in stage.all_steps() if not isinstance(s, Job)}
        for partition in range(outcome.partitions):
            low, high = partition_range(partition, outcome.partitions)
            for source in stage.inputs:
                if source.partitioned:
                    _bind(session, source, run, versions, None if stage.whole else (partition, outcome.partitions))
            for name in stage.split:
                session.bind_view(name, f"SELECT * FROM {name}__all WHERE bucket >= {low} AND bucket < {high}")
            for step in stage.steps:
                session.run(step, run.context)
            for name in stage.collected:
                collected[name].append(session.table(name, columns[name]))
            for output in stage.outputs:
                draft = drafts.get(output.relation)
                if draft is not None and output.relation not in finale_outputs:
                    self._write(session, stage, output, draft, versions, partition)
            if run.on_partition is not None:
                run.on_partition(session, partition, outcome.partitions)

        import pyarrow as pa

        for name in stage.split:
            session.bind_view(name, f"SELECT * FROM {name}__all")
        for name, pieces in collected.items():
            outcome.collected[name] = pa.concat_tables(pieces)
            session.bind_arrow(name, outcome.collected[name])
        for step in stage.finale:
            session.run(step, run.context)
        for name, draft in drafts.items():
            if name in finale_outputs:
                draft.write_partition(0, _ordered(session, name, draft.table))
        if run.on_whole is not None:
            run.on_whole(session)
        for output in stage.outputs:
            if output.relation not in drafts:
                continue
            if run.on_publish is not None:
                run.on_publish(output.table.name)
            drafts[output.relation].publish(stage.name, **run.manifest)
            outcome.rows[output.table.name] = drafts[output.relation].rows
        return outcome

    def _write(
        self, session: Session, stage: Stage, output: Output, draft: TableDraft, versions: Mapping[str, TableVersion],
        partition: int,
    ) -> None:  # fmt: skip
        """Writes one partition of an output: all its rows, or what changes as a delta to the base there is."""
        source = next((i.name for i in stage.inputs if i.source == "current" and i.table is output.table), None)
        if output.replaces is None or source is None or source not in versions:
            draft.write_partition(partition, _ordered(session, output.relation, output.table))
            return
        version, key = versions[source], output.table.key[0]
        changed = session.count(output.relation)
        shape = version.shape(partition)
        is_delta = version.partitions == draft.partitions and shape.base >= self.delta_least_rows
        if is_delta and not changed:
            draft.keep_partition(version, partition)
        elif is_delta and shape.delta + changed <= shape.base * self.delta_share:
            former = version.files(partition).delta
            newest = f"SELECT * FROM {output.relation}"
            if former:
                names = ", ".join(output.table.column_names)
                newest += f" UNION ALL SELECT {names} FROM {parquet(former)} ANTI JOIN {output.relation} USING ({key})"
            replaced = session.count(f"{output.replaces} SEMI JOIN {output.relation} USING ({key})")
            rows = shape.rows - replaced + changed
            draft.write_delta(version, partition, _sorted(session, newest, output.table), rows)
        else:
            names = ", ".join(output.table.column_names)
            others = f"SELECT {names} FROM {source} ANTI JOIN {output.relation} USING ({key})"
            whole = f"SELECT * FROM {output.relation} UNION ALL {others}"
            draft.write_partition(partition, _sorted(session, whole, output.table))


def _check_unchanged(run: Run, draft: TableDraft, versions: Mapping[str, TableVersion]) -> None:
    """Refuses to write on top of a version that this run has not read: another process was faster."""
    name = draft.table.name
    read = {
        v.generation.number if (v := versions.get(i.name)) is not None else None
        for i in run.stage.inputs
        if i.source == "current" and i.table is not None and i.table.name == name
    }
    if name in run.expects:
        read.add(run.expects[name])
    if read - {draft.parent}:
        raise MachineError(
            f"another process has written {name} meanwhile", where=str(run.crawl.path), remedy="run the command again"
        )


def _sweep_scratch(folder: Path) -> None:
    """Removes what the engines of killed runs on this machine left."""
    for path in folder.glob(f"{TEMPORARY_PREFIX}{SCRATCH}-*"):
        pid = path.name.removeprefix(f"{TEMPORARY_PREFIX}{SCRATCH}-").partition("-")[0]
        try:
            os.kill(int(pid), 0)
        except (ProcessLookupError, ValueError):
            remove_tree(path)
        except OSError:
            continue


def _ordered(session: Session, name: str, table: Table) -> Iterable[pa.RecordBatch]:
    """A relation's rows sorted by the table's key: sorted files are small, and their statistics find a key quickly."""
    return _sorted(session, f"SELECT * FROM {name}", table)


def _sorted(session: Session, query: str, table: Table) -> Iterable[pa.RecordBatch]:
    keys = ", ".join(f"{k} ASC NULLS LAST" for k in table.key)
    return session.query(f"SELECT * FROM ({query}) ORDER BY {keys}", table.name)


def _bind_params(session: Session, stage: Stage, params: Mapping[str, Any]) -> None:
    import pyarrow as pa

    if stage.params:
        session.bind_arrow("params", pa.Table.from_pylist([dict(params)], schema=pa_schema(stage.params)))


def _bind(
    session: Session, source: Input, run: Run, versions: Mapping[str, TableVersion], share: tuple[int, int] | None
) -> None:
    table = source.table
    if table is None:
        return
    where = None
    if share is not None and table_bucket(source) is not None:
        low, high = partition_range(*share)
        where = f"{table_bucket(source)} >= {low} AND {table_bucket(source)} < {high}"
    files: list[tuple[Path, str | None]] = []
    if source.source == "current":
        version = versions.get(source.name)
        none = Layers.of((), (), table.key[0])
        held = none if version is None else version.files(*share) if share else version.files()
        session.bind_layers(source.name, columns_of(source), held, where)
        return
    if source.source == "files":
        files = [(p, None) for p in run.files.get(source.name, [])]
    else:
        files = [(p, segment.name) for segment in run.segments for p in segment.part_files(table)]
    session.bind_files(source.name, columns_of(source), files, where)


def table_bucket(source: Input) -> str | None:
    """The column an input is partitioned by; a segment table is by its host unless it says otherwise."""
    assert source.table is not None
    if source.table.bucket_column is not None:
        return source.table.bucket_column
    return "bucket" if "bucket" in source.table.column_names else None


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
