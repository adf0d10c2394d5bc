-- The crawldb's rows of the seeds of this partition.
SELECT
    CAST(c.url_key AS STRING) AS url_key,
    CAST(c.url AS STRING) AS url,
    CAST(c.host AS STRING) AS host,
    CAST(c.bucket AS INT) AS bucket,
    CAST(c.status AS STRING) AS status,
    CAST(c.reason AS STRING) AS reason,
    CAST(c.due_at AS BIGINT) AS due_at,
    CAST(c.fetched_at AS BIGINT) AS fetched_at,
    CAST(c.modified_at AS BIGINT) AS modified_at,
    CAST(c.retries AS INT) AS retries,
    CAST(c.interval_s AS BIGINT) AS interval_s,
    CAST(c.fixed_interval_s AS BIGINT) AS fixed_interval_s,
    CAST(c.score AS BIGINT) AS score,
    CAST(c.signature AS BINARY) AS signature,
    CAST(c.outlink_count AS INT) AS outlink_count,
    CAST(c.depth AS INT) AS depth
FROM crawldb c
JOIN best b ON b.url_key = c.url_key
