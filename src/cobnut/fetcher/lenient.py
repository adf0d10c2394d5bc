"""What does a server say that does not quite speak HTTP?

The second try after libcurl refused an answer (HTTP/0.9, header lines without a colon): the same request over
a plain socket to the same checked address, read leniently, within the same limits of size and time. Rare, so
a few threads do it.

Source: RFC 9112 sections 2.2 (lone LF), 5.1, 7.1. Not here: deciding that a second try is worth it
(`fetcher.outcome`).
"""

from __future__ import annotations

import os
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from cobnut.fetcher.answer import MAX_HEAD_BYTES, Answer, failure, read_headers, status_of
from cobnut.fetcher.archive import end_of_head
from cobnut.fetcher.body import Body, BodyBudget
from cobnut.fetcher.exchange import HttpIdentity, HttpLimits, Request, body_cap, without_userinfo

THREADS = 4
MAX_CHUNK_LINE = 1_024
HEAD_OF_HTTP_09 = b"HTTP/0.9 200 OK\r\n\r\n"


class LenientTries:
    """Runs lenient requests beside the event loop; `fd` becomes readable when `take` has something."""

    def __init__(self, identity: HttpIdentity, limits: HttpLimits) -> None:
        self._identity, self._limits = identity, limits
        self._todo: queue.SimpleQueue[tuple[object, Request] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[object, Answer]] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.pending = 0

    def start(self, token: object, request: Request) -> None:
        """Begins a request; `token` comes back with the answer."""
        self.pending += 1
        self._todo.put((token, request))
        if len(self._threads) < min(THREADS, self.pending):
            thread = threading.Thread(target=self._work, daemon=True)
            self._threads.append(thread)
            thread.start()

    def take(self) -> list[tuple[object, Answer]]:
        """The answers that have come."""
        try:
            os.eventfd_read(self.fd)
        except BlockingIOError:
            return []
        found = []
        while not self._done.empty():
            found.append(self._done.get())
        self.pending -= len(found)
        return found

    def close(self) -> None:
        """Lets the threads end."""
        for _ in self._threads:
            self._todo.put(None)

    def _work(self) -> None:
        while (job := self._todo.get()) is not None:
            token, request = job
            try:
                answer = fetch_leniently(request, self._identity, self._limits, time.monotonic)
            except Exception:  # a thread that dies would leave its URL without an answer
                answer = failure("protocol_error", request.address)
            self._done.put((token, answer))
            os.eventfd_write(self.fd, 1)


def fetch_leniently(request: Request, identity: HttpIdentity, limits: HttpLimits, clock: Callable[[], float]) -> Answer:
    """One request over a plain socket to the address of the request."""
    began = clock()
    deadline = began + limits.timeout_ms / 1000
    assert request.address is not None

    def elapsed_ms() -> int:
        return int((clock() - began) * 1000)

    try:
        link = socket.create_connection((request.address, request.port), timeout=limits.connect_timeout_ms / 1000)
    except OSError:
        return failure("connect_failed", request.address, elapsed_ms())
    with link:
        try:
            stream = _secure(link, request, identity)
            stream.sendall(_request_bytes(request, identity))
            data, ended = _receive(stream, deadline, limits.other_max_bytes + MAX_HEAD_BYTES, clock)
        except ssl.SSLError:
            return failure("tls_failed", request.address, elapsed_ms())
        except OSError:
            return failure("connect_failed", request.address, elapsed_ms())
    return read_answer(data, ended, request, limits, elapsed_ms())


def read_answer(data: bytes, ended: str | None, request: Request, limits: HttpLimits, elapsed_ms: int) -> Answer:
    """Reads what came as an HTTP message if it begins like one, as HTTP/0.9 (a body alone) otherwise."""
    status = status_of(data)
    if status is None:
        if not data or data[:5] == b"HTTP/" or not _looks_like_text(data):
            return failure("protocol_error", request.address, elapsed_ms)
        status, head, rest = 200, HEAD_OF_HTTP_09, data
    else:
        end = end_of_head(data)
        head, rest = data[:end], data[end:]
        if len(head) > MAX_HEAD_BYTES:
            return failure("protocol_error", request.address, elapsed_ms)
    headers = read_headers(head)
    truncated = ended
    if "chunked" in headers.get("transfer-encoding", "").lower():
        rest, whole = dechunk(rest)
        truncated = (None if ended == "length" else ended) if whole else ended or "disconnect"
    elif headers.get("content-length", "").isdigit():
        length = int(headers["content-length"][:18])
        truncated = None if len(rest) >= length else ended or "disconnect"
        rest = rest[:length]
    cap = request.max_bytes if request.max_bytes is not None else body_cap(headers.get("content-type", ""), limits)
    body = Body(cap, headers.get("content-encoding", ""), BodyBudget())
    whole_body = True
    for at in range(0, len(rest), 1 << 16):
        whole_body = body.add(rest[at : at + (1 << 16)])
        if not whole_body:
            break
    broken = body.broken
    received, digest = body.finish()
    return Answer(
        status, head, headers, received, digest, truncated if whole_body else "length", None, 0, request.address,
        elapsed_ms, broken, True,
    )  # fmt: skip


def dechunk(data: bytes) -> tuple[bytes, bool]:
    """Undoes chunked coding as far as it goes; whether its end was seen.

    >>> dechunk(b"5\\r\\nhello\\r\\n0\\r\\n\\r\\n"), dechunk(b"5\\r\\nhel")
    ((b'hello', True), (b'hel', False))
    """
    pieces: list[bytes] = []
    at = 0
    while True:
        end = data.find(b"\n", at, at + MAX_CHUNK_LINE)
        if end < 0:
            return b"".join(pieces), False
        try:
            size = int(data[at:end].partition(b";")[0].strip(), 16)
        except ValueError:
            return b"".join(pieces), False
        if size < 0:
            return b"".join(pieces), False
        if size == 0:
            return b"".join(pieces), True
        pieces.append(data[end + 1 : end + 1 + size])
        at = end + 1 + size
        if at > len(data):
            return b"".join(pieces), False
        at += 2 if data[at : at + 2] == b"\r\n" else 1


def _looks_like_text(data: bytes) -> bool:
    return b"\0" not in data[:1024] and b"<" in data[:4096]


def _secure(link: socket.socket, request: Request, identity: HttpIdentity) -> socket.socket:
    parts = urlsplit(request.url)
    if parts.scheme != "https":
        return link
    context = ssl.create_default_context(cafile=identity.ca_file or None)
    if not identity.tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(link, server_hostname=parts.hostname)


def _request_bytes(request: Request, identity: HttpIdentity) -> bytes:
    _, _, rest = without_userinfo(request.url).partition("://")
    authority, slash, tail = rest.partition("/")
    if not slash and "?" in authority:
        authority, _, query = authority.partition("?")
        tail = "?" + query
    target = "/" + tail
    lines = [f"GET {target} HTTP/1.1", f"Host: {authority}", f"User-Agent: {identity.user_agent}", "Connection: close"]
    lines += [h for h in (*identity.headers, *request.condition) if not h.lower().startswith("accept-encoding")]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8")


def _receive(stream: socket.socket, deadline: float, most: int, clock: Callable[[], float]) -> tuple[bytes, str | None]:
    """Bytes until the server ends, the time is over or there are too many; why it ended early, in WARC's word."""
    pieces: list[bytes] = []
    size = 0
    while True:
        left = deadline - clock()
        if left <= 0:
            return b"".join(pieces), "time"
        stream.settimeout(left)
        try:
            piece = stream.recv(1 << 16)
        except TimeoutError:
            return b"".join(pieces), "time"
        except OSError:
            return b"".join(pieces), "disconnect"
        if not piece:
            return b"".join(pieces), None
        pieces.append(piece)
        size += len(piece)
        if size >= most:
            return b"".join(pieces), "length"
