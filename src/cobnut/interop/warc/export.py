"""How does a crawl become WARC files that other programs read?

The records lie in the segments as they are to be: one gzip member each, response, digest, address. They are copied byte
for byte into files of their own, in the order of segments, the newest answer of each URL that says something (or every
answer), and nothing that is to be forgotten.

A file gets its name when it is complete. Not here: how records are written (`fetcher.archive`).
"""

from __future__ import annotations

import os
import re
import time
import uuid
import zlib
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import msgspec

from cobnut.errors import InputError
from cobnut.fetcher.archive import warc_date
from cobnut.fetcher.tombstone import members, target_uri
from cobnut.frontier.forgotten import forgotten_of, key_test
from cobnut.interop.documents import DEFINITE, PASSING, key_hash
from cobnut.interop.versions import LEFT_OUT, plan
from cobnut.records.catalogue import FETCHED
from cobnut.storage.files import fsync_folder, io_errors, sweep, temporary_name
from cobnut.storage.layout import GENERATED, CrawlFolder, SegmentFolder
from cobnut.storage.tables import batches_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_COLUMNS = ["url_key", "url", "outcome", "fetched_at", "warc_file", "warc_offset"]
_ROWS = 65_536


class ExportReport(msgspec.Struct):
    """What was written, and what was left out by reason. `unreadable`: files of segments that are missing or broken."""

    files: list[str]
    records: int = 0
    bytes: int = 0
    left_out: dict[str, int] = {}
    unreadable: list[str] = []


def export_warc(
    crawl: CrawlFolder, target: Path, *, prefix: str, segments: Sequence[SegmentFolder], all_versions: bool = False,
    max_bytes: int,
) -> ExportReport:  # fmt: skip
    """Writes the answers that these segments hold into `target` as PREFIX-00000.warc.gz and so on."""
    if target.resolve().is_relative_to(crawl.path.resolve()):
        raise InputError("the target lies in the crawl", where=str(target), remedy="name a folder elsewhere")
    if target.exists() and not target.is_dir():
        raise InputError("a file is in the way", where=str(target), remedy="name a folder")
    segments = [s for s in segments if s.state() != GENERATED]
    report = ExportReport([])
    fates = _fates(crawl, segments, all_versions, report)
    with io_errors(target, "create"):
        target.mkdir(parents=True, exist_ok=True)
        there = sorted(p.name for p in target.glob(f"{prefix}-?????.warc.gz"))
    if there:
        raise InputError(
            "there is an export here already", where=str(target / there[0]), remedy="choose another folder, or --prefix"
        )
    sweep(target)
    number = 0
    with _Files(target, prefix, max_bytes, report, crawl.path.name) as files:
        for segment in segments:
            wanted: dict[str, dict[int, str]] = {}
            for row in _answers(segment):
                if fates[number] != LEFT_OUT:
                    wanted.setdefault(row.file, {})[row.offset] = row.url
                number += 1
            for name, offsets in sorted(wanted.items()):
                _copy(segment.warc_path / Path(name).name, offsets, files, report)
    return report


class _Answer(NamedTuple):
    key: str
    url: str
    outcome: str
    at_ms: int
    file: str
    offset: int


def _answers(segment: SegmentFolder) -> Iterator[_Answer]:
    """The answers of a segment that lie in its archive; not what was purged, and what brought none."""
    for batch in batches_of(FETCHED, segment.part_files(FETCHED), _COLUMNS, _ROWS):
        for values in zip(*(batch.column(name).to_pylist() for name in _COLUMNS), strict=True):
            if values[4] is not None:
                yield _Answer._make(values)


def _fates(
    crawl: CrawlFolder, segments: Sequence[SegmentFolder], all_versions: bool, report: ExportReport
) -> NDArray[np.int64]:
    """For each answer, in the order of segments and rows, LEFT_OUT or not. Some 30 bytes of memory an answer."""
    forgotten = key_test(forgotten_of(crawl))
    hashes, times, ranks = array("q"), array("q"), array("b")
    out: list[int] = []
    number = 0
    for segment in segments:
        for row in _answers(segment):
            if forgotten(row.key):
                out.append(number)
            else:
                hashes.append(key_hash(row.key))
                times.append(row.at_ms)
                ranks.append(PASSING if row.outcome in ("retry", "denied", "not_modified") else DEFINITE)
            number += 1
    fates, report.left_out = plan(hashes, times, ranks, all_versions=all_versions)
    if not out:
        return fates
    import numpy as np

    report.left_out["forgotten"] = len(out)
    every = np.full(number, LEFT_OUT, np.int64)
    every[np.setdiff1d(np.arange(number), np.array(out), assume_unique=True)] = fates
    return every


def _copy(path: Path, offsets: dict[int, str], files: _Files, report: ExportReport) -> None:
    """Copies the records at these offsets out of one file."""
    found = 0
    for packed in _records(path, offsets):
        files.write(packed)
        found += 1
    if found < len(offsets):
        report.unreadable.append(str(path))
        report.left_out["unreadable"] = report.left_out.get("unreadable", 0) + len(offsets) - found


def _records(path: Path, offsets: dict[int, str]) -> Iterator[bytes]:
    """The packed records at these offsets that are of the URLs expected there."""
    if not path.exists():
        return
    with io_errors(path, "read"), open(path, "rb") as file:
        for offset, packed, head in members(file):
            if offset in offsets and target_uri(head) == offsets[offset]:
                yield packed


def safe_prefix(name: str) -> str:
    """A name's letters, digits, dots and dashes, for the names of files."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:100] or "cobnut"


class _Files:
    """The files written one after the other."""

    def __init__(self, folder: Path, prefix: str, max_bytes: int, report: ExportReport, of: str) -> None:
        self._folder, self._prefix, self._max, self._report, self._of = folder, prefix, max_bytes, report, of
        self._file: IO[bytes] | None = None
        self._name = ""
        self._draft = folder
        self._size = 0

    def write(self, packed: bytes) -> None:
        """Adds one packed record."""
        if self._file is None or self._size >= self._max:
            self._begin()
        self._add(packed)
        self._report.records += 1

    def _add(self, packed: bytes) -> None:
        assert self._file is not None
        with io_errors(self._draft, "write"):
            self._file.write(packed)
        self._size += len(packed)
        self._report.bytes += len(packed)

    def _begin(self) -> None:
        from cobnut import __version__

        self._finish()
        self._name = f"{self._prefix}-{len(self._report.files):05d}.warc.gz"
        self._draft, self._size = self._folder / temporary_name(self._name), 0
        with io_errors(self._draft, "write"):
            self._file = open(self._draft, "xb")  # noqa: SIM115 - open until the file is full
        block = (
            f"software: Cobnut/{__version__}\r\nformat: WARC File Format 1.1\r\n"
            f"conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
            f"isPartOf: {safe_prefix(self._of)}\r\n"
        ).encode()
        head = (
            f"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Date: {warc_date(int(time.time() * 1000))}\r\n"
            f"WARC-Filename: {self._name}\r\nWARC-Record-ID: <urn:uuid:{uuid.uuid4()}>\r\n"
            f"Content-Type: application/warc-fields\r\nContent-Length: {len(block)}\r\n\r\n"
        ).encode()
        packer = zlib.compressobj(6, zlib.DEFLATED, 31)
        self._add(packer.compress(head + block + b"\r\n\r\n") + packer.flush())

    def _finish(self) -> None:
        if self._file is None:
            return
        with io_errors(self._draft, "write"):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self._draft, self._folder / self._name)
            fsync_folder(self._folder)
        self._file = None
        self._report.files.append(self._name)

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_more: object) -> None:
        if kind is None:
            self._finish()
        elif self._file is not None:
            self._file.close()
            self._draft.unlink(missing_ok=True)
