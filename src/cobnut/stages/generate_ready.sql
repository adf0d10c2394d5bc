-- The pages of this partition that nothing keeps out, before the URL filters are asked.
SELECT
    CAST(d.url_key AS STRING) AS url_key,
    CAST(d.url AS STRING) AS url,
    CAST(d.host AS STRING) AS host,
    CAST(d.bucket AS INT) AS bucket,
    CAST(d.score AS BIGINT) AS score,
    CAST(d.depth AS INT) AS depth,
    CAST(d.signature AS BINARY) AS signature,
    CAST(d.fetched_before AS BOOLEAN) AS fetched_before
FROM due d
WHERE d.held IS NULL
