"""What do whole archives come to, read into a crawl?

Goes through the files one after the other, gives every document to the intake, and keeps account of everything else:
records by type, what was left out and why, where the files are damaged.

Not here: how documents become segments (`interop.intake`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from cobnut.errors import InputError
from cobnut.interop.documents import Document
from cobnut.interop.intake import SegmentIntake
from cobnut.interop.warc.answers import document_of
from cobnut.interop.warc.records import Damage, Record, looks_like_archive, read_records
from cobnut.interop.warc.revisits import Revisits

NAMES = (".warc", ".warc.gz", ".warc.zst", ".warc.open", ".warc.gz.open", ".arc", ".arc.gz", ".wet.gz", ".wet")
MOST_TOLD = 100
"""Damaged places that are told one by one."""

DOCUMENTS = ("response", "resource", "conversion")
TYPES = (*DOCUMENTS, "revisit", "request", "metadata", "warcinfo", "continuation")
PROGRESS_RECORDS = 500


class Told(msgspec.Struct, frozen=True):
    """One damaged place."""

    file: str
    offset: int
    reason: str


class ReadReport(msgspec.Struct):
    """What was read: records by type, and the damage. What became of the documents, the intake says."""

    files: int = 0
    bytes: int = 0
    records: dict[str, int] = {}
    odd_lengths: int = 0
    damage: list[Told] = []
    damage_count: int = 0
    damaged_files: int = 0
    revisits: int = 0
    revisits_resolved: int = 0


def shown(path: Path) -> str:
    """A path as text that can be kept; bytes that are no UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def find_archives(given: Sequence[Path]) -> list[Path]:
    """The archives named: files as they are, and those with an archive's name below folders, in the order of names.

    An `InputError` when one is missing, when a file is no archive, or when a folder holds none.
    """
    found: list[Path] = []
    for path in given:
        if path.is_dir():
            below = sorted(p for p in path.rglob("*") if p.name.lower().endswith(NAMES) and p.is_file())
            if not below:
                raise InputError(
                    "no archive in this folder",
                    where=shown(path),
                    remedy=f"their names end in {', '.join(NAMES[:2])} …",
                )
            found += below
        elif not path.exists():
            raise InputError("no such file", where=shown(path))
        elif not path.is_file():
            raise InputError("neither a file nor a folder", where=shown(path))
        else:
            if not looks_like_archive(path):
                raise InputError("neither WARC nor ARC", where=shown(path), remedy="name archives, or folders of them")
            found.append(path)
    return list(dict.fromkeys(found))


def read_archives(
    paths: Iterable[Path], intake: SegmentIntake, on_progress: Callable[[Path, int], None] = lambda path, records: None
) -> ReadReport:
    """Gives every document of the archives to the intake."""
    report, files, revisits = ReadReport(), list(paths), Revisits()
    counts = Counter[str]()
    try:
        for path in files:
            report.files += 1
            report.bytes += path.stat().st_size
            _read_one(path, intake, revisits, report, counts, on_progress)
        report.revisits = revisits.count
        if len(revisits):
            for path in files:
                _resolve(path, intake, revisits, report, on_progress)
        if len(revisits):
            intake.leave_out("revisit_unresolved", len(revisits))
    finally:
        revisits.close()
    report.records = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return report


def _read_one(
    path: Path, intake: SegmentIntake, revisits: Revisits, report: ReadReport, counts: Counter[str],
    on_progress: Callable[[Path, int], None],
) -> None:  # fmt: skip
    damaged = 0
    for found in read_records(path):
        if isinstance(found, Damage):
            damaged += 1
            if len(report.damage) < MOST_TOLD:
                report.damage.append(Told(shown(path), found.offset, found.reason))
        elif isinstance(found, Record):
            kind = found.type if found.type in TYPES else "of another type"
            counts[kind] += 1
            report.odd_lengths += found.note is not None
            if counts.total() % PROGRESS_RECORDS == 0:
                on_progress(path, counts.total())
            _take(found, kind, intake, revisits)
    report.damage_count += damaged
    report.damaged_files += bool(damaged)


def _take(record: Record, kind: str, intake: SegmentIntake, revisits: Revisits) -> None:
    if kind in DOCUMENTS:
        document = document_of(record)
        if isinstance(document, Document):
            intake.add(document)
        else:
            intake.leave_out(document)
    elif kind == "revisit":
        reason = revisits.put(record)
        if reason is not None:
            intake.leave_out(reason)


def _resolve(
    path: Path, intake: SegmentIntake, revisits: Revisits, report: ReadReport, on_progress: Callable[[Path, int], None]
) -> None:
    for number, found in enumerate(read_records(path)):
        if number % PROGRESS_RECORDS == 0:
            on_progress(path, number)
        if isinstance(found, Record) and found.type in DOCUMENTS:
            document = document_of(found)
            if isinstance(document, Document):
                for revisited in revisits.resolved(found, document):
                    report.revisits_resolved += 1
                    intake.add(revisited)
