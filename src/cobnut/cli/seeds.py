"""Which lines do the seed files hold?

A file, every file of a folder in name order (hidden ones left out), or standard input: text in UTF-8, as it is or
packed with gzip. What is no such text is refused before a line of it is read.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from cobnut.errors import InputError, MachineError
from cobnut.storage.files import not_allowed

LONGEST_LINE = 65_536
_INPUT = "standard input"
_HEAD = 4_096
_GZIP = b"\x1f\x8b"
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_END = re.compile(rb"\r\n|\n|\r")


class SeedLines:
    """The lines of a file, a folder or `-`, ended as on any system; what is not UTF-8 becomes U+FFFD, and a line is cut
    at 64 KiB."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._begins: list[tuple[int, str]] = []  # number of the first line, counted over all files, and its file

    def place(self, number: int) -> str:
        """`FILE line N` of a line counted over all files; only `line N` when there is but one."""
        first, name = max((b for b in self._begins if b[0] <= number), default=(1, ""))
        line = f"line {number - first + 1}"
        return f"{name} {line}" if len(self._begins) > 1 else line

    def __iter__(self) -> Iterator[str]:
        self._begins, count = [], 0
        for name, stream in _streams(self.source):
            self._begins.append((count + 1, name))
            try:
                with contextlib.nullcontext() if name == _INPUT else stream:
                    for line in _lines(name, stream):
                        count += 1
                        yield line
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise InputError(f"the gzip file is damaged ({error})", where=name) from None
            except OSError as error:
                raise MachineError(f"cannot read the seeds ({error.strerror or error})", where=name) from error


def seed_lines(source: str) -> Iterator[str]:
    """The lines of a file, a folder or `-`."""
    return iter(SeedLines(source))


def _streams(source: str) -> Iterator[tuple[str, io.BufferedReader]]:
    if source == "-":
        if sys.stdin is None:  # closed before we began
            raise InputError("standard input is closed", remedy="name a seed file, or give `-` something to read")
        yield _INPUT, sys.stdin.buffer  # type: ignore[misc] # a BufferedReader, whatever the stubs say
        return
    path = Path(source)
    if not path.exists():
        raise InputError("no such seed file or folder", where=source, remedy="one URL a line; `-` reads standard input")
    files = [path]
    if path.is_dir():
        try:
            files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
        except PermissionError:
            raise not_allowed(path) from None
        if not files:
            raise InputError("the folder holds no seed files", where=source)
    for file in files:
        try:
            stream = file.open("rb")
        except OSError as error:
            raise MachineError(f"cannot read the seeds ({error.strerror})", where=str(file)) from error
        yield str(file), stream


def _lines(name: str, stream: io.BufferedReader) -> Iterator[str]:
    text: io.BufferedIOBase = stream
    if stream.peek(2)[:2] == _GZIP:
        text = gzip.GzipFile(fileobj=stream)
    first = True
    for line in _cut(text):
        if first and line.startswith(_WIDE):
            raise InputError("the seed file is in UTF-16", where=name, remedy="save it in UTF-8")
        if first and b"\0" in line[:_HEAD]:
            raise InputError("this is no text", where=name, remedy="a seed file has one URL a line")
        found = line.decode("utf-8", "replace")
        yield found.removeprefix("\ufeff") if first else found
        first = False


def _cut(stream: io.BufferedIOBase) -> Iterator[bytes]:
    """The lines of a stream without their ends; of each at most `LONGEST_LINE` bytes are kept in memory."""
    line, ended = bytearray(), False
    while block := stream.read1(LONGEST_LINE):
        if ended and block.startswith(b"\n"):  # CR LF fell into two blocks
            block = block[1:]
        ended = block.endswith(b"\r")
        *whole, rest = _END.split(block)
        for piece in whole:
            yield bytes(line + piece[:LONGEST_LINE])[:LONGEST_LINE]
            line.clear()
        line += rest[: LONGEST_LINE - len(line)]
    if line:
        yield bytes(line)
