-- The next hostdb of this partition: former sums, plus what the round's traffic rows say.
WITH traffic AS (
    SELECT
        h.*,
        row_number() OVER (
            PARTITION BY h.host ORDER BY h.seen_at DESC NULLS LAST, h.request_count DESC NULLS LAST,
                h.error_count DESC NULLS LAST, h.elapsed_ms DESC NULLS LAST, h.reason ASC NULLS LAST,
                h.failures DESC NULLS LAST, h.next_fetch_at DESC NULLS LAST, h.backoff_s DESC NULLS LAST,
                h.last_error_at DESC NULLS LAST
        ) AS place
    FROM hosts h
    WHERE h.event = 'traffic'
),
sums AS (
    SELECT
        t.host AS host,
        SUM(t.request_count) AS request_count,
        SUM(t.success_count) AS success_count,
        SUM(t.error_count) AS error_count,
        SUM(t.dns_error_count) AS dns_error_count,
        SUM(t.body_bytes) AS body_bytes,
        SUM(t.elapsed_ms) AS elapsed_ms,
        MAX(t.last_success_at) AS last_success_at,
        MAX(t.last_error_at) AS last_error_at,
        MAX(t.retry_after_at) AS retry_after_at,
        CASE
            WHEN SUM(t.request_count) > 0 THEN CAST(FLOOR(
                CAST(SUM(t.elapsed_ms) AS DOUBLE) / CAST(SUM(t.request_count) AS DOUBLE)
            ) AS BIGINT)
            ELSE NULL
        END AS mean_ms
    FROM traffic t
    GROUP BY t.host
),
last_traffic AS (
    SELECT * FROM traffic WHERE place = 1
),
delays AS (
    SELECT
        h.host AS host,
        MAX(h.crawl_delay_ms) AS crawl_delay_ms
    FROM hosts h
    WHERE h.event = 'robots' AND h.state = 'rules'
    GROUP BY h.host
),
every_host AS (
    SELECT host, bucket FROM hostdb
    UNION
    SELECT host, bucket FROM hosts
)
SELECT
    CAST(k.host AS STRING) AS host,
    CAST(k.bucket AS INT) AS bucket,
    CAST(CASE WHEN l.host IS NOT NULL THEN l.next_fetch_at ELSE o.next_fetch_at END AS BIGINT) AS next_fetch_at,
    CAST(CASE WHEN s.retry_after_at IS NOT NULL THEN s.retry_after_at ELSE o.retry_after_at END AS BIGINT) AS retry_after_at,
    CAST(CASE WHEN l.host IS NOT NULL THEN COALESCE(l.backoff_s, 0) ELSE COALESCE(o.backoff_s, 0) END AS BIGINT)
        AS backoff_s,
    CAST(CASE WHEN l.host IS NOT NULL THEN COALESCE(l.failures, 0) ELSE COALESCE(o.failures, 0) END AS BIGINT)
        AS failures,
    CAST(COALESCE(o.request_count, 0) + COALESCE(s.request_count, 0) AS BIGINT) AS request_count,
    CAST(COALESCE(o.success_count, 0) + COALESCE(s.success_count, 0) AS BIGINT) AS success_count,
    CAST(COALESCE(o.error_count, 0) + COALESCE(s.error_count, 0) AS BIGINT) AS error_count,
    CAST(COALESCE(o.dns_error_count, 0) + COALESCE(s.dns_error_count, 0) AS BIGINT) AS dns_error_count,
    CAST(CASE
        WHEN o.last_success_at IS NULL OR s.last_success_at > o.last_success_at THEN s.last_success_at
        ELSE o.last_success_at
    END AS BIGINT) AS last_success_at,
    CAST(CASE WHEN l.reason IS NOT NULL THEN l.reason ELSE o.last_error END AS STRING) AS last_error,
    CAST(CASE
        WHEN o.last_error_at IS NULL OR s.last_error_at > o.last_error_at THEN s.last_error_at
        ELSE o.last_error_at
    END AS BIGINT) AS last_error_at,
    CAST(CASE WHEN d.host IS NOT NULL THEN d.crawl_delay_ms ELSE o.crawl_delay_ms END AS BIGINT) AS crawl_delay_ms,
    CAST(COALESCE(o.body_bytes, 0) + COALESCE(s.body_bytes, 0) AS BIGINT) AS body_bytes,
    CAST(COALESCE(o.elapsed_ms, 0) + COALESCE(s.elapsed_ms, 0) AS BIGINT) AS elapsed_ms,
    CAST(CASE
        WHEN s.mean_ms IS NULL THEN o.recent_ms
        WHEN o.recent_ms IS NULL THEN s.mean_ms
        ELSE CAST(FLOOR(CAST(3 * o.recent_ms + s.mean_ms AS DOUBLE) / CAST(4 AS DOUBLE)) AS BIGINT)
    END AS BIGINT) AS recent_ms,
    CAST(CASE
        WHEN o.host IS NULL OR l.host IS NOT NULL OR d.host IS NOT NULL THEN p.now_ms
        ELSE o.updated_at
    END AS BIGINT) AS updated_at
FROM every_host k
LEFT JOIN hostdb o ON o.host = k.host
LEFT JOIN sums s ON s.host = k.host
LEFT JOIN last_traffic l ON l.host = k.host
LEFT JOIN delays d ON d.host = k.host
CROSS JOIN params p
