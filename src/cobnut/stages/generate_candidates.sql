-- The pages of this partition that may be fetched, with what a fetchlist says of them.
WITH told AS (
    SELECT o.url_key, o.etag, o.last_modified, o.redirect_key, o.metadata
    FROM pages o
    WHERE o.etag IS NOT NULL OR o.last_modified IS NOT NULL OR o.redirect_key IS NOT NULL OR o.metadata IS NOT NULL
)
SELECT
    CAST(b.url_key AS STRING) AS url_key,
    CAST(b.url AS STRING) AS url,
    CAST(b.host AS STRING) AS host,
    CAST(b.bucket AS INT) AS bucket,
    CAST(d.domain AS STRING) AS domain,
    CAST(b.sort_value AS BIGINT) AS sort_value,
    CAST(b.score AS BIGINT) AS score,
    CAST(b.depth AS INT) AS depth,
    CAST(o.etag AS STRING) AS etag,
    CAST(o.last_modified AS STRING) AS last_modified,
    CAST(b.signature AS BINARY) AS signature,
    -- a page that redirected has passed on its score too
    CAST(b.fetched_before OR o.redirect_key IS NOT NULL AS BOOLEAN) AS fetched_before,
    o.metadata AS metadata
FROM due b
LEFT JOIN (SELECT DISTINCT url_key FROM refused) f ON f.url_key = b.url_key
LEFT JOIN domains d ON d.host = b.host
LEFT JOIN told o ON o.url_key = b.url_key
WHERE b.held IS NULL AND f.url_key IS NULL
