"""What does a segment become in Nutch 0.7?

The fetchlist in the order of the pages' MD5s, and of each request a record in the parallel parts: a FetcherOutput, the
Content, ParseData and ParseText. What a redirect led to in the same round stands under the URL that was asked for, with
the target's as base, as 0.7 keeps it; the target has a record of its own besides. Bodies have their Content-Encoding
undone. Anchors and scores are those that the crawl knows by now, as after 0.7's updatesegs.

Not here: the web database (`webdb07`), the files (`nutch07.segment_writer`).
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from cobnut.interop.nutch07 import (
    Content,
    FetcherOutput,
    FetchListEntry,
    Outlink,
    Page,
    ParseData,
    ParseStatus,
    ParseText,
    ProtocolStatus,
)
from cobnut.interop.nutch_export.answers import Answers, Sent
from cobnut.interop.nutch_export.crawl1 import MICRO
from cobnut.interop.nutch_export.source import Groups, Source, distinct
from cobnut.interop.nutch_export.statuses import LINK_KINDS, NOT_TRIED, args_of, code_of, http_time
from cobnut.interop.nutch_export.webdb07 import MAX_HOPS, days
from cobnut.records import catalogue as tables
from cobnut.storage.layout import SegmentFolder, seconds_of

WEEK_MS = 7 * 86_400_000
"""A page in a fetchlist is due again so long after, should the segment be lost."""
EMPTY_MD5 = bytes.fromhex("d41d8cd98f00b204e9800998ecf8427e")

_LISTED = """
    SELECT
        url_of(f.url_key) AS page_url,
        CASE WHEN octet_length(f.signature) = 16 THEN f.signature ELSE unhex(md5(url_of(f.url_key))) END AS page_md5,
        f."fetch" AS is_fetched, f.score AS score, COALESCE(c.interval_s, $interval_s) AS interval_s
    FROM fetchlist f
    LEFT JOIN crawldb c ON c.url_key = f.url_key
"""

_RECORDS = """
    WITH RECURSIVE hops AS (
        SELECT url_key AS url_key, redirect_key AS target, 1 AS hop
        FROM fetched
        WHERE outcome IN ('redirect_perm', 'redirect_temp') AND redirect_key IS NOT NULL
        UNION ALL
        SELECT h.url_key, t.redirect_key, h.hop + 1
        FROM hops h
        JOIN fetched t ON t.url_key = h.target
        WHERE t.outcome IN ('redirect_perm', 'redirect_temp') AND t.redirect_key IS NOT NULL AND h.hop < $max_hops
    ),
    ends AS (
        SELECT h.url_key AS url_key, MIN(h.target) AS target
        FROM hops h
        JOIN fetched t ON t.url_key = h.target
        WHERE t.outcome = 'success'
        GROUP BY h.url_key
    ),
    records AS (
        SELECT
            f.*, COALESCE(e.target, f.url_key) AS end_key, url_of(f.url_key) AS page_url,
            CASE WHEN octet_length(l.signature) = 16 THEN l.signature ELSE unhex(md5(url_of(f.url_key))) END
                AS page_md5,
            COALESCE(l."fetch", TRUE) AS is_fetched
        FROM fetched f
        LEFT JOIN ends e ON e.url_key = f.url_key
        LEFT JOIN fetchlist l ON l.url_key = f.url_key
    )
"""

_FETCHED = """
    SELECT
        r.page_url AS page_url, r.page_md5 AS page_md5, r.is_fetched AS is_fetched, url_of(r.end_key) AS end_url,
        r.reason AS reason, r.outcome AS first_outcome, r.redirect_url AS redirect_url,
        t.url AS url, t.outcome AS outcome, t.http_status AS http_status, t.fetched_at AS fetched_at,
        t.digest AS digest, t.last_modified AS last_modified, t.warc_file AS warc_file, t.warc_offset AS warc_offset,
        COALESCE(c.score, r.score) AS score, COALESCE(c.interval_s, $interval_s) AS interval_s,
        p.parse_status AS parse_status, p.reason AS parse_reason, p.title AS title, p.text AS text,
        p.charset AS charset, p.noindex AS noindex, p.refresh_url AS refresh_url
    FROM records r
    JOIN fetched t ON t.url_key = r.end_key
    LEFT JOIN parsed p ON p.url_key = r.end_key
    LEFT JOIN crawldb c ON c.url_key = r.url_key
"""

_LINKS = """
    SELECT
        r.page_md5 AS page_md5, r.page_url AS page_url, l.position AS position, url_of(l.to_key) AS to_url,
        l.anchor AS anchor
    FROM links l
    JOIN records r ON r.end_key = l.from_key
    WHERE NOT l.nofollow AND l.kind IN ($kinds)
"""


_ANCHORS = """
    SELECT DISTINCT r.page_md5 AS page_md5, r.page_url AS page_url, l.anchor AS anchor
    FROM linkdb l
    JOIN records r ON r.url_key = l.to_key
    WHERE NOT l.nofollow AND l.anchor <> '' AND l.kind IN ($kinds)
"""


class Fetch(NamedTuple):
    """One record in each of the parallel parts."""

    output: FetcherOutput
    content: Content
    parse_data: ParseData
    parse_text: ParseText


class Segment07:
    """One segment on its way out; `without_content` counts answers that are not in the archive any more."""

    def __init__(self, source: Source, segment: SegmentFolder, most_bytes: int) -> None:
        self._source, self._segment, self._most = source, segment, most_bytes
        self._due_at = seconds_of(segment.name) * 1000 + WEEK_MS
        self._interval_s = source.settings.db.interval_s
        self.without_content = 0

    def fetchlist(self) -> Iterator[FetchListEntry]:
        """What was to be fetched, by MD5."""
        needs = (tables.FETCHLIST, tables.CRAWLDB)
        rows = self._source.rows(_LISTED, "page_md5, page_url", needs, self._segment, interval_s=self._interval_s)
        for row in rows:
            yield FetchListEntry(bool(row.is_fetched), self._page(row), [])

    def fetches(self) -> Iterator[Fetch]:
        """What came of it, by the MD5 the page had before."""
        records = _RECORDS.replace("$max_hops", str(MAX_HOPS))
        kinds = ", ".join(f"'{kind}'" for kind in LINK_KINDS)
        links = Groups(
            self._source.rows(
                records + _LINKS.replace("$kinds", kinds), "page_md5, page_url, position",
                (tables.FETCHED, tables.FETCHLIST, tables.LINKS), self._segment, beside=3,
            ),
            _place,
        )  # fmt: skip
        anchors = Groups(
            self._source.rows(
                records + _ANCHORS.replace("$kinds", kinds), "page_md5, page_url, anchor",
                (tables.FETCHED, tables.FETCHLIST, tables.LINKDB), self._segment, beside=3,
            ),
            _place,
        )  # fmt: skip
        needs = (tables.FETCHED, tables.FETCHLIST, tables.PARSED, tables.CRAWLDB)
        rows = self._source.rows(
            records + _FETCHED, "page_md5, page_url", needs, self._segment, beside=3, interval_s=self._interval_s
        )
        with Answers(self._segment.warc_path, self._most) as answers:
            for row in distinct(rows, attrgetter("page_url")):
                found, words = links.of(_place(row)), [link.anchor for link in anchors.of(_place(row))]
                if row.reason in NOT_TRIED:
                    continue
                entry = FetchListEntry(bool(row.is_fetched), self._page(row), words)
                yield self._fetch(row, entry, [Outlink(link.to_url, link.anchor or "") for link in found], answers)

    def _page(self, row: Any) -> Page:
        score = row.score / MICRO
        return Page(
            url=row.page_url, md5=row.page_md5, next_fetch=self._due_at, fetch_interval_days=days(row.interval_s),
            score=score, next_score=score,
        )  # fmt: skip

    def _fetch(self, row: Any, entry: FetchListEntry, outlinks: list[Outlink], answers: Answers) -> Fetch:
        succeeded = row.outcome == "success"
        sent = answers.read(row.url, row.warc_file, row.warc_offset) if succeeded else None
        if succeeded and sent is None:
            self.without_content += 1
        content_md5 = (row.digest or EMPTY_MD5) if succeeded else row.page_md5
        output = FetcherOutput(entry, content_md5, _status(row), row.fetched_at)
        content = _content(row, sent)
        return Fetch(output, content, _parse_data(row, content, outlinks), ParseText(_text(row)))


def _place(row: Any) -> tuple[bytes, bytes]:
    return row.page_md5, row.page_url.encode()


def _status(row: Any) -> ProtocolStatus:
    code = code_of(row.outcome, row.reason)
    args = args_of(code, row.page_url, row.reason, row.http_status, row.redirect_url)
    return ProtocolStatus(code, http_time(row.last_modified), args)


def _content(row: Any, sent: Sent | None) -> Content:
    if sent is None:
        return Content(row.page_url, row.end_url)
    metadata: dict[str, str] = {}
    for name, value in sent.headers:
        metadata[name] = f"{metadata[name]}, {value}" if name in metadata else value
    return Content(row.page_url, row.end_url, sent.body, sent.header("content-type") or "", metadata)


def _parse_data(row: Any, content: Content, outlinks: list[Outlink]) -> ParseData:
    metadata = dict(content.metadata)
    if row.charset:
        metadata["CharEncodingForConversion"] = metadata["OriginalCharEncoding"] = row.charset
    return ParseData(_parse_status(row), "" if row.noindex else row.title or "", outlinks, metadata)


def _parse_status(row: Any) -> ParseStatus:
    if row.outcome != "success" or row.parse_status is None or row.parse_status == "skipped":
        return ParseStatus(ParseStatus.NOTPARSED)
    if row.parse_status == "failed":
        return ParseStatus(ParseStatus.FAILED, ParseStatus.FAILED_EXCEPTION, [row.parse_reason or "parse_error"])
    if row.refresh_url is not None:
        return ParseStatus(ParseStatus.SUCCESS, ParseStatus.SUCCESS_REDIRECT, [row.refresh_url])
    return ParseStatus(ParseStatus.SUCCESS, ParseStatus.SUCCESS_OK)


def _text(row: Any) -> str:
    return "" if row.noindex else row.text or ""
