"""How is what the servers sent kept (WARC 1.1)?

One response record an answer, robots.txt answers included; one gzip member a record, so that a record can be
read by its offset alone. The body is stored as received: Content-Encoding stays; Transfer-Encoding was undone
on the wire, so that header is renamed. Fields that begin with `Cobnut-` say what a row needs to be made again
from its record after a kill.

A file is never appended to by another process than the one that began it: after a kill a new file is begun,
and a cut last member stays behind as what it is.

Source: WARC 1.1 (ISO 28500:2017) sections 4 to 6 and annex D. Not here: reading records for parsing (`parsers`).
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import time
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from cobnut.storage.files import fsync_folder, io_errors

GZIP_LEVEL = 1
_READ = 1 << 20
_TRANSFER_ENCODING = re.compile(rb"(?im)^transfer-encoding(?=[ \t]*:)")


class Place(NamedTuple):
    """Where a record lies."""

    file: str
    offset: int


class Response(NamedTuple):
    """What goes into a response record. `head` is the status line and header lines as received, with the
    empty line."""

    url: str
    at_ms: int
    head: bytes
    body: bytes
    address: str | None = None
    truncated: str | None = None
    purpose: str | None = None
    hop_from: str | None = None
    had_condition: bool = False
    score: int = 0
    depth: int = 0


class Recovered(NamedTuple):
    """A record read back: its place and its content."""

    place: Place
    response: Response


def warc_date(at_ms: int) -> str:
    """WARC-Date with milliseconds.

    >>> warc_date(1_800_000_000_123)
    '2027-01-15T08:00:00.123Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at_ms // 1000)) + f".{at_ms % 1000:03d}Z"


def payload_digest(body: bytes) -> str:
    """WARC's digest of a body: SHA-1 in base 32."""
    return "sha1:" + base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()


class Archive:
    """The WARC files of one part, written one after the other."""

    def __init__(self, folder: Path, part: int, number: int, max_bytes: int, about: dict[str, str]) -> None:
        self._folder, self._part, self._number, self._max = folder, part, number, max_bytes
        self._about = about
        self._file: IO[bytes] | None = None
        self._name = ""
        self._offset = 0
        self.bytes_written = 0

    def write(self, response: Response) -> Place:
        """Adds a response record; it is durable after the next `sync`."""
        if self._file is None or self._offset >= self._max:
            self._begin()
        fields = [
            "WARC-Type: response",
            f"WARC-Target-URI: {response.url}",
            f"WARC-Date: {warc_date(response.at_ms)}",
            f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>",
            "Content-Type: application/http;msgtype=response",
            f"WARC-Payload-Digest: {payload_digest(response.body)}",
        ]  # fmt: skip
        if response.address:
            fields.append(f"WARC-IP-Address: {response.address}")
        if response.truncated:
            fields.append(f"WARC-Truncated: {response.truncated}")
        if response.purpose:
            fields.append(f"Cobnut-Purpose: {response.purpose}")
        else:
            fields.append(f"Cobnut-Score: {response.score}")
            fields.append(f"Cobnut-Depth: {response.depth}")
        if response.hop_from:
            fields.append(f"Cobnut-Hop-From: {response.hop_from}")
        if response.had_condition:
            fields.append("Cobnut-Condition: yes")
        head = _TRANSFER_ENCODING.sub(b"X-Archive-Orig-Transfer-Encoding", response.head)
        if not head.endswith(b"\r\n\r\n"):  # readers of archives look for CRLF
            head = b"\r\n".join(head.replace(b"\r", b"").rstrip(b"\n").split(b"\n")) + b"\r\n\r\n"
        return self._record(fields, (head, response.body))

    def sync(self) -> None:
        """Makes everything written so far durable."""
        if self._file is not None:
            with io_errors(self._folder / self._name, "write"):
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Ends the present file."""
        if self._file is not None:
            self.sync()
            self._file.close()
            self._file = None

    def _begin(self) -> None:
        self.close()
        self._name = f"part-{self._part:05d}-{self._number:05d}.warc.gz"
        self._number += 1
        path = self._folder / self._name
        with io_errors(path, "write"):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "xb", buffering=0)  # noqa: SIM115 - open for the life of the part
            fsync_folder(self._folder)
        self._offset = 0
        block = "".join(f"{name}: {value}\r\n" for name, value in self._about.items()).encode()
        self._record(
            [
                "WARC-Type: warcinfo",
                f"WARC-Date: {warc_date(int(time.time() * 1000))}",
                f"WARC-Filename: {self._name}",
                f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>",
                "Content-Type: application/warc-fields",
            ],
            (block,),
        )

    def add_packed(self, member: bytes) -> Place:
        """Adds a record that is packed already: one gzip member, as it lies in another file of ours."""
        if self._file is None or self._offset >= self._max:
            self._begin()
        return self._append(member)

    def _record(self, fields: list[str], block: tuple[bytes, ...]) -> Place:
        length = sum(map(len, block))
        head = "WARC/1.1\r\n" + "\r\n".join(fields) + f"\r\nContent-Length: {length}\r\n\r\n"
        packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 31)
        return self._append(
            packer.compress(b"".join((head.encode("utf-8", "replace"), *block, b"\r\n\r\n"))) + packer.flush()
        )

    def _append(self, data: bytes) -> Place:
        assert self._file is not None
        place = Place(self._name, self._offset)
        with io_errors(self._folder / self._name, "write"):
            # unbuffered: what a killed process wrote is there to be read back
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) :]
        self._offset += len(data)
        self.bytes_written += len(data)
        return place


def next_number(folder: Path, part: int) -> int:
    """The number of the next WARC file of a part: one past those that exist, whatever is in them."""
    numbers = [int(p.name[11:16]) for p in warc_files(folder, part)]
    return max(numbers, default=-1) + 1


def warc_files(folder: Path, part: int) -> list[Path]:
    """The WARC files of a part, in the order they were begun."""
    return sorted(folder.glob(f"part-{part:05d}-?????.warc.gz")) if folder.is_dir() else []


def read_tail(path: Path, after: int) -> Iterator[Recovered]:
    """The complete response records of a file that begin after the offset `after` (-1: all); a cut last
    member ends it."""
    with open(path, "rb") as file:
        first = max(after, 0)
        file.seek(first)
        for offset, data in _members(file, first):
            if offset <= after:
                continue
            response = _parse_record(data)
            if response is not None:
                yield Recovered(Place(path.name, offset), response)


def _members(file: IO[bytes], offset: int) -> Iterator[tuple[int, bytes]]:
    data = file.read(_READ)
    while data:
        unpacker = zlib.decompressobj(31)
        pieces: list[bytes] = []
        start = offset
        while True:
            try:
                pieces.append(unpacker.decompress(data))
            except zlib.error:
                return
            if unpacker.eof:
                break
            offset += len(data)
            data = file.read(_READ)
            if not data:
                return
        offset += len(data) - len(unpacker.unused_data)
        data = unpacker.unused_data or file.read(_READ)
        yield start, b"".join(pieces)


def _parse_record(data: bytes) -> Response | None:
    head, _, block = data.partition(b"\r\n\r\n")
    fields: dict[str, str] = {}
    for line in head.decode("utf-8", "replace").split("\r\n")[1:]:
        name, _, value = line.partition(": ")
        fields[name.lower()] = value
    if fields.get("warc-type") != "response":
        return None
    block = block[: int(fields["content-length"])]
    end = end_of_head(block)
    stamp, _, millis = fields["warc-date"].rstrip("Z").partition(".")
    at_ms = _seconds(stamp) * 1000 + int(millis or 0)
    return Response(
        url=fields["warc-target-uri"], at_ms=at_ms, head=block[:end], body=block[end:],
        address=fields.get("warc-ip-address"), truncated=fields.get("warc-truncated"),
        purpose=fields.get("cobnut-purpose"), hop_from=fields.get("cobnut-hop-from"),
        had_condition="cobnut-condition" in fields,
        score=int(fields.get("cobnut-score", 0)), depth=int(fields.get("cobnut-depth", 0)),
    )  # fmt: skip


def _seconds(stamp: str) -> int:
    import calendar

    return calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%S"))


_HEAD_END = re.compile(rb"\r?\n\r?\n")


def end_of_head(block: bytes) -> int:
    """Where the body begins in an HTTP message: after the first empty line, its line ends being CRLF or LF."""
    match = _HEAD_END.search(block)
    return match.end() if match else len(block)
