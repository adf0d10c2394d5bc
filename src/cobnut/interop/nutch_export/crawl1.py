"""What do crawldb, linkdb and hostdb become in Nutch 1.x?

Each function gives the records of one database in the order of its keys, as (key, value) bytes. A row of the crawldb is
a CrawlDatum with the status' own code (duplicate, where dedup chose another version); what the crawldb does not know
comes from `pages`, as metadata under Nutch's names and types. A link is an Inlink of the page it leads to.

Not here: segments (`segment1`), the files (`layout1`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

from cobnut.frontier.representative import representative
from cobnut.interop.hadoop.data import DataOutput
from cobnut.interop.hadoop.mapwritable import MapWritable
from cobnut.interop.nutch1 import CrawlDatum, HostDatum, Inlink, Inlinks
from cobnut.interop.nutch_export import values
from cobnut.interop.nutch_export.source import Source
from cobnut.interop.nutch_export.statuses import LINK_KINDS, args_of, code_of_state, http_time
from cobnut.records import catalogue as tables
from cobnut.records.outcomes import DUPLICATE, FETCHED, NOT_MODIFIED, STATUSES

Record = tuple[bytes, bytes]
MAX_SECONDS, MAX_RETRIES = (1 << 31) - 1, 127
MICRO = 1_000_000

_CRAWLDB = """
    SELECT
        url_of(c.url_key) AS page_url, c.status AS status, c.reason AS reason, c.due_at AS due_at,
        c.modified_at AS modified_at, c.retries AS retries, c.interval_s AS interval_s,
        c.fixed_interval_s AS fixed_interval_s, c.score AS score, c.signature AS signature,
        c.depth AS depth,
        p.http_status AS http_status, p.checked_at AS checked_at, p.media_type AS media_type,
        p.last_modified AS last_modified, p.metadata AS metadata, url_of(p.redirect_key) AS redirect_url,
        d.url_key IS NOT NULL AS is_duplicate, url_of(s.source_key) AS source_url, s.status AS source_status
    FROM crawldb c
    LEFT JOIN pages p ON p.url_key = c.url_key
    LEFT JOIN (SELECT DISTINCT url_key, segment FROM duplicates WHERE kind <> 'same_url') d
        ON d.url_key = c.url_key AND d.segment = p.segment
    LEFT JOIN (
        SELECT t.url_key AS url_key, f.url_key AS source_key, f.status AS status
        FROM pages t
        JOIN crawldb f ON f.url_key = t.discovered_from
        WHERE t.discovered_via IN ('redirect', 'refresh')
    ) s ON s.url_key = c.url_key
"""

_LINKDB = """
    SELECT url_of(to_key) AS to_url, url_of(from_key) AS from_url, anchor AS anchor
    FROM linkdb
    WHERE NOT nofollow AND kind IN ($kinds)
"""

_HOSTDB = """
    WITH counts AS (
        SELECT
            host AS host,
            COUNT(*) FILTER (status = 'unfetched') AS unfetched,
            COUNT(*) FILTER (status = 'fetched') AS fetched,
            COUNT(*) FILTER (status = 'not_modified') AS not_modified,
            COUNT(*) FILTER (status = 'redirect_temp') AS redirect_temp,
            COUNT(*) FILTER (status = 'redirect_perm') AS redirect_perm,
            COUNT(*) FILTER (status = 'gone') AS gone
        FROM crawldb
        GROUP BY host
    )
    SELECT
        c.host AS name, c.unfetched AS unfetched, c.fetched AS fetched, c.not_modified AS not_modified,
        c.redirect_temp AS redirect_temp, c.redirect_perm AS redirect_perm, c.gone AS gone,
        COALESCE(h.updated_at, 0) AS updated_at, COALESCE(h.dns_error_count, 0) AS dns_error_count,
        COALESCE(h.error_count, 0) AS error_count, h.elapsed_ms AS elapsed_ms, h.request_count AS request_count
    FROM counts c
    LEFT JOIN hostdb h ON h.host = c.host
"""


def text_key(value: str) -> bytes:
    """A key as Text lies in a file."""
    out = DataOutput()
    out.write_text(value)
    return out.getvalue()


def crawldb(source: Source) -> Iterator[Record]:
    """The crawldb: URL to CrawlDatum."""
    needs = (tables.CRAWLDB, tables.PAGES, tables.DUPLICATES)
    for row in source.rows(_CRAWLDB, "page_url", needs):
        yield text_key(row.page_url), _datum(row).to_bytes()


def _datum(row: Any) -> CrawlDatum:
    hidden = row.is_duplicate and row.status in (FETCHED, NOT_MODIFIED)
    return CrawlDatum(
        status=STATUSES[DUPLICATE if hidden else row.status],
        fetch_time=row.due_at,
        modified_time=row.modified_at or 0,
        retries=min(row.retries, MAX_RETRIES),
        fetch_interval=min(row.interval_s, MAX_SECONDS),
        score=row.score / MICRO,
        signature=row.signature,
        metadata=_metadata(row),
    )


def _metadata(row: Any) -> MapWritable:
    """What Nutch keeps beside a URL; the seed's own words give way to names that Nutch has a meaning for."""
    found = {name: values.text(value or "") for name, value in row.metadata or ()}
    code = code_of_state(row.status, row.reason, row.http_status, row.checked_at is not None)
    if code is not None:
        args = args_of(code, row.page_url, row.reason, row.http_status, row.redirect_url)
        found["_pst_"] = values.protocol_status(code, http_time(row.last_modified), args)
    if row.media_type:
        found["Content-Type"] = values.text(row.media_type)
    if row.http_status is not None:
        found["nutch.protocol.code"] = values.text(str(row.http_status))
    if row.source_url is not None:
        shown = representative(row.source_url, row.page_url, row.source_status != "redirect_perm")
        found["_repr_"] = values.text(shown)
    found["_depth_"] = values.int_value(row.depth + 1)  # a seed is 1 to Nutch
    if row.fixed_interval_s is not None:
        found["fixedInterval"] = values.float_value(row.fixed_interval_s)
    return values.map_of(found)


def linkdb(source: Source) -> Iterator[Record]:
    """The linkdb: URL to Inlinks."""
    kinds = ", ".join(f"'{kind}'" for kind in LINK_KINDS)
    rows = source.rows(_LINKDB.replace("$kinds", kinds), "to_url, from_url", (tables.LINKDB,))
    for to_url, links in groupby(rows, key=attrgetter("to_url")):
        inlinks = Inlinks([Inlink(link.from_url, link.anchor or "") for link in links])
        yield text_key(to_url), inlinks.to_bytes()


def hostdb(source: Source) -> Iterator[Record]:
    """The hostdb: host to HostDatum."""
    for row in source.rows(_HOSTDB, "name", (tables.CRAWLDB, tables.HOSTDB)):
        mean = (
            {"avg._rs_": values.float_value(row.elapsed_ms / row.request_count)}
            if row.elapsed_ms and row.request_count
            else {}
        )
        datum = HostDatum(
            last_check=row.updated_at, dns_failures=row.dns_error_count, connection_failures=row.error_count,
            unfetched=row.unfetched, fetched=row.fetched, not_modified=row.not_modified,
            redir_temp=row.redirect_temp, redir_perm=row.redirect_perm, gone=row.gone, metadata=values.map_of(mean),
        )  # fmt: skip
        yield text_key(row.name), datum.to_bytes()
