"""How does a whole table become a file that another program reads?

The rows of a table that hold now, all of them or those that are meant, in the order of their key and with all their
columns, as JSON lines, CSV or Parquet. They stream through in batches: a table of any size takes the same memory, and
what is to be sorted beyond it is sorted on disk.

Values are those that are stored, typed: times in ms since 1970 UTC (or ISO 8601, when asked for), scores in millionths,
bytes as hexadecimal text in JSON and CSV, maps and lists as such in JSON and Parquet and as JSON in CSV. `url` is
written out where a table leaves it NULL because it equals the normalised form.

In CSV every text is quoted and NULL is an empty field without quotes. A cell is what is stored, character by character:
a spreadsheet takes one that begins with `=`, `+`, `-` or `@` for a formula. With `spreadsheet` such texts get an
apostrophe before them, and are no longer what is stored.

Not here: rows for a person (`inspect.tables`), Nutch's forms (`interop.nutch_export`).
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import msgspec

from cobnut.errors import InputError
from cobnut.inspect.show import data
from cobnut.inspect.tables import (
    SEGMENT_TABLES,
    Selection,
    conditions,
    engine,
    engine_errors,
    held,
    partition_with,
    provide_url,
)
from cobnut.records import catalogue
from cobnut.records.columns import Column, Table
from cobnut.records.steps import SEGMENT_COLUMN
from cobnut.storage.conserve import check_rows
from cobnut.storage.files import TEMPORARY_PREFIX, fsync_folder, io_errors, maker_lives, remove_tree, temporary_name
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.tables import parquet
from cobnut.urls.nearest import unknown_name

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

Format = Literal["jsonl", "csv", "parquet"]
Times = Literal["ms", "iso"]
Write = Callable[["pa.RecordBatch"], None]

BATCH_ROWS = 8_192
MEMORY_MIB = 512
_COLD = tuple(c for c in catalogue.PAGES.columns if c.name not in catalogue.CRAWLDB.column_names)
JOINED = Table(
    "crawldb+pages", "crawl", ("url_key",), "bucket", (), "All that is known of every URL: both side by side.",
    (*catalogue.CRAWLDB.columns, *_COLD),
)  # fmt: skip
DUMPED: dict[str, Table] = {t.name: t for t in (*catalogue.TABLES, JOINED)}
"""The tables that can be dumped, by name."""
_URLS = (("url", "url_key"), ("to_url", "to_key"))


class Dump(msgspec.Struct, frozen=True):
    """What is to be dumped, and in which form."""

    table: Table
    form: Format = "jsonl"
    selection: Selection = Selection()
    statuses: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    segments: tuple[SegmentFolder, ...] = ()
    times: Times = "ms"
    spreadsheet: bool = False

    def all_columns(self) -> tuple[Column, ...]:
        """The columns there are; rows of a segment's table say first which segment it is."""
        more = (SEGMENT_COLUMN,) if self.table.name in SEGMENT_TABLES else ()
        return (*more, *self.table.columns)

    def wide(self) -> Table:
        """The table with all columns that a condition may name."""
        return msgspec.structs.replace(self.table, columns=self.all_columns())

    def chosen(self) -> tuple[Column, ...]:
        """The columns that are written, in order."""
        known = {column.name: column for column in self.all_columns()}
        if self.columns is None:
            return tuple(known.values())
        for name in self.columns:
            if name not in known:
                raise unknown_name("column", name, set(known))
        return tuple(known[name] for name in dict.fromkeys(self.columns))


def table_of(name: str) -> Table:
    """The table of that name; an `InputError` names the nearest."""
    if name not in DUMPED:
        raise unknown_name("table", name, set(DUMPED))
    return DUMPED[name]


def dump(crawl: CrawlFolder, wanted: Dump, out: BinaryIO, scratch: Path) -> int:
    """Writes the rows to a stream; how many. `scratch` is a folder for what is sorted on disk; it is removed again."""
    with ExitStack() as stack:
        source, files = _source(crawl, wanted, stack)
        write, close = _writer(wanted, out)
        rows = 0
        try:
            if source:
                for batch in _batches(wanted, source, files, scratch):
                    write(batch)
                    rows += batch.num_rows
        except BaseException:
            with suppress(Exception):  # what cannot be ended now would complain when it is forgotten
                close()
            raise
        close()
        return rows


@contextmanager
def whole_file(path: Path, doing: str = "write the dump") -> Iterator[BinaryIO]:
    """A file that appears whole under its name, or not at all; a device or a pipe is written to as it comes."""
    if path.is_dir():
        raise InputError("a folder is in the way", where=str(path), remedy="name a file")
    if path.exists() and not path.is_file():
        with io_errors(path, doing), open(path, "wb") as stream:
            yield stream
        return
    path = path.resolve()  # what a link leads to is replaced, not the link
    temporary = path.with_name(temporary_name(path.name))
    for left in path.parent.glob(f"{TEMPORARY_PREFIX}{glob.escape(path.name)}-*"):  # by a dump that was killed
        if not maker_lives(left.name):
            remove_tree(left) if left.is_dir() else left.unlink(missing_ok=True)
    try:
        with io_errors(path, doing):
            with open(temporary, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            fsync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _source(crawl: CrawlFolder, wanted: Dump, stack: ExitStack) -> tuple[str, list[Path]]:
    """The relation to be selected from, in the engine's SQL, and its files; nothing when there are none."""
    table = wanted.table
    if table.name in SEGMENT_TABLES:
        parts, files = [], []
        for segment in wanted.segments:
            own = segment.part_files(table)
            if own:
                literal = "'" + segment.name.replace("'", "''") + "'"
                parts.append(f"SELECT {literal} AS segment, * FROM {parquet(own)}")
                files += own
        return (f"({' UNION ALL '.join(parts)}) AS held" if parts else ""), files
    if table is JOINED:
        hot, hot_files = _current(crawl, catalogue.CRAWLDB, wanted.selection, stack)
        cold, cold_files = _current(crawl, catalogue.PAGES, wanted.selection, stack)
        if not hot_files:
            return "", []
        names = ", ".join(f'cold."{c.name}"' if cold_files else f'NULL AS "{c.name}"' for c in _COLD)
        join = f"LEFT JOIN (SELECT * FROM {cold}) AS cold ON cold.url_key = hot.url_key" if cold_files else ""
        return f"(SELECT hot.*, {names} FROM (SELECT * FROM {hot}) AS hot {join}) AS held", [*hot_files, *cold_files]
    return _current(crawl, table, wanted.selection, stack)


def _current(crawl: CrawlFolder, table: Table, selection: Selection, stack: ExitStack) -> tuple[str, list[Path]]:
    version = crawl.table(table).current()
    if version is None:
        return "", []
    stack.enter_context(version)  # held against removal for as long as rows are read
    check_rows(table, version.generation.path, version.manifest)
    files = version.files(partition_with(table, version, selection.bucket))
    return (held(files) if files else ""), list(files)


def _batches(wanted: Dump, source: str, files: list[Path], scratch: Path) -> Iterator[pa.RecordBatch]:
    table, selection = wanted.table, wanted.selection
    clauses, params = conditions(wanted.wide(), selection)
    if wanted.statuses:
        clauses.append(f'"status" IN ({", ".join("?" for _ in wanted.statuses)})')
        params += wanted.statuses
    chosen = wanted.chosen()
    names = [column.name for column in chosen]
    names += [key for url, key in _URLS if url in names and key in table.column_names and key not in names]
    sql = f"SELECT {', '.join(_quoted(name) for name in names)} FROM {source}"
    if clauses:
        sql += " WHERE " + " AND ".join(clauses)
    sql += " ORDER BY " + ", ".join(f"{name} ASC NULLS LAST" for name in _order(wanted))
    if selection.limit is not None:
        sql += f" LIMIT {int(selection.limit)}"
    schema = _schema(wanted, chosen)
    try:
        with engine(MEMORY_MIB, scratch) as connection, engine_errors(table, files, selection.where):
            provide_url(connection, sql)
            for batch in _stream(connection, sql, params):
                yield _finished(wanted, batch, chosen, schema)
    finally:
        remove_tree(scratch)


def _stream(connection: duckdb.DuckDBPyConnection, sql: str, params: list[Any]) -> Iterator[pa.RecordBatch]:
    yield from connection.sql(sql, params=params).to_arrow_reader(BATCH_ROWS)


def _order(wanted: Dump) -> list[str]:
    """The key, and of rows that share one whatever else can be compared: the same rows come in the same order."""
    table = wanted.table
    names = [*(("segment",) if table.name in SEGMENT_TABLES else ()), *table.key]
    if table.scope == "segment":
        long = ("text", "main_text", "title", "description", "body")
        plain = (c.name for c in table.columns if c.type not in ("map", "strings", "anchors") and c.name not in long)
        names += [name for name in plain if name not in names]
    return [_quoted(name) for name in names]


def _quoted(name: str) -> str:
    return f'"{name}"'


def _schema(wanted: Dump, chosen: Sequence[Column]) -> pa.Schema:
    import pyarrow as pa

    from cobnut.records.columns import pa_schema

    stored = pa_schema(tuple(chosen))
    if wanted.times == "ms":
        return stored
    kind = pa.timestamp("ms", "UTC") if wanted.form == "parquet" else pa.string()
    return pa.schema([pa.field(f.name, kind, f.nullable) if _is_time(f.name) else f for f in stored])


def _is_time(name: str) -> bool:
    return name.endswith("_at")


def _finished(wanted: Dump, batch: pa.RecordBatch, chosen: Sequence[Column], schema: pa.Schema) -> pa.RecordBatch:
    """The batch with its URLs written out and its times in the form that was asked for."""
    import pyarrow as pa

    arrays = []
    for column, field in zip(chosen, schema, strict=True):
        values = batch.column(column.name)
        key = dict(_URLS).get(column.name)
        if key in batch.schema.names and values.null_count:
            values = _written_out(values, batch.column(key))
        if wanted.times == "iso" and _is_time(column.name):
            values = _iso(values) if wanted.form != "parquet" else values.cast(pa.int64())
        arrays.append(values.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _written_out(urls: pa.Array, keys: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    from cobnut.urls.screening import urls_of_keys

    missing = urls.is_null()
    return pc.replace_with_mask(urls, missing, urls_of_keys(keys.filter(missing)))


def _iso(times: pa.Array) -> pa.Array:
    """Times as text, 2026-01-31T12:00:00.000Z; what lies outside the calendar stays a number."""
    import pyarrow as pa

    from cobnut.inspect.show import iso_time

    def text(ms: int | None) -> str | None:
        shown = iso_time(ms)
        return shown if ms is None or shown is None or not shown.endswith("Z") else f"{shown[:-1]}.{ms % 1000:03d}Z"

    return pa.array([text(ms) for ms in times.to_pylist()], pa.string())


def _writer(wanted: Dump, out: BinaryIO) -> tuple[Write, Callable[[], None]]:
    """What writes a batch, and what ends the file."""
    schema = _schema(wanted, wanted.chosen())
    if wanted.form == "jsonl":
        return _jsonl(out, schema), lambda: None
    if wanted.form == "csv":
        return _csv(out, schema, wanted.spreadsheet)
    import pyarrow.parquet as pq

    writer = pq.ParquetWriter(out, schema, compression="zstd")
    return writer.write_batch, writer.close


def _jsonl(out: BinaryIO, schema: pa.Schema) -> Write:
    import pyarrow.types as types

    encoder = msgspec.json.Encoder()
    odd = [f.name for f in schema if types.is_nested(f.type) or types.is_binary(f.type)]
    maps = {f.name for f in schema if types.is_map(f.type)}

    def write(batch: pa.RecordBatch) -> None:
        rows = batch.to_pylist()
        for row in rows:
            for name in odd:
                value = row[name]
                row[name] = dict(value) if name in maps and value is not None else data(value)
        out.write(encoder.encode_lines(rows))

    return write


def _csv(out: BinaryIO, schema: pa.Schema, spreadsheet: bool) -> tuple[Write, Callable[[], None]]:
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.types as types

    def plain_type(kind: pa.DataType) -> pa.DataType:
        return pa.string() if types.is_nested(kind) or types.is_binary(kind) else kind

    texts = pa.schema([pa.field(f.name, plain_type(f.type), f.nullable) for f in schema])
    writer = csv.CSVWriter(out, texts, write_options=csv.WriteOptions(quoting_style="needed"))

    def column(values: pa.Array) -> pa.Array:
        if types.is_nested(values.type) or types.is_binary(values.type):
            is_map = types.is_map(values.type)
            values = pa.array([_cell(value, is_map) for value in values.to_pylist()], pa.string())
        return _no_formula(values) if spreadsheet and types.is_string(values.type) else values

    def write(batch: pa.RecordBatch) -> None:
        writer.write_batch(pa.RecordBatch.from_arrays([column(c) for c in batch.columns], schema=texts))

    return write, writer.close


def _cell(value: Any, is_map: bool) -> str | None:
    if value is None or isinstance(value, bytes):
        return None if value is None else value.hex()
    return msgspec.json.encode(dict(value) if is_map else data(value)).decode()


def _no_formula(values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    marked = pc.binary_join_element_wise(pa.scalar("'"), values, "")
    return pc.if_else(pc.match_substring_regex(values, r"^[=+\-@\t\r\n]"), marked, values)
