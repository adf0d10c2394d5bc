"""How is another crawl read while this one is written?

`Other` holds the current version of each table of another crawl that is merged into this one: whatever that crawl does
meanwhile, the rows are those of one moment. Refused are the crawl itself, one named twice, one that a command is
writing or whose last command ended between two tables, and one of a newer format.

Not here: what becomes of the rows (`crawl.mergedb`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from cobnut.errors import DataError, InputError, MachineError
from cobnut.records import catalogue as tables
from cobnut.records.columns import Table
from cobnut.storage.conserve import check_rows
from cobnut.storage.layout import CRAWL_LOCK, CrawlFolder
from cobnut.storage.locks import owner_of
from cobnut.storage.parts import PartWriter, part_name
from cobnut.storage.tables import TableVersion, batches_of

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 16_384
_WRITTEN_TOGETHER = (tables.CRAWLDB, tables.PAGES, tables.HOSTDB, tables.ROBOTS)


class Other:
    """Another crawl, held open: the tables asked for, each as it was when it was opened. A context manager."""

    def __init__(self, path: Path, wanted: Sequence[Table]) -> None:
        self.crawl = CrawlFolder.open(path)
        self.path = path
        self._stack = ExitStack()
        self._versions: dict[str, TableVersion] = {}
        self._refuse_writer()
        try:
            for table in wanted:
                version = self.crawl.table(table).current()
                if version is not None:
                    self._versions[table.name] = self._stack.enter_context(version)
                    check_rows(table, version.generation.path, version.manifest)
            self._refuse_writer()  # it may have begun meanwhile
            if {tables.CRAWLDB, tables.PAGES} <= set(wanted):
                check_whole(self.crawl)
        except BaseException:
            self._stack.close()
            raise

    def version(self, table: Table) -> TableVersion | None:
        """The table's version that is held; None when the crawl has none."""
        return self._versions.get(table.name)

    def applied(self) -> set[str]:
        """Names of the segments that its crawldb shows."""
        version = self.version(tables.CRAWLDB)
        return set() if version is None else {e["segment"] for e in version.manifest.get("applied", [])}

    def rows(self, table: Table) -> Iterator[pa.RecordBatch]:
        """The rows of a table, batch by batch."""
        version = self.version(table)
        if version is not None:
            yield from batches_of(table, version.files(), None, BATCH_ROWS)

    def _refuse_writer(self) -> None:
        owner = owner_of(self.path / CRAWL_LOCK)
        if owner is not None:
            raise MachineError(
                f"another process is writing the crawl {self.path}", where=owner, remedy="wait until it is done"
            )

    def __enter__(self) -> Other:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def check_whole(crawl: CrawlFolder, coming: Collection[str] = ()) -> None:
    """Refuses a crawl some tables of which hold segments that its crawldb, the last to be written, does not.

    Those that are `coming`, since a merge is being run again, are no reason.
    """
    applied = [{entry["segment"] for entry in _checked(crawl, table).get("applied", [])} for table in _WRITTEN_TOGETHER]
    for table, names in zip(_WRITTEN_TOGETHER, applied, strict=True):
        ahead = names - applied[0] - set(coming)
        if ahead:
            raise DataError(
                f"{table.name} holds segment {min(ahead)}, and the crawldb does not: a command ended between them",
                where=str(crawl.path), remedy=f"run it again, for example `cobnut updatedb {crawl.path}`",
            )  # fmt: skip


def _checked(crawl: CrawlFolder, table: Table) -> Mapping[str, Any]:
    """The manifest of a table, which has the rows that it says."""
    version = crawl.table(table).current()
    if version is None:
        return {}
    with version:
        check_rows(table, version.generation.path, version.manifest)
        return version.manifest


def others_of(crawl: CrawlFolder, paths: Sequence[Path], wanted: Sequence[Table], stack: ExitStack) -> list[Other]:
    """The crawls at these paths, all of them looked at before anything is written."""
    seen = {crawl.path.resolve()}
    found = []
    for path in paths:
        where = path.resolve()
        if where == crawl.path.resolve():
            raise InputError("a crawl is not merged into itself", where=str(path), remedy="name other crawls")
        if where in seen:
            raise InputError("the crawl is named twice", where=str(path), remedy="name each crawl once")
        seen.add(where)
        found.append(stack.enter_context(Other(path, wanted)))
    return found


def staged(folder: Path, table: Table, batches: Iterable[pa.RecordBatch | pa.Table]) -> tuple[list[Path], int]:
    """Rows as one part in a folder, and how many they are; no part when there is none."""
    writer = PartWriter(folder / table.name, table, part_name(0))
    try:
        for batch in batches:
            writer.write(batch)
    except BaseException:
        writer.abort()
        raise
    if not writer.rows:
        writer.abort()
        return [], 0
    rows = writer.rows
    return [writer.close()], rows
