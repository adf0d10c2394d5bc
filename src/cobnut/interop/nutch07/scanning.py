"""What can be read of a table of records, and what is wrong with the rest?

A table is the `data` file of a MapFile or ArrayFile. `scan` gives its records one after the other; whatever is wrong
with the file or a record is added to `Problems`, and what is readable is still read.

Not here: damage within a SequenceFile (`hadoop.sequencefile` passes over it and tells).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from cobnut.errors import DataError
from cobnut.interop.hadoop.errors import FormatError, UnknownClassError
from cobnut.interop.hadoop.header import full_class_name
from cobnut.interop.hadoop.sequencefile import RawRecord, SequenceFileReader

MAX_LISTED = 1_000
"""So many problems are kept one by one; the others are only counted."""
Record = TypeVar("Record")


class Problem(NamedTuple):
    """Something that could not be read, or is not as it should be. `offset` is None where it concerns a whole file."""

    path: str
    offset: int | None
    what: str

    def line(self) -> str:
        place = self.path if self.offset is None else f"{self.path}, byte {self.offset}"
        return f"{place}: {self.what}"


class Problems:
    """The problems met so far: the first thousand in `listed`, all of them in `count`."""

    def __init__(self) -> None:
        self.listed: list[Problem] = []
        self.count = 0

    def add(self, path: Path | str, what: str, offset: int | None = None) -> None:
        self.count += 1
        if len(self.listed) < MAX_LISTED:
            self.listed.append(Problem(str(path), offset, what))

    def add_error(self, path: Path | str, error: DataError) -> None:
        if isinstance(error, FormatError):
            self.add(error.path or path, error.what, error.offset)
        else:
            self.add(path, error.what)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.listed)


def scan(
    folder: Path,
    key_class: str,
    value_class: str,
    decode: Callable[[RawRecord], Record],
    order: Callable[[Record], Any],
    problems: Problems,
    *,
    check_crc: bool = True,
) -> Iterator[Record]:
    """The records of the table *folder*, made by *decode*; *order* is what must ascend from one to the next."""
    path = folder / "data"
    try:
        reader = SequenceFileReader(path, check_crc=check_crc)
    except DataError as error:
        problems.add_error(path, error)
        return
    with reader:
        if not _has_classes(reader, key_class, value_class, problems):
            return
        last, unordered = None, 0
        told = 0
        for raw in reader.records():
            for gap in reader.skipped[told:]:
                problems.add(path, f"passed over up to byte {gap.end}: {gap.reason}", gap.start)
            told = len(reader.skipped)
            try:
                record = decode(raw)
            except FormatError as error:
                problems.add(path, f"{error.what} (at byte {error.offset or 0} of the record)", raw.position)
                continue
            place = order(record)
            if last is not None and place <= last:
                if not unordered:
                    problems.add(path, "from here on the keys do not ascend; all records are read", raw.position)
                unordered += 1
            last = place
            yield record
        for gap in reader.skipped[told:]:
            problems.add(path, f"passed over up to byte {gap.end}: {gap.reason}", gap.start)
        for warning in reader.warnings:
            problems.add(path, warning)


def _has_classes(reader: SequenceFileReader, key_class: str, value_class: str, problems: Problems) -> bool:
    """The file holds what belongs here; an unknown or another class is told."""
    for name, wanted, what in ((reader.key_class, key_class, "keys"), (reader.value_class, value_class, "values")):
        if full_class_name(name, reader.version) != full_class_name(wanted, 2):
            error = UnknownClassError(f"{what} of the class {name}, where {wanted} belongs", name)
            problems.add(reader.path, error.what)
            return False
    return True
