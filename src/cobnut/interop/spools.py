"""Where do an import's rows lie until it is known which of them stay, and how do they then become tables?

Each draft of a segment has spools: Arrow streams whose rows carry the running number of their document. When all
documents are there, rows that stay become parts of the segment's tables. A draft all of whose documents stay, side by
side, keeps its WARC files; from any other the packed records that stay are copied, byte for byte, into new ones.

Not here: which stay (`interop.versions`).
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cobnut.config.sections import Settings
from cobnut.errors import CobnutError
from cobnut.fetcher.archive import Archive
from cobnut.fetcher.results import done_path
from cobnut.interop.versions import LEFT_OUT
from cobnut.records.catalogue import FETCHED, FETCHLIST, LINKS, PARSED
from cobnut.records.columns import Table
from cobnut.storage.files import io_errors, remove_tree
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.parts import PartWriter, part_name

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

CHUNK_ROWS = 1_000
CHUNK_CHARS = 8 << 20
"""Characters of pages' text that are held before they are written."""

LINK_CHARS = 200
SEGMENT_DOCUMENTS = 50_000
SEGMENT_BYTES = 2 << 30

NUMBER = "document_number"


class Spools:
    """The rows of one draft on their way."""

    def __init__(self, segment: SegmentFolder) -> None:
        self._visits = [_Spool(segment, FETCHED), _Spool(segment, FETCHLIST)]
        self._pages = [_Spool(segment, PARSED), _Spool(segment, LINKS)]
        self._held = 0

    def add(self, number: int, fetched: Mapping[str, Any], fetchlist: Mapping[str, Any]) -> None:
        """Adds the rows about one document."""
        for spool, row in zip(self._visits, (fetched, fetchlist), strict=True):
            spool.add(number, row)
        if len(self._visits[0]) >= CHUNK_ROWS:
            _flush(self._visits)

    def add_parsed(self, number: int, parsed: Mapping[str, Any], links: Sequence[Mapping[str, Any]]) -> None:
        """Adds the rows about what its page says. Batches of both tables hold the same pages."""
        self._pages[0].add(number, parsed)
        for link in links:
            self._pages[1].add(number, link)
        self._held += len(parsed.get("text") or "") + len(parsed.get("main_text") or "") + LINK_CHARS * len(links)
        if len(self._pages[0]) >= CHUNK_ROWS or self._held >= CHUNK_CHARS:
            _flush(self._pages)
            self._held = 0

    def close(self) -> None:
        """Writes what is left."""
        for together in (self._visits, self._pages):
            _flush(together)
            for spool in together:
                spool.close()


def _flush(together: list[_Spool]) -> None:
    if any(len(spool) for spool in together):
        for spool in together:
            spool.flush()


class _Spool:
    def __init__(self, segment: SegmentFolder, table: Table) -> None:
        self._path, self._table = _spool_path(segment, table), table
        self._rows: list[dict[str, Any]] = []
        self._numbers: list[int] = []
        self._writer: Any = None

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, number: int, row: Mapping[str, Any]) -> None:
        self._rows.append(dict(row))
        self._numbers.append(number)

    def flush(self) -> None:
        """Writes one batch, be it empty."""
        import pyarrow as pa

        rows = pa.RecordBatch.from_pylist(self._rows, schema=self._table.schema())
        schema = self._table.schema().append(pa.field(NUMBER, pa.int64()))
        batch = pa.RecordBatch.from_arrays([*rows.columns, pa.array(self._numbers, pa.int64())], schema=schema)
        with io_errors(self._path, "write"):
            if self._writer is None:
                self._writer = pa.ipc.new_stream(str(self._path), schema)
            self._writer.write_batch(batch)
        self._rows, self._numbers = [], []

    def close(self) -> None:
        if self._writer is not None:
            with io_errors(self._path, "write"):
                self._writer.close()
            self._writer = None


def _spool_path(segment: SegmentFolder, table: Table) -> Path:
    return segment.path / f".spool-{table.name}.arrow"


def _batches(segment: SegmentFolder, table: Table) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    path = _spool_path(segment, table)
    if path.exists():
        with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
            yield from stream


def finish_segments(
    crawl: CrawlFolder, settings: Settings, drafts: list[SegmentFolder], fates: NDArray[np.int64], about: dict[str, str]
) -> list[tuple[SegmentFolder, dict[str, int]]]:
    """Makes complete segments of drafts, to be named in the order given: versions of one URL follow one another in
    time. With each comes how many documents it holds, by outcome."""
    made: list[_Target] = []
    try:
        _fill(crawl, settings.fetcher.warc_max_bytes, drafts, fates, about, made)
        for target in made:
            target.close()
    except BaseException:
        for target in made:
            target.abandon()
        raise
    made.sort(key=lambda target: target.fate)
    return [(target.segment, dict(target.outcomes)) for target in made]


def _fill(
    crawl: CrawlFolder, warc_max_bytes: int, drafts: list[SegmentFolder], fates: NDArray[np.int64],
    about: dict[str, str], made: list[_Target],
) -> None:  # fmt: skip
    """Brings the rows of all drafts into segments, which are added to `made` as they are begun."""
    filling: dict[int, _Target] = {}
    for draft in drafts:
        mine = _fates_in(draft, fates)
        if len(mine) == 1 and LEFT_OUT not in mine:
            made.append(_Target(draft, mine.pop()))
            made[-1].take(draft, fates)
            continue
        for fate in sorted(mine - {LEFT_OUT}):
            if fate not in filling or filling[fate].is_full:
                target = filling[fate] = _Target(crawl.draft_segment(), fate)
                made.append(target)
                target.archive = Archive(target.segment.warc_path, 0, 0, warc_max_bytes, about)
            filling[fate].take(draft, fates)
        remove_tree(draft.path)


def _fates_in(draft: SegmentFolder, fates: NDArray[np.int64]) -> set[int]:
    import numpy as np

    found: set[int] = set()
    for batch in _batches(draft, FETCHED):
        found.update(np.unique(fates[batch.column(NUMBER).to_numpy()]).tolist())
    return found


class _Target:
    """A segment being made of the rows of one fate, from one draft or several."""

    def __init__(self, segment: SegmentFolder, fate: int) -> None:
        self.segment, self.fate = segment, fate
        self.archive: Archive | None = None  # of a segment whose records are copied
        self.outcomes = Counter[str]()
        self._fetched = PartWriter(segment.folder(FETCHED), FETCHED, part_name(0, 0))
        self._fetchlist: list[pa.RecordBatch] = []
        self._pages = 0

    @property
    def is_full(self) -> bool:
        """No more is to come in."""
        size = 0 if self.archive is None else self.archive.bytes_written
        return self.outcomes.total() >= SEGMENT_DOCUMENTS or size >= SEGMENT_BYTES

    def take(self, draft: SegmentFolder, fates: NDArray[np.int64]) -> None:
        """Takes over the rows of this fate."""
        ends = _ends(draft) if self.archive is not None else {}
        for batch in _batches(draft, FETCHED):
            rows = self._mine(batch, fates)
            self.outcomes.update(rows.column("outcome").to_pylist())
            self._fetched.write(self._copied(draft, rows, ends))
        for batch in _batches(draft, FETCHLIST):
            self._fetchlist.append(self._mine(batch, fates))
        for parsed, links in zip_longest(_batches(draft, PARSED), _batches(draft, LINKS)):
            self._take_pages(self._mine(parsed, fates), self._mine(links, fates))

    def _mine(self, batch: pa.RecordBatch, fates: NDArray[np.int64]) -> pa.RecordBatch:
        import pyarrow as pa

        mask = fates[batch.column(NUMBER).to_numpy()] == self.fate
        return batch.filter(pa.array(mask)).select(batch.schema.names[:-1])

    def _take_pages(self, parsed: pa.RecordBatch, links: pa.RecordBatch) -> None:
        if not parsed.num_rows:
            return
        name = f"import-{self._pages:05d}"
        self._pages += 1
        order = [("to_bucket", "ascending"), ("from_key", "ascending"), ("position", "ascending")]
        for table, rows in ((LINKS, links.sort_by(order)), (PARSED, parsed)):
            with PartWriter(self.segment.folder(table), table, name) as writer:
                writer.write(rows)

    def _copied(self, draft: SegmentFolder, rows: pa.RecordBatch, ends: dict[str, list[int]]) -> pa.RecordBatch:
        """The rows with the places of their records in this segment's files."""
        import bisect

        import pyarrow as pa

        if self.archive is None:
            return rows
        files: list[str | None] = []
        offsets: list[int | None] = []
        for name, offset in zip(
            rows.column("warc_file").to_pylist(), rows.column("warc_offset").to_pylist(), strict=True
        ):
            if name is None:
                files.append(None)
                offsets.append(None)
                continue
            end = ends[name][bisect.bisect_right(ends[name], offset)]
            path = draft.warc_path / name
            with io_errors(path, "read"), open(path, "rb") as file:
                file.seek(offset)
                place = self.archive.add_packed(file.read(end - offset))
            files.append(place.file)
            offsets.append(place.offset)
        for column, values in (("warc_file", files), ("warc_offset", offsets)):
            at = rows.schema.get_field_index(column)
            rows = rows.set_column(at, rows.schema.field(at), pa.array(values, rows.schema.field(at).type))
        return rows

    def abandon(self) -> None:
        """Leaves no trace."""
        with contextlib.suppress(CobnutError, OSError):
            self._fetched.abort()
            if self.archive is not None:
                self.archive.close()
        remove_tree(self.segment.path)

    def close(self) -> None:
        """Everything is on disk; only the name is missing."""
        import pyarrow as pa

        if self.archive is not None:
            self.archive.close()
        self._fetched.close()
        rows = pa.Table.from_batches(self._fetchlist, FETCHLIST.schema())
        with PartWriter(self.segment.folder(FETCHLIST), FETCHLIST, part_name(0)) as writer:
            writer.write(rows.sort_by([("score", "descending"), ("url_key", "ascending")]))
        for table in (FETCHED, FETCHLIST, PARSED, LINKS):
            _spool_path(self.segment, table).unlink(missing_ok=True)
        done = done_path(self.segment.path, 0)
        done.parent.mkdir(exist_ok=True)
        done.touch()  # a fetch finds nothing to do


def _ends(draft: SegmentFolder) -> dict[str, list[int]]:
    """For each WARC file of a draft, where its records begin, and its end: where the record before each ends."""
    found: dict[str, list[int]] = {}
    for batch in _batches(draft, FETCHED):
        names, offsets = batch.column("warc_file").to_pylist(), batch.column("warc_offset").to_pylist()
        for name, offset in zip(names, offsets, strict=True):
            if name is not None:
                found.setdefault(name, []).append(offset)
    return {name: [*sorted(offsets), (draft.warc_path / name).stat().st_size] for name, offsets in found.items()}
