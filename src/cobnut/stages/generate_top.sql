-- The best of all partitions, best score first.
WITH by_score AS (
    SELECT
        b.*,
        row_number() OVER (
            ORDER BY b.score DESC NULLS LAST, b.depth ASC NULLS LAST, b.url_key ASC NULLS LAST
        ) AS place
    FROM best b
)
SELECT
    CAST(s.url_key AS STRING) AS url_key,
    CAST(s.url AS STRING) AS url,
    CAST(s.host AS STRING) AS host,
    CAST(s.bucket AS INT) AS bucket,
    CAST(s.score AS BIGINT) AS score,
    CAST(s.depth AS INT) AS depth,
    CAST(s.etag AS STRING) AS etag,
    CAST(s.last_modified AS STRING) AS last_modified,
    CAST(s.signature AS BINARY) AS signature,
    CAST(s.fetched_before AS BOOLEAN) AS fetched_before,
    s.metadata AS metadata
FROM by_score s
CROSS JOIN params p
WHERE s.place <= p.top_n
