-- The anchors of every parsed page of this partition, best sources first; links within the own host after the others.
WITH wanted AS (
    SELECT DISTINCT p.url_key AS url_key FROM parsed p
),
led_here AS (
    SELECT
        l.to_key AS to_key, l.from_key AS from_key, l.to_host AS to_host, l.from_host AS from_host, l.anchor AS anchor,
        l.from_score AS from_score
    FROM linkdb l
    UNION ALL
    SELECT x.to_key, x.from_key, x.to_host, x.from_host, x.anchor, x.from_score FROM passed x
),
ranked AS (
    SELECT
        l.to_key AS url_key,
        l.from_key AS from_key,
        l.anchor AS anchor,
        row_number() OVER (
            PARTITION BY l.to_key
            ORDER BY
                CASE WHEN l.from_host = l.to_host THEN 1 ELSE 0 END ASC NULLS LAST,
                l.from_score DESC NULLS LAST, l.from_key ASC NULLS LAST, l.anchor ASC NULLS LAST
        ) AS place
    FROM led_here l
    JOIN wanted w ON w.url_key = l.to_key
    WHERE l.anchor IS NOT NULL AND l.from_key <> l.to_key
)
SELECT
    CAST(r.url_key AS STRING) AS url_key,
    CAST(r.from_key AS STRING) AS from_key,
    CAST(r.anchor AS STRING) AS anchor,
    CAST(r.place AS BIGINT) AS place
FROM ranked r
CROSS JOIN params p
WHERE r.place <= p.max_anchors
