-- What the segments that came along say of each page of this partition: its last visit, and where its last full answer
-- lies unless a later visit took it back. Later means a later segment, and within it a later time: as merge counts.
WITH refreshes AS (
    SELECT p.url_key AS url_key, p.segment AS segment, MIN(p.refresh_key) AS refresh_key
    FROM parsed p
    WHERE p.refresh_key IS NOT NULL
    GROUP BY p.url_key, p.segment
),
-- a page that goes on to another at once is a redirect, whatever its status (see updatedb_answers)
requests AS (
    SELECT
        f.url_key AS url_key, f.segment AS segment, f.http_status AS http_status, f.fetched_at AS fetched_at,
        f.warc_file AS warc_file, f.warc_offset AS warc_offset, f.etag AS etag, f.last_modified AS last_modified,
        CASE WHEN f.outcome = 'success' AND r.url_key IS NOT NULL THEN 'redirect_temp' ELSE f.outcome END AS outcome,
        CASE WHEN f.outcome = 'success' AND r.url_key IS NOT NULL THEN 'refresh' ELSE f.reason END AS reason,
        CASE WHEN f.outcome = 'success' AND r.url_key IS NOT NULL THEN r.refresh_key ELSE f.redirect_key END
            AS redirect_key
    FROM fetched f
    LEFT JOIN refreshes r ON r.url_key = f.url_key AND r.segment = f.segment
),
last_visit AS (
    SELECT
        f.url_key AS url_key, f.outcome AS outcome, f.reason AS reason, f.http_status AS http_status,
        f.fetched_at AS fetched_at, f.redirect_key AS redirect_key,
        row_number() OVER (
            PARTITION BY f.url_key
            ORDER BY f.segment DESC NULLS LAST, f.fetched_at DESC NULLS LAST, f.outcome ASC NULLS LAST,
                f.reason ASC NULLS LAST, f.http_status ASC NULLS LAST, f.redirect_key ASC NULLS LAST
        ) AS place
    FROM requests f
),
last_news AS (
    SELECT
        f.url_key AS url_key, f.outcome AS outcome, f.segment AS segment, f.warc_file AS warc_file,
        f.warc_offset AS warc_offset, f.etag AS etag, f.last_modified AS last_modified,
        row_number() OVER (
            PARTITION BY f.url_key
            ORDER BY f.segment DESC NULLS LAST, f.fetched_at DESC NULLS LAST, f.outcome DESC NULLS LAST,
                f.warc_file ASC NULLS LAST, f.warc_offset ASC NULLS LAST, f.etag ASC NULLS LAST,
                f.last_modified ASC NULLS LAST
        ) AS place
    FROM requests f
    WHERE f.outcome IN ('success', 'redirect_perm', 'redirect_temp', 'gone', 'denied')
),
times AS (
    SELECT
        f.url_key AS url_key,
        MAX(f.fetched_at) AS checked_at,
        MAX(CASE WHEN f.outcome IN ('success', 'not_modified') THEN f.fetched_at ELSE NULL END) AS fetched_at
    FROM requests f
    GROUP BY f.url_key
),
parses AS (
    SELECT
        p.url_key AS url_key, p.segment AS segment, p.parse_status AS parse_status, p.reason AS reason,
        p.noindex AS noindex, p.media_type AS media_type, p.canonical_key AS canonical_key,
        p.fingerprint AS fingerprint, p.outlink_count AS outlink_count,
        row_number() OVER (
            PARTITION BY p.url_key, p.segment
            ORDER BY p.fetched_at DESC NULLS LAST, p.parse_status ASC NULLS LAST, p.reason ASC NULLS LAST,
                p.media_type ASC NULLS LAST, p.canonical_key ASC NULLS LAST, p.fingerprint ASC NULLS LAST,
                p.noindex ASC NULLS LAST, p.outlink_count ASC NULLS LAST
        ) AS place
    FROM parsed p
)
SELECT
    CAST(t.url_key AS STRING) AS url_key,
    CAST(v.outcome AS STRING) AS outcome,
    CAST(v.reason AS STRING) AS reason,
    CAST(v.http_status AS INT) AS http_status,
    CAST(t.checked_at AS BIGINT) AS checked_at,
    CAST(t.fetched_at AS BIGINT) AS fetched_at,
    CAST(CASE WHEN v.outcome IN ('redirect_perm', 'redirect_temp') THEN v.redirect_key ELSE NULL END AS STRING)
        AS redirect_key,
    CAST(n.url_key IS NOT NULL AS BOOLEAN) AS has_answer,
    CAST(n.segment AS STRING) AS segment,
    CAST(n.warc_file AS STRING) AS warc_file,
    CAST(n.warc_offset AS BIGINT) AS warc_offset,
    CAST(n.etag AS STRING) AS etag,
    CAST(n.last_modified AS STRING) AS last_modified,
    CAST(CASE
        WHEN p.parse_status IN ('failed', 'skipped') THEN p.reason
        WHEN p.noindex THEN 'noindex'
        ELSE NULL
    END AS STRING) AS page_reason,
    CAST(p.media_type AS STRING) AS media_type,
    CAST(p.canonical_key AS STRING) AS canonical_key,
    CAST(p.fingerprint AS BIGINT) AS fingerprint,
    CAST(p.outlink_count AS INT) AS outlink_count
FROM times t
JOIN last_visit v ON v.url_key = t.url_key AND v.place = 1
LEFT JOIN last_news n ON n.url_key = t.url_key AND n.place = 1 AND n.outcome = 'success'
LEFT JOIN parses p ON p.url_key = n.url_key AND p.segment = n.segment AND p.place = 1
