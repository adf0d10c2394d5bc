-- All inlinks of the pages that are touched: an adopted link replaces the one adopted before it.
SELECT
    CAST(k.to_key AS STRING) AS to_key,
    CAST(k.from_key AS STRING) AS from_key,
    CAST(k.to_host AS STRING) AS to_host,
    CAST(k.to_bucket AS INT) AS to_bucket,
    CAST(k.from_host AS STRING) AS from_host,
    CAST(k.anchor AS STRING) AS anchor,
    CAST(k.nofollow AS BOOLEAN) AS nofollow,
    CAST(k.kind AS STRING) AS kind,
    CAST(k.from_score AS BIGINT) AS from_score,
    CAST(k.segment AS STRING) AS segment
FROM known_inlinks k
LEFT JOIN adopted_inlinks a ON a.to_key = k.to_key AND a.from_key = k.from_key
WHERE a.to_key IS NULL
UNION ALL
SELECT
    CAST(a.to_key AS STRING) AS to_key,
    CAST(a.from_key AS STRING) AS from_key,
    CAST(a.to_host AS STRING) AS to_host,
    CAST(a.bucket AS INT) AS to_bucket,
    CAST(a.from_host AS STRING) AS from_host,
    CAST(a.anchor AS STRING) AS anchor,
    CAST(a.nofollow AS BOOLEAN) AS nofollow,
    CAST(a.kind AS STRING) AS kind,
    CAST(a.from_score AS BIGINT) AS from_score,
    CAST(p.imported AS STRING) AS segment
FROM adopted_inlinks a
CROSS JOIN params p
