"""Are the bytes of a file those that were written?

Hadoop puts a side file `.NAME.crc` beside a file: `crc` and a zero byte, an int that says how many bytes a sum covers
(512), and the CRC-32 of every such stretch; the last one may be shorter.

`SideSums` checks stretches while a file is read, `SumWriter` makes a side file while one is written. A side file that
is missing, damaged or too short checks nothing, or less; `SideSums.warning` says so.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from zlib import crc32

from cobnut.storage.files import io_errors

_MAGIC = b"crc\0"
SUM_BYTES = 512
_MAX_SUM_BYTES = 1 << 20


def side_file(path: Path) -> Path:
    """Where the checksums of *path* lie."""
    return path.with_name(f".{path.name}.crc")


class SideSums:
    """The checksums beside a file of *size* bytes: `step` is how many bytes each covers, 0 if there are none.

    `least_size`: the file had at least so many bytes when they were made.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.step = 0
        self.least_size = 0
        self.warning: str | None = None
        self._fd = -1
        side = side_file(path)
        if not side.is_file():
            return
        try:
            self._fd = os.open(side, os.O_RDONLY)
            header = os.pread(self._fd, 8, 0)
            covered = (os.fstat(self._fd).st_size - 8) // 4
        except OSError as error:
            self.close()
            self.warning = f"{side} cannot be read ({error.strerror}): the file is not checked"
            return
        step = int.from_bytes(header[4:8], "big")
        if header[:4] != _MAGIC or not 0 < step <= _MAX_SUM_BYTES:
            self.close()
            self.warning = f"{side} is no file of checksums: the file is not checked"
            return
        self.step = step
        self.least_size = max(covered - 1, 0) * step + (covered > 0)
        if covered * step < size:
            self.warning = f"{side} has no checksums beyond byte {max(covered, 0) * step}: the rest is not checked"

    def wrong(self, data: bytes, start: int) -> list[tuple[int, int]]:
        """Which stretches of the file (start, end) are not what was written, of those in *data*.

        *data* stands at *start*, which a multiple of `step` is, and ends at such a one or at the file's end.
        """
        step = self.step
        if not step or not data:
            return []
        count = -(-len(data) // step)
        try:
            packed = os.pread(self._fd, 4 * count, 8 + 4 * (start // step))
        except OSError:
            return []
        covered = len(packed) // 4
        expected = struct.unpack(f">{covered}I", packed[: 4 * covered])
        view = memoryview(data)
        found = tuple([crc32(view[at : at + step]) for at in range(0, min(len(data), covered * step), step)])
        if found == expected:
            return []
        wrong: list[tuple[int, int]] = []
        for number, (one, other) in enumerate(zip(found, expected, strict=False)):
            if one != other:
                at = start + number * step
                end = min(at + step, start + len(data))
                if wrong and wrong[-1][1] == at:
                    at = wrong.pop()[0]
                wrong.append((at, end))
        return wrong

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self.step = 0


class SumWriter:
    """Collects the checksums of what is written to *path*; `close` writes the side file."""

    def __init__(self, path: Path, step: int = SUM_BYTES) -> None:
        self._side = side_file(path)
        self._step = step
        self._rest = b""
        with io_errors(self._side, "write checksums"):
            self._file = open(self._side, "wb")  # noqa: SIM115 - closed by close and discard
            self._file.write(_MAGIC + step.to_bytes(4, "big"))

    def add(self, data: bytes | bytearray) -> None:
        data = self._rest + data
        step = self._step
        whole = len(data) - len(data) % step
        view = memoryview(data)
        sums = [crc32(view[at : at + step]) for at in range(0, whole, step)]
        self._rest = bytes(view[whole:])
        with io_errors(self._side, "write checksums"):
            self._file.write(struct.pack(f">{len(sums)}I", *sums))

    def close(self) -> None:
        with io_errors(self._side, "write checksums"):
            if self._rest:
                self._file.write(struct.pack(">I", crc32(self._rest)))
            self._file.close()

    def discard(self) -> None:
        """Leave nothing behind."""
        self._file.close()
        self._side.unlink(missing_ok=True)
