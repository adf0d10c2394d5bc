"""Which records lie in a file or folder of Nutch, and how do they look as JSON?

`Listing` goes over all files of a `Found` and gives a `Listed` for every record: `file`, the path of its file from the
path that was asked about on (the name alone where that is a file); `key`; `value` (see `listing_values`). Records come
one after the other, in the order of the files; nothing is held.

What could not be read is in `problems` afterwards, and everything else was given: damage within a file, a file that is
none, a value that does not decode.

Not here: what lies there (`recognize`); the records of one URL (`listing_url`); counting (`listing_stats`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cobnut.errors import CobnutError
from cobnut.interop.found import Found, Header, Part, short_class
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.hadoop.mapfile import MapFileReader, Order
from cobnut.interop.hadoop.sequencefile import RawRecord, SequenceFileReader
from cobnut.interop.listing_values import Decode, decoders
from cobnut.interop.nutch07.link import link_md5_order, link_url_order
from cobnut.interop.nutch07.page import page_order

MAX_PROBLEMS = 1_000
"""So many are kept one by one; the others are only counted."""

ORDERS: dict[str, Order] = {
    "pagesByMD5": page_order, "linksByURL": link_url_order, "linksByMD5": link_md5_order,
}  # fmt: skip
"""How the tables of a webdb are sorted that have records as keys."""

_VERSIONED = {"CrawlDatum", "ParseData", "ParseText"}
"""Records that begin with their version."""

Reader = MapFileReader | SequenceFileReader


class Listed(NamedTuple):
    """A record; `kind` is that of its file (see `recognize`), `position` where it stands there."""

    file: str
    key: Any
    value: Any
    kind: str
    position: int

    def as_json(self) -> dict[str, Any]:
        """What is printed."""
        return {"file": self.file, "key": self.key, "value": self.value}


class Problem(NamedTuple):
    """Something to tell of a file: bytes `start` to `end` (None: to wherever), or all of it where `start` is None.

    With `damage` something was left out; without, everything was read, and this is to be known.
    """

    file: str
    start: int | None
    end: int | None
    what: str
    damage: bool = True

    def line(self) -> str:
        """In words: where, and what."""
        if self.start is None:
            return f"{self.file}: {self.what}"
        to = "" if self.end is None else f" to {self.end}"
        return f"{self.file}, byte{'s' if to else ''} {self.start}{to}: {self.what}"


class Problems:
    """What was met while reading; the first `MAX_PROBLEMS` in words, `count` and `damage_count` of all."""

    def __init__(self) -> None:
        self.listed: list[Problem] = []
        self._told: set[Problem] = set()
        self.count = 0
        self.damage_count = 0

    def add(self, problem: Problem) -> None:
        """Keep it; the same one told again is left out."""
        if problem in self._told:
            return
        if len(self._told) < MAX_PROBLEMS:
            self._told.add(problem)
        self.count += 1
        self.damage_count += problem.damage
        if len(self.listed) < MAX_PROBLEMS:
            self.listed.append(problem)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.listed)


class Listing:
    """All records of *found*: iterate, then look at `problems`."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.problems = Problems()
        self._versions: dict[Path, tuple[str, int]] = {}
        for note in found.all_notes():
            self.problems.add(Problem(self.name(note.path), None, None, note.text, note.damage))

    def name(self, path: Path) -> str:
        """How *path* is called in the listing."""
        root = self.found.path
        if path == root:
            return path.name or str(path)
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()

    def saw_version(self, folder: Path, file: str, version: int) -> None:
        """The records of *file*, one of several in *folder*, have this version: another one than before is told."""
        first, known = self._versions.setdefault(folder, (file, version))
        if known != version:
            what = f"its records are of version {version}, those of {first} of version {known}: both are read"
            self.problems.add(Problem(file, None, None, what, damage=False))

    def __iter__(self) -> Iterator[Listed]:
        for part in self.found.all_parts():
            yield from self.records(part)

    def records(self, part: Part) -> Iterator[Listed]:
        """The records of one file."""
        with self.open(part) as file:
            yield from file.listed(file.raw())

    def open(self, part: Part) -> PartReader:
        """One file for reading; where it cannot be opened, a problem, and a reader that gives nothing."""
        return PartReader(self, part)


class PartReader:
    """One file of records: raw ones, and what they are as JSON. Whatever is wrong is told to the listing's problems."""

    def __init__(self, listing: Listing, part: Part) -> None:
        self.part = part
        self.file = listing.name(part.data)
        self._listing = listing
        self._problems = listing.problems
        self._is_versioned = part.path.name.startswith("part-") and short_class(part.header.value_class) in _VERSIONED
        self.sought = False
        """Whether the records begin at the key that `seek` went to."""
        self.reader: Reader | None = None
        key, value, unknown = decoders(part.header)
        self.decode_key: Decode = key
        self.decode_value: Decode = value
        try:
            self.reader = _reader_of(part)
        except CobnutError as error:
            self.tell_error(error)
            return
        for name in unknown:
            self.tell(None, None, f"the class {name[:200]} is not known here: its bytes are shown", damage=True)

    def __enter__(self) -> PartReader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def header(self) -> Header:
        return self.part.header

    @property
    def can_seek(self) -> bool:
        """Whether keys are found without reading everything."""
        return isinstance(self.reader, MapFileReader) and self.part.has_index

    def seek(self, key: bytes) -> bool:
        """Let `raw` begin at *key*, or at the first key after it. False where only reading everything finds all."""
        self.sought = False
        if not self.can_seek or not isinstance(self.reader, MapFileReader):
            return False
        try:
            self.reader.seek(key)
            self.sought = self.reader.order is not None and self.reader.ascends
        except CobnutError as error:
            self.tell_error(error)
        if not self.sought:
            self.restart()
        return self.sought

    @property
    def ascends(self) -> bool:
        """False once keys were met that do not."""
        return self.reader.ascends if isinstance(self.reader, MapFileReader) else False

    def restart(self) -> None:
        """Let `raw` begin at the first record again."""
        self.close()
        self.sought = False
        try:
            self.reader = _reader_of(self.part)
        except CobnutError as error:
            self.tell_error(error)

    def tell(self, start: int | None, end: int | None, what: str, damage: bool) -> None:
        self._problems.add(Problem(self.file, start, end, what, damage))

    def tell_error(self, error: CobnutError) -> None:
        at = error.offset if isinstance(error, FormatError) else None
        self.tell(at, None, f"cannot be read: {error.what}", damage=True)

    def close(self) -> None:
        """Close the file, and tell what was met in it."""
        if self.reader is not None:
            self._tell_of_reader()
            self.reader.close()
            self.reader = None

    def _tell_of_reader(self) -> None:
        if self.reader is not None:
            for gap in self.reader.skipped:
                self.tell(gap.start, gap.end, gap.reason, damage=True)
            for warning in self.reader.warnings:
                self.tell(None, None, warning.removeprefix(f"{self.part.data}, "), damage=False)

    def raw(self) -> Iterator[RawRecord]:
        """The records as bytes; an error that ends the file is a problem."""
        if self.reader is None:
            return
        try:
            for record in self.reader.records():
                if self._is_versioned and record.value:
                    self._listing.saw_version(self.part.path.parent, self.file, record.value[0])
                    self._is_versioned = False
                yield record
        except CobnutError as error:
            self.tell_error(error)

    def listed(self, records: Iterable[RawRecord]) -> Iterator[Listed]:
        """The records as JSON."""
        for record in records:
            one = self.one(record)
            if one is not None:
                yield one

    def one(self, record: RawRecord) -> Listed | None:
        """One record as JSON; None and a problem where its bytes are none."""
        try:
            key, value = self.decode_key(record.key), self.decode_value(record.value)
        except FormatError as error:
            self.tell(record.position, None, f"a record that cannot be read: {error.what}", damage=True)
            return None
        return Listed(self.file, key, value, self.part.kind, record.position)


def _reader_of(part: Part) -> Reader:
    if part.container == "SequenceFile":
        return SequenceFileReader(part.data)
    return MapFileReader(part.path, ORDERS.get(part.kind))
