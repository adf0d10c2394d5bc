-- The rows of the crawldb that seeds change or add in this partition. An existing row wins, unless `overwrite` (the seed
-- replaces it) or `renew` (its score and interval, where given); a page that is a seed has depth 0.
WITH joined AS (
    SELECT
        s.url_key AS key,
        c.url_key IS NOT NULL AND NOT p.overwrite AS keeps,
        c.url_key IS NOT NULL AND p.renew AND NOT p.overwrite AS renews,
        c.url AS old_url, c.status AS old_status, c.reason AS old_reason, c.due_at AS old_due_at,
        c.fetched_at AS old_fetched_at, c.modified_at AS old_modified_at, c.retries AS old_retries,
        c.interval_s AS old_interval_s, c.fixed_interval_s AS old_fixed_interval_s, c.score AS old_score,
        c.signature AS old_signature, c.outlink_count AS old_outlink_count,
        s.url AS url, s.score AS score, s.score_given AS score_given, s.interval_s AS interval_s,
        s.fixed_interval_s AS fixed_interval_s,
        COALESCE(c.host, s.host) AS the_host,
        COALESCE(c.bucket, s.bucket) AS the_bucket,
        p.now_ms AS now_ms,
        COALESCE(s.host_interval_s, p.interval_s) AS default_interval_s
    FROM best s
    LEFT JOIN known c ON c.url_key = s.url_key
    CROSS JOIN params p
)
SELECT
    CAST(j.key AS STRING) AS url_key,
    CAST(CASE WHEN j.keeps THEN j.old_url ELSE j.url END AS STRING) AS url,
    CAST(j.the_host AS STRING) AS host,
    CAST(j.the_bucket AS INT) AS bucket,
    CAST(CASE WHEN j.keeps THEN j.old_status ELSE 'unfetched' END AS STRING) AS status,
    CAST(CASE WHEN j.keeps THEN j.old_reason ELSE NULL END AS STRING) AS reason,
    CAST(CASE WHEN j.keeps THEN j.old_due_at ELSE j.now_ms END AS BIGINT) AS due_at,
    CAST(CASE WHEN j.keeps THEN j.old_fetched_at ELSE NULL END AS BIGINT) AS fetched_at,
    CAST(CASE WHEN j.keeps THEN j.old_modified_at ELSE NULL END AS BIGINT) AS modified_at,
    CAST(CASE WHEN j.keeps THEN j.old_retries ELSE 0 END AS INT) AS retries,
    CAST(CASE
        WHEN j.renews AND j.interval_s IS NOT NULL THEN j.interval_s
        WHEN j.keeps THEN j.old_interval_s
        WHEN j.interval_s IS NOT NULL THEN j.interval_s
        ELSE j.default_interval_s
    END AS BIGINT) AS interval_s,
    CAST(CASE
        WHEN j.renews AND j.fixed_interval_s IS NOT NULL THEN j.fixed_interval_s
        WHEN j.keeps THEN j.old_fixed_interval_s
        ELSE j.fixed_interval_s
    END AS BIGINT) AS fixed_interval_s,
    CAST(CASE
        WHEN j.renews AND j.score_given THEN j.score
        WHEN j.keeps THEN j.old_score
        ELSE j.score
    END AS BIGINT) AS score,
    CAST(CASE WHEN j.keeps THEN j.old_signature ELSE NULL END AS BINARY) AS signature,
    CAST(CASE WHEN j.keeps THEN j.old_outlink_count ELSE NULL END AS INT) AS outlink_count,
    CAST(0 AS INT) AS depth
FROM joined j
