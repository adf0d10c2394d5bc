-- The hosts of this partition whose domains are asked for.
SELECT DISTINCT CAST(d.host AS STRING) AS host
FROM due d
CROSS JOIN params p
WHERE p.by_domain AND d.held IS NULL
