"""Does the crawldb know a redirect's target, and is it not due yet?

Looks into the files of the crawldb when the first redirect asks: they are sorted by key, so that one row group of one
partition answers for a key. The last row groups are kept. Not here: what the crawldb says is due (`stages.generate`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cobnut.storage.tables import partition_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

GROUPS_KEPT = 32


class KnownPages:
    """The crawldb as it stood when the round began; `files` holds those of each partition."""

    def __init__(self, files: Sequence[Sequence[str]], groups_kept: int = GROUPS_KEPT) -> None:
        self._files, self._groups_kept = files, groups_kept
        self._open: dict[str, pq.ParquetFile] = {}
        self._groups: OrderedDict[tuple[str, int], tuple[pa.Array, pa.Array]] = OrderedDict()

    def due_at(self, key: str, bucket: int) -> int | None:
        """When the page is due; None when the crawldb does not know it."""
        if not self._files:
            return None
        for path in self._files[partition_of(bucket, len(self._files))]:
            file = self._file(path)
            for number in range(file.num_row_groups):
                if _may_hold(file, number, key):
                    keys, due = self._group(path, number)
                    place = _place(keys, key)
                    if place is not None:
                        return int(due[place].as_py())
        return None

    def close(self) -> None:
        """Closes the files."""
        for file in self._open.values():
            file.close()
        self._open.clear()
        self._groups.clear()

    def _file(self, path: str) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        file = self._open.get(path)
        if file is None:
            file = self._open[path] = pq.ParquetFile(path)
        return file

    def _group(self, path: str, number: int) -> tuple[pa.Array, pa.Array]:
        found = self._groups.get((path, number))
        if found is None:
            rows = self._file(path).read_row_group(number, columns=["url_key", "due_at"]).combine_chunks()
            found = rows.column("url_key").chunk(0), rows.column("due_at").chunk(0)
            self._groups[path, number] = found
            if len(self._groups) > self._groups_kept:
                self._groups.popitem(last=False)
        self._groups.move_to_end((path, number))
        return found


def _may_hold(file: pq.ParquetFile, number: int, key: str) -> bool:
    group = file.metadata.row_group(number)
    if not group.num_rows:
        return False
    statistics: Any = group.column(file.schema_arrow.get_field_index("url_key")).statistics
    return statistics is None or not statistics.has_min_max or statistics.min <= key <= statistics.max


def _place(keys: pa.Array, key: str) -> int | None:
    """Where a key stands in sorted keys. Text sorts alike as code points and as UTF-8."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle].as_py() < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low].as_py() == key else None
