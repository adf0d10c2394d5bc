-- What the whole crawl says of every parsed page of this partition: scores and counts of inlinks.
WITH led_here AS (
    SELECT l.to_key AS to_key, l.from_key AS from_key, l.to_host AS to_host, l.from_host AS from_host FROM linkdb l
    UNION ALL
    SELECT x.to_key, x.from_key, x.to_host, x.from_host FROM passed x
),
counts AS (
    SELECT
        l.to_key AS to_key,
        COUNT(DISTINCT l.from_key) AS inlink_count,
        COUNT(DISTINCT CASE WHEN l.from_host <> l.to_host THEN l.from_host ELSE NULL END) AS inlink_host_count
    FROM led_here l
    WHERE l.from_key <> l.to_key
    GROUP BY l.to_key
),
page_of_segment AS (
    SELECT DISTINCT p.url_key AS url_key, p.host AS host, p.bucket AS bucket, p.segment AS segment
    FROM parsed p
)
SELECT
    CAST(p.segment AS STRING) AS segment,
    CAST(p.url_key AS STRING) AS url_key,
    CAST(p.host AS STRING) AS host,
    CAST(p.bucket AS INT) AS bucket,
    CAST(COALESCE(c.score, 0) AS BIGINT) AS score,
    CAST(COALESCE(r.page_rank, 0) AS BIGINT) AS page_rank,
    CAST(COALESCE(r.host_rank, 0) AS BIGINT) AS host_rank,
    CAST(COALESCE(n.inlink_count, 0) AS BIGINT) AS inlink_count,
    CAST(COALESCE(n.inlink_host_count, 0) AS BIGINT) AS inlink_host_count
FROM page_of_segment p
LEFT JOIN crawldb c ON c.url_key = p.url_key
LEFT JOIN ranks r ON r.url_key = p.url_key
LEFT JOIN counts n ON n.to_key = p.url_key
