-- The best of this partition: at most `max_per_host` of a host and `top_n` in all, best score first.
WITH by_host AS (
    SELECT
        s.*,
        row_number() OVER (
            PARTITION BY s.host ORDER BY s.score DESC NULLS LAST, s.depth ASC NULLS LAST, s.url_key ASC NULLS LAST
        ) AS place_in_host
    FROM screened s
    WHERE s.rule IS NULL
),
by_score AS (
    SELECT
        b.*,
        row_number() OVER (
            ORDER BY b.score DESC NULLS LAST, b.depth ASC NULLS LAST, b.url_key ASC NULLS LAST
        ) AS place
    FROM by_host b
    CROSS JOIN params p
    WHERE b.place_in_host <= p.max_per_host
)
SELECT
    CAST(b.url_key AS STRING) AS url_key,
    CAST(b.requested AS STRING) AS url,
    CAST(b.host AS STRING) AS host,
    CAST(b.bucket AS INT) AS bucket,
    CAST(b.score AS BIGINT) AS score,
    CAST(b.depth AS INT) AS depth,
    CAST(o.etag AS STRING) AS etag,
    CAST(o.last_modified AS STRING) AS last_modified,
    CAST(b.signature AS BINARY) AS signature,
    -- a page that redirected has passed on its score too
    CAST(b.fetched_before OR o.redirect_key IS NOT NULL AS BOOLEAN) AS fetched_before,
    o.metadata AS metadata
FROM by_score b
LEFT JOIN pages o ON o.url_key = b.url_key
CROSS JOIN params p
WHERE b.place <= p.top_n
