-- The pages of this partition that the round's links name and the crawldb does not know: one row a page. The nearest link
-- tells where it was found.
WITH fresh AS (
    SELECT
        a.url_key AS url_key, a.depth AS depth, a.contribution_if_new AS contribution, a.changed_at AS changed_at
    FROM linked a
    LEFT JOIN known k ON k.url_key = a.url_key
    WHERE k.url_key IS NULL
),
nearest AS (
    SELECT
        l.to_key AS url_key,
        l.to_url AS url,
        l.to_host AS host,
        l.to_bucket AS bucket,
        l.from_key AS from_key,
        l.kind AS kind,
        f.depth AS depth,
        f.contribution AS contribution,
        f.changed_at AS changed_at,
        row_number() OVER (
            PARTITION BY l.to_key
            ORDER BY l.from_key ASC NULLS LAST, l.position ASC NULLS LAST, l.kind ASC NULLS LAST,
                l.to_url ASC NULLS LAST
        ) AS place
    FROM links l
    JOIN fresh f ON f.url_key = l.to_key
        AND f.depth = CASE WHEN l.kind = 'redirect' THEN l.from_depth ELSE l.from_depth + 1 END
    WHERE NOT l.nofollow
)
SELECT
    CAST(n.url_key AS STRING) AS url_key,
    CAST(n.url AS STRING) AS url,
    CAST(n.host AS STRING) AS host,
    CAST(n.bucket AS INT) AS bucket,
    CAST(n.depth AS INT) AS depth,
    CAST(n.from_key AS STRING) AS discovered_from,
    CAST(CASE WHEN n.kind IN ('redirect', 'refresh', 'sitemap') THEN n.kind ELSE 'link' END AS STRING) AS discovered_via,
    CAST(n.contribution AS BIGINT) AS contribution,
    CAST(n.changed_at AS BIGINT) AS changed_at
FROM nearest n
WHERE n.place = 1
