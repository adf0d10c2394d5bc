"""What does a test want a path to answer?

A *page* is one of: text or bytes (200, HTML), an `Answer`, a list of these (one a request, the last for ever: "fails
twice, then works"), or a function of the request that gives one of these. The path `*` answers every path that
is not named.

Not here: made-up hosts (`synthweb`), files (`sites`).
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cobnut.testing.fakeweb.messages import Request, Response, Stream, Write

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. Text is sent as UTF-8.

    `etag` and `last_modified` are sent, and 304 is answered to a request that holds the same. `compress`: gzip when the
    client takes it. `chunked`: without Content-Length. `delay_s` passes before the first byte.

    Faults: `raw` is sent as it stands instead of an answer (in pieces, `pause_s` apart, when it is a tuple) and the
    connection is closed; `drop` closes the connection without a byte.
    """

    status: int = 200
    body: str | bytes = b""
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = ()
    content_type: str | None = HTML
    etag: str | None = None
    last_modified: str | None = None
    compress: bool = False
    chunked: bool = False
    close: bool = False
    delay_s: float = 0.0
    raw: bytes | tuple[bytes, ...] | None = None
    pause_s: float = 0.0
    drop: bool = False

    def after(self, delay_s: float) -> Answer:
        """The same answer, later."""
        return replace(self, delay_s=delay_s)


Page: TypeAlias = "str | bytes | Answer | Sequence[Page] | Callable[[Request], Page]"


def moved(to: str, status: int = 301) -> Answer:
    """A redirect."""
    return Answer(status, headers={"Location": to}, content_type=None)


class ScriptedSites:
    """Hosts whose paths answer what a test says. Paths are as sent; one with a query is looked up with it first."""

    def __init__(self) -> None:
        self.hosts: dict[str, dict[str, Page]] = {}
        self._down: dict[str, Page] = {}
        self._asked: dict[tuple[str, str], int] = {}

    def put(self, host: str, pages: Mapping[str, Page]) -> None:
        """Add pages to a host, replacing those it has of the same path."""
        host = host.lower()
        for path in pages:
            if path != "*" and not path.startswith("/"):
                raise ValueError(f"a path begins with a slash: {path!r}")
            self._asked.pop((host, path), None)
        self.hosts[host] = {**self.hosts.get(host, {}), **pages}

    def remove(self, host: str, path: str | None = None) -> None:
        """Take one page, or the whole host, away."""
        if path is None:
            self.hosts.pop(host.lower(), None)
        else:
            self.hosts[host.lower()] = {p: page for p, page in self.hosts[host.lower()].items() if p != path}

    def set_down(self, host: str, page: Page | None) -> None:
        """Answer everything on a host with `page`, until it is set to None."""
        if page is None:
            self._down.pop(host.lower(), None)
        else:
            self._down[host.lower()] = page

    def has(self, host: str) -> bool:
        """Whether this host is scripted, in whole or in part."""
        return host in self.hosts or host in self._down

    def respond(self, request: Request) -> Response | None:
        """The scripted answer; None when nothing was said of the path."""
        if request.host in self._down:
            return _respond(self._down[request.host], request)
        pages = self.hosts.get(request.host, {})
        for path in (request.target, request.path, "*"):
            if path in pages:
                return _respond(self._turn(request.host, path, pages[path]), request)
        return None

    def _turn(self, host: str, path: str, page: Page) -> Page:
        """The page whose turn it is, where a list was given."""
        if isinstance(page, str | bytes | Answer) or callable(page):
            return page
        count = self._asked.get((host, path), 0)
        self._asked[host, path] = count + 1
        return page[min(count, len(page) - 1)]


def _respond(page: Page, request: Request) -> Response:
    if isinstance(page, str | bytes):
        page = Answer(200, page)
    if not isinstance(page, Answer):
        return _respond(page(request) if callable(page) else page[-1], request)
    if page.drop:
        return Response(0, stream=_pieces((), 0.0), delay_s=page.delay_s)
    if page.raw is not None:
        pieces = (page.raw,) if isinstance(page.raw, bytes) else page.raw
        return Response(page.status, stream=_pieces(pieces, page.pause_s), delay_s=page.delay_s)
    headers = list(page.headers.items() if isinstance(page.headers, Mapping) else page.headers)
    if page.etag:
        headers.append(("ETag", page.etag))
    if page.last_modified:
        headers.append(("Last-Modified", page.last_modified))
    if _unchanged(page, request):
        return Response(304, None, b"", headers, delay_s=page.delay_s)
    body = page.body.encode() if isinstance(page.body, str) else page.body
    zipped = page.compress and "gzip" in request.headers.get("accept-encoding", "")
    return Response(
        page.status,
        page.content_type,
        body,
        headers,
        gz=gzip.compress(body, 6, mtime=0) if zipped else None,
        delay_s=page.delay_s,
        close=page.close,
        chunked=page.chunked,
    )


def _unchanged(answer: Answer, request: Request) -> bool:
    if answer.status != 200:
        return False
    known = request.headers.get("if-none-match")
    if known is not None:
        return answer.etag is not None and answer.etag in [tag.strip() for tag in known.split(",")]
    return answer.last_modified is not None and request.headers.get("if-modified-since") == answer.last_modified


def _pieces(pieces: Sequence[bytes], pause_s: float) -> Stream:
    async def stream(write: Write) -> None:
        for i, piece in enumerate(pieces):
            if i and pause_s:
                await asyncio.sleep(pause_s)
            await write(piece)

    return stream
