"""What is one request about, and what is known of a host and an origin during a round?

Not here: what is done with them (`fetcher.run`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cobnut.fetcher.robots import RobotsRules

if TYPE_CHECKING:
    from cobnut.fetcher.results import PartOutput


class Task:
    """One URL on its way: a page, or the robots.txt of an origin (then `robots_of` names the origin, and
    `asked_by` a part of another worker that wants to know).

    `chain` holds the url_keys of the redirects that led here, the first one first; for robots the URLs.
    """

    __slots__ = (
        "addresses", "asked_by", "bucket", "chain", "depth", "etag", "host", "key", "last_modified", "lenient",
        "origin", "output", "port", "robots_of", "score", "started_at_ms", "tries", "url",
    )  # fmt: skip

    def __init__(
        self, url: str, key: str, host: str, bucket: int, output: PartOutput, score: int, depth: int,
        etag: str | None = None, last_modified: str | None = None, chain: tuple[str, ...] = (),
        robots_of: str | None = None, asked_by: int | None = None,
    ) -> None:  # fmt: skip
        self.url, self.key, self.host, self.bucket, self.output = url, key, host, bucket, output
        self.score, self.depth = score, depth
        self.etag, self.last_modified = etag, last_modified
        self.chain, self.robots_of, self.asked_by = chain, robots_of, asked_by
        self.origin = ""
        self.port = 0
        self.addresses: list[tuple[str, int]] = []
        self.tries = 0
        self.lenient = False
        self.started_at_ms = 0

    @property
    def hop_from(self) -> str | None:
        """The url_key whose redirect led here."""
        return self.chain[-1] if self.chain and self.robots_of is None else None

    @property
    def condition(self) -> tuple[str, ...]:
        """The header lines of a conditional request; none when we hold no version."""
        lines = []
        if self.etag:
            lines.append(f"If-None-Match: {self.etag}")
        if self.last_modified:
            lines.append(f"If-Modified-Since: {self.last_modified}")
        return tuple(line for line in lines if line.isprintable() and line.isascii())


class Origin:
    """The robots.txt of one origin: `rules` once known, until then the tasks that wait for it."""

    __slots__ = ("reason", "rules", "waiting")

    def __init__(self, rules: RobotsRules | None = None, reason: str | None = None) -> None:
        self.rules, self.reason = rules, reason
        self.waiting: list[Task] = []


class HostFacts:
    """What one round learns of a host; the sums since the last row about it was written."""

    __slots__ = (
        "address_is_loopback", "answered", "backed_off", "backoff_s", "body_bytes", "bucket", "crawl_delay_ms", "dirty",
        "dns_error_count", "elapsed_ms", "error_count", "failures", "failures_now", "last_error", "last_error_at",
        "last_success_at", "next_fetch_at", "output", "past_at", "request_count", "retry_after_at", "seen_at", "slow_s",
        "success_count",
    )  # fmt: skip

    def __init__(self, bucket: int, output: PartOutput) -> None:
        self.bucket, self.output = bucket, output
        self.address_is_loopback = False
        self.answered = False  # well, in this round
        self.crawl_delay_ms: int | None = None
        self.slow_s = 0.0
        self.failures = 0  # in a row, those of earlier rounds included
        self.failures_now = 0  # in a row, of this round
        self.backoff_s = 0
        self.backed_off = False  # the back-off has grown in this round
        self.next_fetch_at: int | None = None
        self.retry_after_at: int | None = None
        self.last_success_at: int | None = None
        self.last_error_at: int | None = None
        self.past_at: int | None = None  # last request of an earlier round or run; None once we have sent one
        self.seen_at = 0  # end of the last request
        self.last_error: str | None = None
        self.request_count = self.success_count = self.error_count = self.dns_error_count = 0
        self.body_bytes = self.elapsed_ms = 0
        self.dirty = False

    def recovered(self) -> None:
        """The host is well: what it asked for itself still holds, what failures led to does not."""
        self.failures = self.failures_now = self.backoff_s = 0
        self.backed_off = False
        self.next_fetch_at = self.retry_after_at

    def row(self, host: str) -> dict[str, Any]:
        """The row about the host since the last one; the sums begin anew."""
        row = {
            "host": host, "bucket": self.bucket, "seen_at": self.seen_at, "event": "traffic", "reason": self.last_error,
            "request_count": self.request_count, "error_count": self.error_count,
            "dns_error_count": self.dns_error_count, "failures": self.failures, "next_fetch_at": self.next_fetch_at,
            "backoff_s": self.backoff_s, "body_bytes": self.body_bytes, "elapsed_ms": self.elapsed_ms,
            "success_count": self.success_count, "last_success_at": self.last_success_at,
            "last_error_at": self.last_error_at, "retry_after_at": self.retry_after_at,
        }  # fmt: skip
        self.request_count = self.success_count = self.error_count = self.dns_error_count = 0
        self.body_bytes = self.elapsed_ms = 0
        self.dirty = False
        return row
