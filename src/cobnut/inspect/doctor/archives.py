"""Do the WARC files still hold what the servers sent?

Every record is a gzip member of its own, so that one can be read by its offset, and damage ends with the record. Where
the records begin is known from `fetched`: of each file some are read, with `--deep` all, to the last byte.

Not here: reading archives of other programs (`interop.warc`).
"""

from __future__ import annotations

import base64
import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from cobnut.fetcher.archive import end_of_head
from cobnut.inspect.doctor.finding import counted
from cobnut.inspect.doctor.probe import Broken
from cobnut.inspect.doctor.remedies import cobnut
from cobnut.inspect.doctor.segments import Looked
from cobnut.inspect.doctor.visit import Visit
from cobnut.urls.resolve import forms

SAMPLE = 32
"""Records of a file that are read without --deep."""

MOST_INFLATED = 2 << 30
"""A record that inflates to more is none of ours."""

_READ = 1 << 20
_HEAD = 1 << 20
"""Of a record that much is kept, to read its headers: the archiver's and the server's."""


class Member(msgspec.Struct):
    """One gzip member: where it begins and ends, and what it says; `fault` when it cannot be read or is not what it
    says. `is_cut`: the file ends in the midst of it."""

    start: int
    end: int
    fields: dict[str, str] = {}
    fault: str | None = None
    is_cut: bool = False


def check_archives(visit: Visit, looked: Looked) -> None:
    """The WARC files of one segment, and the records that `fetched` names."""
    if looked.is_busy or "fetched" in looked.damaged:
        return
    folder = looked.segment.warc_path
    files = {path.name: path for path in folder.glob("*.warc.gz") if path.exists()} if folder.is_dir() else {}
    for name in looked.warc_files:
        if name not in files and looked.segment.path.exists():
            _find(visit, looked, folder / name, "the archive is missing", "what the servers sent is lost")
    for name, path in sorted(files.items()):
        visit.say(f"segment {looked.segment.name}: {name}")
        try:
            places = visit.probe.ask("offsets", fetched=looked.parts.get("fetched", []), warc_file=name)
            _check_file(visit, looked, path, [(int(offset), str(url)) for offset, url in places])
        except Broken:
            continue  # told of among the parts
        except FileNotFoundError:
            continue
        except OSError as error:
            _find(
                visit, looked, path, f"it cannot be read ({error.strerror or error})", "what the servers sent is lost"
            )


def _check_file(visit: Visit, looked: Looked, path: Path, places: list[tuple[int, str]]) -> None:
    size = path.stat().st_size
    beyond = [url for offset, url in places if offset >= size]
    if beyond:
        what = f"it ends before {counted(len(beyond), 'record')} that rows point at ({beyond[0][:100]})"
        _find(visit, looked, path, what, "they cannot be parsed again or shown")
    within = [(offset, url) for offset, url in places if offset < size]
    bad: list[tuple[int, str]] = []
    if visit.deep:
        _read_all(visit, looked, path, within, bad)
    else:
        step = max(1, len(within) // SAMPLE)
        chosen = [*within[::step], *within[-1:]]
        with open(path, "rb") as file:
            for offset, url in dict(chosen).items():
                visit.checked.records += 1
                fault = _fault(read_member(file, offset, is_whole=False), url)
                if fault is not None:
                    bad.append((offset, fault))
    visit.checked.files += 1
    visit.checked.bytes += size
    if bad:
        offset, fault = bad[0]
        what = f"{counted(len(bad), 'record')} that rows point at damaged (first at byte {offset:,}: {fault})"
        _find(visit, looked, path, what, "they cannot be parsed again or shown")


def _read_all(
    visit: Visit, looked: Looked, path: Path, places: list[tuple[int, str]], bad: list[tuple[int, str]]
) -> None:
    """Every member of a file, one after the other."""
    wanted = dict(places)
    unnamed: list[Member] = []
    with open(path, "rb") as file:
        for member in members(file, sorted(wanted)):
            visit.checked.records += 1
            url = wanted.pop(member.start, None)
            if url is not None:
                fault = _fault(member, url)
                if fault is not None:
                    bad.append((member.start, fault))
            elif member.fault is not None:
                unnamed.append(member)
    bad += [(offset, "no record begins there") for offset in sorted(wanted)]
    for member in unnamed[:1]:
        what = "a cut last record" if member.is_cut else f"a damaged record that no row points at ({member.fault})"
        visit.note(
            "archive", f"{what} at byte {member.start:,}", path, "none: a run was killed while it was "
            "written; its URL was asked again" if member.is_cut else "none: no row points at it", "none is needed",
        )  # fmt: skip


def _fault(member: Member, url: str) -> str | None:
    """What is wrong with a record that is to be the answer of a URL."""
    if member.fault is not None:
        return member.fault
    if member.fields.get("cobnut-purpose") == "purged":
        return None  # a killed purge: rows are emptied last
    uri = member.fields.get("warc-target-uri", "")
    if uri == url:
        return None
    found, wanted = forms(uri), forms(url)
    if found is not None and wanted is not None and found.key == wanted.key:
        return None
    return f"it is of {uri[:100] or 'nothing'} and should be of {url[:100]}"


def members(file: IO[bytes], offsets: list[int]) -> Iterator[Member]:
    """All members of a file; after a damaged one it goes on at the next of the known offsets."""
    size = os.fstat(file.fileno()).st_size
    place, known = 0, 0
    while place < size:
        member = read_member(file, place, is_whole=True)
        if member.fault is not None and not member.is_cut:
            while known < len(offsets) and offsets[known] <= place:
                known += 1
            member.end = offsets[known] if known < len(offsets) else size
        yield member
        place = max(member.end, place + 1)


def read_member(file: IO[bytes], start: int, *, is_whole: bool) -> Member:
    """One member; with `is_whole` its digest is looked at too. Memory does not grow with it."""
    file.seek(start)
    unpacker = zlib.decompressobj(31)
    head, inflated, read = bytearray(), 0, 0
    payload: _Payload | None = None
    member = Member(start, start)
    while not unpacker.eof:
        data = unpacker.unconsumed_tail
        if not data:
            data = file.read(_READ)
            read += len(data)
        if not data:
            member.fault, member.is_cut, member.end = "the file ends in the midst of it", True, start + read
            return member
        try:
            piece = unpacker.decompress(data, _READ)
        except zlib.error as error:
            member.fault = f"it does not inflate ({error})"
            return member
        inflated += len(piece)
        if inflated > MOST_INFLATED:
            member.fault = "it inflates without end"
            return member
        if payload is not None:
            payload.take(piece)
        else:
            head += piece
            if len(head) >= _HEAD or unpacker.eof:
                payload = _begin(member, bytes(head))
                if payload is None:
                    break
                head.clear()
    if payload is None:
        payload = _begin(member, bytes(head))
    member.end = start + read - len(unpacker.unused_data) if unpacker.eof else start + read
    if payload is not None and member.fault is None and is_whole:
        member.fault = payload.fault(member.fields)
    return member


class _Payload:
    """Takes what follows the headers of a response: its length and digest."""

    def __init__(self, left: int, block: bytes, is_hashed: bool) -> None:
        self._left, self._digest, self._is_hashed = left, hashlib.sha1(usedforsecurity=False), is_hashed
        self._after = 0
        self.take(block)

    def take(self, piece: bytes) -> None:
        mine = piece[: self._left]
        self._left -= len(mine)
        self._after += len(piece) - len(mine)
        if self._is_hashed:
            self._digest.update(mine)

    def fault(self, fields: dict[str, str]) -> str | None:
        if self._left or self._after != 4:
            return "its length is not what it says"
        said = fields.get("warc-payload-digest", "")
        if self._is_hashed and said.startswith("sha1:"):
            found = base64.b32encode(self._digest.digest()).decode()
            if said[5:] != found:
                return "its digest differs"
        return None


def _begin(member: Member, data: bytes) -> _Payload | None:
    """Reads the headers of a record; None when they are none of a WARC record."""
    head, closed, block = data.partition(b"\r\n\r\n")
    if not closed or not head.startswith(b"WARC/"):
        member.fault = "it is no WARC record"
        return None
    for line in head.decode("utf-8", "replace").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        member.fields[name.strip().lower()] = value.strip()
    length = member.fields.get("content-length", "")
    if not length.isascii() or not length.isdigit() or len(length) > 15:
        member.fault = "it has no length"
        return None
    skipped = 0
    is_response = member.fields.get("warc-type") == "response"
    if is_response:
        skipped = min(end_of_head(block), int(length))
    return _Payload(int(length) - skipped, block[skipped:], is_response)


def _find(visit: Visit, looked: Looked, path: Path, what: str, consequence: str) -> None:
    crawl = visit.crawl.path
    text = (
        f"restore it, or fetch its pages again: {cobnut('crawl', crawl, '--refresh')}, then {cobnut('clean', crawl)} "
        "removes the segment"
    )
    visit.find("archive", f"segment {looked.segment.name}: {what}", path, consequence, text)
