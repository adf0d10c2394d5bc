-- The next hostdb of this partition: hosts that are known keep their row, others come in.
WITH numbered AS (
    SELECT
        a.*,
        row_number() OVER (
            PARTITION BY a.host
            ORDER BY a.updated_at DESC NULLS LAST, a.request_count DESC NULLS LAST, a.error_count DESC NULLS LAST,
                a.dns_error_count DESC NULLS LAST, a.failures DESC NULLS LAST, a.body_bytes DESC NULLS LAST,
                a.elapsed_ms DESC NULLS LAST, a.backoff_s DESC NULLS LAST, a.next_fetch_at DESC NULLS LAST,
                a.crawl_delay_ms DESC NULLS LAST, a.last_error ASC NULLS LAST, a.success_count DESC NULLS LAST,
                a.retry_after_at DESC NULLS LAST, a.last_success_at DESC NULLS LAST, a.last_error_at DESC NULLS LAST,
                a.recent_ms DESC NULLS LAST
        ) AS place
    FROM adopted_hosts a
)
SELECT
    CAST(h.host AS STRING) AS host,
    CAST(h.bucket AS INT) AS bucket,
    CAST(h.next_fetch_at AS BIGINT) AS next_fetch_at,
    CAST(h.retry_after_at AS BIGINT) AS retry_after_at,
    CAST(h.backoff_s AS BIGINT) AS backoff_s,
    CAST(h.failures AS BIGINT) AS failures,
    CAST(h.request_count AS BIGINT) AS request_count,
    CAST(h.success_count AS BIGINT) AS success_count,
    CAST(h.error_count AS BIGINT) AS error_count,
    CAST(h.dns_error_count AS BIGINT) AS dns_error_count,
    CAST(h.last_success_at AS BIGINT) AS last_success_at,
    CAST(h.last_error AS STRING) AS last_error,
    CAST(h.last_error_at AS BIGINT) AS last_error_at,
    CAST(h.crawl_delay_ms AS BIGINT) AS crawl_delay_ms,
    CAST(h.body_bytes AS BIGINT) AS body_bytes,
    CAST(h.elapsed_ms AS BIGINT) AS elapsed_ms,
    CAST(h.recent_ms AS BIGINT) AS recent_ms,
    CAST(h.updated_at AS BIGINT) AS updated_at
FROM hostdb h
UNION ALL
SELECT
    CAST(a.host AS STRING) AS host,
    CAST(a.bucket AS INT) AS bucket,
    CAST(a.next_fetch_at AS BIGINT) AS next_fetch_at,
    CAST(a.retry_after_at AS BIGINT) AS retry_after_at,
    CAST(a.backoff_s AS BIGINT) AS backoff_s,
    CAST(a.failures AS BIGINT) AS failures,
    CAST(a.request_count AS BIGINT) AS request_count,
    CAST(a.success_count AS BIGINT) AS success_count,
    CAST(a.error_count AS BIGINT) AS error_count,
    CAST(a.dns_error_count AS BIGINT) AS dns_error_count,
    CAST(a.last_success_at AS BIGINT) AS last_success_at,
    CAST(a.last_error AS STRING) AS last_error,
    CAST(a.last_error_at AS BIGINT) AS last_error_at,
    CAST(a.crawl_delay_ms AS BIGINT) AS crawl_delay_ms,
    CAST(a.body_bytes AS BIGINT) AS body_bytes,
    CAST(a.elapsed_ms AS BIGINT) AS elapsed_ms,
    CAST(a.recent_ms AS BIGINT) AS recent_ms,
    CAST(a.updated_at AS BIGINT) AS updated_at
FROM numbered a
LEFT JOIN hostdb k ON k.host = a.host
WHERE a.place = 1 AND k.host IS NULL
