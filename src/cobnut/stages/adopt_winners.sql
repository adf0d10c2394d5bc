-- The adopted rows that replace what is known here: those visited later, those of unknown pages, and with `overwrite`
-- all. One as old as the present row replaces it only when it alone knows where the content lies.
WITH times AS (
    SELECT
        n.url_key AS url_key,
        c.url_key IS NOT NULL AS was_known,
        n.segment IS NOT NULL AND p.segment IS NULL AS has_content_alone,
        CASE
            WHEN n.fetched_at IS NULL THEN COALESCE(n.checked_at, -1)
            WHEN n.checked_at IS NULL OR n.checked_at < n.fetched_at THEN n.fetched_at
            ELSE n.checked_at
        END AS visited_at,
        CASE
            WHEN c.fetched_at IS NULL THEN COALESCE(p.checked_at, -1)
            WHEN p.checked_at IS NULL OR p.checked_at < c.fetched_at THEN c.fetched_at
            ELSE p.checked_at
        END AS former_visited_at
    FROM newest n
    LEFT JOIN crawldb c ON c.url_key = n.url_key
    LEFT JOIN pages p ON p.url_key = n.url_key
),
chosen AS (
    SELECT t.url_key AS url_key
    FROM times t
    CROSS JOIN params q
    WHERE NOT t.was_known OR q.overwrite OR t.visited_at > t.former_visited_at
        OR (t.visited_at = t.former_visited_at AND t.has_content_alone)
)
SELECT
    CAST(n.url_key AS STRING) AS url_key,
    CAST(n.url AS STRING) AS url,
    CAST(n.host AS STRING) AS host,
    CAST(n.bucket AS INT) AS bucket,
    CAST(n.status AS STRING) AS status,
    CAST(n.reason AS STRING) AS reason,
    CAST(n.due_at AS BIGINT) AS due_at,
    CAST(n.fetched_at AS BIGINT) AS fetched_at,
    CAST(n.modified_at AS BIGINT) AS modified_at,
    CAST(n.retries AS INT) AS retries,
    CAST(n.interval_s AS BIGINT) AS interval_s,
    CAST(n.fixed_interval_s AS BIGINT) AS fixed_interval_s,
    CAST(n.score AS BIGINT) AS score,
    CAST(n.signature AS BINARY) AS signature,
    CAST(n.outlink_count AS INT) AS outlink_count,
    CAST(n.depth AS INT) AS depth,
    CAST(n.etag AS STRING) AS etag,
    CAST(n.last_modified AS STRING) AS last_modified,
    CAST(n.http_status AS INT) AS http_status,
    CAST(n.checked_at AS BIGINT) AS checked_at,
    CAST(n.media_type AS STRING) AS media_type,
    CAST(n.redirect_key AS STRING) AS redirect_key,
    CAST(n.canonical_key AS STRING) AS canonical_key,
    CAST(n.fingerprint AS BIGINT) AS fingerprint,
    CAST(n.segment AS STRING) AS segment,
    CAST(n.warc_file AS STRING) AS warc_file,
    CAST(n.warc_offset AS BIGINT) AS warc_offset,
    CAST(n.discovered_at AS BIGINT) AS discovered_at,
    CAST(n.discovered_from AS STRING) AS discovered_from,
    CAST(n.discovered_via AS STRING) AS discovered_via,
    n.metadata AS metadata,
    CAST(n.requested AS STRING) AS requested,
    CAST(n.may_seed AS BOOLEAN) AS may_seed,
    CAST(n.sequence AS BIGINT) AS sequence
FROM newest n
JOIN chosen k ON k.url_key = n.url_key
