"""By which numbers does Nutch call what became of a URL?

`protocol_code` is the code of a ProtocolStatus, the same in 0.7 and 1.x, for an outcome or a state with its reason;
`args` is what stands beside it.

Not here: the states of the crawldb, which have Nutch's codes (`records.outcomes`).
"""

from __future__ import annotations

from cobnut.records import outcomes
from cobnut.text.dates import UNREADABLE, mail_s

SUCCESS, GONE, MOVED, TEMP_MOVED, NOTFOUND = 1, 11, 12, 13, 14
EXCEPTION, ACCESS_DENIED, ROBOTS_DENIED, REDIR_EXCEEDED, NOTFETCHING, NOTMODIFIED = 16, 17, 18, 19, 20, 21

FETCH_STATUSES = {
    "success": 0x21, "retry": 0x22, "redirect_temp": 0x23, "redirect_perm": 0x24, "gone": 0x25, "denied": 0x25,
    "not_modified": 0x26,
}  # fmt: skip
"""Nutch 1.x's code of each outcome of a request."""
INJECTED, SIGNATURE, LINKED, PARSE_FAILED = 0x42, 0x41, 0x43, 0x45

NOT_TRIED = frozenset({"host_backoff", "round_over", "no_agent"})
"""Reasons of an outcome `retry` for which Nutch writes no record: the URL's turn did not come."""

_GONE_CODES = {
    "http_400": GONE, "http_401": ACCESS_DENIED, "http_404": NOTFOUND, "http_410": GONE, "robots_denied": ROBOTS_DENIED,
    "redirect_limit": REDIR_EXCEEDED, "redirect_loop": REDIR_EXCEEDED, "private_address": NOTFETCHING,
    "bad_scheme": NOTFETCHING, "redirect_filtered": NOTFETCHING,
}  # fmt: skip

LINK_KINDS = ("link", "frame", "canonical", "alternate", "sitemap")
"""Kinds of link that are outlinks to Nutch: redirects and refreshes stand in the statuses instead."""


def code_of(outcome: str, reason: str | None) -> int:
    """The code for one request."""
    match outcome:
        case "success":
            return SUCCESS
        case "not_modified":
            return NOTMODIFIED
        case "redirect_perm":
            return MOVED
        case "redirect_temp":
            return TEMP_MOVED
    if reason is not None and reason.startswith("filtered_by"):
        return NOTFETCHING
    return _GONE_CODES.get(reason or "", EXCEPTION)


def code_of_state(status: str, reason: str | None, http_status: int | None, was_tried: bool) -> int | None:
    """The code for a row of the crawldb; None for a URL that was never requested."""
    match status:
        case outcomes.FETCHED | outcomes.PARSE_FAILED:
            return SUCCESS
        case outcomes.NOT_MODIFIED:
            return NOTMODIFIED if http_status == 304 else SUCCESS
        case outcomes.REDIRECT_PERM:
            return MOVED
        case outcomes.REDIRECT_TEMP:
            return TEMP_MOVED
    return code_of("retry", reason) if was_tried or reason is not None else None


def args_of(
    code: int, url: str, reason: str | None, http_status: int | None, target: str | None
) -> list[str | None] | None:
    """What stands beside a code: the target of a redirect, the URL that is not there, or why it failed."""
    if code in (MOVED, TEMP_MOVED):
        return None if target is None else [target]
    if code in (NOTFOUND, NOTMODIFIED):
        return [url]
    if code == GONE:
        return [f"Http: {http_status or 410} url={url}"]
    if code in (EXCEPTION, ACCESS_DENIED) and reason is not None and reason.startswith("http_"):
        return [f"Http code={http_status or reason[5:]}, url={url}"]
    if code in (SUCCESS, ROBOTS_DENIED) or reason is None:
        return None
    return [reason]


def http_time(value: str | None) -> int:
    """The milliseconds of an HTTP date; 0 for none, or for what is none.

    >>> http_time("Sun, 01 Jan 2023 00:00:00 GMT")
    1672531200000
    """
    if not value:
        return 0
    try:
        return int(mail_s(value)) * 1000
    except UNREADABLE:
        return 0
