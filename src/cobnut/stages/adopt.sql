-- The next crawldb of this partition: winners replace the row there was, except that a page never becomes deeper and
-- that an interval the seed fixed here stays.
WITH every_key AS (
    SELECT url_key FROM crawldb
    UNION
    SELECT url_key FROM winners
),
joined AS (
    SELECT
        k.url_key AS key,
        w.url_key IS NOT NULL AS wins,
        c.url AS old_url, c.host AS old_host, c.bucket AS old_bucket, c.status AS old_status, c.reason AS old_reason,
        c.due_at AS old_due_at, c.fetched_at AS old_fetched_at, c.modified_at AS old_modified_at,
        c.retries AS old_retries, c.interval_s AS old_interval_s, c.fixed_interval_s AS old_fixed_interval_s,
        c.score AS old_score, c.signature AS old_signature, c.outlink_count AS old_outlink_count,
        c.depth AS old_depth,
        w.url AS url, w.host AS host, w.bucket AS bucket, w.status AS status, w.reason AS reason, w.due_at AS due_at,
        w.fetched_at AS fetched_at, w.modified_at AS modified_at, w.retries AS retries, w.interval_s AS interval_s,
        w.fixed_interval_s AS fixed_interval_s, w.score AS score, w.signature AS signature,
        w.outlink_count AS outlink_count, w.depth AS depth
    FROM every_key k
    LEFT JOIN crawldb c ON c.url_key = k.url_key
    LEFT JOIN winners w ON w.url_key = k.url_key
)
SELECT
    CAST(j.key AS STRING) AS url_key,
    CAST(CASE WHEN j.wins THEN j.url ELSE j.old_url END AS STRING) AS url,
    CAST(COALESCE(j.old_host, j.host) AS STRING) AS host,
    CAST(COALESCE(j.old_bucket, j.bucket) AS INT) AS bucket,
    CAST(CASE WHEN j.wins THEN j.status ELSE j.old_status END AS STRING) AS status,
    CAST(CASE WHEN j.wins THEN j.reason ELSE j.old_reason END AS STRING) AS reason,
    CAST(CASE WHEN j.wins THEN j.due_at ELSE j.old_due_at END AS BIGINT) AS due_at,
    CAST(CASE WHEN j.wins THEN j.fetched_at ELSE j.old_fetched_at END AS BIGINT) AS fetched_at,
    CAST(CASE WHEN j.wins THEN j.modified_at ELSE j.old_modified_at END AS BIGINT) AS modified_at,
    CAST(CASE WHEN j.wins THEN j.retries ELSE j.old_retries END AS INT) AS retries,
    CAST(CASE WHEN j.wins THEN j.interval_s ELSE j.old_interval_s END AS BIGINT) AS interval_s,
    CAST(COALESCE(j.old_fixed_interval_s, j.fixed_interval_s) AS BIGINT) AS fixed_interval_s,
    CAST(CASE WHEN j.wins THEN j.score ELSE j.old_score END AS BIGINT) AS score,
    CAST(CASE WHEN j.wins THEN j.signature ELSE j.old_signature END AS BINARY) AS signature,
    CAST(CASE WHEN j.wins THEN j.outlink_count ELSE j.old_outlink_count END AS INT) AS outlink_count,
    CAST(CASE
        WHEN j.old_depth IS NULL THEN j.depth
        WHEN j.wins AND j.depth < j.old_depth THEN j.depth
        ELSE j.old_depth
    END AS INT) AS depth
FROM joined j
