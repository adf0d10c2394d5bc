"""What can be wrong with a file that Hadoop or Nutch wrote?

Every error names the file and the offset at which it was seen, as far as they are known: a record that is read from
bytes in memory has no file, and whoever knows it (`in_file`) adds it.
"""

from __future__ import annotations

from typing import Any, Self

from cobnut.errors import DataError


class FormatError(DataError):
    """Bytes that are not what the format says; `path` and `offset` tell where (None where nobody knows)."""

    def __init__(
        self, what: str, *, path: str | None = None, offset: int | None = None, remedy: str | None = None
    ) -> None:
        self.path, self.offset = path, offset
        place = [] if path is None else [path]
        if offset is not None:
            place.append(f"byte {offset}")
        super().__init__(what, where=", ".join(place) or None, remedy=remedy)

    def in_file(self, path: str, start: int = 0) -> Self:
        """The same error, said of *path*; *start* is where in the file the bytes began that were read."""
        if self.path is not None:
            return self
        self.path = path
        self.offset = start + (self.offset or 0)
        self.where = f"{path}, byte {self.offset}"
        self.args = (self.line(),)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors travel between processes, whatever their constructors take."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[FormatError], args: tuple[Any, ...], state: dict[str, Any]) -> FormatError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class CutError(FormatError):
    """The bytes end before the value does."""


class UnknownClassError(FormatError):
    """A class or codec that is not known here; `name` is what the file calls it."""

    def __init__(self, what: str, name: str, *, path: str | None = None, offset: int | None = None) -> None:
        self.name = name
        super().__init__(what, path=path, offset=offset)


class VersionMismatchError(FormatError):
    """A record of a version newer than the newest known; `expected` is that one, `found` what stands in the record."""

    def __init__(
        self, expected: int, found: int, *, record: str = "record", path: str | None = None, offset: int | None = None
    ) -> None:
        self.expected, self.found = expected, found
        super().__init__(
            f"a {record} of version {found}, and {expected} is the newest known",
            path=path, offset=offset, remedy="it was written by a newer program than this one knows",
        )  # fmt: skip


VersionMismatchException = VersionMismatchError
"""The name it has in Nutch."""
