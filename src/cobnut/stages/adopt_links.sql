-- The adopted links that come in, each with the page it stands on and that page's score. A link that names only the
-- digest of its page's content stands on every page with this content. Links of pages that were parsed here stay out.
WITH parsed_here AS (
    SELECT DISTINCT k.from_key AS from_key
    FROM known_links k
    CROSS JOIN params p
    WHERE k.segment <> p.imported
),
placed AS (
    SELECT
        a.to_key AS to_key, a.to_host AS to_host, a.to_bucket AS to_bucket, a.from_key AS from_key,
        a.from_host AS from_host, a.anchor AS anchor, a.nofollow AS nofollow, a.kind AS kind,
        COALESCE(c.score, 0) AS from_score
    FROM adopted_links a
    LEFT JOIN crawldb c ON c.url_key = a.from_key
    WHERE a.from_key IS NOT NULL AND a.from_host IS NOT NULL
    UNION ALL
    SELECT
        a.to_key AS to_key, a.to_host AS to_host, a.to_bucket AS to_bucket, c.url_key AS from_key,
        c.host AS from_host, a.anchor AS anchor, a.nofollow AS nofollow, a.kind AS kind, c.score AS from_score
    FROM adopted_links a
    JOIN crawldb c ON c.signature = a.from_signature
    WHERE a.from_key IS NULL
),
numbered AS (
    SELECT
        l.*,
        row_number() OVER (
            PARTITION BY l.to_key, l.from_key
            ORDER BY
                CASE WHEN l.nofollow THEN 1 ELSE 0 END ASC NULLS LAST, l.anchor ASC NULLS LAST, l.kind ASC NULLS LAST,
                l.from_host ASC NULLS LAST, l.to_host ASC NULLS LAST, l.to_bucket ASC NULLS LAST
        ) AS place
    FROM placed l
)
SELECT
    CAST(n.to_key AS STRING) AS to_key,
    CAST(n.from_key AS STRING) AS from_key,
    CAST(n.to_host AS STRING) AS to_host,
    CAST(n.to_bucket AS INT) AS bucket,
    CAST(n.from_host AS STRING) AS from_host,
    CAST(n.anchor AS STRING) AS anchor,
    CAST(n.nofollow AS BOOLEAN) AS nofollow,
    CAST(n.kind AS STRING) AS kind,
    CAST(n.from_score AS BIGINT) AS from_score
FROM numbered n
LEFT JOIN parsed_here h ON h.from_key = n.from_key
WHERE n.place = 1 AND h.from_key IS NULL
