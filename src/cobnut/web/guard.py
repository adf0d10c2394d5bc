"""What holds for every answer, whatever was asked?

The outermost layer: only GET and HEAD, bounded request lines, one Host, the security headers, no cookie, and an error
page instead of a traceback. What went wrong inside is one line on the operator's side.

Not here: who may ask and how often (`gate`), limits on headers and slow clients, which the server keeps (`serve`).
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_TARGET_BYTES = 8192
"""Longest path and query string, in bytes as sent."""

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)

_HOST = re.compile(rb"(?:[^\s:/?#@\[\]]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")
"""What a Host header may hold (RFC 9112, 3.2): a name or an address, and perhaps a port."""

ErrorAnswer = Callable[[Scope, int, str], ASGIApp]
"""Makes the answer for a status and a message, in the form the address is asked in (page or JSON)."""


def guarded(app: ASGIApp, error_answer: ErrorAnswer, report: Callable[[str], None]) -> ASGIApp:
    """The app inside the outermost layer; `report` gets one line for each failure of our own."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = with_headers(message.get("headers", ()))
            await send(message)

        refused = refusal(scope)
        if refused is not None:
            await error_answer(scope, *refused)(scope, receive, send_guarded)
            return
        try:
            await app(scope, receive, send_guarded)
        except Exception as error:
            report(f"answering {scope['path'][:80]!r} failed: {one_line(error)}")
            if not started:
                await error_answer(scope, 500, "Something went wrong on this side.")(scope, receive, send_guarded)

    return answer


def refusal(scope: Scope) -> tuple[int, str] | None:
    """(status, message) when a request is refused before anything is done for it."""
    if scope["method"] not in ("GET", "HEAD"):
        return 405, "Only GET and HEAD are answered here."
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET_BYTES:
        return 414, "The address is too long."
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) > 1 or not all(_HOST.fullmatch(host) for host in hosts):
        return 400, "The request does not say which host it is for."
    return None


def with_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """An answer's headers with the security headers; a cookie never leaves."""
    return [*((name, value) for name, value in headers if name.lower() != b"set-cookie"), *HEADERS]


def with_more_headers(send: Send, headers: Iterable[tuple[bytes, bytes]]) -> Send:
    """Sends an answer with some headers more."""

    async def send_more(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *headers]
        await send(message)

    return send_more


def one_line(error: BaseException) -> str:
    """An error's kind, text and place in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}{place}"
