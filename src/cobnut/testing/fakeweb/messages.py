"""What does the fake web receive and send?

`Request` is one request as read from the wire, `Response` what a handler gives back for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Protocol

Write = Callable[[bytes], Awaitable[None]]
Stream = Callable[[Write], Awaitable[None]]

STATUS_LINES = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}


def status_line(status: int) -> bytes:
    """The first line of an answer; numbers outside the standard are sent too."""
    return STATUS_LINES.get(status) or f"HTTP/1.1 {status} Unnamed\r\n".encode()


class Request:
    """One request: `host` without port in lower case, `path` as sent, `query` None when there is no question mark."""

    __slots__ = ("headers", "host", "method", "path", "port", "proxy", "query", "scheme", "version")

    def __init__(self, head: bytes, scheme: str) -> None:
        """`head` is everything before the empty line; a `ValueError` says that it is not HTTP."""
        lines = head.decode("latin-1").split("\r\n")
        parts = lines[0].split(" ")
        if len(parts) != 3 or not parts[2].startswith("HTTP/"):
            raise ValueError("request line")
        self.method, target, self.version = parts
        self.headers: dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if colon:
                self.headers[name.lower()] = value.strip()
        self.query: str | None = None
        self.proxy, self.scheme = False, scheme
        if self.method == "CONNECT":
            self.host, self.port, self.path = *_host_port(target), ""
            return
        if target[:7].lower() == "http://":
            self.proxy = True
            host, slash, rest = target[7:].partition("/")
            if not slash:
                host, mark, rest = host.partition("?")
                rest = mark + rest
            target = "/" + rest
        else:
            host = self.headers.get("host", "")
        self.host, self.port = _host_port(host)
        self.path, mark, query = target.partition("?")
        if mark:
            self.query = query

    @property
    def target(self) -> str:
        """Path and query, as sent."""
        return self.path if self.query is None else f"{self.path}?{self.query}"


def _host_port(authority: str) -> tuple[str, int | None]:
    authority = authority.rpartition("@")[2]
    if authority.startswith("["):
        host, _, port = authority[1:].partition("]")
        host, port = f"[{host}]", port.lstrip(":")
    else:
        host, _, port = authority.partition(":")
    return host.lower().rstrip("."), int(port) if port.isdigit() else None


class Response:
    """What a handler answers.

    `gz` is sent instead of `body` with `Content-Encoding: gzip`. `stream`, where set, sends the whole answer, head
    included, as it likes; the connection is closed after it.
    """

    __slots__ = ("body", "chunked", "close", "delay_s", "gz", "headers", "status", "stream")

    def __init__(
        self,
        status: int = 200,
        content_type: str | None = None,
        body: bytes = b"",
        headers: Iterable[tuple[str, str]] = (),
        *,
        gz: bytes | None = None,
        delay_s: float = 0.0,
        stream: Stream | None = None,
        close: bool = False,
        chunked: bool = False,
    ) -> None:
        self.status, self.body, self.gz, self.delay_s = status, body, gz, delay_s
        self.stream, self.close, self.chunked = stream, close, chunked
        self.headers = list(headers)
        if content_type:
            self.headers.insert(0, ("Content-Type", content_type))


class HostNames(Protocol):
    """The hosts of a handler: a length and an order, not necessarily a list."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...


class Handler(Protocol):
    """Somebody who answers for some hosts. None as an answer leaves the request to the next handler."""

    @property
    def hosts(self) -> HostNames: ...
    def has(self, host: str) -> bool: ...
    def respond(self, request: Request) -> Response | None: ...
