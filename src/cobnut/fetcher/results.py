"""How do the results of one fetchlist part reach the disk, and what is there already?

`PartOutput` holds everything a part writes: its lock, WARC files, `fetched` and `hosts` chunks. A chunk gets
its name only after the WARC bytes it points to are durable; from then on its rows are acknowledged. The chunk of
`hosts` with what was learned meanwhile has the same number and is written before it: one without its partner does not
count. What a killed run left is read back first: acknowledged rows, and complete WARC records that no chunk points to,
which become rows, and are counted for their hosts.

Not here: what a row says (`fetcher.run`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cobnut.fetcher.archive import Archive, Recovered, next_number, read_tail, warc_files
from cobnut.records.catalogue import FETCHED, HOSTS
from cobnut.storage.files import TEMPORARY_PREFIX
from cobnut.storage.locks import Owner, WriterLock
from cobnut.storage.parts import PartWriter, part_name

if TYPE_CHECKING:
    from cobnut.records.columns import Table

CHUNK_ROWS = 1_000
CHUNK_AGE_S = 10.0
LOCK_WAIT_S = 5.0
"""A killed parent's workers end within moments; a living owner keeps its lock longer than this."""

STATE_FOLDER = "fetching"

KILL_SLACK_S = 3.0
"""So long after it last said that it is alive may a killed worker have sent a request."""


class FetchedRow(NamedTuple):
    """One row of `fetched`, in the order of its columns."""

    url_key: str
    url: str
    host: str
    bucket: int
    outcome: str
    reason: str | None
    http_status: int | None
    headers: dict[str, str] | None
    fetched_at: int
    elapsed_ms: int | None
    body_bytes: int
    truncated: bool
    redirect_url: str | None
    redirect_key: str | None
    digest: bytes | None
    etag: str | None
    last_modified: str | None
    last_modified_at: int | None
    retry_after_s: int | None
    warc_file: str | None
    warc_offset: int | None
    address: str | None
    score: int
    depth: int
    hop_from: str | None
    had_condition: bool
    flags: tuple[str, ...] | None = None


class Acknowledged(NamedTuple):
    """What an acknowledged row must still tell: to follow its redirect, and to count it."""

    url_key: str
    outcome: str
    reason: str | None
    redirect_url: str | None
    hop_from: str | None
    score: int
    depth: int


def lock_path(segment_path: Path, part: int) -> Path:
    """The lock of one fetchlist part."""
    return segment_path / STATE_FOLDER / f"{part_name(part)}.lock"


def done_path(segment_path: Path, part: int) -> Path:
    """The mark that a part was fetched to its end."""
    return segment_path / STATE_FOLDER / f"{part_name(part)}.done"


def asked_until_ms(lock: Path) -> int:
    """Until when the owner of a part's lock, who died, may have asked hosts; 0 when it ended well."""
    try:
        found = lock.stat()
    except FileNotFoundError:
        return 0
    return _asked_until_ms(found.st_mtime) if found.st_size else 0


def _asked_until_ms(alive_at_s: float) -> int:
    return int(min(alive_at_s + KILL_SLACK_S, time.time()) * 1000)


class PartOutput:
    """Everything one part writes. Made under the part's lock; a part that another process has is refused."""

    def __init__(
        self, segment_path: Path, part: int, warc_max_bytes: int, about: dict[str, str], owner: Owner | None = None
    ) -> None:
        self.part, self._segment = part, segment_path
        self._lock = WriterLock(
            lock_path(segment_path, part), f"part {part} of the fetchlist of segment {segment_path.name}", LOCK_WAIT_S,
            owner,
        ).acquire()  # fmt: skip
        died_at = self._lock.taken_over_at
        self.asked_until_ms = 0 if died_at is None else _asked_until_ms(died_at)
        self._fetched_folder, self._hosts_folder = segment_path / FETCHED.name, segment_path / HOSTS.name
        for folder in (self._fetched_folder, self._hosts_folder):
            _sweep(folder, part)
        warc = segment_path / "warc"
        self._existing = _chunks(self._fetched_folder, part)
        self._sequence = _next(self._existing)
        for path in _chunks(self._hosts_folder, part):
            if _number(path) >= self._sequence:
                path.unlink()
        self._warc_folder = warc
        self.archive = Archive(warc, part, next_number(warc, part), warc_max_bytes, about)
        self._rows: list[FetchedRow] = []
        self._host_rows: list[dict[str, Any]] = []
        self._since: float | None = None
        self.before_flush: Callable[[], Iterable[dict[str, Any]]] = lambda: ()

    def acknowledged(self) -> tuple[list[Acknowledged], dict[str, int]]:
        """Rows of chunks that are complete, and for each WARC file the last offset they point to."""
        import pyarrow.parquet as pq

        rows: list[Acknowledged] = []
        offsets: dict[str, int] = {}
        for path in self._existing:
            columns = [*Acknowledged._fields, "warc_file", "warc_offset"]
            data = pq.read_table(path, columns=columns).to_pydict()
            rows += map(Acknowledged._make, zip(*(data[name] for name in Acknowledged._fields), strict=True))
            for name, offset in zip(data["warc_file"], data["warc_offset"], strict=True):
                if name is not None and offset > offsets.get(name, -1):
                    offsets[name] = offset
        return rows, offsets

    def robots(self) -> list[dict[str, Any]]:
        """Rows of chunks that are complete which say what the robots.txt of an origin said."""
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        columns = ["origin", "state", "reason", "body", "seen_at"]
        found: list[dict[str, Any]] = []
        for path in _chunks(self._hosts_folder, self.part):
            found += pq.read_table(path, columns=columns, filters=pc.field("event") == "robots").to_pylist()
        return found

    def counted(self) -> dict[str, int]:
        """Up to when the rows about each host count what it answered, in chunks that are complete."""
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        found: dict[str, int] = {}
        for path in _chunks(self._hosts_folder, self.part):
            rows = pq.read_table(path, columns=["host", "seen_at"], filters=pc.field("event") == "traffic").to_pydict()
            for host, seen_at in zip(rows["host"], rows["seen_at"], strict=True):
                found[host] = max(seen_at, found.get(host, 0))
        return found

    def unacknowledged(self, offsets: dict[str, int]) -> Iterable[Recovered]:
        """Complete WARC records that no chunk points to, behind the last one that a chunk does."""
        for path in warc_files(self._warc_folder, self.part):
            yield from read_tail(path, offsets.get(path.name, -1))

    def add(self, row: FetchedRow, now: float) -> None:
        """Adds a row; a full chunk is written out."""
        self._rows.append(row)
        if self._since is None:
            self._since = now
        if len(self._rows) >= CHUNK_ROWS:
            self.flush()

    def add_host(self, row: dict[str, Any], now: float) -> None:
        """Adds a row about a host."""
        self._host_rows.append(row)
        if self._since is None:
            self._since = now

    def flush_if_old(self, now: float) -> None:
        """Writes out what has waited long enough."""
        if self._since is not None and now - self._since >= CHUNK_AGE_S:
            self.flush()

    def flush(self) -> None:
        """Makes everything so far durable: WARC first, then the rows."""
        self.archive.sync()
        self._host_rows.extend(self.before_flush())
        self._since = None
        if not self._rows and not self._host_rows:
            return
        name = part_name(self.part, self._sequence)
        if self._host_rows:
            found, self._host_rows = self._host_rows, []
            columns = [tuple(row.get(name) for row in found) for name in HOSTS.column_names]
            _write(self._hosts_folder, HOSTS, name, columns)
        rows, self._rows = self._rows, []
        _write(self._fetched_folder, FETCHED, name, list(zip(*rows, strict=True)) or [()] * len(FETCHED.columns))
        self._sequence += 1

    def alive(self) -> None:
        """Says to whoever follows, should this process be killed, that it was still at work."""
        os.utime(self._lock.path)

    def close(self, *, whole: bool) -> None:
        """Writes what is left and gives the part back; `whole` marks it as fetched to its end."""
        self.flush()
        self.archive.close()
        if whole:
            done_path(self._segment, self.part).touch()
        self._lock.release()


def _write(folder: Path, table: Table, name: str, columns: list[tuple[Any, ...]]) -> None:
    import pyarrow as pa

    schema = table.schema()
    arrays = []
    for field, values in zip(schema, columns, strict=True):
        if field.name == "headers":
            values = tuple(None if v is None else list(v.items()) for v in values)
        arrays.append(pa.array(values, field.type))
    with PartWriter(folder, table, name) as writer:
        writer.write(pa.Table.from_arrays(arrays, schema=schema))


def _chunks(folder: Path, part: int) -> list[Path]:
    return sorted(folder.glob(f"{part_name(part)}-?????.parquet")) if folder.is_dir() else []


def _number(chunk: Path) -> int:
    return int(chunk.stem[-5:])


def _next(chunks: list[Path]) -> int:
    return max(map(_number, chunks), default=-1) + 1


def _sweep(folder: Path, part: int) -> None:
    """Unfinished chunks of a killed run of this part; the part's lock is held."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob(f"{TEMPORARY_PREFIX}{part_name(part)}-*"):
        path.unlink(missing_ok=True)
