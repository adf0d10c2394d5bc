"""What does Nutch's word for how a fetch went mean here?

A ProtocolStatus has the same codes in 0.7 and 1.x; in 0.7 most failures are exceptions whose message tells more, and so
do some in 1.x. `reason_of` gives the reason of our list (None where Nutch says nothing that we have a word for),
`outcome_of` the outcome.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SUCCESS, GONE, MOVED, TEMP_MOVED, NOTFOUND = 1, 11, 12, 13, 14
RETRY, EXCEPTION, ACCESS_DENIED, ROBOTS_DENIED, REDIR_EXCEEDED, NOTFETCHING, NOTMODIFIED = 15, 16, 17, 18, 19, 20, 21
WOULDBLOCK, BLOCKED = 22, 23

_BY_CODE = {
    10: "bad_scheme", GONE: "http_410", NOTFOUND: "http_404", ACCESS_DENIED: "http_401", ROBOTS_DENIED: "robots_denied",
    REDIR_EXCEEDED: "redirect_limit", WOULDBLOCK: "host_backoff", BLOCKED: "host_backoff",
}  # fmt: skip
_HTTP = re.compile(r"(?i)\bHttp(?:\s+Error|\s+code)?\s*[:=]\s*([1-5]\d\d)\b")
_BY_WORDS = (
    ("robots.txt", "robots_denied"), ("robots_denied", "robots_denied"), ("UnknownHost", "dns_failed"),
    ("SocketTimeout", "timeout"), ("ConnectTimeout", "connect_timeout"), ("timed out", "timeout"),
    ("ConnectException", "connect_failed"), ("NoRouteToHost", "connect_failed"),
    ("Connection refused", "connect_failed"), ("Connection reset", "connect_failed"),
    ("SSL", "tls_failed"), ("certificate", "tls_failed"),
)  # fmt: skip
_FINAL = frozenset({400, 401, 404, 405, 406, 410, 414, 415, 451})
"""Statuses that say something of the page itself, as the fetcher judges them."""


def http_status_of(noted: object, args: Sequence[str | None] | None) -> int | None:
    """The HTTP status: as Nutch noted it (`nutch.protocol.code`), or as the message of the failure has it.

    >>> http_status_of("404", None), http_status_of(None, ["Http code=503, url=http://a/"])
    (404, 503)
    """
    text = str(noted) if noted is not None else ""
    if len(text) == 3 and text.isascii() and text.isdigit() and "100" <= text < "600":
        return int(text)
    found = _HTTP.search(_message(args))
    return int(found[1]) if found else None


def reason_of(code: int | None, http_status: int | None, args: Sequence[str | None] | None) -> str | None:
    """Why the page was not fetched; None for a success, a redirect, and for what Nutch does not tell."""
    if code in (SUCCESS, MOVED, TEMP_MOVED, NOTMODIFIED):
        return None
    if http_status is not None and http_status >= 400:
        return f"http_{http_status}"
    if code in _BY_CODE:
        return _BY_CODE[code]
    message = _message(args)
    return next((reason for words, reason in _BY_WORDS if words in message), None)


def outcome_of(code: int, http_status: int | None, reason: str | None) -> str:
    """What a fetch came to, by its ProtocolStatus alone."""
    if code == SUCCESS:
        return "success"
    if code == NOTMODIFIED:
        return "not_modified"
    if code in (MOVED, TEMP_MOVED):
        return "redirect_perm" if code == MOVED else "redirect_temp"
    if reason == "robots_denied" or code == NOTFETCHING:
        return "denied"
    if code in (GONE, NOTFOUND, ACCESS_DENIED) or http_status in _FINAL:
        return "gone"
    return "retry"


def _message(args: Sequence[str | None] | None) -> str:
    return " ".join(part[:1_000] for part in (args or ())[:8] if part)
