-- All inlinks of the pages that are touched: links of a page that was parsed again replace its former ones.
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
CROSS JOIN params p
WHERE NOT k.is_former AND NOT (p.ignore_internal AND k.from_host = k.to_host)
UNION ALL
SELECT
    CAST(f.to_key AS STRING) AS to_key,
    CAST(f.from_key AS STRING) AS from_key,
    CAST(f.to_host AS STRING) AS to_host,
    CAST(f.to_bucket AS INT) AS to_bucket,
    CAST(f.from_host AS STRING) AS from_host,
    CAST(f.anchor AS STRING) AS anchor,
    CAST(f.nofollow AS BOOLEAN) AS nofollow,
    CAST(f.kind AS STRING) AS kind,
    CAST(f.from_score AS BIGINT) AS from_score,
    CAST(f.segment AS STRING) AS segment
FROM fresh f
CROSS JOIN params p
WHERE NOT (p.ignore_internal AND f.from_host = f.to_host)
