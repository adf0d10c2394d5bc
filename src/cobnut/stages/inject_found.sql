-- The seeds that no rule keeps out.
SELECT
    CAST(r.line_no AS BIGINT) AS line_no,
    CAST(r.url_key AS STRING) AS url_key,
    CAST(r.url AS STRING) AS url,
    CAST(r.requested AS STRING) AS requested,
    CAST(r.host AS STRING) AS host,
    CAST(r.bucket AS INT) AS bucket,
    CAST(r.score AS BIGINT) AS score,
    CAST(r.score_given AS BOOLEAN) AS score_given,
    CAST(r.interval_s AS BIGINT) AS interval_s,
    CAST(r.fixed_interval_s AS BIGINT) AS fixed_interval_s,
    CAST(r.host_interval_s AS BIGINT) AS host_interval_s,
    r.metadata AS metadata
FROM read r
WHERE r.rule IS NULL
