"""What does the supervisor tell a parse worker, and what does the worker answer?

Messages are msgpack with a length of four bytes before them, over two pipes. Nothing here imports a heavy library.
"""

from __future__ import annotations

from typing import IO

import msgspec

from cobnut.config.sections import Settings

NO_PAGE = -1
"""In the shared word: the worker is on no page."""


class PageTask(msgspec.Struct, frozen=True, array_like=True):
    """One page to parse: where its answer lies, and what its rows need of `fetched`."""

    url_key: str
    url: str
    host: str
    bucket: int
    fetched_at: int
    score: int
    depth: int
    truncated: bool = False
    digest: bytes | None = None
    warc_file: str | None = None
    warc_offset: int | None = None


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """Pages that become one part of each table. `bad`: the reason of each page (by place) not to be parsed."""

    segment: str
    name: str
    tasks: list[PageTask]
    bad: dict[int, str] = {}


class BatchDone(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A batch whose parts are durable: pages by status, reason and flag, links and embeds written, CPU time taken."""

    name: str
    pages: int
    statuses: dict[str, int]
    reasons: dict[str, int]
    links: int
    dropped: int
    cpu_ms: int
    embeds: int
    flags: dict[str, int]
    score_failures: dict[str, int] = {}  # pages on which a scoring rule failed, by its name


class BatchFailed(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A batch that could not be begun, or not be written: the machine's fault, as `MachineError` has it."""

    what: str
    where: str | None
    remedy: str | None


Answer = BatchDone | BatchFailed


class WorkerStart(msgspec.Struct, frozen=True, array_like=True):
    """The first message to a worker."""

    settings: Settings


def write_message(pipe: IO[bytes], message: msgspec.Struct) -> None:
    """Sends one message."""
    data = msgspec.msgpack.encode(message)
    pipe.write(len(data).to_bytes(4, "big") + data)
    pipe.flush()


def read_message(pipe: IO[bytes]) -> bytes | None:
    """One message as bytes; None at the end of the pipe, even in the middle of a message."""
    head = pipe.read(4)
    if len(head) < 4:
        return None
    size = int.from_bytes(head, "big")
    data = pipe.read(size)
    return data if len(data) == size else None
