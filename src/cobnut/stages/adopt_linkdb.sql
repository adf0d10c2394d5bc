-- The next linkdb of this partition: an adopted link replaces the one adopted before it; of each page's inlinks the best
-- sources stay.
WITH together AS (
    SELECT
        o.to_key AS to_key, o.from_key AS from_key, o.to_host AS to_host, o.to_bucket AS to_bucket,
        o.from_host AS from_host, o.anchor AS anchor, o.nofollow AS nofollow, o.kind AS kind,
        o.from_score AS from_score, o.segment AS segment
    FROM linkdb o
    LEFT JOIN adopted_inlinks a ON a.to_key = o.to_key AND a.from_key = o.from_key
    WHERE a.to_key IS NULL
    UNION ALL
    SELECT
        a.to_key AS to_key, a.from_key AS from_key, a.to_host AS to_host, a.bucket AS to_bucket,
        a.from_host AS from_host, a.anchor AS anchor, a.nofollow AS nofollow, a.kind AS kind,
        a.from_score AS from_score, p.imported AS segment
    FROM adopted_inlinks a
    CROSS JOIN params p
),
crowded AS (
    SELECT t.to_key AS to_key
    FROM together t
    CROSS JOIN params p
    GROUP BY t.to_key, p.max_inlinks
    HAVING COUNT(*) > p.max_inlinks
),
ranked AS (
    SELECT
        t.to_key AS to_key, t.from_key AS from_key,
        row_number() OVER (
            PARTITION BY t.to_key ORDER BY t.from_score DESC NULLS LAST, t.from_key ASC NULLS LAST
        ) AS place
    FROM together t
    JOIN crowded c ON c.to_key = t.to_key
),
surplus AS (
    SELECT r.to_key AS to_key, r.from_key AS from_key
    FROM ranked r
    CROSS JOIN params p
    WHERE r.place > p.max_inlinks
)
SELECT
    CAST(t.to_key AS STRING) AS to_key,
    CAST(t.from_key AS STRING) AS from_key,
    CAST(t.to_host AS STRING) AS to_host,
    CAST(t.to_bucket AS INT) AS to_bucket,
    CAST(t.from_host AS STRING) AS from_host,
    CAST(t.anchor AS STRING) AS anchor,
    CAST(t.nofollow AS BOOLEAN) AS nofollow,
    CAST(t.kind AS STRING) AS kind,
    CAST(t.from_score AS BIGINT) AS from_score,
    CAST(t.segment AS STRING) AS segment
FROM together t
LEFT JOIN surplus x ON x.to_key = t.to_key AND x.from_key = t.from_key
WHERE x.to_key IS NULL
