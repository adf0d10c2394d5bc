-- The crawldb's rows of this partition that the round says something of, with what its links come to for each: the only
-- ones that can change. A page that links alone touch and do not change is among them: it is not new.
WITH requested AS (
    SELECT DISTINCT url_key FROM fetched
),
touched AS (
    SELECT
        COALESCE(l.url_key, r.url_key) AS url_key,
        l.depth AS depth, l.contribution AS contribution, l.changed_at AS changed_at
    FROM linked l
    FULL OUTER JOIN requested r ON r.url_key = l.url_key
)
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
    CAST(c.depth AS INT) AS depth,
    CAST(t.depth AS INT) AS links_depth,
    CAST(t.contribution AS BIGINT) AS links_contribution,
    CAST(t.changed_at AS BIGINT) AS listed_at
FROM crawldb c
JOIN touched t ON t.url_key = c.url_key
