"""What did a server send, in the form in which Nutch keeps it?

The body with its Content-Encoding undone, and the header fields as they came, out of a segment's WARC files. A record
that is missing, cut or another page's is None: the page is then exported without its content, and counted.

Not here: which pages have content (`segment1`, `segment07`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from cobnut.parsers.body import undo_encoding
from cobnut.parsers.tasks import PageTask
from cobnut.parsers.worker import Archive

MOST_OPEN_FILES = 64


class Sent(NamedTuple):
    """An answer: its header fields in order, names as they came, and its body."""

    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first field of that name (in lower case)."""
        return next((value for field, value in self.headers if field.lower() == name), None)


class Answers:
    """The WARC files of one segment; a context manager. Bodies are cut at *most_bytes*."""

    def __init__(self, warc: Path, most_bytes: int) -> None:
        self._archive, self._most = Archive(warc), most_bytes

    def read(self, url: str, file: str | None, offset: int | None) -> Sent | None:
        """The answer for *url* whose record begins there."""
        if file is None or offset is None:
            return None
        if len(self._archive.files) >= MOST_OPEN_FILES:
            self._archive.close()
        task = PageTask("", url, "", 0, 0, 0, 0, warc_file=file, warc_offset=offset)
        found = self._archive.read(task)
        if found is None:
            return None
        headers, body = found
        encoding = ", ".join(value for name, value in headers if name.lower() == "content-encoding")
        return Sent(headers, undo_encoding(body, encoding or None, self._most).data)

    def __enter__(self) -> Answers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()
