"""What becomes of a URL's row after a round?

Takes all that one round knows of one URL: its crawldb row if it had one (*old*), what its request came to (*answer*),
and what the round's links say of it (*target*). Gives the URL's row in the next crawldb.

This is the rule in words that can be read and tested; `stages/updatedb.sql` is the same rule for all rows at once, and
a contract test holds the two together. The states and most of the rules are those of Nutch 1.x. Different are: a 404
counts only when a second visit on another day agrees; a failure of the host neither costs the page a try nor takes back
what is known of it; 410 and robots.txt need no second visit.

Not here: the schedules (`frontier.schedule`), which URLs may enter (`urls.filters`), which are fetched
(`stages.generate`), scores of links (`parsers`).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from cobnut.frontier.schedule import Pace, Visit, after_failure, after_gone, after_success
from cobnut.records.columns import MOST_SCORE
from cobnut.records.outcomes import (
    FETCHED,
    GONE,
    NOT_MODIFIED,
    PARSE_FAILED,
    REDIRECT_PERM,
    REDIRECT_TEMP,
    UNFETCHED,
)

HOST_REASONS = frozenset({
    "dns_failed", "dns_timeout", "connect_failed", "connect_timeout", "proxy_failed", "robots_unreachable",
    "host_backoff", "round_over", "no_agent", "http_429", "http_503",
})  # fmt: skip
"""Reasons of a failed try that say something of the host, and nothing of the page. Others (5xx, timeouts) may be the
fault of either: `Answer.host_failed` says which (`stages/updatedb_answers.sql`)."""

MISSING = "http_404"

Verdict = Literal[
    "none",  # not requested in this round
    "first",  # content, and none to compare with
    "changed",
    "same",
    "parse_failed",
    "redirect_perm",
    "redirect_temp",
    "missing_once",  # 404, and the visit before did not say so
    "missing_again",  # 404 again, but well before the second visit was due
    "gone",
    "wait",  # the host failed
    "retry",
    "retry_early",  # failed again, but well before the next try was due: it does not count
]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of the stage. `grow`, `shrink` and `gone_grow` are factors on an interval."""

    now_ms: int
    interval_s: int
    min_interval_s: int
    max_interval_s: int
    grow: float
    shrink: float
    gone_grow: float
    retry_max: int
    retry_delay_s: int
    sync: bool = False
    sync_rate: float = 0.3

    def pace(self) -> Pace:
        """The same, as the schedule wants it: the default schedule is an adaptive one whose factors are 1."""
        return Pace(
            adaptive=True, interval_s=self.interval_s, min_interval_s=self.min_interval_s,
            max_interval_s=self.max_interval_s, grow=self.grow, shrink=self.shrink, gone_grow=self.gone_grow,
            sync=self.sync, sync_rate=self.sync_rate,
        )  # fmt: skip


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the crawldb."""

    url_key: str
    url: str | None
    host: str
    bucket: int
    status: str
    reason: str | None
    due_at: int
    fetched_at: int | None
    modified_at: int | None
    retries: int
    interval_s: int
    fixed_interval_s: int | None
    score: int
    signature: bytes | None
    outlink_count: int | None
    depth: int


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What one request came to, fetch and parse together."""

    url_key: str
    url: str
    host: str
    bucket: int
    outcome: str
    reason: str | None
    fetched_at: int
    depth: int
    parse_status: str | None  # None where nothing was parsed
    parse_reason: str | None
    noindex: bool | None
    outlink_count: int | None
    signature: bytes | None
    last_modified_at: int | None = None
    host_failed: bool = False  # what else is known of the host says that a failure of any kind is its own
    score: int = 0  # what it was asked with: it counts where no row and no link says another


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What the links that a filter admits say of the page they lead to: its nearest depth, and the sum of scores."""

    url_key: str
    url: str | None
    host: str
    bucket: int
    depth: int
    contribution: int
    changed_at: int | None = None  # when a list of the site says that it changed


def transition(old: Row | None, answer: Answer | None, target: Target | None, rules: Rules) -> Row:
    """The URL's next row; at least one of the three must be there."""
    told = old or answer or target
    if told is None:
        raise ValueError("nothing is known of this URL")
    verdict = judge(old, answer, rules)
    modified_at = _modified_at(verdict, old, answer)
    interval_s, due_at = _visit(verdict, old, answer, modified_at, rules)
    fetched_at = _fetched_at(verdict, old, answer)
    status = _status(verdict, old)
    if _is_listed_as_changed(verdict, status, fetched_at, target, rules):
        due_at = min(due_at, rules.now_ms)
    return Row(
        url_key=told.url_key,
        url=(old or target or told).url,
        host=told.host,
        bucket=told.bucket,
        status=status,
        reason=_reason(verdict, old, answer),
        due_at=due_at,
        fetched_at=fetched_at,
        modified_at=modified_at,
        retries=_retries(verdict, old, answer),
        interval_s=interval_s,
        fixed_interval_s=None if old is None else old.fixed_interval_s,
        score=_score(old, answer, target),
        signature=_signature(verdict, old, answer),
        outlink_count=_outlink_count(old, answer),
        depth=_depth(old, answer, target),
    )


def judge(old: Row | None, answer: Answer | None, rules: Rules) -> Verdict:
    """What the round's request means for the page."""
    if answer is None:
        return "none"
    match answer.outcome:
        case "not_modified":
            return "same"
        case "success":
            return _judge_content(old, answer)
        case "redirect_perm":
            return "redirect_perm"
        case "redirect_temp":
            return "redirect_temp"
        case "denied":
            return "gone"
        case "gone":
            return _judge_missing(old, answer, rules) if answer.reason == MISSING else "gone"
    if answer.reason in HOST_REASONS or answer.host_failed:
        return "wait"
    if old is not None and old.retries > 0 and old.status != GONE and _is_early(old, answer, rules):
        return "retry_early"
    return "gone" if (0 if old is None else old.retries) + 1 >= rules.retry_max else "retry"


def _is_early(old: Row, answer: Answer, rules: Rules) -> bool:
    """More than a tenth of the delay before the next try is due; a run may begin a little early (`stages.generate`)."""
    return answer.fetched_at + 100 * rules.retry_delay_s < old.due_at


def _judge_content(old: Row | None, answer: Answer) -> Verdict:
    if answer.parse_status == "failed":
        return "parse_failed"
    if old is None or old.signature is None:
        return "first"
    return "same" if answer.signature == old.signature else "changed"


def _judge_missing(old: Row | None, answer: Answer, rules: Rules) -> Verdict:
    if old is not None and old.status == GONE:
        return "gone"
    if old is None or old.reason != MISSING:
        return "missing_once"
    return "missing_again" if _is_early(old, answer, rules) else "gone"


def _status(verdict: Verdict, old: Row | None) -> str:
    match verdict:
        case "first" | "changed":
            return FETCHED
        case "same":
            return NOT_MODIFIED
        case "redirect_perm":
            return REDIRECT_PERM
        case "redirect_temp":
            return REDIRECT_TEMP
        case "gone":
            return GONE
        case "parse_failed":
            return PARSE_FAILED
        case "none" | "wait":
            return UNFETCHED if old is None else old.status
    return UNFETCHED


def _reason(verdict: Verdict, old: Row | None, answer: Answer | None) -> str | None:
    if answer is None:
        return None if old is None else old.reason
    if answer.outcome == "not_modified":
        # what a failure said is over once the page answers; what its content says (noindex …) still holds
        return old.reason if old is not None and old.status in (FETCHED, NOT_MODIFIED, PARSE_FAILED) else None
    if verdict == "wait" and old is not None and (old.status != UNFETCHED or old.reason == MISSING):
        return old.reason
    if answer.outcome == "success" and answer.parse_status in ("failed", "skipped"):
        return answer.parse_reason
    if answer.outcome == "success" and answer.noindex:
        return "noindex"
    return answer.reason


def _visit(
    verdict: Verdict, old: Row | None, answer: Answer | None, modified_at: int | None, rules: Rules
) -> tuple[int, int]:
    """The interval from now on, and the next visit. A fixed interval overrides every rule; 0 counts as none given."""
    interval_s = old.interval_s if old is not None and old.interval_s > 0 else rules.interval_s
    fixed_s = None if old is None else old.fixed_interval_s
    if answer is None:
        return interval_s if fixed_s is None else fixed_s, rules.now_ms if old is None else old.due_at
    pace = rules.pace()
    match verdict:
        case "wait" | "retry" | "missing_once":
            visit = after_failure(interval_s, answer.fetched_at, rules.retry_delay_s)
            return visit.interval_s if fixed_s is None else fixed_s, visit.due_at
        case "missing_again" | "retry_early":
            assert old is not None, "what comes early was tried before"
            # a clock that was set back leaves times that are too far off: such a page would be asked again at once
            due_at = min(old.due_at, answer.fetched_at + 1000 * rules.retry_delay_s)
            return interval_s if fixed_s is None else fixed_s, due_at
        case "gone" | "parse_failed":
            visit = after_gone(interval_s, answer.fetched_at, pace)
        case "changed":
            visit = after_success(interval_s, answer.fetched_at, modified_at, "modified", pace)
        case "same":
            visit = after_success(interval_s, answer.fetched_at, modified_at, "not_modified", pace)
        case "first":
            visit = after_success(interval_s, answer.fetched_at, modified_at, "unknown", pace)
        case _:  # a redirect has no content that could have changed
            visit = after_success(interval_s, answer.fetched_at, None, "unknown", pace)
    if fixed_s is not None:
        return fixed_s, answer.fetched_at + 1000 * fixed_s
    visit = _within(visit, rules)
    return visit.interval_s, visit.due_at


def _within(visit: Visit, rules: Rules) -> Visit:
    """The visit within the longest interval, and at least a second away: one of 0 would make the page due for ever."""
    interval_s = max(min(visit.interval_s, rules.max_interval_s), 1)
    return Visit(interval_s, visit.due_at + 1000 * (interval_s - visit.interval_s))


def _is_listed_as_changed(
    verdict: Verdict, status: str, fetched_at: int | None, target: Target | None, rules: Rules
) -> bool:
    """Whether the site's own list says that the page has changed since its fetch.

    A future date says nothing: the page would be due again after each fetch, until then.
    """
    if target is None or target.changed_at is None or fetched_at is None:
        return False
    lives = verdict in ("first", "changed", "same") or (verdict == "none" and status in (FETCHED, NOT_MODIFIED))
    return lives and fetched_at < target.changed_at <= rules.now_ms


def _score(old: Row | None, answer: Answer | None, target: Target | None) -> int:
    """The score so far and what links pass on. A page that a redirect alone brings in keeps what it was asked with.

    Neither goes beyond the greatest score.
    """
    if old is not None:
        known = old.score
    else:
        known = answer.score if answer is not None and target is None else 0
    return _bounded(_bounded(known) + (0 if target is None else target.contribution))


def _bounded(score: int) -> int:
    return max(-MOST_SCORE, min(score, MOST_SCORE))


def _fetched_at(verdict: Verdict, old: Row | None, answer: Answer | None) -> int | None:
    if answer is not None and verdict in ("first", "changed", "same", "parse_failed"):
        return answer.fetched_at
    return None if old is None else old.fetched_at


def _modified_at(verdict: Verdict, old: Row | None, answer: Answer | None) -> int | None:
    former = None if old is None else old.modified_at
    if answer is None or verdict not in ("first", "changed"):
        return former
    if verdict == "first" and answer.signature is None and former is not None:
        return former  # empty then, empty now
    said = answer.last_modified_at
    # what the server says of the last change is believed unless the visit before knows better
    is_sane = said is not None and 0 < said <= answer.fetched_at
    if said is not None and is_sane and (old is None or old.fetched_at is None or said > old.fetched_at):
        return said
    return answer.fetched_at


def _retries(verdict: Verdict, old: Row | None, answer: Answer | None) -> int:
    former = 0 if old is None else old.retries
    if verdict in ("retry", "gone") and answer is not None and answer.outcome == "retry":
        return former + 1
    return 0 if verdict in ("first", "changed", "same", "redirect_perm", "redirect_temp") else former


def _signature(verdict: Verdict, old: Row | None, answer: Answer | None) -> bytes | None:
    if answer is not None and verdict in ("first", "changed"):
        return answer.signature
    return None if old is None else old.signature


def _outlink_count(old: Row | None, answer: Answer | None) -> int | None:
    if answer is not None and answer.outcome == "success" and answer.outlink_count is not None:
        return answer.outlink_count
    return None if old is None else old.outlink_count


def _depth(old: Row | None, answer: Answer | None, target: Target | None) -> int:
    """The nearest: a page that is linked to from a page nearer to a seed comes nearer."""
    known = [known.depth for known in (old, target) if known is not None]
    if known:
        return min(known)
    return 0 if answer is None else answer.depth
