"""How is a record taken out of a WARC file whose other records are found by their offsets?

It is replaced by a record of the same length on disk that says nothing: WARC type `metadata`, zeros inside, stored
uncompressed in a gzip member so that its length can be chosen to the byte. Every offset that any table or index holds
stays right, and the file appears whole or not at all. It does not become smaller.

Not here: which records are to go (`crawl.purge`).
"""

from __future__ import annotations

import os
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from cobnut.fetcher.archive import warc_date
from cobnut.storage.files import fsync_folder, io_errors, temporary_name

_READ = 1 << 20
_BLOCK = 65_535  # most bytes of a stored deflate block (RFC 1951 section 3.2.4)
_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # RFC 1952: no name, no time


def replace_records(path: Path, is_to_go: Callable[[int, str], bool], now_ms: int) -> int:
    """Replaces the records of which `is_to_go(offset, target URI)` says so; how many. A cut last member is left out."""
    draft, replaced = path.with_name(temporary_name(path.name)), 0
    with io_errors(path, "purge"):
        try:
            with open(path, "rb") as source, open(draft, "wb") as target:
                for offset, packed, head in members(source):
                    uri = target_uri(head)
                    if uri is not None and is_to_go(offset, uri):
                        packed = tombstone(len(packed), now_ms)
                        replaced += 1
                    target.write(packed)
                target.flush()
                os.fsync(target.fileno())
            if replaced:
                os.replace(draft, path)
                fsync_folder(path.parent)
        finally:
            draft.unlink(missing_ok=True)
    return replaced


def tombstone(length: int, now_ms: int) -> bytes:
    """A gzip member of exactly that many bytes that holds one empty record; a `ValueError` below about 240 bytes."""
    lines = [
        "WARC/1.1",
        "WARC-Type: metadata",
        f"WARC-Date: {warc_date(now_ms)}",
        f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>",
        "Cobnut-Purpose: purged",
    ]
    blocks = 1
    while length - len(_GZIP_HEAD) - 8 - 5 * blocks > _BLOCK * blocks:
        blocks += 1
    size = length - len(_GZIP_HEAD) - 8 - 5 * blocks
    record = _record_of_size(lines, size)
    parts = [record[i * _BLOCK : (i + 1) * _BLOCK] for i in range(blocks)]
    packed = b"".join(
        bytes([number == blocks - 1])
        + len(part).to_bytes(2, "little")
        + (len(part) ^ 0xFFFF).to_bytes(2, "little")
        + part
        for number, part in enumerate(parts)
    )
    end = zlib.crc32(record).to_bytes(4, "little") + (len(record) & 0xFFFFFFFF).to_bytes(4, "little")
    return _GZIP_HEAD + packed + end


def _stored(part: bytes, *, last: bool) -> bytes:
    """A stored block: whether it is the last one, its length, and the length's complement before it."""
    length = len(part)
    return bytes([last]) + length.to_bytes(2, "little") + (length ^ 0xFFFF).to_bytes(2, "little") + part


def _record_of_size(lines: list[str], size: int) -> bytes:
    """A WARC record of exactly that many bytes. The number of its length's digits may ask for one more space."""
    for padding in ("", " "):
        head = "\r\n".join([*lines, f"Content-Length:{padding} "])
        for digits in range(1, 12):
            content = size - len(head) - digits - 8
            if content >= 0 and len(str(content)) == digits:
                return f"{head}{content}\r\n\r\n".encode() + bytes(content) + b"\r\n\r\n"
    raise ValueError(f"no record has {size} bytes")


def target_uri(head: bytes) -> str | None:
    """The URI a record is of; None where it names none."""
    for line in head.partition(b"\r\n\r\n")[0].split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"warc-target-uri":
            return value.strip().strip(b"<>").decode("utf-8", "replace")
    return None


def members(file: IO[bytes]) -> Iterator[tuple[int, bytes, bytes]]:
    """(offset, packed bytes, the beginning unpacked) of every complete gzip member."""
    offset, data = 0, file.read(_READ)
    while data:
        unpacker, head, packed = zlib.decompressobj(31), b"", []
        while True:
            try:
                unpacked = unpacker.decompress(data)
            except zlib.error:
                return
            if len(head) < _BLOCK:
                head += unpacked
            packed.append(data[: len(data) - len(unpacker.unused_data)])
            if unpacker.eof:
                break
            data = file.read(_READ)
            if not data:
                return
        whole = b"".join(packed)
        yield offset, whole, head
        offset += len(whole)
        data = unpacker.unused_data or file.read(_READ)
