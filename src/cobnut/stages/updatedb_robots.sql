-- The next `robots` of this partition: the newest robots.txt of every origin.
WITH every_row AS (
    SELECT
        r.origin AS origin, r.host AS host, r.bucket AS bucket, r.state AS state, r.http_status AS http_status,
        r.reason AS reason, r.body AS body, r.fetched_at AS fetched_at, r.sitemaps AS sitemaps
    FROM robots r
    UNION ALL
    SELECT
        h.origin AS origin, h.host AS host, h.bucket AS bucket, h.state AS state, h.http_status AS http_status,
        h.reason AS reason, h.body AS body, h.seen_at AS fetched_at, h.sitemaps AS sitemaps
    FROM hosts h
    WHERE h.event = 'robots'
),
newest AS (
    SELECT
        e.*,
        row_number() OVER (
            PARTITION BY e.origin
            ORDER BY e.fetched_at DESC NULLS LAST, e.state ASC NULLS LAST, e.body ASC NULLS LAST,
                e.http_status ASC NULLS LAST, e.reason ASC NULLS LAST
        ) AS place
    FROM every_row e
)
SELECT
    CAST(n.origin AS STRING) AS origin,
    CAST(n.host AS STRING) AS host,
    CAST(n.bucket AS INT) AS bucket,
    CAST(n.state AS STRING) AS state,
    CAST(n.http_status AS INT) AS http_status,
    CAST(n.reason AS STRING) AS reason,
    CAST(n.body AS BINARY) AS body,
    CAST(n.fetched_at AS BIGINT) AS fetched_at,
    n.sitemaps AS sitemaps
FROM newest n
WHERE n.place = 1
