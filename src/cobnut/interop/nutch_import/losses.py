"""What of Nutch's files was read, and what was left out, and why?

`read` counts records by what they are, `left_out` those that have no place here by reason, `notes` are remarks on what
was read all the same. `damage` counts what could not be read; the first of it is told by file and offset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cobnut.errors import DataError
from cobnut.interop.found import Part
from cobnut.interop.hadoop.data import DataInput
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.hadoop.sequencefile import SequenceFileReader

MOST_TOLD = 100
"""So many damaged places and notes are told one by one; the others are only counted."""

REASONS: dict[str, str] = {
    "not_a_url": "A key that is no URL.",
    "not_http": "A URL that is neither http nor https.",
    "forgotten": "A page that this crawl was told to forget.",
    "same_key": "Several records are one page here (spellings of a URL, several files): the one visited last stays.",
    "not_a_db_status": "A record in the crawldb whose status says nothing of a page's state.",
    "unreadable": "A damaged record, or a damaged stretch of a file.",
    "not_fetched": "A segment that was generated and not fetched: its URLs are due in the crawldb.",
    "segment_here": "A segment that was imported before.",
    "no_content": "A fetched page of which neither content nor text is there.",
    "head_too_large": "A page whose header fields are larger than any server's may be.",
    "no_date": "A page without the time of its fetch.",
    "host_statistics": "What a hostdb knows beside counts: score, home page, statistics of values.",
    "score": "A score that is no number: it became 0.",
    "signature": "A digest that has not 16 bytes.",
    "duplicate_mark": "Marked as a duplicate: it comes in as fetched, `cobnut dedup` decides anew.",
    "webgraphdb": "A web graph: `cobnut rank` computes ranks anew from the links.",
    "same_two_pages": "One more link between two pages: the linkdb keeps one, with the words that come first.",
    "bad_link": "A link to or from something that is no http or https URL.",
    "not_imported": "A file of a kind that has no place here.",
}  # fmt: skip
"""Every reason with one sentence."""


class Told(NamedTuple):
    """One damaged place."""

    path: str
    offset: int | None
    what: str

    def line(self) -> str:
        """As one line."""
        return f"{self.path}{'' if self.offset is None else f', byte {self.offset:,}'}: {self.what}"


class Losses:
    """Counts, and what is to be told."""

    def __init__(self) -> None:
        self.read = Counter[str]()
        self.left_out = Counter[str]()
        self.notes: list[str] = []
        self.told: list[Told] = []
        self.damage = 0

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Counts something that has no place here."""
        self.left_out[reason] += count

    def note(self, line: str) -> None:
        """Adds a remark."""
        if len(self.notes) < MOST_TOLD and line not in self.notes:
            self.notes.append(line)

    def damaged(self, path: Path | str, what: str, offset: int | None = None, *, records: int = 1) -> None:
        """Something that could not be read."""
        self.damage += 1
        self.left_out["unreadable"] += records
        if len(self.told) < MOST_TOLD:
            self.told.append(Told(str(path), offset, what))

    def error(self, path: Path | str, error: DataError, offset: int | None = None) -> None:
        """The same, of an error; *offset* is where the record begins that it was met in."""
        if isinstance(error, FormatError):
            inner = 0 if error.offset is None else error.offset
            place = error.offset if error.path is not None or offset is None else offset
            more = f" (byte {inner:,} of the record)" if offset is not None and error.path is None else ""
            self.damaged(error.path or path, error.what + more, place)
        else:
            self.damaged(path, error.what, offset)

    def lines(self) -> Iterator[str]:
        """Everything there is to tell, damage first."""
        for one in self.told:
            yield f"could not be read: {one.line()}"
        if self.damage > len(self.told):
            yield f"could not be read: {self.damage - len(self.told):,} more places"
        yield from self.notes


def raw_records(part: Part, losses: Losses) -> Iterator[tuple[int, bytes, bytes]]:
    """Position, key and value of all records of a file that can be read; the rest is told."""
    try:
        reader = SequenceFileReader(part.data)
    except DataError as error:
        losses.error(part.data, error)
        return
    except OSError as error:
        losses.damaged(part.data, f"cannot be opened ({error.strerror or error})")
        return
    with reader:
        try:
            yield from reader.records()
        except DataError as error:
            losses.error(part.data, error)
        except OSError as error:
            losses.damaged(part.data, f"cannot be read ({error.strerror or error})")
        for line in reader.warnings:
            losses.note(f"{part.data}: {line}")
        for start, end, reason in reader.skipped:
            losses.damaged(part.data, f"{reason}: {end - start:,} bytes passed over", start)


def key_text(part: Part, key: bytes) -> str:
    """A key that is a string: a Text, or a UTF8 in the oldest files. A `FormatError` for anything else."""
    size = key[0] if key else 0
    if size < 0x80 and len(key) == size + 1 and not is_utf8(part):
        return str(key[1:], "utf-8", "replace")
    data = DataInput(key)
    text = data.read_utf8() if is_utf8(part) else data.read_text()
    data.finish("key")
    return text


def is_utf8(part: Part) -> bool:
    """Are the keys strings as the oldest files have them?"""
    return part.header.key_class.rpartition(".")[2] == "UTF8"
