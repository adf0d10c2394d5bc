"""What did Nutch receive and read for one URL?

`Answer` is one fetch with its content and its parse as far as they are there, from the records of either layout:
`of_records` for 1.x (crawl_fetch, content, parse_data, parse_text), `of_old_records` for 0.7 (fetcher, content, …).

Bodies lie decoded in Nutch's content, whatever the headers beside them say: `headers` are those of the body as it lies
here. Nutch's own notes, which stand among the headers, are left out.

Not here: rows (`segment`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from cobnut.interop import nutch07, nutch1
from cobnut.interop.nutch1 import CrawlDatum, ProtocolStatus
from cobnut.interop.nutch_import.reasons import GONE, NOTFETCHING, http_status_of, outcome_of, reason_of

_OUTCOMES = {
    0x21: "success", 0x22: "retry", 0x23: "redirect_temp", 0x24: "redirect_perm", 0x25: "gone", 0x26: "not_modified",
}  # fmt: skip
_STATUS_OF = {"redirect_perm": 301, "redirect_temp": 302, "not_modified": 304, "success": 200}
_NOTES = re.compile(
    r"(?i)^(_.*|nutch\..*|charencodingforconversion|originalcharencoding|content-(encoding|length)|transfer-encoding)$"
)
FETCH_TIME, DIGEST = "nutch.fetch.time", "nutch.content.digest"


class Parse(msgspec.Struct):
    """What Nutch's parser made of a page. `refresh`: where to, and after how many seconds."""

    is_success: bool
    title: str
    text: str
    links: list[tuple[str, str]]  # URL and anchor
    refresh: tuple[str, int] | None
    notes: Mapping[str, str]


class Answer(msgspec.Struct):
    """One fetch of one URL; times in ms, `score` as Nutch has it, `target` of a redirect."""

    url: str
    fetched_at: int
    outcome: str
    reason: str | None = None
    http_status: int | None = None
    target: str | None = None
    score: float = 0.0
    was_fetched_before: bool = False
    elapsed_ms: int | None = None
    base: str | None = None
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = ""
    is_cut: bool = False
    signature: bytes | None = None
    parse: Parse | None = None


def of_records(url: str, records: Mapping[str, list[Any]], default_time: int) -> Answer | None:
    """The answer of 1.x's records of one URL; None when they say nothing of a fetch."""
    fetch = next(
        (d for d in records.get("crawl_fetch", ()) if isinstance(d, CrawlDatum) and d.status in _OUTCOMES), None
    )
    content = _first(records, "content", nutch1.Content)
    data, text = _first(records, "parse_data", nutch1.ParseData), _first(records, "parse_text", nutch1.ParseText)
    if fetch is None and content is None and data is None:
        return None
    notes: dict[str, str] = {}
    for metadata in (None if content is None else content.metadata, None if data is None else data.content_meta):
        notes.update(
            {} if metadata is None else {name: values[0] for name, values in metadata.values.items() if values}
        )
    answer = Answer(url, 0, "success")
    if fetch is not None:
        _of_fetch(answer, fetch)
    if answer.fetched_at <= 0:
        answer.fetched_at = _number(notes.get(FETCH_TIME)) or default_time
    if content is not None and answer.outcome == "success":
        _of_content(answer, content.content, content.base, content.content_type, list(content.metadata.pairs()))
    if data is not None and answer.outcome == "success":
        answer.parse = Parse(
            data.status.is_success, data.title, "" if text is None else text.text,
            [(link.to_url, link.anchor) for link in data.outlinks], _refresh(data.status.redirect),
            {**notes, **{name: values[0] for name, values in data.parse_meta.values.items() if values}},
        )  # fmt: skip
    answer.signature = _digest(notes.get(DIGEST))
    return answer


def _of_fetch(answer: Answer, fetch: CrawlDatum) -> None:
    notes = {} if fetch.metadata is None else {k: v.value for k, v in fetch.metadata.items() if isinstance(k, str)}
    said = notes.get("_pst_")
    code, args = (said.code, said.args) if isinstance(said, ProtocolStatus) else (None, None)
    answer.outcome = _OUTCOMES[fetch.status]
    answer.fetched_at, answer.score = fetch.fetch_time, fetch.score
    answer.http_status = http_status_of(notes.get("nutch.protocol.code"), args)
    answer.reason = reason_of(code, answer.http_status, args)
    answer.was_fetched_before = fetch.modified_time > 0 or fetch.signature is not None
    elapsed = notes.get("_rs_")
    answer.elapsed_ms = elapsed if isinstance(elapsed, int) and 0 <= elapsed < 1 << 40 else None
    if answer.outcome == "gone" and (answer.reason == "robots_denied" or code == NOTFETCHING):
        answer.outcome = "denied"
    if answer.outcome.startswith("redirect_") and args and args[0]:
        answer.target = args[0]
    answer.http_status = answer.http_status or _STATUS_OF.get(answer.outcome)


def of_old_records(records: Mapping[str, list[Any]], default_time: int) -> Answer | None:
    """The answer of 0.7's records of one number."""
    output = _first(records, "fetcher", nutch07.FetcherOutput)
    content = _first(records, "content", nutch07.Content)
    data, text = _first(records, "parse_data", nutch07.ParseData), _first(records, "parse_text", nutch07.ParseText)
    if output is None and (content is None or not content.url):
        return None
    answer = Answer(
        content.url if output is None and content is not None else output.url if output else "", 0, "success"
    )
    if output is not None:
        status, page = output.protocol_status, output.fetch_list_entry.page
        answer.fetched_at, answer.score = output.fetch_date, page.score
        answer.http_status = http_status_of(None, status.args)
        answer.reason = reason_of(status.code, answer.http_status, status.args)
        answer.outcome = outcome_of(status.code, answer.http_status, answer.reason)
        if answer.outcome.startswith("redirect_") and status.args:
            answer.target = status.args[0]
        if answer.http_status is None:
            answer.http_status = 410 if status.code == GONE else _STATUS_OF.get(answer.outcome)
        answer.was_fetched_before = page.was_fetched
        answer.signature = output.md5 if answer.outcome == "success" else None
    answer.fetched_at = answer.fetched_at if answer.fetched_at > 0 else default_time
    if answer.outcome != "success":
        return answer  # 0.7 writes empty records for what failed
    if content is not None:
        _of_content(answer, content.content, content.base, content.content_type, list(content.metadata.items()))
    if data is not None:
        redirect = None
        if data.status.minor == data.status.SUCCESS_REDIRECT and data.status.args and data.status.args[0]:
            redirect = data.status.args[0], (data.status.args[1] if len(data.status.args) > 1 else None) or "0"
        answer.parse = Parse(
            data.status.is_success, data.title, (text.text if text is not None else None) or "",
            [(link.to_url, link.anchor) for link in data.outlinks], _refresh(redirect), data.metadata,
        )  # fmt: skip
    return answer


def _of_content(answer: Answer, body: bytes, base: str, content_type: str, metadata: Iterable[tuple[str, str]]) -> None:
    pairs = list(metadata)
    answer.body, answer.base, answer.content_type = body, base or None, content_type
    named = {name.lower(): value for name, value in pairs}
    length = _number(named.get("content-length"))
    answer.is_cut = length > len(body) and "content-encoding" not in named
    kept = [(name, value) for name, value in pairs if not _NOTES.match(name)]
    if content_type and "content-type" not in named:
        kept.append(("Content-Type", content_type))
    answer.headers = (*kept, ("Content-Length", str(len(body))))


def _first(records: Mapping[str, list[Any]], kind: str, record: type[Any]) -> Any:
    return next((value for value in records.get(kind, ()) if isinstance(value, record)), None)


def _number(text: str | None) -> int:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _digest(text: str | None) -> bytes | None:
    try:
        return bytes.fromhex(text or "") or None
    except ValueError:
        return None


def _refresh(found: tuple[str, str] | None) -> tuple[str, int] | None:
    return None if found is None else (found[0], min(_number(found[1]), 1 << 31))
