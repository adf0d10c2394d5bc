-- Of each seed the line that counts: the one with the higher score, then the later one.
-- Few seeds come twice; only these are put in order.
WITH again AS (
    SELECT f.url_key AS url_key FROM found f GROUP BY f.url_key HAVING COUNT(*) > 1
),
ranked AS (
    SELECT f.*, 1 AS place
    FROM found f
    LEFT JOIN again a ON a.url_key = f.url_key
    WHERE a.url_key IS NULL
    UNION ALL
    SELECT
        f.*,
        row_number() OVER (
            PARTITION BY f.url_key ORDER BY f.score DESC NULLS LAST, f.line_no DESC NULLS LAST
        ) AS place
    FROM found f
    JOIN again a ON a.url_key = f.url_key
)
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
FROM ranked r
WHERE r.place = 1
