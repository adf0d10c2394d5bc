"""What does a stage's SQL run in on this machine?

A session is an embedded DuckDB with relations by name: bound from files, from Arrow tables, or made by a step. Its
errors are ours: they name the step, and the damaged file where there is one.

Not here: which steps run and where their rows go (`engines.local`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from cobnut.errors import DataError, MachineError, OutOfMemoryError
from cobnut.records.columns import Column, pa_schema
from cobnut.records.steps import Lazy, Map, Sql, Step
from cobnut.storage.files import not_allowed, unreadable
from cobnut.storage.tables import Layers, first_damaged, relation, remedy_of

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

T = TypeVar("T")

BATCH_ROWS = 16_384
MOST_GROWTH = 4  # times the memory that is set may be taken for what cannot be divided, as the rows of one huge host


class Session:
    """Relations by name in one embedded database."""

    def __init__(self, memory_mib: int, threads: int, scratch: Path | None = None) -> None:
        import duckdb

        self._duckdb = duckdb
        self._set_mib = self.memory_mib = memory_mib
        self.short: list[str] = []  # what had no room in the memory that is set, and got more
        self.connection = duckdb.connect(
            config={
                "memory_limit": f"{memory_mib}MiB",
                "threads": threads or os.cpu_count() or 1,
                # what does not fit in memory; the engine's default is a folder where the command was typed
                "temp_directory": "" if scratch is None else str(scratch),
            }
        )
        self.connection.execute("SET preserve_insertion_order = false")
        # each partition reads other rows: what is kept of a file would only take the room that these need
        self.connection.execute("SET enable_external_file_cache = false")
        # in a program without a file of its own it would be drawn upon standard output
        self.connection.execute("SET enable_progress_bar = false")
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

    def store(self, name: str) -> None:
        """Makes a lazy relation now, once, because it will be read several times."""
        if self._kinds.get(name) != "VIEW":
            return
        with _engine_errors(self, name):
            self._execute(f"CREATE TEMP TABLE {name}__stored AS SELECT * FROM {name}", name)
        self.drop(name)
        self._kinds[f"{name}__stored"] = "TABLE"
        self.rename(f"{name}__stored", name)

    def rename(self, name: str, new: str) -> None:
        """Gives a relation that a step has made another name."""
        self.connection.execute(f"ALTER TABLE {name} RENAME TO {new}")
        self._kinds[new] = self._kinds.pop(name)

    def run(self, step: Step, context: Any, order: str = "") -> None:
        """Runs one step; its output is a relation afterwards. One that is read in shares is put in their order, so
        that a share is found without reading all."""
        if isinstance(step, Sql):
            self.drop(step.output)
            with _engine_errors(self, step.name):
                kind = "VIEW" if isinstance(step, Lazy) else "TABLE"
                text = f"SELECT * FROM ({step.text}) ORDER BY {order}" if order else step.text
                self._execute(f"CREATE TEMP {kind} {step.output} AS {text}", step.name)
            self._kinds[step.output] = kind
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
            reader, first = self._growing(lambda: self._begun(text), what)
            yield from first
            yield from reader

    def table(self, name: str, columns: tuple[Column, ...]) -> pa.Table:
        """All rows of a relation as one Arrow table with exactly those columns."""
        import pyarrow as pa

        batches = list(self.batches(name))
        schema = pa_schema(columns)
        return pa.Table.from_batches(batches).select(schema.names).cast(schema) if batches else schema.empty_table()

    def count(self, name: str) -> int:
        """Rows of a relation."""
        # all of it: a result that is not read to its end bars the connection
        return int(self._execute(f"SELECT count(*) FROM {name}", name).fetchall()[0][0])

    def _execute(self, text: str, what: str) -> Any:
        return self._growing(lambda: self.connection.execute(text), what)

    def _begun(self, text: str) -> tuple[Any, list[pa.RecordBatch]]:
        """A query whose first rows are there: what sorts or gathers has done so by then."""
        reader = self.connection.sql(text).to_arrow_reader(BATCH_ROWS)
        for first in reader:
            return reader, [first]
        return reader, []

    def _growing(self, begin: Callable[[], T], what: str) -> T:
        """Does what needs memory, with more of it when it has not enough: a statement that fails has done nothing."""
        while True:
            try:
                return begin()
            except self._duckdb.OutOfMemoryException:
                if self.memory_mib >= self._set_mib * MOST_GROWTH:
                    raise
                self.memory_mib *= 2
                self.short.append(what)
                self.connection.execute(f"SET memory_limit = '{self.memory_mib}MiB'")

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
            raise OutOfMemoryError(
                f"{self._step} ran out of memory ({line})", remedy="raise storage.memory_mib, or free some disk space"
            ) from value
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


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
