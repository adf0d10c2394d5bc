"""How are more records sorted than fit the memory?

`Sorter` takes records with the bytes to sort them by, keeps a bounded amount of them in memory, and puts sorted runs
into files of a folder; at the end the runs are merged. Records with the same key come in the order they were given in.

Not here: which bytes order a record as Nutch does (`page`, `link`).
"""

from __future__ import annotations

import heapq
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from cobnut.storage.files import io_errors

RUN_BYTES = 64 << 20
"""So much is held in memory before a run is written."""
_COST = 150
"""What a pair takes in memory beside its bytes."""
_LENGTHS = struct.Struct(">II")
Pair = tuple[bytes, bytes]


class Sorter:
    """Pairs of a key and a record, by the unsigned bytes of the key; runs lie in *folder* and vanish on `close`."""

    def __init__(self, folder: Path, run_bytes: int = RUN_BYTES) -> None:
        self._folder, self._run_bytes = folder, run_bytes
        self._pairs: list[Pair] = []
        self._held = 0
        self._runs: list[IO[bytes]] = []

    def add(self, key: bytes, record: bytes) -> None:
        self._pairs.append((key, record))
        self._held += len(key) + len(record) + _COST
        if self._held >= self._run_bytes:
            self._spill()

    def __iter__(self) -> Iterator[Pair]:
        """All pairs in order; to be read through once, after the last was added."""
        self._pairs.sort(key=_key)
        runs = [_read_run(run) for run in self._runs]
        return heapq.merge(*runs, iter(self._pairs), key=_key)

    def close(self) -> None:
        for run in self._runs:
            run.close()
        self._runs, self._pairs = [], []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _spill(self) -> None:
        self._pairs.sort(key=_key)
        with io_errors(self._folder, "write a sorted run to"):
            run = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed by close
            self._runs.append(run)
            for key, record in self._pairs:
                run.write(_LENGTHS.pack(len(key), len(record)))
                run.write(key)
                run.write(record)
            run.flush()
        self._pairs, self._held = [], 0


def _key(pair: Pair) -> bytes:
    return pair[0]


def _read_run(run: IO[bytes]) -> Iterator[Pair]:
    run.seek(0)
    while head := run.read(_LENGTHS.size):
        key_bytes, record_bytes = _LENGTHS.unpack(head)
        yield run.read(key_bytes), run.read(record_bytes)
