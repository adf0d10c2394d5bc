"""What do the crawldb and the links become in the web database of Nutch 0.7?

That database knows a page by its URL and by the MD5 of its content, and a link by the content it stands in:

* A page that was fetched has the MD5 of its body, one that was not the MD5 of its URL. A URL that redirects has the MD5
  of the content it leads to, as 0.7 keeps what a redirect led to under the URL it asked for.
* Links are those of each page's present content, so none is left of a content that has vanished; a link that a page
  names twice is there once, with the words of the last. Where the segment has gone they come from the linkdb.
* nofollow links, redirects and refreshes are no links to 0.7.
* A page that is gone is never due again.

Not here: the segments (`segment07`), the tables (`nutch07.webdb_writer`).
"""

from __future__ import annotations

from collections.abc import Iterator

from cobnut.interop.nutch07 import MAX_INTERVAL_DAYS, NEVER, Link, Page, md5_of
from cobnut.interop.nutch_export.crawl1 import MAX_RETRIES, MICRO
from cobnut.interop.nutch_export.source import Source
from cobnut.interop.nutch_export.statuses import LINK_KINDS
from cobnut.records import catalogue as tables
from cobnut.records.outcomes import GONE

DAY_S = 86_400
MAX_HOPS = 5
_NEEDS = (tables.CRAWLDB, tables.PAGES, tables.RANKS, tables.LINKDB, tables.FETCHED, tables.LINKS)

_COMMON = """
    WITH RECURSIVE present AS (
        SELECT
            c.url_key AS url_key, c.host AS host, c.status AS status, c.due_at AS due_at, c.retries AS retries,
            c.interval_s AS interval_s, c.score AS score, p.segment AS segment, p.redirect_key AS redirect_key,
            CASE
                WHEN c.status IN ('redirect_perm', 'redirect_temp') THEN NULL
                WHEN f.url_key IS NOT NULL THEN COALESCE(f.digest, unhex(md5('')))
                WHEN octet_length(c.signature) = 16 THEN c.signature
                WHEN p.segment IS NOT NULL THEN unhex(md5(''))
            END AS own_md5
        FROM crawldb c
        LEFT JOIN pages p ON p.url_key = c.url_key
        LEFT JOIN (
            SELECT url_key, segment, MAX(digest) AS digest
            FROM fetched
            WHERE outcome = 'success'
            GROUP BY url_key, segment
        ) f ON f.url_key = c.url_key AND f.segment = p.segment
    ),
    hops AS (
        SELECT url_key AS url_key, redirect_key AS target, 1 AS hop
        FROM present
        WHERE status IN ('redirect_perm', 'redirect_temp') AND redirect_key IS NOT NULL
        UNION ALL
        SELECT h.url_key, t.redirect_key, h.hop + 1
        FROM hops h
        JOIN present t ON t.url_key = h.target
        WHERE t.status IN ('redirect_perm', 'redirect_temp') AND t.redirect_key IS NOT NULL AND h.hop < $max_hops
    ),
    led AS (
        SELECT h.url_key AS url_key, MIN(t.own_md5) AS md5
        FROM hops h
        JOIN present t ON t.url_key = h.target
        WHERE t.own_md5 IS NOT NULL
        GROUP BY h.url_key
    ),
    known AS (
        SELECT p.*, COALESCE(p.own_md5, l.md5) AS md5
        FROM present p
        LEFT JOIN led l ON l.url_key = p.url_key
    ),
    named AS (
        SELECT k.own_md5 AS from_md5, k.host AS from_host, l.from_key, l.to_key, l.position, l.anchor
        FROM links l
        JOIN present k ON k.url_key = l.from_key AND k.segment = l.segment
        WHERE k.own_md5 IS NOT NULL AND NOT l.nofollow AND l.kind IN ($kinds)
        UNION ALL
        SELECT k.own_md5, k.host, l.from_key, l.to_key, 0, l.anchor
        FROM linkdb l
        JOIN present k ON k.url_key = l.from_key
        WHERE k.own_md5 IS NOT NULL AND NOT l.nofollow AND l.kind IN ($kinds)
            AND (k.segment IS NULL OR k.segment NOT IN ($segments))
    ),
    counts AS (
        SELECT from_md5 AS md5, COUNT(*) AS links
        FROM (SELECT from_md5, to_key FROM named GROUP BY from_md5, to_key)
        GROUP BY from_md5
    )
"""

_PAGES = """
    SELECT
        url_of(k.url_key) AS page_url, k.status AS status, k.due_at AS due_at, k.retries AS retries,
        k.interval_s AS interval_s, k.score AS score, r.page_rank AS page_rank, k.md5 AS md5,
        COALESCE(n.links, 0) AS links
    FROM known k
    LEFT JOIN counts n ON n.md5 = k.md5
    LEFT JOIN ranks r ON r.url_key = k.url_key
"""

_LINKS = """
    SELECT
        l.from_md5 AS from_md5, l.from_host AS from_host, url_of(l.to_key) AS to_url, l.anchor AS anchor,
        url_of(l.from_key) AS from_url, l.position AS position, n.links IS NOT NULL AS target_links
    FROM named l
    LEFT JOIN known t ON t.url_key = l.to_key
    LEFT JOIN counts n ON n.md5 = t.md5
"""


def _common(source: Source) -> str:
    kinds = ", ".join(f"'{kind}'" for kind in LINK_KINDS)
    held = ", ".join(f"'{s.name}'" for s in source.segments if s.part_files(tables.LINKS)) or "''"
    return _COMMON.replace("$kinds", kinds).replace("$segments", held).replace("$max_hops", str(MAX_HOPS))


def pages(source: Source) -> Iterator[Page]:
    """Every page of the crawldb."""
    for row in source.rows(_common(source) + _PAGES, "page_url", _NEEDS):
        score = row.score / MICRO
        yield Page(
            url=row.page_url, md5=row.md5 or md5_of(row.page_url),
            next_fetch=NEVER if row.status == GONE else row.due_at, retries=min(row.retries, MAX_RETRIES),
            fetch_interval_days=days(row.interval_s), num_outlinks=row.links, score=score,
            next_score=score if row.page_rank is None else row.page_rank / MICRO,
        )  # fmt: skip


def links(source: Source) -> Iterator[Link]:
    """Every link of a present content, in an order in which the last of several is the one to keep."""
    for row in source.rows(_common(source) + _LINKS, "from_url, position", _NEEDS):
        yield Link.between(row.from_md5, row.from_host, row.to_url, row.anchor or "", row.target_links)


def days(seconds: int) -> int:
    """An interval in days, 1 at least, as many as a byte holds.

    >>> days(3_600), days(86_400 * 30), days(86_400 * 1_000)
    (1, 30, 127)
    """
    return min(max(round(seconds / DAY_S), 1), MAX_INTERVAL_DAYS)
