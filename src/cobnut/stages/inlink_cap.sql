-- Of each page's inlinks the best sources stay: highest score first, equal ones by key. Only pages that have more than
-- may stay are ranked.
WITH crowded AS (
    SELECT i.to_key AS to_key
    FROM inlinks i
    CROSS JOIN params p
    GROUP BY i.to_key, p.max_inlinks
    HAVING COUNT(*) > p.max_inlinks
),
ranked AS (
    SELECT
        i.to_key AS to_key, i.from_key AS from_key,
        row_number() OVER (
            PARTITION BY i.to_key ORDER BY i.from_score DESC NULLS LAST, i.from_key ASC NULLS LAST
        ) AS place
    FROM inlinks i
    JOIN crowded c ON c.to_key = i.to_key
),
surplus AS (
    SELECT r.to_key AS to_key, r.from_key AS from_key
    FROM ranked r
    CROSS JOIN params p
    WHERE r.place > p.max_inlinks
)
SELECT
    CAST(i.to_key AS STRING) AS to_key,
    CAST(i.from_key AS STRING) AS from_key,
    CAST(i.to_host AS STRING) AS to_host,
    CAST(i.to_bucket AS INT) AS to_bucket,
    CAST(i.from_host AS STRING) AS from_host,
    CAST(i.anchor AS STRING) AS anchor,
    CAST(i.nofollow AS BOOLEAN) AS nofollow,
    CAST(i.kind AS STRING) AS kind,
    CAST(i.from_score AS BIGINT) AS from_score,
    CAST(i.segment AS STRING) AS segment
FROM inlinks i
LEFT JOIN surplus x ON x.to_key = i.to_key AND x.from_key = i.from_key
WHERE x.to_key IS NULL
