"""How are the tables of a crawl read in the order in which Nutch wants its records?

Nutch sorts by the bytes of the URL; Cobnut's tables are sorted by key, where the host stands reversed. `Source` holds
the tables as they stand, and `rows` gives the result of one query over them in any order, row by row: the embedded
database sorts in bounded memory and lays down what does not fit beside the export. Queries that run side by side have a
database each, since a result that is being read bars its connection.

Functions that queries may use: `url_of(key)`, the normalised URL of a key; `url_hash(url)`, by which Nutch's generator
mixes the URLs of a fetchlist. Pages that the crawl was told to forget are in none of the tables.

Not here: the queries, and what becomes of the rows (`crawl1`, `segment1`, `webdb07`, `segment07`).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from cobnut.config.sections import Settings
from cobnut.engines.session import Session
from cobnut.frontier.forgotten import forgotten_of, key_test
from cobnut.interop.hadoop.data import DataOutput
from cobnut.records import catalogue as tables
from cobnut.records.columns import Table
from cobnut.records.steps import SEGMENT_COLUMN
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.tables import Layers, TableVersion
from cobnut.urls.keys import key_to_url

CRAWL_TABLES = (
    tables.CRAWLDB, tables.PAGES, tables.LINKDB, tables.HOSTDB, tables.RANKS, tables.DUPLICATES,
)  # fmt: skip
_KEYS = ("url_key", "to_key", "from_key")
_LEAST_MIB = 64

T = TypeVar("T")


class Source:
    """The tables of a crawl as they stand when it is opened, held against removal. A context manager."""

    def __init__(self, crawl: CrawlFolder, settings: Settings, scratch: Path) -> None:
        self.crawl, self.settings, self.scratch = crawl, settings, scratch
        self._stack = ExitStack()
        self._versions: dict[str, TableVersion] = {}
        with ExitStack() as stack:
            for table in CRAWL_TABLES:  # the crawldb first: it is published last, so the others hold all it speaks of
                version = crawl.table(table).current()
                if version is not None:
                    self._versions[table.name] = stack.enter_context(version)
            self.segments = crawl.segments()
            self._is_forgotten = key_test(forgotten) if (forgotten := forgotten_of(crawl)) else None
            self._stack = stack.pop_all()

    def has(self, table: Table) -> bool:
        """Was this table of the crawl ever written?"""
        return table.name in self._versions

    def rows(
        self,
        query: str,
        order: str,
        needs: Iterable[Table],
        segment: SegmentFolder | None = None,
        *,
        beside: int = 1,
        **values: str | int,
    ) -> Iterator[Any]:
        """The rows that *query* gives, sorted by *order*, each with its columns as attributes.

        It sees the tables that it *needs* by their names: the crawl's, and those of *segment*, or of all segments with
        one more column, `segment`. `$name` in it stands for one of *values*. *beside* is how many queries run at once,
        each with its share of the memory.
        """
        threads = self.settings.engine.threads
        session = Session(max(self.settings.storage.memory_mib // beside, _LEAST_MIB), threads, self.scratch)
        try:
            self._prepare(session, needs, segment)
            for name, value in values.items():
                query = query.replace(f"${name}", _literal(value))
            row: Any = None
            for batch in session.query(f"SELECT * FROM ({query}) ORDER BY {order}", "the export"):
                row = row or namedtuple("Row", batch.schema.names)
                yield from map(row._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))
        finally:
            session.close()

    def _prepare(self, session: Session, needs: Iterable[Table], segment: SegmentFolder | None) -> None:
        # The engine would import it, and take Ctrl-C while it does for "not installed".
        import numpy  # noqa: F401

        connection = session.connection
        more: Any = {"null_handling": "special", "type": "arrow"}
        connection.create_function("url_of", _urls_of, ["VARCHAR"], "VARCHAR", **more)
        connection.create_function("url_hash", _hashes_of, ["VARCHAR"], "INTEGER", **more)
        if self._is_forgotten is not None:
            connection.create_function("forget", _told(self._is_forgotten), ["VARCHAR"], "BOOLEAN", **more)
        for table in needs:
            where = " AND ".join(f"NOT forget({k})" for k in _KEYS if k in table.column_names)
            condition = where if self._is_forgotten is not None and where else None
            if table.scope == "crawl":
                version = self._versions.get(table.name)
                files = version.files() if version else Layers.of((), (), table.key[0])
                session.bind_layers(table.name, table.columns, files, condition)
            elif segment is not None:
                session.bind_files(table.name, table.columns, [(p, None) for p in segment.part_files(table)], condition)
            else:
                found: list[tuple[Path, str | None]] = [
                    (path, s.name) for s in self.segments for path in s.part_files(table)
                ]
                session.bind_files(table.name, (*table.columns, SEGMENT_COLUMN), found, condition)

    def close(self) -> None:
        """Lets the tables go."""
        self._stack.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Groups:
    """Hands out the rows of a sorted stream group by group, to whoever walks another stream in the same order."""

    def __init__(self, rows: Iterator[Any], order: Callable[[Any], Any]) -> None:
        self._rows, self._order = rows, order
        self._next: Any = next(rows, None)

    def of(self, place: Any) -> list[Any]:
        """The rows that stand at *place*; those before it are passed over."""
        found = []
        while self._next is not None and (here := self._order(self._next)) <= place:
            if here == place:
                found.append(self._next)
            self._next = next(self._rows, None)
        return found


def distinct(rows: Iterable[T], key: Callable[[T], Any]) -> Iterator[T]:
    """Rows that stand under one key in turn become the last of them: a MapFile has every key once."""
    held: list[T] = []
    for row in rows:
        if held and key(held[0]) != key(row):
            yield held[0]
        held = [row]
    yield from held


def java_hash(url: str) -> int:
    """The hash by which Nutch's generator orders a fetchlist, of the URL as Text is stored: its last bytes count most,
    so that the URLs of a host do not stand together.

    >>> java_hash("http://127.0.0.1:18099/latin1.html")
    -2054206600
    """
    out = DataOutput()
    out.write_text(url)
    value = 1
    for byte in reversed(out.buffer):
        value = (31 * value + (byte - 256 if byte > 127 else byte)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _urls_of(keys: Any) -> Any:
    import pyarrow as pa

    return pa.array([None if key is None else key_to_url(key) for key in keys.to_pylist()], pa.string())


def _hashes_of(urls: Any) -> Any:
    import pyarrow as pa

    return pa.array([None if url is None else java_hash(url) for url in urls.to_pylist()], pa.int32())


def _told(test: Callable[[str], bool]) -> Callable[[Any], Any]:
    def tell(keys: Any) -> Any:
        import pyarrow as pa

        return pa.array([key is not None and test(key) for key in keys.to_pylist()], pa.bool_())

    return tell


def _literal(value: str | int) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(int(value))
