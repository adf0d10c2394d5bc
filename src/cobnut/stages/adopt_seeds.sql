-- The next `seeds`: those there were, and one for each host that has none.
WITH hosts_with_seed AS (
    SELECT DISTINCT host FROM seeds
)
SELECT
    CAST(s.url_key AS STRING) AS url_key,
    CAST(s.url AS STRING) AS url,
    CAST(s.host AS STRING) AS host,
    CAST(s.injected_at AS BIGINT) AS injected_at
FROM seeds s
UNION ALL
SELECT
    CAST(c.url_key AS STRING) AS url_key,
    CAST(c.url AS STRING) AS url,
    CAST(c.host AS STRING) AS host,
    CAST(p.now_ms AS BIGINT) AS injected_at
FROM candidates c
CROSS JOIN params p
LEFT JOIN hosts_with_seed h ON h.host = c.host
WHERE p.with_seeds AND h.host IS NULL
