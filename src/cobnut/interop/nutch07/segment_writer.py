"""How is a segment written that Nutch 0.7 goes on with?

Fetches are given one by one, and go into the parallel ArrayFiles; the fetchlist is given entry by entry too. When all
went well the marker `fetcher.done` is laid beside them; a writer that is broken off leaves nothing.

Not here: reading (`segment`), where also the parts are told of.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from types import TracebackType
from typing import Self

from cobnut.errors import InputError
from cobnut.interop.hadoop.mapfile import ArrayFileWriter
from cobnut.interop.nutch07.content import Content
from cobnut.interop.nutch07.fetching import FetcherOutput, FetchListEntry
from cobnut.interop.nutch07.parsing import ParseData, ParseText
from cobnut.interop.nutch07.record import Record
from cobnut.storage.files import fsync_folder, io_errors

FETCHER_DONE, INDEX_DONE = "fetcher.done", "index.done"


class SegmentWriter:
    """Writes the segment *folder*, which must not be there; without *parsed* it is as after a fetch with -noParsing."""

    def __init__(self, folder: str | Path, *, parsed: bool = True) -> None:
        self.folder, self.parsed = Path(folder), parsed
        if self.folder.exists():
            raise InputError("the folder is there already", where=str(self.folder), remedy="choose another one")
        with io_errors(self.folder, "make the folder"):
            self.folder.mkdir(parents=True)
        self._tables: dict[str, ArrayFileWriter] = {}
        self._closed = False
        try:
            self._fetchlist = self._table(FetchListEntry.DIR_NAME, FetchListEntry)
            self._outputs = self._table(FetcherOutput.DIR_NAME if parsed else FetcherOutput.DIR_NAME_NP, FetcherOutput)
            self._contents = self._table(Content.DIR_NAME, Content)
            if parsed:
                self._parses = self._table(ParseData.DIR_NAME, ParseData)
                self._texts = self._table(ParseText.DIR_NAME, ParseText)
        except BaseException:
            self.discard()
            raise

    def add_to_fetchlist(self, entry: FetchListEntry) -> None:
        self._fetchlist.append(entry.to_bytes())

    def append(
        self,
        output: FetcherOutput,
        content: Content,
        parse_data: ParseData | None = None,
        parse_text: ParseText | None = None,
    ) -> None:
        """Add a fetch; in a parsed segment what was not parsed has an empty parse."""
        self._outputs.append(output.to_bytes())
        self._contents.append(content.to_bytes())
        if self.parsed:
            self._parses.append((parse_data or ParseData()).to_bytes())
            self._texts.append((parse_text or ParseText()).to_bytes())

    def close(self) -> None:
        if self._closed:
            return
        try:
            for table in self._tables.values():
                table.close()
            with io_errors(self.folder, "write"):
                (self.folder / FETCHER_DONE).touch()
                fsync_folder(self.folder)
        except BaseException:
            self.discard()
            raise
        self._closed = True

    def discard(self) -> None:
        """Give up: nothing of the segment is left."""
        if self._closed:
            return
        self._closed = True
        for table in self._tables.values():
            table.discard()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def _table(self, part: str, record_class: type[Record]) -> ArrayFileWriter:
        self._tables[part] = ArrayFileWriter(self.folder / part, record_class.SHORT_NAME, version=2)
        return self._tables[part]
