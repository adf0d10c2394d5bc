"""What did one answer, or one failure, come to?

One table for HTTP statuses and one for libcurl's failures. The outcome is what the crawl database acts on,
the reason is what a person reads; both come from `records.outcomes`.

Not here: what a redirect leads to (`fetcher.run`), what the outcome does to a URL's row (`frontier`).
"""

from __future__ import annotations

from typing import NamedTuple


class Verdict(NamedTuple):
    """An outcome with its reason; None where there is nothing to add."""

    outcome: str
    reason: str | None


SUCCESS, NOT_MODIFIED, GONE, RETRY, DENIED = "success", "not_modified", "gone", "retry", "denied"
PERMANENT, TEMPORARY = "redirect_perm", "redirect_temp"

REDIRECTS: dict[int, str] = {
    300: PERMANENT,
    301: PERMANENT,
    302: TEMPORARY,
    303: TEMPORARY,
    307: TEMPORARY,
    308: PERMANENT,
}

FINAL_REFUSALS = frozenset({400, 401, 404, 405, 406, 410, 414, 415, 451})
"""4xx statuses that say something about the resource: there is nothing for us. The rest of 4xx (403, 408,
423, 425 …) is often a passing mood of a server and is tried again."""


def classify(status: int, *, had_condition: bool, has_target: bool, body_bytes: int) -> Verdict:
    """The outcome of an answer (RFC 9110 section 15).

    2xx with a body is a success, whatever the number; an unasked 206 is marked `http_other`. 204, 205 and an
    empty 200 are successes whose reason says that there is nothing to parse. A 304 is believed only when we
    sent a condition.

    >>> classify(404, had_condition=False, has_target=False, body_bytes=9)
    Verdict(outcome='gone', reason='http_404')
    >>> classify(304, had_condition=False, has_target=False, body_bytes=0)
    Verdict(outcome='retry', reason='http_other')
    """
    if status == 200:
        return Verdict(SUCCESS, None if body_bytes else "empty")
    if status in (204, 205):
        return Verdict(SUCCESS, "http_other")
    if 200 < status < 300:
        return Verdict(SUCCESS if body_bytes else RETRY, "http_other" if status == 206 or not body_bytes else None)
    if status == 304:
        return Verdict(NOT_MODIFIED, None) if had_condition else Verdict(RETRY, "http_other")
    if 300 <= status < 400:
        if not has_target:
            return Verdict(RETRY, "redirect_bad")
        return Verdict(REDIRECTS.get(status, TEMPORARY), None)
    if status in FINAL_REFUSALS:
        return Verdict(GONE, f"http_{status}")
    if 400 <= status < 600:
        return Verdict(RETRY, f"http_{status}")
    return Verdict(RETRY, "http_other")


def is_host_failure(reason: str | None, status: int | None) -> bool:
    """Whether this says something about the whole host: network failures, 5xx and 429."""
    if status is None:
        return reason not in (None, "private_address", "no_agent", "bad_scheme", "robots_denied", "protocol_error")
    return status == 429 or 500 <= status < 600


# libcurl's numbers (curl/curl.h); pycurl is not imported here, so that this table can be read and tested anywhere
_CURL_REASONS: dict[int, str] = {
    1: "protocol_error",
    3: "bad_scheme",
    5: "proxy_failed",
    6: "dns_failed",
    7: "connect_failed",
    8: "protocol_error",
    16: "protocol_error",
    27: "protocol_error",
    35: "tls_failed",
    51: "tls_failed",
    52: "connect_failed",
    53: "tls_failed",
    54: "tls_failed",
    55: "connect_failed",
    56: "connect_failed",
    58: "tls_failed",
    59: "tls_failed",
    60: "tls_failed",
    61: "bad_encoding",
    64: "tls_failed",
    66: "tls_failed",
    77: "tls_failed",
    80: "tls_failed",
    83: "tls_failed",
    90: "tls_failed",
    91: "tls_failed",
    92: "protocol_error",
    97: "proxy_failed",
    100: "protocol_error",
}

TIMED_OUT = 28
WRITE_REFUSED = 23
LENIENT_WORTH_IT = frozenset({1, 8})
"""HTTP/0.9 and header blocks that libcurl refuses: worth a second, lenient try."""


def curl_reason(code: int, *, connected: bool, through_proxy: bool) -> str:
    """The reason for a failed transfer, from libcurl's error code and whether a connection stood."""
    if code == TIMED_OUT:
        return "timeout" if connected else "connect_timeout"
    if code == 7 and through_proxy:
        return "proxy_failed"
    return _CURL_REASONS.get(code, "connect_failed")
