"""What does a document that came from elsewhere say, in the fetcher's words?

A `Document` is one answer as somebody else kept it. Judged by the same tables as an answer that we fetch (status,
redirect target, coding, size), it becomes the record and the rows that the fetcher would have written.

Not here: which of several versions stays (`interop.versions`), writing (`interop.intake`).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, cast

import msgspec

from cobnut.config.sections import FetcherSettings, Settings
from cobnut.fetcher import outcome as outcomes
from cobnut.fetcher.answer import MAX_HEAD_BYTES, Answer, read_headers
from cobnut.fetcher.archive import Place, Response
from cobnut.fetcher.body import Body, BodyBudget
from cobnut.fetcher.outcome import Verdict
from cobnut.fetcher.redirects import Refused, next_hop
from cobnut.fetcher.rows import fetched_row
from cobnut.fetcher.task import Task
from cobnut.urls.addresses import read_ip
from cobnut.urls.filters import Forgotten, is_forgotten
from cobnut.urls.resolve import UrlForms, compile_forms

MICRO = 1_000_000
MOST_DEPTH = 10_000
MOST_SCORE = 1_000_000_000 * MICRO
DAY_MS = 86_400_000

PASSING, DERIVED, DEFINITE = 0, 1, 2
"""What a version is worth beside others: a passing failure, what another program made of a page, an answer."""

TRUNCATED = ("length", "time", "disconnect", "unspecified")
"""WARC's words for why a body is cut (WARC 1.1 section 5.13)."""


class Document(msgspec.Struct, frozen=True, gc=False):
    """One answer of one URL.

    `fetched_at_ms` is when it was fetched, in ms since 1970 UTC. `body` is as received, its Content-Encoding on it, its
    Transfer-Encoding undone. `head` is the status line and header lines as received, when somebody kept them; else it
    is made of `status` and `headers`. `truncated` is WARC's word for why the body is cut. `score` is in millionths;
    None is `scoring.injected_score`. `derived`: no answer, but what another program made of one (a text conversion).
    `outcome` and `reason` (see `records.outcomes`) are for whoever knows them; None: the status decides.
    """

    url: str
    fetched_at_ms: int
    status: int | None = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    head: bytes | None = None
    address: str | None = None
    truncated: str | None = None
    score: int | None = None
    depth: int = 0
    derived: bool = False
    outcome: str | None = None
    reason: str | None = None


class Taken(NamedTuple):
    """A document that may enter: its forms, what it comes to, and what it is worth beside other versions."""

    document: Document
    forms: UrlForms
    hash: int  # of the url_key, 64 bit with sign
    verdict: Verdict
    answer: Answer | None
    redirect_url: str | None
    redirect_key: str | None
    depth: int
    score: int
    rank: int

    @property
    def outcome(self) -> str:
        """The outcome."""
        return self.verdict.outcome


class DocumentRows:
    """Judges documents and makes their rows, under one crawl's settings."""

    def __init__(self, settings: Settings, forgotten: Forgotten, now_ms: int) -> None:
        self._fetcher, self._now_ms = settings.fetcher, now_ms
        self._forms = compile_forms(settings.urls.normalizers)
        self._forgets = is_forgotten(forgotten)
        self._score = round(settings.scoring.injected_score * MICRO)

    def judge(self, document: Document) -> Taken | str:
        """What a document comes to; a reason when it cannot enter."""
        forms = self._forms(document.url)
        if forms is None:
            return "bad_url" if document.url[:5].lower().startswith(("http:", "https")) else "not_http"
        if self._forgets(forms.normalized):
            return "forgotten"
        if not 0 < document.fetched_at_ms <= self._now_ms + DAY_MS:
            return "bad_date"
        if document.status is None and document.outcome is None:
            return "no_status"
        if document.status == 304 and document.outcome is None:
            return "not_modified"
        answer = None if document.status is None else self._answer(document, document.status)
        if isinstance(answer, str):
            return answer
        verdict, url, key = self._verdict(document, forms, answer)
        depth = min(max(document.depth, 0), MOST_DEPTH)
        if verdict.outcome.startswith("redirect_"):
            depth = max(depth, 1)  # where a seed leads widens the scope: these were asked for by nobody here
        score = self._score if document.score is None else min(max(document.score, -MOST_SCORE), MOST_SCORE)
        rank = DERIVED if document.derived else PASSING if verdict.outcome in ("retry", "denied") else DEFINITE
        return Taken(document, forms, key_hash(forms.key), verdict, answer, url, key, depth, score, rank)

    def _answer(self, document: Document, status: int) -> Answer | str:
        if not 200 <= status <= 599:
            return "bad_status"
        head = head_of(status, document.headers) if document.head is None else document.head
        if len(head) > MAX_HEAD_BYTES:
            return "head_too_large"
        headers = read_headers(head)
        cap = body_cap(headers.get("content-type", ""), self._fetcher)
        body = Body(cap, headers.get("content-encoding", ""), BodyBudget())
        whole = body.add(document.body)
        broken = body.broken
        received, digest = body.finish()
        truncated = document.truncated if document.truncated in TRUNCATED else None
        address = document.address if document.address and read_ip(document.address) is not None else None
        return Answer(
            status, head, headers, received, digest, truncated if whole else "length", None, 0, address, 0, broken, True
        )

    def _verdict(
        self, document: Document, forms: UrlForms, answer: Answer | None
    ) -> tuple[Verdict, str | None, str | None]:
        if document.outcome is not None:
            verdict = Verdict(document.outcome, document.reason)
        else:
            assert answer is not None
            assert answer.status is not None
            verdict = outcomes.classify(
                answer.status, had_condition=False, has_target=bool(answer.headers.get("location")),
                body_bytes=len(answer.body),
            )  # fmt: skip
            if verdict == Verdict(outcomes.SUCCESS, None):
                if answer.broken_encoding:
                    verdict = Verdict(verdict.outcome, "bad_encoding")
                elif answer.truncated == "length":
                    verdict = Verdict(verdict.outcome, "too_large")
        location = answer.headers.get("location") if answer is not None else None
        if verdict.outcome not in (outcomes.PERMANENT, outcomes.TEMPORARY) or location is None:
            return verdict, None, None
        # the scope is asked when the target is to enter the crawldb
        hop = next_hop(forms.url, forms.key, location, (), self._forms, lambda _url: None, 1)
        if isinstance(hop, Refused):
            kind = outcomes.RETRY if hop.reason == "redirect_bad" else verdict.outcome
            return Verdict(kind, hop.reason), hop.url, hop.key
        return verdict, hop.url, hop.key

    def response(self, taken: Taken) -> Response | None:
        """What goes into the archive; None when nothing was received."""
        answer = taken.answer
        if answer is None:
            return None
        return Response(
            taken.forms.url, taken.document.fetched_at_ms, answer.head, answer.body, answer.address, answer.truncated,
            score=taken.score, depth=taken.depth,
        )  # fmt: skip

    def fetched(self, taken: Taken, place: Place | None) -> dict[str, Any]:
        """The row of `fetched`."""
        forms = taken.forms
        task = Task(forms.url, forms.key, forms.host, forms.bucket, cast(Any, None), taken.score, taken.depth)
        task.started_at_ms = taken.document.fetched_at_ms
        row = fetched_row(task, taken.verdict, taken.answer, place, taken.redirect_url, taken.redirect_key)
        found = row._replace(elapsed_ms=None, retry_after_s=None)._asdict()
        found["headers"] = None if row.headers is None else list(row.headers.items())
        return found

    def fetchlist(self, taken: Taken, fetched_before: bool) -> dict[str, Any]:
        """The row of `fetchlist`."""
        forms = taken.forms
        return {
            "url_key": forms.key, "url": forms.url, "host": forms.host, "bucket": forms.bucket, "part": 0,
            "fetch": True, "score": taken.score, "depth": taken.depth, "fetched_before": fetched_before,
        }  # fmt: skip


def key_hash(key: str) -> int:
    """A url_key as a number of 64 bits, with sign."""
    import xxhash

    return int(xxhash.xxh3_64_intdigest(key.encode())) - (1 << 63)


def body_cap(content_type: str, fetcher: FetcherSettings) -> int:
    """How much of a body is kept, as the fetcher would."""
    kind = content_type.partition(";")[0].strip().lower()
    return fetcher.html_max_bytes if not kind or "html" in kind else fetcher.other_max_bytes


_NOT_A_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]+")
_NOT_A_NAME = re.compile(r"[^!#$%&'*+\-.^_`|~0-9A-Za-z]+")


def head_of(status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    """A head made of its parts, in bytes as HTTP has them.

    >>> head_of(200, (("Content-Type", "text/html"),))
    b'HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\n\\r\\n'
    """
    from http.client import responses

    lines = [f"HTTP/1.1 {status} {responses.get(status, 'Unknown')}"]
    for name, value in headers:
        name = _NOT_A_NAME.sub("", name)
        if name:
            lines.append(f"{name}: {_NOT_A_VALUE.sub(' ', value).strip()}")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")
