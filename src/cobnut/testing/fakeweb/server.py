"""How do the bytes get in and out? HTTP/1.1 over asyncio: pipelining, keep-alive, chunks, CONNECT with TLS.

Not here: who answers (`net`), and the thread it runs in (`web`).
"""

from __future__ import annotations

import asyncio
import email.utils
import ssl
import sys
import time
from collections.abc import Coroutine
from typing import cast

from cobnut.testing.fakeweb.messages import Request, Response, status_line
from cobnut.testing.fakeweb.net import HostStats, LogEntry, Net

_MAX_HEAD_BYTES = 65_536
_CHUNK_BYTES = 4_000
_METHODS = ("GET", "HEAD", "POST")
_END = b"Connection: close\r\nContent-Length: 0\r\n\r\n"

Entry = tuple[HostStats, LogEntry | None]


class Connection(asyncio.Protocol):
    """One client connection. Requests are answered one after the other, in order."""

    def __init__(self, net: Net, scheme: str = "http") -> None:
        self._net, self._scheme, self._buffer = net, scheme, b""
        self.busy, self._gone = False, False
        self._drained: asyncio.Event | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._net.transports.add(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = True
        self._net.transports.discard(self._transport)
        self.resume_writing()

    def pause_writing(self) -> None:
        self._drained = asyncio.Event()

    def resume_writing(self) -> None:
        if self._drained:
            self._drained.set()
            self._drained = None

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self.busy:
            self.pump()

    def pump(self) -> None:
        """Answer all complete requests received."""
        while not self.busy and not self._gone:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _MAX_HEAD_BYTES:
                    self._transport.close()
                return
            try:
                request = Request(self._buffer[:end], self._scheme)
                length = int(request.headers.get("content-length") or 0)
            except ValueError:
                self._transport.write(status_line(400) + _END)
                self._transport.close()
                return
            if len(self._buffer) < end + 4 + length:
                return
            self._buffer = self._buffer[end + 4 + length :]
            if request.method == "CONNECT":
                self._later(self._connect(request))
                return
            entry = self._net.enter(request, time.monotonic())
            response = self._answer(request)
            if response.delay_s or response.stream:
                self._later(self._slowly(request, response, entry))
                return
            self._send(request, response, entry)

    def _later(self, work: Coroutine[None, None, None]) -> None:
        self.busy = True
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _answer(self, request: Request) -> Response:
        if request.method not in _METHODS:
            return Response(405, "text/plain", b"", [("Allow", "GET, HEAD")])
        try:
            return self._net.answer(request)
        except Exception as error:  # a fault of ours or of the test's function: say so and stay up
            print(f"fake web: {request.host}{request.path}: {error!r}", file=sys.stderr)
            return Response(500, "text/plain", b"fault of the fake web")

    async def _slowly(self, request: Request, response: Response, entry: Entry) -> None:
        try:
            if response.delay_s:
                await asyncio.sleep(response.delay_s)
            if response.stream:
                if entry[1]:
                    entry[1].status = response.status or None
                try:
                    await response.stream(self._write)
                except ConnectionError:
                    pass
                finally:
                    entry[0].leave(response.status or None, 0)
                self._transport.close()
                return
            if self._gone:
                entry[0].leave(None, 0)
                return
            self._send(request, response, entry)
        finally:
            self.busy = False
        self.pump()

    async def _write(self, data: bytes) -> None:
        if self._gone:
            raise ConnectionResetError
        self._transport.write(data)
        if self._drained:
            await self._drained.wait()

    def _send(self, request: Request, response: Response, entry: Entry) -> None:
        body, headers = response.body, response.headers
        if response.gz is not None:
            body = response.gz
            headers = [*headers, ("Content-Encoding", "gzip")]
        keep = not response.close and _stays_open(request)
        bodiless = response.status in (204, 304)
        chunked = response.chunked and request.version == "HTTP/1.1" and not bodiless
        head = "".join([f"{name}: {value}\r\n" for name, value in headers]).encode("latin-1", "replace")
        out = [status_line(response.status), head]
        if chunked:
            out.append(b"Transfer-Encoding: chunked\r\n")
        elif not bodiless:
            out.append(b"Content-Length: %d\r\n" % len(body))
        out.append(_date_line() + (b"\r\n" if keep else b"Connection: close\r\n\r\n"))
        if request.method != "HEAD" and not bodiless:
            if chunked:
                for start in range(0, len(body), _CHUNK_BYTES):
                    part = body[start : start + _CHUNK_BYTES]
                    out.append(b"%x\r\n%b\r\n" % (len(part), part))
                out.append(b"0\r\n\r\n")
            else:
                out.append(body)
        data = b"".join(out)
        stats, logged = entry
        if logged:  # before the bytes leave, so that a client that has its answer finds it in the log
            logged.status, logged.body_bytes = response.status, len(body)
        stats.leave(response.status, len(data))
        self._transport.write(data)
        if self._net.log_file:
            agent = request.headers.get("user-agent", "-")
            line = (f"{time.time():.4f}", request.host, request.target, str(response.status), str(len(body)), agent)
            self._net.log_file.write("\t".join(line) + "\n")
        if not keep:
            self._transport.close()

    async def _connect(self, request: Request) -> None:
        if not self._net.authority or not self._net.has(request.host):
            self._transport.write(status_line(502) + _END)
            self._transport.close()
            return
        context = self._net.authority.context(request.host)
        self._transport.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        inner = Connection(self._net, "https")
        inner.busy = True  # data may come before start_tls has returned: keep it
        loop = asyncio.get_running_loop()
        try:
            transport = await loop.start_tls(self._transport, inner, context, server_side=True)
        except (OSError, ssl.SSLError):
            return
        if transport is None:
            return
        inner.connection_made(transport)
        inner.busy = False
        inner.pump()


def _stays_open(request: Request) -> bool:
    connection = request.headers.get("connection", request.headers.get("proxy-connection", "")).lower()
    if connection == "close":
        return False
    return request.version == "HTTP/1.1" or "keep-alive" in request.headers.get("connection", "").lower()


_date = (0, b"")


def _date_line() -> bytes:
    """Date and Server, made once a second."""
    global _date
    now = int(time.time())
    if now != _date[0]:
        _date = (now, f"Date: {email.utils.formatdate(now, usegmt=True)}\r\nServer: fakeweb\r\n".encode())
    return _date[1]
