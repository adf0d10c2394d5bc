"""How do the best pages of all partitions become fetchlists?

They are gathered partition by partition (`Gathered`), never many more than are wanted; what is beyond a limit among
some of the pages is so among all. In order, best first (`Chosen`), they are dealt out to as many segments as are
wanted, and within each to parts, a host in exactly one part.

Several segments are dealt out so that each has its share of every host: sorted by domain, host and order, page i goes
to segment i mod N. None has more of a host, of a domain, or in all than its share, rounded up; so limits that hold N
times in all hold once in each.

Pages are handled by their numbers; their rows are gathered a slice at a time, when they are written.

Not here: which pages a partition offers (`stages.generate`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from cobnut.records import catalogue as tables
from cobnut.storage.layout import SegmentFolder
from cobnut.storage.parts import PartWriter, part_name
from cobnut.urls.screening import urls_of_keys

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Numbers = np.ndarray[Any, np.dtype[np.int64]]
    Columns = dict[str, Any]  # Arrow arrays of the same length, by name

SLICE_ROWS = 65_536
LEAST_PRUNED = 65_536
MOST_BYTES = 1 << 30
"""Texts of a column beyond this are kept with wide offsets."""
NONE_TAKEN = 2**62
_NAMES = ("host", "domain")


class Gathered:
    """The best pages of the partitions so far: at most `max_per_host` of a host, of those at most `max_per_domain` of a
    domain, of those about `top_n` in all. `beyond` counts what is not taken, by limit."""

    def __init__(self, *, top_n: int, max_per_host: int, max_per_domain: int) -> None:
        self.top_n, self.max_per_host, self.max_per_domain = top_n, max_per_host, max_per_domain
        self.begin()

    def begin(self) -> None:
        """Begins with nothing, now or again."""
        self.beyond = {"max_per_host": 0, "max_per_domain": 0, "top_n": 0}
        self._pieces: list[Columns] = []
        self._rows = self._left = 0  # pages here now, and when they were last reduced to the best
        self._least: int | None = None  # sort value of the page that is last now; no page below it is taken

    def add(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Takes the pages that one partition offers: all pages of a host come in one partition."""
        mine = [self._taken(batch) for batch in batches if batch.num_rows]
        if not mine:
            return
        if min(self.max_per_host, self.max_per_domain) < self.top_n:
            mine = [self._limited(_joined(mine))]
        self._pieces += mine
        self._rows = sum(len(piece["url_key"]) for piece in self._pieces)
        if self.max_per_domain >= self.top_n:  # else a page with a low value may still take the place of a better one
            self._find_least()
        wanted = self._left if self.max_per_domain < self.top_n else max(self._left, self.top_n)
        if self._rows > LEAST_PRUNED + 2 * wanted:
            self._pieces = [self._limited(self._all())]
            self._rows = self._left = len(self._pieces[0]["url_key"])

    def _taken(self, batch: pa.RecordBatch) -> Columns:
        """The columns of a batch, without the room that the engine left in them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._least is not None:
            good = pc.greater_equal(batch.column("sort_value"), self._least)
            if pc.sum(good).as_py() < batch.num_rows // 2:
                self.beyond["top_n"] += batch.num_rows
                batch = batch.filter(good)
                self.beyond["top_n"] -= batch.num_rows
        return {
            name: column.dictionary_encode() if name in _NAMES else pa.concat_arrays([column])
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        }

    def chosen(self) -> Chosen:
        """All that is chosen."""
        columns = self._limited(self._all(), in_order=True)
        return Chosen(columns, columns.pop("order") if columns else None)

    def _all(self) -> Columns:
        """All pages so far in one piece; nothing is kept here."""
        pieces, self._pieces, self._rows = self._pieces, [], 0
        return _joined(pieces)

    def _find_least(self) -> None:
        """Finds the value of the last page that is taken now, and drops what is below it when that is as much again."""
        import numpy as np

        if self._rows <= self.top_n:
            return
        if self.top_n <= 0:
            self._least = NONE_TAKEN
        else:
            values = np.concatenate([np.asarray(piece["sort_value"]) for piece in self._pieces])
            self._least = int(np.partition(values, len(values) - self.top_n)[len(values) - self.top_n])
        if self._rows > LEAST_PRUNED + 2 * self.top_n:
            self._drop_below(self._least)

    def _drop_below(self, least: int) -> None:
        import numpy as np
        import pyarrow as pa

        for piece in self._pieces:
            kept = pa.array(np.flatnonzero(np.asarray(piece["sort_value"]) >= least))
            for name in list(piece):
                piece[name] = piece[name].take(kept)
        left = sum(len(piece["url_key"]) for piece in self._pieces)
        self.beyond["top_n"] += self._rows - left
        self._rows = left

    def _limited(self, columns: Columns, in_order: bool = False) -> Columns:
        """What is within all limits; with `in_order` also the column `order`, the numbers of the rows, best first."""
        import numpy as np
        import pyarrow as pa

        if not columns:
            return columns
        count = len(columns["url_key"])
        limits = [("host", self.max_per_host), ("domain", self.max_per_domain)]
        full = [(name, limit) for name, limit in limits if _most_of_one(columns[name]) > limit]
        if not full and count <= self.top_n and not in_order:
            return columns
        numbers = np.arange(count)
        if self._least is not None and not full:
            numbers = np.flatnonzero(np.asarray(columns["sort_value"]) >= self._least)
        self.beyond["top_n"] += count - len(numbers)
        order = _in_order(columns, numbers)
        for name, limit in full:
            inside = _within(columns[name], order, limit)
            self.beyond[f"max_per_{name}"] += len(order) - len(inside)
            order = inside
        self.beyond["top_n"] += max(0, len(order) - self.top_n)
        order = order[: self.top_n]
        if in_order:
            return {**columns, "order": order}
        kept = pa.array(np.sort(order))
        return {name: column.take(kept) for name, column in columns.items()}


class Chosen:
    """The chosen pages: their rows, and their numbers in order, best first."""

    def __init__(self, columns: Columns, order: Numbers | None) -> None:
        import numpy as np

        self.columns = columns
        self.order: Numbers = np.empty(0, np.int64) if order is None else order
        self._starts: dict[str, str] = {}
        if columns:
            self.host_of: Numbers = np.asarray(columns["host"].indices)
            self.host_names: list[str] = columns["host"].dictionary.to_pylist()

    def __len__(self) -> int:
        return len(self.order)

    def hosts(self, numbers: Numbers) -> int:
        """How many hosts these pages are on."""
        import numpy as np

        return int((np.bincount(self.host_of[numbers], minlength=1) > 0).sum())

    def dealt(self, segments: int) -> list[Numbers]:
        """The numbers of each segment's pages, best first; segments without any are left out."""
        import numpy as np

        if segments <= 1:
            return [self.order] if len(self.order) else []
        domains = self.columns["domain"]
        # by name, so that the order in which rows came makes no difference
        domain = _ranks(domains.dictionary.to_pylist())[np.asarray(domains.indices.fill_null(0))]
        host = _ranks(self.host_names)[self.host_of]
        by_host = np.lexsort((host[self.order], domain[self.order]))  # keeps the order within a host
        segment = np.empty(len(self.order), np.int64)
        segment[by_host] = np.arange(len(self.order)) % segments
        found = [self.order[segment == number] for number in range(segments)]
        return [numbers for numbers in found if len(numbers)]

    def writer(
        self, numbers: Numbers, parts: int, in_full: Callable[[str], bool] | None
    ) -> Callable[[SegmentFolder], None]:
        """Writes the fetchlist of these pages into a segment."""
        return lambda segment: self._write(segment, numbers, parts, in_full)

    def _write(
        self, segment: SegmentFolder, numbers: Numbers, parts: int, in_full: Callable[[str], bool] | None
    ) -> None:
        import numpy as np

        sizes = np.bincount(self.host_of[numbers], minlength=len(self.host_names))
        by_host = parts_by_host({self.host_names[n]: int(sizes[n]) for n in np.flatnonzero(sizes)}, parts)
        part_of = np.array([by_host.get(name, 0) for name in self.host_names], np.int32)[self.host_of[numbers]]
        for part in range(max(1, parts)):
            mine = numbers[part_of == part]
            with PartWriter(segment.folder(tables.FETCHLIST), tables.FETCHLIST, part_name(part)) as writer:
                for start in range(0, len(mine), SLICE_ROWS):
                    writer.write(self._rows(mine[start : start + SLICE_ROWS], part, in_full))

    def _rows(self, numbers: Numbers, part: int, in_full: Callable[[str], bool] | None) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        schema = tables.FETCHLIST.schema()
        places = pa.array(numbers)
        rows = {
            name: column.take(places).cast(schema.field(name).type)
            for name, column in self.columns.items()
            if name in schema.names
        }
        rows["url"] = pc.coalesce(rows["url"], urls_of_keys(rows["url_key"], self._starts))
        rows["part"] = pa.repeat(pa.scalar(part, pa.int32()), len(numbers))
        rows["fetch"] = pa.repeat(True, len(numbers))
        if in_full is not None:
            asked = pa.array([not in_full(key) for key in rows["url_key"].to_pylist()], pa.bool_())
            for name in ("etag", "last_modified"):
                rows[name] = pc.if_else(asked, rows[name], None)
        return pa.Table.from_arrays([rows[name] for name in schema.names], schema=schema)


def parts_by_host(sizes: dict[str, int], count: int) -> dict[str, int]:
    """Which part takes each host, whose pages are counted: the largest hosts first, each to the part that has least."""
    import heapq

    loads = [(0, part) for part in range(max(1, count))]
    parts = {}
    for host, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        load, part = loads[0]
        heapq.heapreplace(loads, (load + size, part))
        parts[host] = part
    return parts


def _joined(pieces: list[Columns]) -> Columns:
    """Pieces as one; they are taken apart column by column, so that little is there twice."""
    import pyarrow as pa

    if len(pieces) <= 1:
        return pieces[0] if pieces else {}
    found = {}
    for name in list(pieces[0]):
        found[name] = _one_array(pa.chunked_array([piece.pop(name) for piece in pieces]).unify_dictionaries())
    return found


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
    if column.type in wide and column.nbytes > MOST_BYTES:
        column = column.cast(wide[column.type])
    whole = column.combine_chunks()
    if not isinstance(whole, pa.ChunkedArray):
        return whole
    return whole.chunk(0) if whole.num_chunks else pa.array([], whole.type)


def _most_of_one(names: pa.DictionaryArray) -> int:
    """How many rows the name with the most rows has."""
    import numpy as np

    if names.null_count == len(names):
        return 0
    return int(np.bincount(np.asarray(names.indices.drop_null())).max())


def _within(names: pa.DictionaryArray, order: Numbers, limit: int) -> Numbers:
    """Those of the pages in order that are among the first `limit` with their name; pages without one all are."""
    import numpy as np

    codes = np.asarray(names.indices.fill_null(-1))[order]
    by_name = np.argsort(codes, kind="stable")
    sorted_codes = codes[by_name]
    first = np.flatnonzero(np.concatenate(([True], sorted_codes[1:] != sorted_codes[:-1])))
    sizes = np.diff(np.append(first, len(order)))
    place = np.empty(len(order), np.int64)
    place[by_name] = np.arange(len(order)) - np.repeat(first, sizes)
    return np.asarray(order[(place < limit) | (codes < 0)])


def _in_order(columns: Columns, numbers: Numbers) -> Numbers:
    """The numbers, best first. Keys, which take long to compare, are only where value and depth tie."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    value, depth = -np.asarray(columns["sort_value"])[numbers], np.asarray(columns["depth"])[numbers]
    order = numbers[np.lexsort((depth, value))]
    value, depth = -np.asarray(columns["sort_value"])[order], np.asarray(columns["depth"])[order]
    same = (value[1:] == value[:-1]) & (depth[1:] == depth[:-1])
    if not same.any():
        return order
    tied = np.zeros(len(order), bool)
    tied[1:] |= same
    tied[:-1] |= same
    run = np.concatenate(([0], np.cumsum(~same)))[tied]
    places = np.flatnonzero(tied)
    keys = columns["url_key"].take(pa.array(order[places]))
    rank = np.empty(len(places), np.int64)
    rank[np.asarray(pc.sort_indices(keys))] = np.arange(len(places))
    order[places] = order[places[np.lexsort((rank, run))]]
    return order


def _ranks(names: Iterable[str | None]) -> Numbers:
    """The place of each name among all, sorted."""
    import numpy as np

    known = list(names) or [""]
    ranks = np.empty(len(known), np.int64)
    ranks[sorted(range(len(known)), key=lambda n: known[n] or "")] = np.arange(len(known))
    return ranks
