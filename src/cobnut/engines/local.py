"""How does one machine run a stage?

SQL runs in an embedded DuckDB, partition by partition, so that one partition fits in memory; maps run on Arrow batches
between two SQL steps. Every output becomes the next generation of its table; the tables are published in the order in
which the stage names them.

Not here: what the stages are (`stages`), other engines (`engines.spark`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.config.sections import Settings
from cobnut.engines import conserve
from cobnut.engines.session import Session
from cobnut.errors import MachineError, OutOfMemoryError
from cobnut.records.columns import Table, pa_schema
from cobnut.records.steps import Input, Job, Output, Stage, columns_of
from cobnut.storage.conserve import check_rows
from cobnut.storage.files import TEMPORARY_PREFIX, remove_tree, temporary_name
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.tables import (
    MOST_PARTITIONS,
    Layers,
    TableDraft,
    TableVersion,
    parquet,
    partition_range,
    partitions_for,
)

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

SCRATCH = "engine"
FINER = 4
"""As many times more partitions a run is tried again with when one did not fit in the memory a session may grow to."""
MOST_TRIES = 3


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
    on_again: Callable[[], None] | None = None  # all is done again in more partitions: what was gathered is void
    on_whole: Callable[[Session], None] | None = None
    on_publish: Callable[[str], None] | None = None  # called before each table is published; tests kill here


class Outcome(msgspec.Struct):
    """What a run made: rows of each table, relations collected, messages for the user."""

    rows: dict[str, int] = {}
    collected: dict[str, Any] = {}
    messages: list[str] = []
    partitions: int = 1
    keys: dict[str, conserve.Keys] = {}  # of each table, before and after


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
            for version in {v.table.name: v for v in versions.values()}.values():
                check_rows(version.table, version.generation.path, version.manifest)
            _sweep_scratch(run.crawl.path)
            scratch = run.crawl.path / temporary_name(SCRATCH)
            stack.callback(remove_tree, scratch)
            partitions = self._partitions(run, versions)
            told: list[str] = []
            for tries_left in reversed(range(MOST_TRIES)):
                try:
                    with ExitStack() as attempt:
                        session = Session(self.memory_mib, self.threads, scratch)
                        attempt.callback(session.close)
                        outcome = self._run(run, session, versions, attempt, partitions)
                        if session.short:
                            told.append(
                                f"memory was short: {', '.join(dict.fromkeys(session.short))} took "
                                f"{session.memory_mib} MiB instead of {self.memory_mib}"
                            )
                        outcome.messages += told
                        return outcome
                except OutOfMemoryError:
                    finer = partitions * FINER
                    if run.stage.whole or finer > MOST_PARTITIONS or not tries_left:
                        raise
                    partitions, told = finer, [f"memory was short: done again in {finer} partitions"]
                    if run.on_again is not None:
                        run.on_again()
            raise AssertionError("the last try returns or raises")

    def _partitions(self, run: Run, versions: Mapping[str, TableVersion]) -> int:
        if run.stage.whole:
            return 1
        rows = max([run.rows_hint, *(v.rows for v in versions.values())])
        present = max([1, *(v.partitions for v in versions.values())])
        return max(present, partitions_for(rows, self.partition_rows))

    def _run(
        self, run: Run, session: Session, versions: Mapping[str, TableVersion], stack: ExitStack, partitions: int
    ) -> Outcome:
        stage = run.stage
        outcome = Outcome(partitions=partitions)
        _bind_params(session, stage, run.params)
        for source in stage.inputs:
            if source.source == "given":
                session.bind_arrow(source.name, run.given[source.name])
            elif not source.partitioned:
                _bind(session, source, run, versions, None)
        for step in stage.prelude:
            is_split = not isinstance(step, Job) and step.output in stage.split
            session.run(step, run.context, "bucket" if is_split and partitions > 1 else "")
        for name in stage.split:
            session.rename(name, f"{name}__all")

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
            for name in stage.once:
                outcome.messages += conserve.told_twice(
                    session, stage.input(name), _segment_files(stage.input(name), run)
                )
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
                conserve.check_kept(session, next(o for o in stage.outputs if o.relation == name), draft)
        if run.on_whole is not None:
            run.on_whole(session)
        outcome.keys = conserve.sums(stage.outputs, drafts, {v.table.name: v for v in versions.values()})
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
        # in shares: a stage may see the whole table beside, and a partition is not to get all of it
        shares = (i.name for i in stage.inputs if i.source == "current" and i.table is output.table and i.partitioned)
        source = next(shares, None)
        if output.replaces is None or source is None or source not in versions:
            draft.write_partition(partition, _ordered(session, output.relation, output.table))
            conserve.check_kept(session, output, draft)
            return
        session.store(output.relation)
        version, key, names = versions[source], output.table.key[0], ", ".join(output.table.column_names)
        touched = f"SELECT {key} FROM {output.relation}"
        replaced = f"{output.replaces} SEMI JOIN {output.relation} USING ({key})"
        if output.removes:
            touched, replaced = f"{touched} UNION ALL SELECT {key} FROM {output.replaces}", output.replaces
        change = _Change(output.relation, names, key, f"({touched}) AS touched")
        changed, before = session.count(output.relation), session.count(replaced)
        shape = version.shape(partition)
        is_delta = version.partitions == draft.partitions and shape.base >= self.delta_least_rows
        if is_delta and not changed and not before:
            draft.keep_partition(version, partition)
        elif is_delta and shape.newer + changed <= shape.base * self.delta_share:
            files = version.files(partition)
            gone = session.query(change.gone(output.replaces, files), output.table.name) if output.removes else ()
            delta = _sorted(session, change.upon(parquet(files.delta) if files.delta else None), output.table)
            draft.write_delta(version, partition, delta, shape.rows - before + changed, gone)
        else:
            draft.write_partition(partition, _sorted(session, change.upon(source), output.table))


class _Change(msgspec.Struct, frozen=True):
    """Rows that change and their columns; the first key, and a relation of the keys that they are all the rows of."""

    rows: str
    names: str
    key: str
    touched: str

    def upon(self, former: str | None) -> str:
        """They and the rows of a former relation with other keys."""
        new = f"SELECT {self.names} FROM {self.rows}"
        if former is None:
            return new
        return f"{new} UNION ALL SELECT {self.names} FROM {former} ANTI JOIN {self.touched} USING ({self.key})"

    def gone(self, replaced: str, former: Layers) -> str:
        """Keys of which nothing is left, in their order: of the rows replaced now, and of those gone before."""
        names = [f"SELECT DISTINCT {self.key} FROM {replaced}"]
        if former.gone:
            names.append(f"SELECT {self.key} FROM {parquet(former.gone)}")
        left = f"({' UNION '.join(names)}) AS missed ANTI JOIN {self.rows} USING ({self.key})"
        return f"SELECT {self.key} FROM {left} ORDER BY {self.key} ASC NULLS LAST"


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


def _segment_files(source: Input, run: Run) -> list[Path]:
    assert source.table is not None
    return [path for segment in run.segments for path in segment.part_files(source.table)]


def table_bucket(source: Input) -> str | None:
    """The column an input is partitioned by; a segment table is by its host unless it says otherwise."""
    assert source.table is not None
    if source.table.bucket_column is not None:
        return source.table.bucket_column
    return "bucket" if "bucket" in source.table.column_names else None
