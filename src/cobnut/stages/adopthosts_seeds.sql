-- The next `seeds`: those there were, and those of the other crawl that are new.
WITH every_row AS (
    SELECT 0 AS place_of_origin, h.url_key AS url_key, h.url AS url, h.host AS host, h.injected_at AS injected_at
    FROM seeds h
    UNION ALL
    SELECT 1 AS place_of_origin, o.url_key AS url_key, o.url AS url, o.host AS host, o.injected_at AS injected_at
    FROM other_seeds o
),
numbered AS (
    SELECT
        e.*,
        row_number() OVER (
            PARTITION BY e.url_key
            ORDER BY
                e.place_of_origin ASC NULLS LAST, e.injected_at ASC NULLS LAST, e.url ASC NULLS LAST,
                e.host ASC NULLS LAST
        ) AS place
    FROM every_row e
)
SELECT
    CAST(n.url_key AS STRING) AS url_key,
    CAST(n.url AS STRING) AS url,
    CAST(n.host AS STRING) AS host,
    CAST(n.injected_at AS BIGINT) AS injected_at
FROM numbered n
WHERE n.place = 1
