-- The next `robots` of this partition: of every origin the robots.txt that was read last, the present one where both are
-- as old.
WITH every_row AS (
    SELECT
        0 AS place_of_origin,
        h.origin AS origin, h.host AS host, h.bucket AS bucket, h.state AS state, h.http_status AS http_status,
        h.reason AS reason, h.body AS body, h.fetched_at AS fetched_at, h.sitemaps AS sitemaps
    FROM robots h
    UNION ALL
    SELECT
        1 AS place_of_origin,
        o.origin AS origin, o.host AS host, o.bucket AS bucket, o.state AS state, o.http_status AS http_status,
        o.reason AS reason, o.body AS body, o.fetched_at AS fetched_at, o.sitemaps AS sitemaps
    FROM other_robots o
),
numbered AS (
    SELECT
        e.*,
        row_number() OVER (
            PARTITION BY e.origin
            ORDER BY
                e.fetched_at DESC NULLS LAST, e.place_of_origin ASC NULLS LAST, e.state ASC NULLS LAST,
                e.body ASC NULLS LAST, e.http_status ASC NULLS LAST, e.reason ASC NULLS LAST, e.host ASC NULLS LAST,
                e.bucket ASC NULLS LAST
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
FROM numbered n
WHERE n.place = 1
