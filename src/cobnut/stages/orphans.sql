-- The pages of this partition that were found through others, stand, and that no page leads to now; and since when.
WITH linked AS (
    SELECT DISTINCT l.to_key AS url_key
    FROM linkdb l
    JOIN standing s ON s.url_key = l.from_key
    WHERE l.from_key <> l.to_key
)
SELECT
    CAST(o.url_key AS STRING) AS url_key,
    CAST(o.host AS STRING) AS host,
    CAST(o.bucket AS INT) AS bucket,
    CAST(CASE WHEN f.since <= p.now_ms THEN f.since ELSE p.now_ms END AS BIGINT) AS since
FROM pages o
LEFT JOIN linked l ON l.url_key = o.url_key
LEFT JOIN redirected r ON r.url_key = o.url_key
LEFT JOIN seeds d ON d.url_key = o.url_key
LEFT JOIN orphans f ON f.url_key = o.url_key
CROSS JOIN params p
WHERE o.segment IS NOT NULL AND o.discovered_from IS NOT NULL
    AND l.url_key IS NULL AND r.url_key IS NULL AND d.url_key IS NULL
