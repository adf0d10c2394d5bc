-- The next `hostdb` of this partition: of every host the row that changed last, the present one where both are as old.
WITH every_row AS (
    SELECT
        0 AS place_of_origin,
        h.host AS host, h.bucket AS bucket, h.next_fetch_at AS next_fetch_at, h.retry_after_at AS retry_after_at,
        h.backoff_s AS backoff_s, h.failures AS failures, h.request_count AS request_count,
        h.success_count AS success_count, h.error_count AS error_count, h.dns_error_count AS dns_error_count,
        h.last_success_at AS last_success_at, h.last_error AS last_error, h.last_error_at AS last_error_at,
        h.crawl_delay_ms AS crawl_delay_ms, h.body_bytes AS body_bytes, h.elapsed_ms AS elapsed_ms,
        h.recent_ms AS recent_ms, h.updated_at AS updated_at
    FROM hostdb h
    UNION ALL
    SELECT
        1 AS place_of_origin,
        o.host AS host, o.bucket AS bucket, o.next_fetch_at AS next_fetch_at, o.retry_after_at AS retry_after_at,
        o.backoff_s AS backoff_s, o.failures AS failures, o.request_count AS request_count,
        o.success_count AS success_count, o.error_count AS error_count, o.dns_error_count AS dns_error_count,
        o.last_success_at AS last_success_at, o.last_error AS last_error, o.last_error_at AS last_error_at,
        o.crawl_delay_ms AS crawl_delay_ms, o.body_bytes AS body_bytes, o.elapsed_ms AS elapsed_ms,
        o.recent_ms AS recent_ms, o.updated_at AS updated_at
    FROM other_hostdb o
),
numbered AS (
    SELECT
        e.*,
        row_number() OVER (
            PARTITION BY e.host
            ORDER BY
                e.updated_at DESC NULLS LAST, e.place_of_origin ASC NULLS LAST, e.next_fetch_at DESC NULLS LAST,
                e.retry_after_at DESC NULLS LAST, e.backoff_s DESC NULLS LAST, e.failures DESC NULLS LAST,
                e.request_count DESC NULLS LAST, e.success_count DESC NULLS LAST, e.error_count DESC NULLS LAST,
                e.dns_error_count DESC NULLS LAST, e.last_success_at DESC NULLS LAST, e.last_error_at DESC NULLS LAST,
                e.crawl_delay_ms DESC NULLS LAST, e.body_bytes DESC NULLS LAST, e.elapsed_ms DESC NULLS LAST,
                e.recent_ms DESC NULLS LAST, e.last_error ASC NULLS LAST, e.bucket ASC NULLS LAST
        ) AS place
    FROM every_row e
)
SELECT
    CAST(n.host AS STRING) AS host,
    CAST(n.bucket AS INT) AS bucket,
    CAST(n.next_fetch_at AS BIGINT) AS next_fetch_at,
    CAST(n.retry_after_at AS BIGINT) AS retry_after_at,
    CAST(n.backoff_s AS BIGINT) AS backoff_s,
    CAST(n.failures AS BIGINT) AS failures,
    CAST(n.request_count AS BIGINT) AS request_count,
    CAST(n.success_count AS BIGINT) AS success_count,
    CAST(n.error_count AS BIGINT) AS error_count,
    CAST(n.dns_error_count AS BIGINT) AS dns_error_count,
    CAST(n.last_success_at AS BIGINT) AS last_success_at,
    CAST(n.last_error AS STRING) AS last_error,
    CAST(n.last_error_at AS BIGINT) AS last_error_at,
    CAST(n.crawl_delay_ms AS BIGINT) AS crawl_delay_ms,
    CAST(n.body_bytes AS BIGINT) AS body_bytes,
    CAST(n.elapsed_ms AS BIGINT) AS elapsed_ms,
    CAST(n.recent_ms AS BIGINT) AS recent_ms,
    CAST(n.updated_at AS BIGINT) AS updated_at
FROM numbered n
WHERE n.place = 1
