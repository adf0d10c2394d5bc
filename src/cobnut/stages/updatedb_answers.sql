-- What the round's requests say of each page of this partition: one row a requested page, fetch and parse together.
-- Few pages are asked or parsed twice in a round; only these are put in order.
WITH fetched_again AS (
    SELECT url_key FROM fetched GROUP BY url_key HAVING COUNT(*) > 1
),
parsed_again AS (
    SELECT url_key FROM parsed GROUP BY url_key HAVING COUNT(*) > 1
),
newest_fetch AS (
    SELECT f.*, 1 AS place
    FROM fetched f
    LEFT JOIN fetched_again g ON g.url_key = f.url_key
    WHERE g.url_key IS NULL
    UNION ALL
    SELECT
        f.*,
        row_number() OVER (
            PARTITION BY f.url_key
            ORDER BY f.fetched_at DESC NULLS LAST, f.outcome ASC NULLS LAST, f.warc_file ASC NULLS LAST,
                f.warc_offset ASC NULLS LAST, f.hop_from ASC NULLS LAST, f.reason ASC NULLS LAST,
                f.http_status ASC NULLS LAST, f.redirect_key ASC NULLS LAST, f.digest ASC NULLS LAST,
                f.etag ASC NULLS LAST, f.last_modified ASC NULLS LAST, f.last_modified_at ASC NULLS LAST, f.depth ASC NULLS LAST, f.url ASC NULLS LAST,
                f.segment ASC NULLS LAST
        ) AS place
    FROM fetched f
    JOIN fetched_again g ON g.url_key = f.url_key
),
newest_parse AS (
    SELECT p.*, 1 AS place
    FROM parsed p
    LEFT JOIN parsed_again g ON g.url_key = p.url_key
    WHERE g.url_key IS NULL
    UNION ALL
    SELECT
        p.*,
        row_number() OVER (
            PARTITION BY p.url_key
            ORDER BY p.fetched_at DESC NULLS LAST, p.parse_status ASC NULLS LAST, p.signature ASC NULLS LAST,
                p.reason ASC NULLS LAST, p.media_type ASC NULLS LAST, p.canonical_key ASC NULLS LAST,
                p.fingerprint ASC NULLS LAST, p.noindex ASC NULLS LAST, p.outlink_count ASC NULLS LAST,
                p.refresh_key ASC NULLS LAST
        ) AS place
    FROM parsed p
    JOIN parsed_again g ON g.url_key = p.url_key
),
-- The last page of each host that was asked and answered well.
good AS (
    SELECT f.host AS host, MAX(f.fetched_at) AS last_at
    FROM fetched f
    WHERE f.http_status < 500 AND f.http_status <> 429
    GROUP BY f.host
)
SELECT
    CAST(f.url_key AS STRING) AS url_key,
    CAST(f.url AS STRING) AS url,
    CAST(f.host AS STRING) AS host,
    CAST(f.bucket AS INT) AS bucket,
    CAST(f.segment AS STRING) AS segment,
    -- a page that goes on to another at once is a redirect, whatever its status
    CAST(CASE WHEN f.outcome = 'success' AND p.refresh_key IS NOT NULL THEN 'redirect_temp' ELSE f.outcome END AS STRING) AS outcome,
    CAST(CASE WHEN f.outcome = 'success' AND p.refresh_key IS NOT NULL THEN 'refresh' ELSE f.reason END AS STRING) AS reason,
    CAST(f.http_status AS INT) AS http_status,
    CAST(f.fetched_at AS BIGINT) AS fetched_at,
    CAST(CASE WHEN f.outcome = 'success' AND p.refresh_key IS NOT NULL THEN p.refresh_key ELSE f.redirect_key END AS STRING) AS redirect_key,
    CAST(f.etag AS STRING) AS etag,
    CAST(f.last_modified AS STRING) AS last_modified,
    CAST(f.last_modified_at AS BIGINT) AS last_modified_at,
    CAST(f.warc_file AS STRING) AS warc_file,
    CAST(f.warc_offset AS BIGINT) AS warc_offset,
    CAST(f.depth AS INT) AS depth,
    CAST(f.score AS BIGINT) AS score,
    CAST(f.hop_from AS STRING) AS hop_from,
    CAST(p.parse_status AS STRING) AS parse_status,
    CAST(p.reason AS STRING) AS parse_reason,
    -- an answer without content is of the type the page had
    CAST(CASE WHEN f.outcome = 'not_modified' THEN k.media_type ELSE p.media_type END AS STRING) AS media_type,
    CAST(p.canonical_key AS STRING) AS canonical_key,
    CAST(p.fingerprint AS BIGINT) AS fingerprint,
    CAST(p.noindex AS BOOLEAN) AS noindex,
    CAST(p.outlink_count AS INT) AS outlink_count,
    -- an answer of the host to a page asked later shows that it was well; so does one since the page failed before
    CAST(CASE
        WHEN f.outcome <> 'retry' THEN FALSE
        WHEN f.http_status < 500 OR (f.http_status IS NULL AND f.reason NOT IN ('timeout', 'tls_failed')) THEN FALSE
        WHEN f.http_status IS NULL AND f.reason IS NULL THEN FALSE
        WHEN g.last_at >= f.fetched_at THEN FALSE
        WHEN h.last_success_at > k.checked_at AND COALESCE(k.http_status, 599) >= 500 THEN FALSE
        ELSE TRUE
    END AS BOOLEAN) AS host_failed,
    CAST(CASE WHEN p.url_key IS NULL THEN f.digest ELSE p.signature END AS BINARY) AS signature
FROM newest_fetch f
LEFT JOIN newest_parse p ON p.url_key = f.url_key AND p.place = 1
LEFT JOIN known_pages k ON k.url_key = f.url_key
LEFT JOIN good g ON g.host = f.host
LEFT JOIN hostdb h ON h.host = f.host
WHERE f.place = 1
