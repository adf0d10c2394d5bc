"""How is one request sent and its answer taken, with libcurl?

An `Exchange` owns one easy handle and is used again and again. What it may do is fixed here once: http and
https only, no redirects, no proxies of the environment, no decoding, and a connection to exactly the address
it is given: whatever libcurl makes of the URL's host, `CONNECT_TO` sends it to the address that was checked.

Not here: the event loop (`fetcher.loop`), the second try for answers that are not quite HTTP (`fetcher.lenient`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pycurl

from cobnut.fetcher.answer import MAX_HEAD_BYTES, Answer, failure, read_headers, status_of
from cobnut.fetcher.body import Body, BodyBudget
from cobnut.fetcher.outcome import TIMED_OUT, WRITE_REFUSED, curl_reason

_USERINFO = re.compile(r"^(https?://)[^/?#]*@")


class HttpLimits(NamedTuple):
    """What every exchange is bounded by."""

    connect_timeout_ms: int
    timeout_ms: int
    low_speed_bytes_s: int
    low_speed_time_s: int
    html_max_bytes: int
    other_max_bytes: int


class HttpIdentity(NamedTuple):
    """What every request says, and through what it goes."""

    user_agent: str
    headers: tuple[str, ...]
    proxy: str
    tls_verify: bool
    ca_file: str


class Request(NamedTuple):
    """One request: `address` is a checked address with its port, None only behind a proxy."""

    url: str
    address: str | None
    port: int
    condition: tuple[str, ...] = ()
    max_bytes: int | None = None


def without_userinfo(url: str) -> str:
    """The URL without user name and password: what stands in a link is never sent as credentials."""
    return _USERINFO.sub(r"\1", url) if "@" in url else url


class Exchange:
    """One reusable request in flight at a time."""

    def __init__(self, identity: HttpIdentity, limits: HttpLimits, budget: BodyBudget) -> None:
        self._limits, self._budget, self._identity = limits, budget, identity
        self.token: object = None
        self.curl = curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.REDIR_PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        curl.setopt(pycurl.HTTP_CONTENT_DECODING, 0)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.NETRC, 0)
        curl.setopt(pycurl.PROXY, identity.proxy)
        curl.setopt(pycurl.NOPROXY, "")
        curl.setopt(pycurl.USERAGENT, identity.user_agent)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, limits.connect_timeout_ms)
        curl.setopt(pycurl.TIMEOUT_MS, limits.timeout_ms)
        curl.setopt(pycurl.LOW_SPEED_LIMIT, limits.low_speed_bytes_s)
        curl.setopt(pycurl.LOW_SPEED_TIME, limits.low_speed_time_s)
        curl.setopt(pycurl.TCP_NODELAY, 1)
        curl.setopt(pycurl.SSL_VERIFYPEER, 1 if identity.tls_verify else 0)
        curl.setopt(pycurl.SSL_VERIFYHOST, 2 if identity.tls_verify else 0)
        if identity.ca_file:
            curl.setopt(pycurl.CAINFO, identity.ca_file)
        curl.setopt(pycurl.HTTPHEADER, list(identity.headers))
        curl.setopt(pycurl.HEADERFUNCTION, self._on_header)
        curl.setopt(pycurl.WRITEFUNCTION, self._on_body)
        curl.exchange = self
        self._has_condition = False
        self._has_pin = False
        self._clear()

    def _clear(self) -> None:
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self._lines: list[bytes] = []
        self._head_bytes = 0
        self._head_done = False
        self._body: Body | None = None
        self._stop: str | None = None
        self._address: str | None = None
        self._max_bytes: int | None = None

    def prepare(self, request: Request) -> None:
        """Sets the handle up for a request; the caller adds it to the multi handle."""
        self._clear()
        curl = self.curl
        curl.setopt(pycurl.URL, without_userinfo(request.url))
        self._address, self._max_bytes = request.address, request.max_bytes
        if request.address is not None:
            target = f"[{request.address}]" if ":" in request.address else request.address
            curl.setopt(pycurl.CONNECT_TO, [f"::{target}:{request.port}"])
            self._has_pin = True
        elif self._has_pin:
            curl.unsetopt(pycurl.CONNECT_TO)
            self._has_pin = False
        if request.condition or self._has_condition:
            curl.setopt(pycurl.HTTPHEADER, [*self._identity.headers, *request.condition])
            self._has_condition = bool(request.condition)

    def finish(self, code: int) -> Answer:
        """The answer of a transfer that ended with libcurl's `code`; the exchange is free afterwards."""
        curl = self.curl
        elapsed_ms = int(curl.getinfo(pycurl.TOTAL_TIME) * 1000)
        # a connection used again has no connect time, but a request goes out on it
        connected = curl.getinfo(pycurl.CONNECT_TIME) > 0 or curl.getinfo(pycurl.REQUEST_SIZE) > 0
        body, self._body = self._body, None
        if code and self._identity.proxy and curl.getinfo(pycurl.HTTP_CONNECTCODE) not in (0, 200):
            self.status, self._stop = None, "proxy_failed"  # what came is the proxy's answer to CONNECT
        if self.status is None or not self._head_done:
            if body is not None:
                body.release()
            if self._lines and code != TIMED_OUT:
                self._stop = "protocol_error"  # a head without end
            reason = self._stop or curl_reason(code, connected=connected, through_proxy=bool(self._identity.proxy))
            return failure(reason, self._address, elapsed_ms, code=code, connected=connected)
        data, digest, truncated, broken = b"", None, None, False
        if body is not None:
            truncated = "length" if body.truncated else None
            broken = body.broken
            data, digest = body.finish()
        if code != 0 and truncated is None and not (code == WRITE_REFUSED and self._stop is None):
            truncated = "time" if code == TIMED_OUT else "disconnect"
        head = b"".join(self._lines)
        return Answer(
            self.status, head, self.headers, data, digest, truncated, None, code, self._address, elapsed_ms,
            broken, connected,
        )  # fmt: skip

    def _on_header(self, line: bytes) -> int:
        if line[:5] == b"HTTP/":  # a new message: after 1xx, or the first
            self._lines, self._head_bytes, self._head_done = [], 0, False
            self.status = status_of(line)
        elif self._head_done:
            return len(line)  # a trailer
        self._head_bytes += len(line)
        if self._head_bytes > MAX_HEAD_BYTES:
            self._stop = "protocol_error"
            return -1
        self._lines.append(line)
        if line in (b"\r\n", b"\n"):
            self._head_done = True
            self.headers = read_headers(b"".join(self._lines))
        return len(line)

    def _on_body(self, data: bytes) -> int:
        body = self._body
        if body is None:
            body = self._body = Body(self._cap(), self.headers.get("content-encoding", ""), self._budget)
        return len(data) if body.add(data) else -1

    def _cap(self) -> int:
        if self._max_bytes is not None:
            return self._max_bytes
        return body_cap(self.headers.get("content-type", ""), self._limits)

    def close(self) -> None:
        """Frees the handle."""
        self.curl.close()


def body_cap(content_type: str, limits: HttpLimits) -> int:
    """Bytes of a body that are kept, by what it says it is: unknown and HTML have one limit, all else another."""
    kind = content_type.partition(";")[0].strip().lower()
    return limits.html_max_bytes if not kind or "html" in kind else limits.other_max_bytes
