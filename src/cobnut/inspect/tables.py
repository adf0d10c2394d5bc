"""Which rows does a table hold?

Rows of a crawl's table (its current generation) or of a segment's parts, chosen by URL, host or an expression, read in
batches so that a table of any size can be written out.

Not here: how values are shown (`inspect.show`), counts (`inspect.stats`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.errors import DataError, InputError, MachineError
from cobnut.inspect.where import URL_FUNCTION, parse_where
from cobnut.records import catalogue
from cobnut.records.columns import Column, Table
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.lookup import find
from cobnut.storage.tables import TableVersion, damaged, first_damaged, partition_of, relation
from cobnut.urls.keys import key_to_url

if TYPE_CHECKING:
    import duckdb

READABLE: dict[str, Table] = {
    t.name: t
    for t in (
        catalogue.CRAWLDB, catalogue.PAGES, catalogue.LINKDB, catalogue.HOSTDB, catalogue.SEEDS, catalogue.ROBOTS,
        catalogue.RANKS, catalogue.DUPLICATES, catalogue.ORPHANS,
    )
}  # fmt: skip
"""The crawl's tables that `read` shows, by name."""

SEGMENT_TABLES: dict[str, Table] = {t.name: t for t in catalogue.TABLES if t.scope == "segment"}
"""The tables of a segment, by name."""

_URL_COLUMNS = {"linkdb": "to_key", "links": "from_key"}
_HOST_COLUMNS = {"linkdb": "to_host", "links": "from_host"}
BATCH = 2_000


class Selection(msgspec.Struct, frozen=True):
    """Which rows: of a URL (its key), of a host, with some values, under a condition; at most `limit`.

    `bucket` is that of the host, where it is known: only its partition is read.
    """

    key: str | None = None
    bucket: int | None = None
    host: str | None = None
    equal: tuple[tuple[str, Any], ...] = ()
    where: str | None = None
    limit: int | None = None


class Rows(msgspec.Struct, frozen=True):
    """Some rows of a table, one batch after the other; each row is a tuple in the order of `columns`."""

    columns: tuple[Column, ...]
    batches: Iterator[list[tuple[Any, ...]]]

    def as_dicts(self) -> Iterator[dict[str, Any]]:
        """The rows as column name to value."""
        names = [c.name for c in self.columns]
        for batch in self.batches:
            for row in batch:
                yield dict(zip(names, row, strict=True))


def rows_of_table(crawl: CrawlFolder, table: Table, selection: Selection) -> Rows:
    """Rows of a crawl's table, as its current generation has them; none when it was never written."""
    check_selection(table, selection)
    return Rows(table.columns, _current_batches(crawl, table, selection))


def rows_of_segment(segment: SegmentFolder, table: Table, selection: Selection) -> Rows:
    """Rows of one table of a segment."""
    check_selection(table, selection)
    return Rows(table.columns, _batches(table, segment.part_files(table), selection))


def one_row(crawl: CrawlFolder, table: Table, key: str, bucket: int) -> dict[str, Any] | None:
    """The row of a URL in one of the crawl's tables."""
    return next(iter(look_up(crawl, table, {str(_url_column(table)): key}, bucket, limit=1)), None)


def look_up(
    crawl: CrawlFolder,
    table: Table,
    equal: Mapping[str, Any],
    bucket: int | None = None,
    columns: Sequence[str] | None = None,
    limit: int | None = None,
) -> list[dict[str, Any]]:
    """The rows with these values in one of the crawl's tables, looked up without an engine.

    `bucket` is that of the rows' host, where it is known.
    """
    version = crawl.table(table).current()
    if version is None:
        return []
    with version:  # held against removal for as long as rows are read
        files = version.files(partition_with(table, version, bucket))
        return [found.row for found in find(table, files, equal, columns, limit=limit)]


def partition_with(table: Table, version: TableVersion, bucket: int | None) -> int | None:
    """The partition that holds the rows of a host bucket; None: all."""
    if bucket is None or table.bucket_column is None:
        return None
    return partition_of(bucket, version.partitions)


def check_selection(table: Table, selection: Selection) -> None:
    """Refuses at once what cannot be asked of a table."""
    if selection.key is not None and _url_column(table) is None:
        raise InputError(f"{table.name} has no URL to ask for", remedy="use --host or --where")
    if selection.host is not None and _host_column(table) is None:
        raise InputError(f"{table.name} has no host to ask for", remedy="use --where")
    if selection.where is not None:
        parse_where(selection.where, table.columns)


def _url_column(table: Table) -> str | None:
    return _URL_COLUMNS.get(table.name, "url_key" if "url_key" in table.column_names else None)


def _host_column(table: Table) -> str | None:
    return _HOST_COLUMNS.get(table.name, "host" if "host" in table.column_names else None)


def _current_batches(crawl: CrawlFolder, table: Table, selection: Selection) -> Iterator[list[tuple[Any, ...]]]:
    version = crawl.table(table).current()
    if version is None:
        return
    with version:  # held against removal for as long as rows are read
        yield from _batches(table, version.files(partition_with(table, version, selection.bucket)), selection)


def _batches(table: Table, files: Sequence[Path], selection: Selection) -> Iterator[list[tuple[Any, ...]]]:
    if not files:
        return
    if selection.key is not None and selection.where is None:
        yield from _looked_up(table, files, selection)
        return
    clauses, params = conditions(table, selection)
    names = ", ".join(f'"{c.name}"' for c in table.columns)
    sql = f"SELECT {names} FROM {held(files)}"
    if clauses:
        sql += " WHERE " + " AND ".join(clauses)
    if selection.limit is not None:
        sql += f" LIMIT {int(selection.limit)}"
    with engine() as connection, engine_errors(table, files, selection.where):
        provide_url(connection, sql)
        result = connection.execute(sql, params)
        while batch := result.fetchmany(BATCH):
            yield batch


def provide_url(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Gives the engine the function that makes URLs, where a query asks for it."""
    if URL_FUNCTION in sql:
        connection.create_function(URL_FUNCTION, _shown_url, ["VARCHAR"], "VARCHAR")


def _looked_up(table: Table, files: Sequence[Path], selection: Selection) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of one URL, without an engine."""
    equal = {str(_url_column(table)): selection.key, **dict(selection.equal)}
    if selection.host is not None:
        equal[str(_host_column(table))] = selection.host
    for found in find(table, files, equal, limit=selection.limit):
        yield [tuple(found.row[name] for name in table.column_names)]


def _shown_url(key: str) -> str | None:
    try:
        return key_to_url(key)
    except DataError:
        return None


def conditions(table: Table, selection: Selection) -> tuple[list[str], list[Any]]:
    """What of a selection the engine is asked for: conditions in its SQL, and the values of their parameters."""
    clauses: list[str] = []
    params: list[Any] = []
    if selection.key is not None:
        clauses.append(f'"{_url_column(table)}" = ?')
        params.append(selection.key)
    if selection.host is not None:
        clauses.append(f'"{_host_column(table)}" = ?')
        params.append(selection.host)
    for column, value in selection.equal:
        clauses.append(f'"{column}" = ?')
        params.append(value)
    if selection.where is not None:
        where = parse_where(selection.where, table.columns)
        clauses.append(where.sql)
        params.extend(where.params)
    return clauses, params


@contextmanager
def engine(memory_mib: int = 512, scratch: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """The relational engine for one question; it fetches nothing from a network and loads no extension.

    Without a `scratch` folder it writes nothing: what does not fit in memory is an error.
    """
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory_mib}MiB",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "temp_directory": "" if scratch is None else str(scratch),
    }
    connection = duckdb.connect(":memory:", config=config)
    try:
        connection.execute("SET enable_progress_bar = false")
        yield connection
    finally:
        connection.close()


@contextmanager
def engine_errors(table: Table, files: Iterable[Path], where: str | None = None) -> Iterator[None]:
    """The engine's errors as ours: a condition it cannot compute, or a damaged file."""
    import duckdb

    unfit = (
        duckdb.BinderException,
        duckdb.ConversionException,
        duckdb.OutOfRangeException,
        duckdb.ParserException,
        duckdb.TypeMismatchException,
    )
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise MachineError(f"too little memory to read {table.name} ({first_line(error)})") from error
    except duckdb.Error as error:
        if "No space left" in str(error):
            raise MachineError(
                f"the disk is full ({first_line(error)})", remedy="free some space, run it again"
            ) from error
        if where is not None and (isinstance(error, unfit) or "ivision by zero" in str(error)):
            said = first_line(error).partition(". Use ")[0]  # what could be written in SQL instead is of no use here
            raise InputError(f"--where cannot be computed ({said})", where=repr(where[:120])) from error
        if (path := first_damaged(files)) is not None:  # the engine's own words do not always name the file
            raise damaged(path, error, table.name) from error
        raise DataError(f"{table.name} cannot be read ({first_line(error)})") from error


def held(files: Sequence[Path]) -> str:
    """The rows that hold of some Parquet files, to be selected from."""
    return f"({relation(files)}) AS held"


def first_line(error: Exception) -> str:
    """The first line of an engine's message."""
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
