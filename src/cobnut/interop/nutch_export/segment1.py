"""What does a segment become in Nutch 1.x?

Each function gives the records of one part, as (key, value) bytes, in the order that part has: URLs by their bytes;
crawl_generate by the generator's hash; crawl_parse page by page, the page's signature before its links.

A redirect that was followed in the same round is two records, as Nutch writes them when it follows redirects: the
source's, with the status of a redirect, and the target's. Bodies have their Content-Encoding undone. Pages that forbid
indexing have neither title nor text, as Nutch's parser leaves them.

Not here: the crawl's databases (`crawl1`), the files (`layout1`).
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from cobnut.frontier.representative import representative
from cobnut.interop.hadoop.mapwritable import MapWritable
from cobnut.interop.nutch1 import Content, CrawlDatum, Metadata, Outlink, ParseData, ParseStatus, ParseText
from cobnut.interop.nutch_export import values
from cobnut.interop.nutch_export.answers import Answers
from cobnut.interop.nutch_export.crawl1 import MAX_SECONDS, MICRO, Record, text_key
from cobnut.interop.nutch_export.source import Groups, Source, distinct
from cobnut.interop.nutch_export.statuses import (
    FETCH_STATUSES,
    LINK_KINDS,
    LINKED,
    NOT_TRIED,
    PARSE_FAILED,
    SIGNATURE,
    args_of,
    code_of,
    http_time,
)
from cobnut.records import catalogue as tables
from cobnut.records.outcomes import FETCHED, STATUSES, UNFETCHED
from cobnut.storage.layout import SegmentFolder, seconds_of

_GENERATED = """
    SELECT
        url_of(f.url_key) AS page_url, url_hash(url_of(f.url_key)) AS place, f.score AS score, f.signature AS signature,
        f.fetched_before AS fetched_before, f.metadata AS metadata, COALESCE(c.interval_s, $interval_s) AS interval_s,
        c.fixed_interval_s AS fixed_interval_s
    FROM fetchlist f
    LEFT JOIN crawldb c ON c.url_key = f.url_key
"""

_FETCHED = """
    SELECT
        url_of(f.url_key) AS page_url, f.url AS url, f.outcome AS outcome, f.reason AS reason,
        f.http_status AS http_status, f.fetched_at AS fetched_at, f.elapsed_ms AS elapsed_ms,
        f.redirect_url AS redirect_url, f.last_modified AS last_modified, f.score AS score,
        COALESCE(c.interval_s, $interval_s) AS interval_s, p.media_type AS media_type,
        f.warc_file AS warc_file, f.warc_offset AS warc_offset
    FROM fetched f
    LEFT JOIN crawldb c ON c.url_key = f.url_key
    LEFT JOIN parsed p ON p.url_key = f.url_key
"""

_PARSED = """
    SELECT
        url_of(p.url_key) AS page_url, p.parse_status AS parse_status, p.reason AS reason, p.title AS title,
        p.description AS description, p.language AS language, p.charset AS charset,
        p.noindex AS noindex, p.nofollow AS nofollow, p.refresh_delay_s AS refresh_delay_s,
        p.signature AS signature, p.fetched_at AS fetched_at, p.score AS score,
        f.digest AS digest, f.headers AS headers, f.fetched_at AS sent_at, p.media_type AS media_type
    FROM parsed p
    JOIN (SELECT * FROM fetched WHERE outcome = 'success') f ON f.url_key = p.url_key
    WHERE p.parse_status IN ('ok', 'failed')
"""

_TEXTS = """
    SELECT url_of(p.url_key) AS page_url, p.text AS text, p.noindex AS noindex
    FROM parsed p
    SEMI JOIN (SELECT * FROM fetched WHERE outcome = 'success') f ON f.url_key = p.url_key
    WHERE p.parse_status IN ('ok', 'failed')
"""

_LINKS = """
    SELECT
        url_of(l.from_key) AS from_url, l.position AS position,
        url_of(l.to_key) AS to_url, l.anchor AS anchor, l.contribution AS contribution, l.kind AS kind
    FROM links l
    WHERE NOT l.nofollow AND l.kind IN ($kinds, 'refresh')
"""
QUICK_REFRESH_S = 5
"""A refresh that waits less is a temporary redirect to Nutch, others are permanent."""
_FETCH_TABLES = (tables.FETCHED, tables.PARSED, tables.CRAWLDB)


class Segment1:
    """One segment on its way out; `without_content` counts answers that are not in the archive any more."""

    def __init__(self, source: Source, segment: SegmentFolder, most_bytes: int) -> None:
        self._source, self._segment, self._most = source, segment, most_bytes
        self._interval_s = source.settings.db.interval_s
        self._generated_at = seconds_of(segment.name) * 1000
        self.without_content = 0

    def crawl_generate(self) -> Iterator[Record]:
        """What was to be fetched: the rows of the crawldb, with the time of the fetchlist."""
        at = self._generated_at
        needs = (tables.FETCHLIST, tables.CRAWLDB)
        for row in self._source.rows(_GENERATED, "place, page_url", needs, self._segment, interval_s=self._interval_s):
            found = {name: values.text(value or "") for name, value in row.metadata or ()}
            if row.fixed_interval_s is not None:
                found["fixedInterval"] = values.float_value(row.fixed_interval_s)
            found["_ngt_"] = values.long_value(at)
            datum = CrawlDatum(
                status=STATUSES[FETCHED if row.fetched_before else UNFETCHED], fetch_time=at,
                fetch_interval=min(row.interval_s, MAX_SECONDS), score=row.score / MICRO, signature=row.signature,
                metadata=values.map_of(found),
            )  # fmt: skip
            yield text_key(row.page_url), datum.to_bytes()

    def _fetched(self) -> Iterator[Any]:
        rows = self._source.rows(_FETCHED, "page_url", _FETCH_TABLES, self._segment, interval_s=self._interval_s)
        return distinct((r for r in rows if r.reason not in NOT_TRIED), attrgetter("page_url"))

    def crawl_fetch(self) -> Iterator[Record]:
        """What became of each request. A URL whose turn did not come has no record, as in Nutch."""
        for row in self._fetched():
            datum = CrawlDatum(
                status=FETCH_STATUSES[row.outcome], fetch_time=row.fetched_at,
                fetch_interval=min(row.interval_s, MAX_SECONDS), score=row.score / MICRO,
                metadata=_told(row, self._generated_at),
            )  # fmt: skip
            yield text_key(row.page_url), datum.to_bytes()

    def content(self) -> Iterator[Record]:
        """Bodies and headers of pages and redirects."""
        with Answers(self._segment.warc_path, self._most) as answers:
            for row in self._fetched():
                if row.outcome not in ("success", "redirect_perm", "redirect_temp") or row.warc_file is None:
                    continue
                sent = answers.read(row.url, row.warc_file, row.warc_offset)
                if sent is None:
                    self.without_content += 1
                    continue
                metadata = Metadata.of(sent.headers)
                for name, value in self._notes(FETCH_STATUSES[row.outcome], row.score, row.fetched_at):
                    metadata.add(name, value)
                media_type = row.media_type or (sent.header("content-type") or "").partition(";")[0].strip()
                content = Content(row.page_url, row.page_url, sent.body, media_type, metadata)
                yield text_key(row.page_url), content.to_bytes()

    def _notes(self, status: int, score: int, fetched_at: int) -> list[tuple[str, str]]:
        """What Nutch notes beside the headers."""
        return [
            ("_fst_", str(status)), ("nutch.crawl.score", str(score / MICRO)), ("nutch.fetch.time", str(fetched_at)),
            ("nutch.segment.name", self._segment.name),
        ]  # fmt: skip

    def _pages(self) -> Iterator[tuple[Any, list[Any]]]:
        """Parsed pages, each with its links."""
        kinds = ", ".join(f"'{kind}'" for kind in LINK_KINDS)
        links = Groups(
            self._source.rows(
                _LINKS.replace("$kinds", kinds), "from_url, position", (tables.LINKS,), self._segment, beside=2
            ),
            lambda row: row.from_url.encode(),
        )
        rows = self._source.rows(_PARSED, "page_url", (tables.PARSED, tables.FETCHED), self._segment, beside=2)
        for row in distinct(rows, attrgetter("page_url")):
            yield row, links.of(row.page_url.encode())

    def crawl_parse(self) -> Iterator[Record]:
        """What pages say to the crawldb: their signatures, and the pages they link to."""
        interval_s = min(self._interval_s, MAX_SECONDS)
        for row, links in self._pages():
            key = text_key(row.page_url)
            if row.parse_status == "failed":
                yield key, CrawlDatum(status=PARSE_FAILED, fetch_time=row.fetched_at).to_bytes()
                continue
            if row.signature is not None:
                signed = CrawlDatum(status=SIGNATURE, fetch_time=row.fetched_at, signature=row.signature)
                yield key, signed.to_bytes()
            for link in links:
                datum = CrawlDatum(
                    status=LINKED, fetch_time=row.fetched_at, fetch_interval=interval_s,
                    score=link.contribution / MICRO,
                )  # fmt: skip
                if link.kind == "refresh":
                    shown = representative(row.page_url, link.to_url, (row.refresh_delay_s or 0) < QUICK_REFRESH_S)
                    datum.metadata = values.map_of({"_repr_": values.text(shown)})
                yield text_key(link.to_url), datum.to_bytes()

    def parse_data(self) -> Iterator[Record]:
        """Titles, outlinks and metadata."""
        for row, links in self._pages():
            content_meta = Metadata.of((header_name(name), value or "") for name, value in row.headers or ())
            if row.digest is not None:
                content_meta.add("nutch.content.digest", row.digest.hex())
            for name, value in self._notes(FETCH_STATUSES["success"], row.score, row.sent_at):
                content_meta.add(name, value)
            data = ParseData(
                status=_parse_status(row, links), title="" if row.noindex else row.title or "",
                outlinks=[Outlink(link.to_url, link.anchor or "") for link in links if link.kind != "refresh"],
                content_meta=content_meta, parse_meta=Metadata.of(_findings(row)),
            )  # fmt: skip
            yield text_key(row.page_url), data.to_bytes()

    def parse_text(self) -> Iterator[Record]:
        """The visible text."""
        rows = self._source.rows(_TEXTS, "page_url", (tables.PARSED, tables.FETCHED), self._segment)
        for row in distinct(rows, attrgetter("page_url")):
            yield text_key(row.page_url), ParseText("" if row.noindex else row.text or "").to_bytes()


def _told(row: Any, generated_at: int) -> MapWritable:
    """What a fetch says beside its status."""
    code = code_of(row.outcome, row.reason)
    args = args_of(code, row.page_url, row.reason, row.http_status, row.redirect_url)
    found = {"_pst_": values.protocol_status(code, http_time(row.last_modified), args)}
    found["_ngt_"] = values.long_value(generated_at)
    if row.elapsed_ms is not None:
        found["_rs_"] = values.int_value(row.elapsed_ms)
    if row.http_status is not None:
        found["nutch.protocol.code"] = values.text(str(row.http_status))
    if row.media_type:
        found["Content-Type"] = values.text(row.media_type)
    return values.map_of(found)


def _parse_status(row: Any, links: list[Any]) -> ParseStatus:
    if row.parse_status == "failed":
        return ParseStatus(2, 200, [row.reason or "parse_error"])
    for link in links:
        if link.kind == "refresh":
            return ParseStatus(1, 100, [link.to_url, str(row.refresh_delay_s or 0)])
    return ParseStatus(1, 0)


def header_name(name: str) -> str:
    """A header field's name as Nutch looks for it; `fetched` has names in lower case.

    >>> header_name("last-modified"), header_name("etag")
    ('Last-Modified', 'ETag')
    """
    return "ETag" if name == "etag" else "-".join(word.capitalize() for word in name.split("-"))


def _findings(row: Any) -> Iterator[tuple[str, str]]:
    """What the parser found out, by Nutch's names where it has any."""
    if row.charset:
        yield "CharEncodingForConversion", row.charset
        yield "OriginalCharEncoding", row.charset
    if row.noindex or row.nofollow:
        yield "robots", ",".join(w for w, said in (("noindex", row.noindex), ("nofollow", row.nofollow)) if said)
    if row.language:
        yield "language", row.language
    if row.description and not row.noindex:
        yield "description", row.description
        yield "metatag.description", row.description
