"""What does a segment of Nutch 0.7 hold?

A folder, named after the second it was made in, of ArrayFiles. `fetchlist` is what was to be fetched. `fetcher`,
`content`, `parse_data` and `parse_text` are parallel: records with the same number are of the same page, in the order
in which the fetches ended; redirects followed on the spot are in them and not in the fetchlist. After a fetch without
parsing `fetcher_output` stands for `fetcher`, and the parse parts are missing until the segment is parsed. The empty
files `fetcher.done` and `index.done` tell that fetching or indexing came to its end; `index` is Lucene's.

`SegmentReader` gives what is readable of a segment that is half-written or damaged, and says what is not.

Not here: writing (`segment_writer`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from cobnut.errors import InputError
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.hadoop.sequencefile import RawRecord
from cobnut.interop.nutch07.content import Content
from cobnut.interop.nutch07.fetching import FetcherOutput, FetchListEntry
from cobnut.interop.nutch07.parsing import ParseData, ParseText
from cobnut.interop.nutch07.record import Record
from cobnut.interop.nutch07.scanning import Problems, scan
from cobnut.interop.nutch07.segment_writer import FETCHER_DONE, INDEX_DONE, SegmentWriter
from cobnut.storage.files import cannot_read

__all__ = ["Entry", "SegmentReader", "SegmentWriter", "segments"]

FETCHLIST, FETCHER, FETCHER_NP = FetchListEntry.DIR_NAME, FetcherOutput.DIR_NAME, FetcherOutput.DIR_NAME_NP
CONTENT, PARSE_DATA, PARSE_TEXT = Content.DIR_NAME, ParseData.DIR_NAME, ParseText.DIR_NAME
PARTS = (FETCHLIST, FETCHER, FETCHER_NP, CONTENT, PARSE_DATA, PARSE_TEXT)
R = TypeVar("R", bound=Record)


class Entry(NamedTuple):
    """What a segment holds of one fetch; a part that is missing or could not be read is None."""

    number: int
    output: FetcherOutput | None
    content: Content | None
    parse_data: ParseData | None
    parse_text: ParseText | None

    @property
    def url(self) -> str | None:
        """The URL that was fetched."""
        if self.output is not None:
            return self.output.url
        return None if self.content is None else self.content.url


class SegmentReader:
    """The segment in *folder*. `problems` grows while it is read; `notes` are sentences on how far it came."""

    def __init__(self, folder: str | Path, *, check_crc: bool = True) -> None:
        self.folder = Path(folder)
        self._check_crc = check_crc
        self.problems = Problems()
        try:
            self.folder.stat()
            self.parts = tuple(name for name in PARTS if (self.folder / name / "data").is_file())
            begun = any((self.folder / name).is_dir() for name in PARTS)
            self.is_fetched = (self.folder / FETCHER_DONE).exists()
            self.is_indexed = (self.folder / INDEX_DONE).exists()
        except OSError as error:
            raise cannot_read(self.folder, error) from error
        if not begun:
            raise InputError(
                "no segment of Nutch 0.7", where=str(self.folder), remedy=f"it would hold {', '.join(PARTS)}"
            )
        self.output_part = FETCHER if FETCHER in self.parts or FETCHER_NP not in self.parts else FETCHER_NP
        self.is_parsed = PARSE_DATA in self.parts and PARSE_TEXT in self.parts
        self.notes = list(self._look())

    def fetchlist(self) -> Iterator[FetchListEntry]:
        """What was to be fetched."""
        return (record for _, record in self._scan(FETCHLIST, FetchListEntry))

    def outputs(self) -> Iterator[FetcherOutput]:
        """How the fetches went."""
        return (record for _, record in self._scan(self.output_part, FetcherOutput))

    def entries(self) -> Iterator[Entry]:
        """All parallel parts side by side, by number; each has at least one part."""
        columns = (
            _Column(self._scan(self.output_part, FetcherOutput)), _Column(self._scan(CONTENT, Content)),
            _Column(self._scan(PARSE_DATA, ParseData)), _Column(self._scan(PARSE_TEXT, ParseText)),
        )  # fmt: skip
        outputs, contents, parses, texts = columns
        while heads := [column.number for column in columns if column.number is not None]:
            number = min(heads)
            entry = Entry(number, outputs.take(number), contents.take(number), parses.take(number), texts.take(number))
            self._compare(entry)
            yield entry

    def _compare(self, entry: Entry) -> None:
        output, content = entry.output, entry.content
        if output is not None and content is not None and output.url != content.url:
            self.problems.add(
                self.folder / CONTENT / "data",
                f"record {entry.number} is of {content.url!r}, and that of {self.output_part} of {output.url!r}",
            )

    def _scan(self, part: str, record_class: type[R]) -> Iterator[tuple[int, R]]:
        if part not in self.parts:
            return iter(())

        def decode(raw: RawRecord) -> tuple[int, R]:
            if len(raw.key) != 8:
                raise FormatError(f"a record number of {len(raw.key)} bytes", offset=0)
            return int.from_bytes(raw.key, "big", signed=True), record_class.decode(raw.value)

        return scan(
            self.folder / part, "long", record_class.SHORT_NAME, decode, _number, self.problems,
            check_crc=self._check_crc,
        )  # fmt: skip

    def _look(self) -> Iterator[str]:
        """How far the segment came."""
        if FETCHLIST not in self.parts:
            yield f"{self.folder} has no {FETCHLIST}: what was to be fetched is not known, only what was"
        if self.output_part not in self.parts:
            if CONTENT in self.parts:
                yield f"{self.folder} has no {FETCHER}: how the fetches went is not known"
            else:
                yield f"{self.folder} was generated and not fetched"
        elif not self.is_fetched:
            yield f"{self.folder} has no {FETCHER_DONE}: the fetch was broken off, or the marker was not copied"
        if self.output_part == FETCHER_NP:
            yield f"{self.folder} has {FETCHER_NP} in place of {FETCHER}: it was fetched without parsing"
        if self.output_part in self.parts:
            missing = [name for name in (CONTENT, PARSE_DATA, PARSE_TEXT) if name not in self.parts]
            if missing:
                yield f"{self.folder} has no {', '.join(missing)}: it was not parsed, or parts were not copied"


class _Column(Generic[R]):
    """A part that is read side by side with others; `number` is that of the record it is at, None at its end."""

    def __init__(self, records: Iterator[tuple[int, R]]) -> None:
        self._records = records
        self.number: int | None = None
        self._record: R | None = None
        self._step(-1)

    def take(self, number: int) -> R | None:
        """The record with this number, if it is the next one."""
        if self.number != number:
            return None
        record = self._record
        self._step(number)
        return record

    def _step(self, last: int) -> None:
        """Go on to the next number after *last*; records out of order are left out (the scan has told of them)."""
        for number, record in self._records:
            if number > last:
                self.number, self._record = number, record
                return
        self.number = self._record = None


def _number(pair: tuple[int, object]) -> int:
    return pair[0]


def segments(folder: str | Path) -> list[Path]:
    """The segments in *folder* (Nutch's `segments`), the oldest first: folders named after a second."""
    path = Path(folder)
    try:
        return sorted(e for e in path.iterdir() if len(e.name) == 14 and e.name.isdecimal() and e.is_dir())
    except OSError as error:
        raise cannot_read(path, error) from error
