-- Of each host of this partition the shortest URL that was fetched: it may become a seed.
WITH numbered AS (
    SELECT
        n.url_key AS url_key, n.requested AS url, n.host AS host,
        row_number() OVER (
            PARTITION BY n.host ORDER BY LENGTH(n.requested) ASC NULLS LAST, n.url_key ASC NULLS LAST
        ) AS place
    FROM newest n
    WHERE n.may_seed AND n.status IN ('fetched', 'not_modified')
)
SELECT
    CAST(c.url_key AS STRING) AS url_key,
    CAST(c.url AS STRING) AS url,
    CAST(c.host AS STRING) AS host
FROM numbered c
WHERE c.place = 1
