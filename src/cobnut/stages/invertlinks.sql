-- The next linkdb of this partition. Links of a page that was parsed again replace its former ones; of several links
-- between two pages the first with words stays; of each page's inlinks the best sources stay.
WITH former AS (
    SELECT
        o.to_key AS to_key, o.from_key AS from_key, o.to_host AS to_host, o.to_bucket AS to_bucket,
        o.from_host AS from_host, o.anchor AS anchor, o.nofollow AS nofollow, o.kind AS kind,
        o.from_score AS from_score, o.segment AS segment
    FROM linkdb o
    LEFT JOIN sources s ON s.url_key = o.from_key
    WHERE s.url_key IS NULL
),
fresh AS (
    SELECT
        l.to_key AS to_key, l.from_key AS from_key, l.to_host AS to_host, l.to_bucket AS to_bucket,
        l.from_host AS from_host, l.anchor AS anchor, l.nofollow AS nofollow, l.kind AS kind,
        l.from_score AS from_score, l.segment AS segment,
        row_number() OVER (
            PARTITION BY l.to_key, l.from_key
            ORDER BY
                CASE WHEN l.nofollow THEN 1 ELSE 0 END ASC NULLS LAST,
                CASE WHEN l.anchor IS NULL THEN 1 ELSE 0 END ASC NULLS LAST,
                l.position ASC NULLS LAST, l.anchor ASC NULLS LAST, l.kind ASC NULLS LAST,
                l.from_score DESC NULLS LAST
        ) AS place
    FROM links l
    JOIN sources s ON s.url_key = l.from_key AND s.segment = l.segment
),
together AS (
    SELECT to_key, from_key, to_host, to_bucket, from_host, anchor, nofollow, kind, from_score, segment FROM former
    UNION ALL
    SELECT to_key, from_key, to_host, to_bucket, from_host, anchor, nofollow, kind, from_score, segment FROM fresh
    WHERE place = 1
),
ranked AS (
    SELECT
        b.*,
        row_number() OVER (
            PARTITION BY b.to_key ORDER BY b.from_score DESC NULLS LAST, b.from_key ASC NULLS LAST
        ) AS place
    FROM together b
    CROSS JOIN params p
    WHERE NOT (p.ignore_internal AND b.from_host = b.to_host)
)
SELECT
    CAST(r.to_key AS STRING) AS to_key,
    CAST(r.from_key AS STRING) AS from_key,
    CAST(r.to_host AS STRING) AS to_host,
    CAST(r.to_bucket AS INT) AS to_bucket,
    CAST(r.from_host AS STRING) AS from_host,
    CAST(r.anchor AS STRING) AS anchor,
    CAST(r.nofollow AS BOOLEAN) AS nofollow,
    CAST(r.kind AS STRING) AS kind,
    CAST(r.from_score AS BIGINT) AS from_score,
    CAST(r.segment AS STRING) AS segment
FROM ranked r
CROSS JOIN params p
WHERE r.place <= p.max_inlinks
