"""What do Nutch's records of a page mean in our tables?

A `CrawlDatum` of 1.x's crawldb, or a `Page` of 0.7's web database, becomes a row of `ADOPTED`. What follows from what:

* 1.x: the state one-to-one (a duplicate comes in as fetched: that mark lies in its own table here); `fetch_time` is
  `due_at`; a page was fetched one interval before that, unless a segment tells better; the reason comes from the
  ProtocolStatus in the metadata.
* 0.7: a page whose MD5 is that of its URL was never fetched; one that is due at the end of time is gone.
* A digest that stands for no content (the MD5 of the URL, or of nothing) is none here.
* A page whose depth is not known has 1: it is no seed, so where it redirects does not widen the scope.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from cobnut.interop.nutch07 import Page
from cobnut.interop.nutch1 import CrawlDatum, ProtocolStatus
from cobnut.interop.nutch_import.losses import Losses
from cobnut.interop.nutch_import.reasons import MOVED, TEMP_MOVED, http_status_of, reason_of
from cobnut.interop.nutch_import.staging import MOST_TIME, micro_score, time_or_none
from cobnut.parsers.media_type import essence
from cobnut.records import outcomes
from cobnut.stages.adopt import ADOPTED
from cobnut.urls.addresses import read_ip, why_blocked
from cobnut.urls.hosts import is_loopback_host
from cobnut.urls.resolve import Forms, UrlForms, stored_url

DAY_S, DAY_MS = 86_400, 86_400_000
UNKNOWN_DEPTH = 1
MOST_DEPTH = 10_000
MOST_INTERVAL_S = 100 * 365 * DAY_S
MOST_METADATA_CHARS = 10_000
NO_CONTENT = hashlib.md5(b"", usedforsecurity=False).digest()
_STATUSES = {code: name for name, code in outcomes.STATUSES.items()}
_VISITED = frozenset({outcomes.FETCHED, outcomes.NOT_MODIFIED, outcomes.PARSE_FAILED})
_NOTES = frozenset({
    "_ngt_", "_pst_", "_rs_", "_depth_", "_maxdepth_", "Content-Type", "nutch.protocol.code", "fixedInterval",
})  # fmt: skip
"""Metadata that became columns, or speak of Nutch's own work."""

Row = tuple[Any, ...]


class PageRows:
    """Makes rows of `ADOPTED`, in the order of its columns; None for what has no place here."""

    def __init__(
        self, forms: Forms, forgets: Callable[[str], bool], losses: Losses, *, interval_s: int, now_ms: int
    ) -> None:
        """`forgets` tells of a normalised URL whether it is to be forgotten; `interval_s` is for pages without one."""
        self._forms, self._forgets, self._losses = forms, forgets, losses
        self._interval_s, self._now_ms, self._sequence = interval_s, now_ms, 0
        self._may_seed: dict[str, bool] = {}
        self.addresses: set[str] = set()

    def of_datum(self, url: str, datum: CrawlDatum) -> Row | None:
        """The row of a record of 1.x's crawldb."""
        status = _STATUSES.get(datum.status)
        if status is None:
            self._losses.leave_out("not_a_db_status")
            return None
        found = self._found(url)
        if found is None:
            return None
        if status == outcomes.DUPLICATE:
            self._losses.leave_out("duplicate_mark")
            status = outcomes.FETCHED
        notes = {} if datum.metadata is None else {k: v.value for k, v in datum.metadata.items() if isinstance(k, str)}
        said = notes.get("_pst_")
        code, args = (said.code, said.args) if isinstance(said, ProtocolStatus) else (None, None)
        http_status = http_status_of(notes.get("nutch.protocol.code"), args)
        due_at = _due(datum.fetch_time)
        interval_s = self._interval(datum.fetch_interval)
        fetched_at = checked_at = None
        if status in _VISITED:
            fetched_at = checked_at = time_or_none(due_at - interval_s * 1000)
        elif status != outcomes.UNFETCHED and status != outcomes.ORPHAN:
            checked_at = time_or_none(due_at - interval_s * 1000)
        elif datum.retries > 0:
            checked_at = time_or_none(due_at - DAY_MS)  # a failed try is repeated after a day
        depth = _depth(notes.get("_depth_"))
        media_type = notes.get("Content-Type")
        return self._row(
            found, status,
            reason="parse_error" if status == outcomes.PARSE_FAILED else reason_of(code, http_status, args),
            due_at=due_at, fetched_at=fetched_at, modified_at=time_or_none(datum.modified_time),
            retries=max(datum.retries, 0), interval_s=interval_s, fixed_interval_s=_fixed(notes.get("fixedInterval")),
            score=datum.score, signature=datum.signature, outlink_count=None, depth=depth, http_status=http_status,
            checked_at=checked_at, media_type=essence(media_type) if isinstance(media_type, str) else None,
            redirect_key=self._target(code, args), metadata=_metadata(notes),
        )  # fmt: skip

    def of_page(self, page: Page) -> Row | None:
        """The row of a page of 0.7's web database."""
        found = self._found(page.url)
        if found is None:
            return None
        due_at, interval_s = _due(page.next_fetch), self._interval(page.fetch_interval_days * DAY_S)
        was_fetched, never = page.was_fetched, page.is_never_due or due_at == MOST_TIME
        fetched_at = time_or_none(due_at - interval_s * 1000) if was_fetched and not never else None
        status = outcomes.GONE if never else outcomes.FETCHED if was_fetched else outcomes.UNFETCHED
        return self._row(
            found, status, reason=None, due_at=due_at, fetched_at=fetched_at, modified_at=fetched_at,
            retries=max(page.retries, 0), interval_s=interval_s, fixed_interval_s=None, score=page.score,
            signature=page.md5 if was_fetched else None,
            outlink_count=max(page.num_outlinks, 0) if was_fetched else None, depth=UNKNOWN_DEPTH,
            http_status=None, checked_at=fetched_at, media_type=None, redirect_key=None, metadata=None,
        )  # fmt: skip

    def _found(self, url: str) -> UrlForms | None:
        found = self._forms(url)
        if found is None:
            self._losses.leave_out("not_a_url" if url[:5].lower().startswith(("http:", "https")) else "not_http")
        elif self._forgets(found.normalized):
            self._losses.leave_out("forgotten")
            found = None
        return found

    def _interval(self, seconds: int) -> int:
        """An interval that makes sense: one of nothing would make the page due for ever."""
        return min(seconds, MOST_INTERVAL_S) if seconds > 0 else self._interval_s

    def _target(self, code: int | None, args: list[str | None] | None) -> str | None:
        if code not in (MOVED, TEMP_MOVED) or not args or not args[0]:
            return None
        found = self._forms(args[0])
        return None if found is None else found.key

    def _seeds(self, host: str) -> bool:
        """May a URL on this host become a seed? Not on a private address: a seed opens its address to the fetcher."""
        known = self._may_seed.get(host)
        if known is None:
            if len(self._may_seed) > 100_000:
                self._may_seed.clear()
            bare = host.strip("[]")
            blocked = is_loopback_host(host) or (read_ip(bare) is not None and why_blocked(bare) is not None)
            known = self._may_seed[host] = not blocked
            if blocked and len(self.addresses) < 1_000:
                self.addresses.add(host)
        return known

    def _row(
        self, found: UrlForms, status: str, *, reason: str | None, due_at: int, fetched_at: int | None,
        modified_at: int | None, retries: int, interval_s: int, fixed_interval_s: int | None, score: float,
        signature: bytes | None, outlink_count: int | None, depth: int, http_status: int | None,
        checked_at: int | None, media_type: str | None, redirect_key: str | None,
        metadata: list[tuple[str, str]] | None,
    ) -> Row:  # fmt: skip
        micro = micro_score(score)
        if micro is None:
            self._losses.leave_out("score")
        if signature is not None and len(signature) != 16:
            self._losses.leave_out("signature")
        self._sequence += 1
        known_at = [at for at in (due_at, fetched_at, checked_at, modified_at, self._now_ms) if at]
        return (
            found.key, stored_url(found.url, found.normalized), found.host, found.bucket, status, reason, due_at,
            fetched_at, modified_at, retries, interval_s, fixed_interval_s, micro or 0,
            content_signature(signature, found), outlink_count, depth,
            None, None, http_status, checked_at, media_type, redirect_key, None, None, None, None, None,
            min(known_at), None, "seed" if depth == 0 else "link", metadata, found.url, self._seeds(found.host),
            self._sequence,
        )  # fmt: skip


COLUMNS = ADOPTED.column_names
"""The columns `_row` gives, for those who read it."""


def content_signature(signature: bytes | None, found: UrlForms) -> bytes | None:
    """A digest that stands for a content; None for one of the URL, of nothing, or of another length."""
    if signature is None or len(signature) != 16 or signature == NO_CONTENT:
        return None
    for url in (found.url, found.normalized):
        if signature == hashlib.md5(url.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest():
            return None
    return signature


def _due(at: int) -> int:
    return max(0, min(at, MOST_TIME))


def _depth(noted: object) -> int:
    """Nutch counts a seed as 1."""
    try:
        depth = int(str(noted)) - 1
    except ValueError:
        return UNKNOWN_DEPTH
    return depth if 0 <= depth <= MOST_DEPTH else UNKNOWN_DEPTH


def _fixed(noted: object) -> int | None:
    if not isinstance(noted, float) or not 0 < noted <= MOST_INTERVAL_S:
        return None
    return round(noted)


def _metadata(notes: dict[str, Any]) -> list[tuple[str, str]] | None:
    """The metadata that have no column, as text."""
    found, left = [], MOST_METADATA_CHARS
    for name, value in sorted(notes.items()):
        if name in _NOTES:
            continue
        if isinstance(value, bytes):
            text = value[:MOST_METADATA_CHARS].hex()
        elif isinstance(value, str | int | float | bool):
            text = str(value)
        else:
            continue
        left -= len(name) + len(text)
        if left < 0:
            break
        found.append((name, text))
    return found or None
