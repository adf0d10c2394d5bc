"""How is a key found in a MapFile, and how is one written?

A MapFile is a folder with `data`, a SequenceFile whose keys ascend, and `index`, one whose values are positions in
`data`: an entry for every 128th record. An ArrayFile is a MapFile whose keys are the numbers 0, 1, 2 and so on.

The order of keys depends on their class; `order` turns the bytes of a key into something Python compares the same way.
Where it is not known, or the keys turn out not to ascend, keys are found by reading everything. An index that is
missing or damaged costs time, no records. `warnings` tells of all this, `skipped` what of `data` could not be read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from cobnut.interop.hadoop.codecs import DEFAULT_CODEC
from cobnut.interop.hadoop.data import DataInput
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.hadoop.header import LONG, NEWEST_VERSION, Compression, full_class_name
from cobnut.interop.hadoop.sequencefile import RawRecord, SequenceFileReader, SequenceFileWriter, Skipped
from cobnut.storage.files import cannot_read, io_errors

DATA, INDEX = "data", "index"
INDEX_INTERVAL = 128
MAX_INDEX_BYTES = 1 << 28
"""So many bytes of keys of an index are held in memory; what it says beyond is not used."""
Order = Callable[[bytes], Any]


def text_order(key: bytes) -> bytes:
    """Text: by the bytes behind the length."""
    if key and key[0] < 128:
        return key[1:]
    source = DataInput(key)
    source.read_vlong()
    return key[source.position :]


def utf8_order(key: bytes) -> bytes:
    """UTF8: by the bytes behind the length."""
    return key[2:]


def number_order(key: bytes) -> int:
    """Integers of a fixed width."""
    return int.from_bytes(key, "big", signed=True)


_ORDERS: dict[str, Order] = {
    "Text": text_order, "UTF8": utf8_order, "LongWritable": number_order, "IntWritable": number_order,
    "MD5Hash": bytes,
}  # fmt: skip


def order_of(class_name: str, version: int = NEWEST_VERSION) -> Order | None:
    """How keys of this class are ordered, if that is known here."""
    package, _, name = full_class_name(class_name, version).rpartition(".")
    return _ORDERS.get(name) if package in ("org.apache.hadoop.io", "org.apache.nutch.io") else None


class _Found(NamedTuple):
    """A record that was looked for: it is the one after *passed* others at `position`, which those of a block share."""

    position: int
    passed: int
    equal: bool
    value: bytes


def _with_place(records: Iterator[RawRecord]) -> Iterator[tuple[int, RawRecord]]:
    """Each record with the number of those before it at the same position."""
    position, passed = -1, 0
    for record in records:
        passed = passed + 1 if record.position == position else 0
        position = record.position
        yield passed, record


class _FolderReader:
    """What readers of MapFiles and ArrayFiles have in common."""

    def __init__(self, folder: str | Path, order: Order | None = None, *, check_crc: bool = True) -> None:
        self.folder = Path(folder)
        self._check_crc = check_crc
        if not self.folder.is_dir():
            _must_be_folder(self.folder)
        self.data = SequenceFileReader(self.folder / DATA, check_crc=check_crc)
        self.order = order or order_of(self.data.key_class, self.data.version)
        self.warnings = list(self.data.warnings)
        self._index: tuple[list[Any], list[int]] | None = None
        self._ascends = True
        self._from = self.data.header.end, 0

    @property
    def key_class(self) -> str:
        return self.data.key_class

    @property
    def value_class(self) -> str:
        return self.data.value_class

    @property
    def version(self) -> int:
        return self.data.version

    @property
    def skipped(self) -> list[Skipped]:
        return self.data.skipped

    @property
    def ascends(self) -> bool:
        """False once keys were met that do not: then only reading everything finds all records of a key."""
        return self._ascends

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.data.close()

    def records(self) -> Iterator[RawRecord]:
        """All records, or those from the key on that `seek` went to; a key that does not ascend makes a warning."""
        position, passed = self._from
        self._from = self.data.header.end, 0
        self.data.seek(position)
        order, last = self.order, None
        for record in islice(self.data.records(), passed, None):
            if order is not None:
                key = _ordered(order, record.key)
                if last is not None and key is not None and key < last:
                    self._warn_order(record.position)
                    order = None
                last = key
            yield record

    def _find(self, key: bytes) -> _Found | None:
        """The first record at or after *key*."""
        keys, positions = self._entries()
        order = self.order if self._ascends else None
        wanted = None if order is None else _ordered(order, key)
        if order is None or wanted is None:
            return self._scan(key)
        place = bisect_left(keys, wanted)
        # equal keys may begin before the entry that names them
        self.data.seek(positions[place - 1] if place else self.data.header.end)
        for passed, record in _with_place(self.data.records()):
            if record.key == key:
                return _Found(record.position, passed, True, record.value)
            found = _ordered(order, record.key)
            if found is not None and found >= wanted:
                return _Found(record.position, passed, found == wanted, record.value)
        return _Found(self.data.size, 0, False, b"")

    def _scan(self, key: bytes) -> _Found | None:
        self.data.seek(self.data.header.end)
        for passed, record in _with_place(self.data.records()):
            if record.key == key:
                return _Found(record.position, passed, True, record.value)
        return None

    def _entries(self) -> tuple[list[Any], list[int]]:
        """The index, read once: ordered keys and their positions; empty where it cannot be used."""
        if self._index is None:
            self._index = [], []
            if self.order is not None:
                self._index = self._read_index(self.order)
        return self._index

    def _read_index(self, order: Order) -> tuple[list[Any], list[int]]:
        path = self.folder / INDEX
        if not path.exists():
            self.warnings.append(f"{path} is missing: keys are found by reading all records")
            return [], []
        keys: list[Any] = []
        positions: list[int] = []
        held = 0
        try:
            with SequenceFileReader(path, check_crc=self._check_crc) as index:
                self.warnings += index.warnings
                for record in index.records():
                    key, position = _ordered(order, record.key), number_order(record.value)
                    sound = key is not None and self.data.header.end <= position <= self.data.size
                    if not sound or (positions and position <= positions[-1]):
                        self.warnings.append(f"{path} points to byte {position}: it is not used from there on")
                        break
                    if keys and key < keys[-1]:
                        self._warn_order(position)
                        break
                    held += len(record.key)
                    if held > MAX_INDEX_BYTES:
                        self.warnings.append(f"{path} holds more than {MAX_INDEX_BYTES} bytes: the rest is not used")
                        break
                    keys.append(key)
                    positions.append(position)
                for gap in index.skipped:
                    self.warnings.append(f"{path}, bytes {gap.start} to {gap.end}: {gap.reason}")
        except FormatError as error:
            self.warnings.append(f"the index cannot be used ({error.line()})")
        return keys, positions

    def _warn_order(self, position: int) -> None:
        if self._ascends:
            self._ascends = False
            self.warnings.append(
                f"{self.folder / DATA}, byte {position}: keys do not ascend; all records can be read, "
                "but keys are found only by reading everything"
            )


class MapFileReader(_FolderReader):
    """The records of the MapFile *folder*, in order and by key."""

    def seek(self, key: bytes) -> bool:
        """Let the next `records` begin at *key*, or at the first one after it; true if it is there.

        Where keys do not ascend, or their order is not known, only a key that is there is found: else all follows.
        """
        found = self._find(key)
        self._from = (self.data.header.end, 0) if found is None else (found.position, found.passed)
        return found is not None and found.equal

    def get(self, key: bytes) -> bytes | None:
        """The value of *key*, the first one if it stands there more than once."""
        found = self._find(key)
        return found.value if found is not None and found.equal else None


class ArrayFileReader(_FolderReader):
    """The values of the ArrayFile *folder* by their number; `len` counts them."""

    def __init__(self, folder: str | Path, *, check_crc: bool = True) -> None:
        super().__init__(folder, number_order, check_crc=check_crc)
        self._length: int | None = None

    def get(self, number: int) -> bytes | None:
        """The value with this number, counted from 0; None if there is none, or it could not be read."""
        if not 0 <= number < 1 << 63:
            return None
        found = self._find(number.to_bytes(8, "big"))
        return found.value if found is not None and found.equal else None

    def __len__(self) -> int:
        """One more than the largest number, whether or not all before could be read."""
        if self._length is None:
            positions = self._entries()[1]
            self.data.seek(positions[-1] if positions and self._ascends else self.data.header.end)
            last = max((number_order(record.key[:8]) for record in self.data.records()), default=-1)
            self._length = min(max(last, -1) + 1, (1 << 63) - 1)
        return self._length


def _ordered(order: Order, key: bytes) -> Any:
    """The place of a key in the order; None for a key that is none."""
    try:
        return order(key)
    except FormatError:
        return None


def _must_be_folder(folder: Path) -> None:
    try:
        folder.stat()
    except OSError as error:
        raise cannot_read(folder, error) from error
    raise FormatError(f"no folder with the files {DATA} and {INDEX}", path=str(folder))


class _FolderWriter:
    """What writers of MapFiles and ArrayFiles have in common."""

    def __init__(
        self,
        folder: str | Path,
        key_class: str,
        value_class: str,
        *,
        version: int = NEWEST_VERSION,
        compression: Compression = "none",
        codec: str = DEFAULT_CODEC,
        index_compression: Compression | None = None,
        order: Order | None = None,
        metadata: Mapping[str, str] | None = None,
        sync: bytes | None = None,
        index_sync: bytes | None = None,
        sync_interval: int | None = None,
        index_interval: int = INDEX_INTERVAL,
        crc: bool | None = None,
    ) -> None:
        """The index is packed in blocks as Hadoop's is, from version 6 on, unless *index_compression* says else."""
        self.folder = Path(folder)
        self._order = order or order_of(key_class, version)
        self._last: Any = None
        self._interval = index_interval
        self._indexed_position = -1
        self._next_indexed = 0
        with io_errors(self.folder, "make the folder"):
            self.folder.mkdir(parents=True, exist_ok=True)
        self.data = SequenceFileWriter(
            self.folder / DATA, key_class, value_class, version=version, compression=compression, codec=codec,
            metadata=metadata, sync=sync, sync_interval=sync_interval, crc=crc,
        )  # fmt: skip
        try:
            self._index = SequenceFileWriter(
                self.folder / INDEX, key_class, "long" if version < 4 else LONG, version=version,
                compression=index_compression or ("block" if version >= 6 else "none"), sync=index_sync,
                sync_interval=sync_interval, crc=crc,
            )  # fmt: skip
        except BaseException:
            self.data.discard()
            raise

    @property
    def count(self) -> int:
        return self.data.count

    def _before(self, key: bytes) -> None:
        """Check the order, and add to the index what is due."""
        if self._order is not None:
            place = self._order(key)
            if self._last is not None and place < self._last:
                raise FormatError(f"record {self.data.count}: its key does not ascend", path=str(self.folder / DATA))
            self._last = place
        position = self.data.position
        if self.data.count >= self._next_indexed and position > self._indexed_position:
            self._index.append(key, position.to_bytes(8, "big"))
            self._indexed_position = position
            self._next_indexed = self.data.count + self._interval

    def close(self) -> None:
        try:
            self.data.close()
        except BaseException:
            self._index.discard()
            raise
        self._index.close()

    def discard(self) -> None:
        """Give up: remove what was written."""
        self.data.discard()
        self._index.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


class MapFileWriter(_FolderWriter):
    """Writes the MapFile *folder*. Keys must ascend; equal ones may follow each other."""

    def append(self, key: bytes, value: bytes) -> None:
        self._before(key)
        self.data.append(key, value)

    def append_packed(self, key: bytes, value: bytes) -> None:
        """Add a record whose value is packed already."""
        self._before(key)
        self.data.append_packed(key, value)


class ArrayFileWriter(_FolderWriter):
    """Writes the ArrayFile *folder*: values get the numbers 0, 1, 2 and so on."""

    def __init__(self, folder: str | Path, value_class: str, *, version: int = 2, **rest: Any) -> None:
        super().__init__(folder, "long" if version < 4 else LONG, value_class, version=version, **rest)

    def append(self, value: bytes) -> None:
        key = self.data.count.to_bytes(8, "big")
        self._before(key)
        self.data.append(key, value)
