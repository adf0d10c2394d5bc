"""Which lines do the seed files hold?

A file, every file of a folder in name order (hidden ones left out), or standard input.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cobnut.errors import InputError, MachineError

LONGEST_LINE = 65_536


def seed_lines(source: str) -> Iterator[str]:
    """The lines of a file, a folder or `-`; what is not UTF-8 is replaced, a line beyond 64 KiB is cut."""
    if source == "-":
        yield from _lines(sys.stdin.buffer)
        return
    path = Path(source)
    if not path.exists():
        raise InputError("no such seed file or folder", where=source, remedy="one URL a line; `-` reads standard input")
    files = [path]
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
        if not files:
            raise InputError("the folder holds no seed files", where=source)
    for file in files:
        try:
            with file.open("rb") as stream:
                yield from _lines(stream)
        except OSError as error:
            raise MachineError(f"cannot read the seeds ({error.strerror})", where=str(file)) from error


def _lines(stream: BinaryIO) -> Iterator[str]:
    first = True
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            while (rest := stream.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                pass
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        yield text.removeprefix("\ufeff") if first else text
        first = False
