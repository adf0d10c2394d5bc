"""In which of its layouts does a record lie that does not say so?

`Outlink`, `Inlink` and `Inlinks` have no version: their strings were UTF8 in 0.8 and Text later, and a flag with
metadata came behind each link in 1.8 and 1.21. A value is tried in every layout, the newest first; only one that uses
up all its bytes counts. `LayoutReader` reads the values of one file and stays with the layout of the first value that
fits one only, once a second one confirms it: a file was written by one version.

Not here: the records themselves (`links`, `parse`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Generic, TypeVar

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import FormatError, VersionMismatchError
from cobnut.interop.nutch1.record import check_length


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
    """Reads values of one file; `layout` is what they turned out to lie in, None while none told it.

    `parse` reads a record in a layout. `plausible` says whether a record can be meant: one that cannot is taken for
    bytes of another layout, or damaged ones, except where the layout is known, or today's. Of several that can be
    meant the first is taken that is `likely`, or the first.
    """

    __slots__ = ("_confirmed", "_likely", "_parse", "_plausible", "_what", "layout")

    def __init__(
        self, parse: Callable[[DataInput, Layout], R], plausible: Callable[[R], bool], what: str,
        likely: Callable[[R], bool] | None = None,
    ) -> None:  # fmt: skip
        self._parse, self._plausible, self._what = parse, plausible, what
        self._likely = likely or plausible
        self.layout: Layout | None = None
        self._confirmed = False

    def __call__(self, value: bytes) -> R:
        if self.layout is None:
            return self._try_all(value)
        try:
            record = self._exactly(value, self.layout)
        except VersionMismatchError:
            raise
        except FormatError:
            if self._confirmed:
                raise
            # The one value that told the layout may have been a damaged one.
            return self._try_all(value)
        self._confirmed = True
        return record

    def _exactly(self, value: bytes, layout: Layout) -> R:
        check_length(value, self._what)
        data = DataInput(value)
        record = self._parse(data, layout)
        data.finish(self._what)
        return record

    def _try_all(self, value: bytes) -> R:
        fitting: list[tuple[Layout, R]] = []
        failures: list[FormatError] = []
        for layout in LAYOUTS:
            try:
                record = self._exactly(value, layout)
                if layout is Layout.FLAGGED or self._plausible(record):
                    fitting.append((layout, record))
                else:
                    failures.append(FormatError(f"a {self._what} with a link that leads nowhere", offset=len(value)))
            except VersionMismatchError:
                raise
            except FormatError as error:
                failures.append(error)
        if not fitting:
            # The layout that came farthest is most likely the right one, and its complaint the helpful one.
            raise max(failures, key=lambda error: error.offset or 0)
        layout, record = next((found for found in fitting if self._likely(found[1])), fitting[0])
        if len(fitting) == 1 and self._plausible(record):
            self.layout = layout
        return record


def read_string(data: DataInput, layout: Layout) -> str:
    return data.read_utf8() if layout is Layout.UTF8 else data.read_text()


def write_string(out: DataOutput, value: str, layout: Layout) -> None:
    if layout is Layout.UTF8:
        out.write_utf8(value)
    else:
        out.write_text(value)
