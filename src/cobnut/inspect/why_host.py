"""How is this host, and when and how will it be asked again?

Tells the evidence of one host as a story: a verdict in one sentence, then what is known, with times. Every reason is
given with its documented sentence.

Not here: gathering the evidence (`inspect.host`), the story of one URL (`inspect.why`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cobnut.config.durations import show_duration
from cobnut.inspect.host import HostEvidence
from cobnut.inspect.show import plain, score_text
from cobnut.inspect.story import explained, moment, titled

_MOST = 8
_STATES = {"allow_all": "allows all", "disallow_all": "nothing is fetched from there for now", "rules": "has rules"}


def host_story(evidence: HostEvidence) -> Iterator[str]:
    """The story, line by line."""
    yield plain(evidence.host)
    yield f"  {host_verdict(evidence)}"
    yield ""
    yield from _own(evidence)
    yield from _pages(evidence)
    yield from _answers(evidence)
    yield from _robots(evidence)
    yield from _politeness(evidence)
    yield from _redirects(evidence)
    yield from _errors(evidence)
    yield from _rounds(evidence)


def host_verdict(evidence: HostEvidence) -> str:
    """How the host stands, in one sentence."""
    if evidence.forgotten is not None:
        return f"This crawl was told to forget it, since {moment(evidence.forgotten['forgotten_at'])}."
    if not evidence.is_known:
        if evidence.refused_by:
            return f"Nothing is known of it, and the filter `{evidence.refused_by}` would keep it out."
        return "Nothing is known of it: no seed and no link has named it."
    rest, row = evidence.politeness.rests_until, evidence.row
    failed = (
        f"{row['failures']} failures in a row ({explained(row['last_error']) or 'no reason recorded'})"
        if row and row["failures"]
        else ""
    )
    if rest is not None:
        return f"It is left alone until {moment(rest)}{' after ' if failed else ''}{failed}; {_due(evidence)}."
    if row is None:
        return f"It was never asked; {_due(evidence)}."
    if failed:
        return f"It may be asked, after {failed}; {_due(evidence)}."
    return f"It is well; {_due(evidence)}."


def _due(evidence: HostEvidence) -> str:
    if evidence.due_now:
        return f"{evidence.due_now:,} of its {evidence.pages:,} pages are due now"
    if evidence.next_due_at is not None:
        return f"none of its {evidence.pages:,} pages is due before {moment(evidence.next_due_at)}"
    return "no page of it is in the crawldb"


def _own(evidence: HostEvidence) -> Iterator[str]:
    if evidence.refused_by is not None:
        yield titled("Filters", f"its home page is refused by `{evidence.refused_by}` as the settings are now")
    if evidence.seed_count:
        yield titled("Seeds", _several(evidence.seeds, evidence.seed_count))
    if evidence.host_rank is not None:
        yield titled("Rank", f"{score_text(evidence.host_rank)} (mean is 1)")


def _pages(evidence: HostEvidence) -> Iterator[str]:
    if not evidence.pages:
        yield titled("Crawldb", "no page of it")
        return
    yield titled("Crawldb", f"{evidence.pages:,} pages: {_counts(evidence.by_status)}")
    for reason, count in list(evidence.by_reason.items())[:_MOST]:
        yield titled("", f"{count:,} {explained(reason)}")
    if evidence.by_http_status:
        yield titled("", f"last answers by status: {_counts(evidence.by_http_status)}")
    due = f"{evidence.due_now:,} now" if evidence.due_now else "none now"
    yield titled(
        "Due", due + (f", the next {moment(evidence.next_due_at)}" if evidence.next_due_at is not None else "")
    )
    for segment, count in evidence.waiting.items():
        yield titled("", f"{count:,} in the fetchlist of segment {segment}, which is not applied")


def _answers(evidence: HostEvidence) -> Iterator[str]:
    row = evidence.row
    if row is None:
        yield titled("Requests", "none that the hostdb knows of")
        return
    asked, text = row["request_count"], f"{row['request_count']:,}, {row['error_count']:,} of them failed"
    if row["dns_error_count"]:
        text += f", {row['dns_error_count']:,} for its name"
    text += f"; {row['body_bytes']:,} bytes of bodies"
    if asked:
        text += f", {row['elapsed_ms'] // asked:,} ms an answer"
        text += f" ({row['recent_ms']:,} ms of late)" if row.get("recent_ms") is not None else ""
    yield titled("Requests", text)
    yield titled("", f"counted until {moment(row['updated_at'])}")
    if row.get("last_success_at") is not None:
        yield titled("", f"last answered well {moment(row['last_success_at'])}")
    if row["last_error"]:
        at = f"{moment(row['last_error_at'])}: " if row.get("last_error_at") is not None else ""
        yield titled("Last failure", f"{at}{explained(row['last_error'])}")
    if row["failures"] or row["backoff_s"]:
        yield titled("", f"{row['failures']:,} failures in a row, back-off {show_duration(row['backoff_s'])}")
    if row.get("retry_after_at") is not None:
        yield titled("Retry-After", f"it asked to be left alone until {moment(row['retry_after_at'])}")


def _robots(evidence: HostEvidence) -> Iterator[str]:
    if not evidence.robots:
        yield titled("robots.txt", "not fetched yet")
    for index, row in enumerate(evidence.robots[:_MOST]):
        says = {
            "allow_all": "allows all",
            "disallow_all": "nothing is fetched from there for now",
            "rules": "has rules",
        }
        text = f"{plain(row['origin'])} {says.get(row['state'], plain(row['state']))}; read {moment(row['fetched_at'])}"
        text += f", HTTP {row['http_status']}" if row["http_status"] is not None else ""
        text += f", {explained(row['reason'])}" if row["reason"] else ""
        text += f", {len(row['sitemaps'])} sitemaps" if row["sitemaps"] else ""
        yield titled("" if index else "robots.txt", text)


def _politeness(evidence: HostEvidence) -> Iterator[str]:
    polite = evidence.politeness
    source = {
        "crawl-delay": "the Crawl-delay of its robots.txt, within fetcher.max_delay_s",
        "setting": "fetcher.delay_s", "host": "fetcher.host_delays",
        "default": "by default; none where it is this machine",
    }[polite.delay_from]  # fmt: skip
    many = f"{polite.connections} connection{'' if polite.connections == 1 else 's'} at once"
    yield titled("Politeness", f"{polite.delay_s:g} s between two requests ({source}), {many}")
    if polite.rests_until is not None:
        yield titled("", f"no request before {moment(polite.rests_until)}")
    if polite.interval is not None:
        given = {k: v for k, v in polite.interval.items() if k != "host" and v is not None}
        yield titled("Schedule", ", ".join(f"{name} {value}" for name, value in given.items()) + " (db.host_schedules)")


def _redirects(evidence: HostEvidence) -> Iterator[str]:
    if evidence.redirects:
        targets = ", ".join(f"{plain(h, 80)} {n:,}" for h, n in evidence.redirects_to.items())
        yield titled("Redirects", f"{evidence.redirects:,} pages, to {targets}")


def _errors(evidence: HostEvidence) -> Iterator[str]:
    for index, row in enumerate(evidence.last_errors):
        why = explained(row["reason"]) or "no reason recorded"
        text = (
            f"{moment(row['checked_at'])} {plain(row['url'], 200)}: {row['status']}, {why}; due {moment(row['due_at'])}"
        )
        yield titled("" if index else "Last errors", text)


def _rounds(evidence: HostEvidence) -> Iterator[str]:
    for index, row in enumerate(evidence.rounds):
        text = f"segment {row['segment']}: {row['request_count']:,} requests, {row['error_count']:,} failed"
        text += f", {row['body_bytes']:,} bytes, until {moment(row['seen_at'])}"
        text += f"; last failure {explained(row['reason'])}" if row.get("reason") else ""
        yield titled("" if index else "Rounds", text)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{plain(name)} {count:,}" for name, count in counts.items())


def _several(texts: list[str], count: int) -> str:
    shown = ", ".join(plain(text, 120) for text in texts[:_MOST])
    return shown if count <= _MOST else f"{shown} and {count - _MOST:,} more"
