-- The next `seeds`: those there were, and those that were added.
WITH every_row AS (
    SELECT s.url_key AS url_key, s.url AS url, s.host AS host, s.injected_at AS injected_at, 0 AS line_no
    FROM seeds s
    UNION ALL
    SELECT f.url_key AS url_key, f.requested AS url, f.host AS host, p.now_ms AS injected_at, f.line_no AS line_no
    FROM found f
    CROSS JOIN params p
),
again AS (
    SELECT e.url_key AS url_key FROM every_row e GROUP BY e.url_key HAVING COUNT(*) > 1
),
first_seen AS (
    SELECT e.*, 1 AS place
    FROM every_row e
    LEFT JOIN again a ON a.url_key = e.url_key
    WHERE a.url_key IS NULL
    UNION ALL
    SELECT
        e.*,
        row_number() OVER (
            PARTITION BY e.url_key ORDER BY e.injected_at ASC NULLS LAST, e.line_no ASC NULLS LAST
        ) AS place
    FROM every_row e
    JOIN again a ON a.url_key = e.url_key
)
SELECT
    CAST(f.url_key AS STRING) AS url_key,
    CAST(f.url AS STRING) AS url,
    CAST(f.host AS STRING) AS host,
    CAST(f.injected_at AS BIGINT) AS injected_at
FROM first_seen f
WHERE f.place = 1
