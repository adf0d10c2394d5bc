"""What does an index of archives look like that replay tools read (CDXJ)?

One line a record, sorted by bytes: the URL's key (`interop.warc.surt`), the time with 14 digits, and a JSON object
with url, mime, status, digest, length, offset and filename, all of them texts, as pywb has them. Length and offset are
of the packed record in its file.

Large indexes are sorted on disk: runs that fit into memory, then merged.
"""

from __future__ import annotations

import base64
import hashlib
import heapq
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

import msgspec

from cobnut.fetcher.answer import MAX_HEAD_BYTES, read_headers, status_of
from cobnut.fetcher.archive import end_of_head
from cobnut.interop.warc.answers import target_of
from cobnut.interop.warc.dates import parse_date
from cobnut.interop.warc.reading import Told, shown
from cobnut.interop.warc.records import Damage, Place, Record, read_records
from cobnut.interop.warc.surt import surt

INDEXED = ("response", "revisit", "resource", "conversion")
RUN_BYTES = 64 << 20
MOST_RUNS = 100
"""Runs that are merged at once."""

_SHA1 = re.compile(r"[A-Z2-7]{32}")
_MIME = re.compile(r"[^\s;,]+")


class CdxReport(msgspec.Struct):
    """What an index came to. `not_alone`: records that share a gzip member and cannot be found by an offset."""

    files: int = 0
    lines: int = 0
    not_alone: int = 0
    left_out: int = 0
    damage: list[Told] = []


def lines_of(
    path: Path, name: str, report: CdxReport, refuses: Callable[[str], bool] = lambda url: False, *, own: bool = False
) -> Iterator[bytes]:
    """The lines of one archive, in its order; `name` is what they say as its file name.

    `own`: it lies in a crawl, where a killed run may have left the last record cut: that is no damage.
    """
    waiting: Record | None = None
    for found in read_records(path):
        if isinstance(found, Place):
            if waiting is not None and (line := cdx_line(waiting, found.end, name)) is not None:
                report.lines += 1
                yield line
            waiting = None
        elif isinstance(found, Damage):
            if not (own and found.at_end):
                report.damage.append(Told(shown(path), found.offset, found.reason))
        elif found.type in INDEXED:
            url = target_of(found)
            if url is None or found.fields.get("cobnut-purpose") == "purged" or refuses(url):
                report.left_out += 1
            elif not found.alone:
                report.not_alone += 1
            else:
                waiting = found


def cdx_line(record: Record, end: int, name: str) -> bytes | None:
    """A record's line; None when it has no URL or no time."""
    url, at_ms = target_of(record), parse_date(record.fields.get("warc-date", ""))
    if url is None or at_ms is None:
        return None
    head_end = end_of_head(record.block[: MAX_HEAD_BYTES + 1])
    is_http = record.type in ("response", "revisit") and record.block.startswith(b"HTTP/")
    status = status_of(record.block[:4_096].partition(b"\n")[0]) if is_http else None
    kind = read_headers(record.block[:head_end]).get("content-type") if is_http else record.fields.get("content-type")
    mime = _MIME.match(kind.strip()) if kind else None
    entry = {"url": url, "mime": "warc/revisit" if record.type == "revisit" else mime.group() if mime else "unk"}
    if status is not None:
        entry["status"] = str(status)
    entry["digest"] = _digest(record, head_end if is_http else 0)
    entry |= {"length": str(end - record.offset), "offset": str(record.offset), "filename": name}
    return f"{surt(url)} {_stamp(at_ms)} {json.dumps(entry)}\n".encode("ascii", "replace")


def _stamp(at_ms: int) -> str:
    at = datetime(1970, 1, 1) + timedelta(seconds=at_ms // 1000)
    return f"{at.year:04d}{at:%m%d%H%M%S}"


def _digest(record: Record, start: int) -> str:
    told = record.fields.get("warc-payload-digest", "").strip()
    algorithm, _, value = told.partition(":")
    if algorithm.lower() == "sha1" and _SHA1.fullmatch(value.upper()):
        return value.upper()
    if told or record.is_cut or record.type == "revisit":
        return told or "-"
    return base64.b32encode(hashlib.sha1(record.block[start:], usedforsecurity=False).digest()).decode()


def in_order(lines: Iterable[bytes], run_bytes: int = RUN_BYTES, most_runs: int = MOST_RUNS) -> Iterator[bytes]:
    """The lines sorted by bytes, in bounded memory."""
    with ExitStack() as stack:
        runs: list[IO[bytes]] = []
        held: list[bytes] = []
        size = 0
        for line in lines:
            held.append(line)
            size += len(line) + 64
            if size >= run_bytes:
                runs.append(_run(stack, sorted(held)))
                held, size = [], 0
                if len(runs) >= most_runs:
                    merged = _run(stack, heapq.merge(*runs))
                    for run in runs:
                        run.close()
                    runs = [merged]
        held.sort()
        yield from heapq.merge(*runs, held)


def _run(stack: ExitStack, lines: Iterable[bytes]) -> IO[bytes]:
    run = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    run.writelines(lines)
    run.seek(0)
    return run
