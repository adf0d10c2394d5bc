"""In which of its layouts does a record lie that does not say so?

`Outlink`, `Inlink` and `Inlinks` have no version: their strings were UTF8 in 0.8 and Text later, and a flag with
metadata came behind each link in 1.8 and 1.21. A value is tried in every layout, the newest first; only one that uses
up all its bytes counts. `LayoutReader` reads the values of one file and stays with the layout of the first value that
fits one only: a file was written by one version.

Not here: the records themselves (`links`, `parse`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Generic, TypeVar

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import FormatError, VersionMismatchError


class Layout(StrEnum):
    """How the strings of a link lie, and whether a flag and metadata follow it."""

    FLAGGED = "flagged"
    """Text, and a flag with metadata: outlinks since 1.8, inlinks since 1.21."""
    TEXT = "text"
    """Text: 0.9 and later, until the flag came."""
    UTF8 = "utf8"
    """UTF8: 0.8."""


LAYOUTS = tuple(Layout)
"""The newest first."""
R = TypeVar("R")


class LayoutReader(Generic[R]):
    """Reads values of one file; `layout` is what they turned out to lie in, None while none told it."""

    __slots__ = ("_parse", "_what", "layout")

    def __init__(self, parse: Callable[[DataInput, Layout], R], what: str) -> None:
        self._parse, self._what = parse, what
        self.layout: Layout | None = None

    def __call__(self, value: bytes) -> R:
        if self.layout is None:
            return self._try_all(value)
        try:
            return self._exactly(value, self.layout)
        except VersionMismatchError:
            raise
        except FormatError as error:
            # One file, one layout; but a file that was put together from several may hold another one.
            for layout in LAYOUTS:
                if layout is not self.layout:
                    try:
                        return self._exactly(value, layout)
                    except FormatError:
                        continue
            raise error

    def _exactly(self, value: bytes, layout: Layout) -> R:
        data = DataInput(value)
        record = self._parse(data, layout)
        data.finish(self._what)
        return record

    def _try_all(self, value: bytes) -> R:
        fitting: list[tuple[Layout, R]] = []
        failures: list[FormatError] = []
        for layout in LAYOUTS:
            try:
                fitting.append((layout, self._exactly(value, layout)))
            except VersionMismatchError:
                raise
            except FormatError as error:
                failures.append(error)
        if not fitting:
            # The layout that came farthest is most likely the right one, and its complaint the helpful one.
            raise max(failures, key=lambda error: error.offset or 0)
        if len(fitting) == 1:
            self.layout = fitting[0][0]
        return fitting[0][1]


def read_exactly(parse: Callable[[DataInput, Layout], R], value: bytes, what: str) -> R:
    """The record that all bytes of *value* make up, in whichever layout fits."""
    return LayoutReader(parse, what)(value)


def read_string(data: DataInput, layout: Layout) -> str:
    return data.read_utf8() if layout is Layout.UTF8 else data.read_text()


def write_string(out: DataOutput, value: str, layout: Layout) -> None:
    if layout is Layout.UTF8:
        out.write_utf8(value)
    else:
        out.write_text(value)
