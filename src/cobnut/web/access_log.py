"""Who asked what, and how did it go?

One JSON object a line for every request but `/healthz`, to a file or to standard output: `time` (UTC), `client`, `who`
(the login or key that was proved), `method`, `path`, `status`, `bytes`, `took_ms`, `agent` (User-Agent). What was
searched for is written only when `serve.log_queries` says so, as `query`; credentials never are.

All worker processes append to the same file, each line in one go. A file that was moved away (log rotation) is begun
anew within a second. Where a line cannot be written the request is answered all the same, and the operator told once.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cobnut.errors import MachineError
from cobnut.web.clients import header
from cobnut.web.gate import CLIENT, HEALTH, WHO

LOOK_EVERY_S = 1.0
MOST_TEXT = 500
"""Characters of a path, query or User-Agent that are written."""


def open_log(path: str) -> int:
    """The file, open for appending; a `MachineError` when it cannot be."""
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise MachineError(
            f"cannot write the access log ({reason})", where=path, remedy="choose another file by serve.access_log"
        ) from None


class LogFile:
    """Where the lines go; `-` is standard output."""

    def __init__(self, path: str, clock: Callable[[], float], report: Callable[[str], None]) -> None:
        self._path, self._clock, self._report = path, clock, report
        self._file = sys.stdout.fileno() if path == "-" else open_log(path)
        self._looked_at, self._has_reported = clock(), False

    def write(self, line: bytes) -> None:
        """One line, with its end."""
        try:
            if self._path != "-" and self._clock() - self._looked_at >= LOOK_EVERY_S:
                self._looked_at = self._clock()
                self._follow()
            os.write(self._file, line)
            self._has_reported = False
        except (OSError, MachineError) as error:
            if not self._has_reported:
                self._has_reported = True
                self._report(f"the access log is not being written: {error}")

    def _follow(self) -> None:
        here = os.fstat(self._file)
        with contextlib.suppress(FileNotFoundError):
            there = os.stat(self._path)
            if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
                return
        former, self._file = self._file, open_log(self._path)
        os.close(former)


def logged(
    app: ASGIApp, log: LogFile, with_queries: bool, clock: Callable[[], float], now: Callable[[], float]
) -> ASGIApp:
    """The app with a line for each request; `clock` counts seconds, `now` is seconds since 1970."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == HEALTH:
            await app(scope, receive, send)
            return
        began, status, size = clock(), 0, 0

        async def counted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            elif scope["method"] != "HEAD":
                size += len(message.get("body", b""))
            await send(message)

        try:
            await app(scope, receive, counted)
        finally:
            took_ms = round((clock() - began) * 1000, 1)
            line = entry(scope, now(), status, size, took_ms, with_queries)
            log.write(orjson.dumps(line) + b"\n")

    return answer


def entry(scope: Scope, at: float, status: int, size: int, took_ms: float, with_queries: bool) -> dict[str, Any]:
    """What a line holds."""
    time = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    client, who, method = scope.get(CLIENT) or first(scope), scope.get(WHO), text_of(scope["method"])
    line = {"time": time, "client": client, "who": who, "method": method, "path": text_of(scope["path"])}
    if with_queries:
        line["query"] = text_of(query_of(scope["query_string"]))
    agent = (header(scope, b"user-agent") or b"").decode("utf-8", "replace")
    return line | {"status": status, "bytes": size, "took_ms": took_ms, "agent": text_of(agent)}


def first(scope: Scope) -> str:
    """The other end of the connection, of a request that was refused before it was known for whom."""
    return str((scope.get("client") or ("unknown",))[0])


def query_of(query_string: bytes) -> str:
    """What was searched for; empty when nothing was."""
    try:
        found = parse_qs(query_string[:8192].decode("latin-1"), errors="replace", max_num_fields=50)
    except ValueError:
        return ""
    return found.get("q", [""])[0]


def text_of(text: str) -> str:
    """A text that any JSON writer takes, cut."""
    return text[:MOST_TEXT].encode("utf-8", "replace").decode()
