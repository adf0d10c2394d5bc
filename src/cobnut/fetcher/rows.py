"""What does the row of a request say?

Not here: what the answer means (`fetcher.outcome`), how rows reach the disk (`fetcher.results`).
"""

from __future__ import annotations

from typing import Any

from cobnut.fetcher.answer import KEPT_HEADERS, Answer, now_ms, retry_after_s
from cobnut.fetcher.outcome import Verdict
from cobnut.fetcher.refusal import flags_of_refusal
from cobnut.fetcher.results import FetchedRow
from cobnut.fetcher.task import Task
from cobnut.text.dates import past_ms


def fetched_row(
    task: Task, verdict: Verdict, answer: Answer | None, place: Any = None,
    redirect_url: str | None = None, redirect_key: str | None = None,
) -> FetchedRow:  # fmt: skip
    """The row about a URL; `answer` is None when nothing was asked, `place` says where the answer is kept."""
    headers: dict[str, str] = answer.headers if answer is not None else {}
    answered = answer is not None and answer.status is not None
    return FetchedRow(
        task.key, task.url, task.host, task.bucket, verdict.outcome, verdict.reason,
        answer.status if answer is not None else None,
        kept_headers(headers) if answered else None,
        task.started_at_ms or now_ms(),
        answer.elapsed_ms if answer is not None else None,
        len(answer.body) if answer is not None else 0,
        answer is not None and answer.truncated is not None,
        redirect_url, redirect_key,
        answer.digest if answer is not None else None,
        headers.get("etag"), headers.get("last-modified"),
        past_ms(headers.get("last-modified"), task.started_at_ms or now_ms()),
        retry_after_s(headers.get("retry-after"), now_ms() / 1000),
        place.file if place is not None else None,
        place.offset if place is not None else None,
        answer.address if answer is not None else None,
        task.score, task.depth, task.hop_from, bool(task.condition), refusal_flags(answer),
    )  # fmt: skip


def refusal_flags(answer: Answer | None) -> tuple[str, ...] | None:
    """What an answer that brought no page says of itself."""
    if answer is None or answer.status is None or answer.status < 400:
        return None
    return flags_of_refusal(answer.status, answer.headers, answer.body)


def kept_headers(headers: dict[str, str]) -> dict[str, str]:
    """Those header fields that rows keep."""
    return {name: value[:4096] for name, value in headers.items() if name in KEPT_HEADERS}
