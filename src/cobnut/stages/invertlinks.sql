-- The next linkdb of this partition. Links of a page that was parsed again replace its former ones; of several links
-- between two pages the first followed one with words stays; of each page's inlinks the best sources stay.
-- Windows over wide rows are dear: the choice between two pages is a minimum of one number (followed before nofollow,
-- with words before without, then the place in the page), and only pages over the limit are ranked.
WITH former AS (
    SELECT
        o.to_key AS to_key, o.from_key AS from_key, o.to_host AS to_host, o.to_bucket AS to_bucket,
        o.from_host AS from_host, o.anchor AS anchor, o.nofollow AS nofollow, o.kind AS kind,
        o.from_score AS from_score, o.segment AS segment
    FROM linkdb o
    LEFT JOIN sources s ON s.url_key = o.from_key
    WHERE s.url_key IS NULL
),
current_links AS (
    SELECT
        l.to_key AS to_key, l.from_key AS from_key, l.to_host AS to_host, l.to_bucket AS to_bucket,
        l.from_host AS from_host, l.anchor AS anchor, l.nofollow AS nofollow, l.kind AS kind,
        l.from_score AS from_score, l.segment AS segment,
        CAST(l.position AS BIGINT)
            + CASE WHEN l.anchor IS NULL THEN CAST(1000000000000 AS BIGINT) ELSE CAST(0 AS BIGINT) END
            + CASE WHEN l.nofollow THEN CAST(2000000000000 AS BIGINT) ELSE CAST(0 AS BIGINT) END AS choice
    FROM links l
    JOIN sources s ON s.url_key = l.from_key AND s.segment = l.segment
    -- what a page embeds is no link that a reader could follow, and its words are no anchor
    WHERE l.kind NOT IN ('image', 'style', 'script', 'media', 'object')
),
chosen AS (
    SELECT c.to_key AS to_key, c.from_key AS from_key, MIN(c.choice) AS choice
    FROM current_links c
    GROUP BY c.to_key, c.from_key
),
together AS (
    SELECT to_key, from_key, to_host, to_bucket, from_host, anchor, nofollow, kind, from_score, segment FROM former
    UNION ALL
    SELECT
        c.to_key, c.from_key, c.to_host, c.to_bucket, c.from_host, c.anchor, c.nofollow, c.kind, c.from_score, c.segment
    FROM current_links c
    JOIN chosen k ON k.to_key = c.to_key AND k.from_key = c.from_key AND k.choice = c.choice
),
wanted AS (
    SELECT t.*
    FROM together t
    CROSS JOIN params p
    WHERE NOT (p.ignore_internal AND t.from_host = t.to_host)
),
crowded AS (
    SELECT w.to_key AS to_key
    FROM wanted w
    CROSS JOIN params p
    GROUP BY w.to_key, p.max_inlinks
    HAVING COUNT(*) > p.max_inlinks
),
ranked AS (
    SELECT
        w.to_key AS to_key, w.from_key AS from_key,
        row_number() OVER (
            PARTITION BY w.to_key ORDER BY w.from_score DESC NULLS LAST, w.from_key ASC NULLS LAST
        ) AS place
    FROM wanted w
    JOIN crowded c ON c.to_key = w.to_key
),
surplus AS (
    SELECT r.to_key AS to_key, r.from_key AS from_key
    FROM ranked r
    CROSS JOIN params p
    WHERE r.place > p.max_inlinks
)
SELECT
    CAST(w.to_key AS STRING) AS to_key,
    CAST(w.from_key AS STRING) AS from_key,
    CAST(w.to_host AS STRING) AS to_host,
    CAST(w.to_bucket AS INT) AS to_bucket,
    CAST(w.from_host AS STRING) AS from_host,
    CAST(w.anchor AS STRING) AS anchor,
    CAST(w.nofollow AS BOOLEAN) AS nofollow,
    CAST(w.kind AS STRING) AS kind,
    CAST(w.from_score AS BIGINT) AS from_score,
    CAST(w.segment AS STRING) AS segment
FROM wanted w
LEFT JOIN surplus x ON x.to_key = w.to_key AND x.from_key = w.from_key
WHERE x.to_key IS NULL
