-- The present inlinks of the pages that are touched, and which of them come from a page that was parsed again.
SELECT
    CAST(o.to_key AS STRING) AS to_key,
    CAST(o.from_key AS STRING) AS from_key,
    CAST(o.to_host AS STRING) AS to_host,
    CAST(o.to_bucket AS INT) AS to_bucket,
    CAST(o.from_host AS STRING) AS from_host,
    CAST(o.anchor AS STRING) AS anchor,
    CAST(o.nofollow AS BOOLEAN) AS nofollow,
    CAST(o.kind AS STRING) AS kind,
    CAST(o.from_score AS BIGINT) AS from_score,
    CAST(o.segment AS STRING) AS segment,
    CAST(s.url_key IS NOT NULL AS BOOLEAN) AS is_former
FROM linkdb o
JOIN touched t ON t.to_key = o.to_key
LEFT JOIN sources s ON s.url_key = o.from_key
