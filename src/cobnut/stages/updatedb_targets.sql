-- What the round's links say of each page of this partition: one row a linked page.
-- A page fetched before has passed on its score already: its links then count only for pages that are new.
WITH passed AS (
    SELECT DISTINCT url_key FROM refetched
),
followed AS (
    SELECT
        l.to_key AS url_key,
        l.to_url AS url,
        l.to_host AS host,
        l.to_bucket AS bucket,
        l.from_key AS from_key,
        l.position AS position,
        l.kind AS kind,
        CASE WHEN l.kind = 'redirect' THEN l.from_depth ELSE l.from_depth + 1 END AS depth,
        -- a list of pages is believed about its own host only
        CASE WHEN l.from_host = l.to_host THEN l.changed_at ELSE NULL END AS changed_at,
        CASE WHEN r.url_key IS NULL THEN l.contribution ELSE 0 END AS contribution,
        l.contribution AS contribution_if_new
    FROM links l
    LEFT JOIN passed r ON r.url_key = l.from_key
    WHERE NOT l.nofollow
),
nearest AS (
    SELECT
        f.*,
        row_number() OVER (
            PARTITION BY f.url_key
            ORDER BY f.depth ASC NULLS LAST, f.from_key ASC NULLS LAST, f.position ASC NULLS LAST,
                f.kind ASC NULLS LAST, f.url ASC NULLS LAST
        ) AS place
    FROM followed f
),
sums AS (
    SELECT
        f.url_key AS url_key,
        MAX(f.changed_at) AS changed_at,
        SUM(f.contribution) AS contribution,
        SUM(f.contribution_if_new) AS contribution_if_new
    FROM followed f
    GROUP BY f.url_key
)
SELECT
    CAST(n.url_key AS STRING) AS url_key,
    CAST(n.url AS STRING) AS url,
    CAST(n.host AS STRING) AS host,
    CAST(n.bucket AS INT) AS bucket,
    CAST(n.depth AS INT) AS depth,
    CAST(n.from_key AS STRING) AS discovered_from,
    CAST(CASE WHEN n.kind IN ('redirect', 'refresh', 'sitemap') THEN n.kind ELSE 'link' END AS STRING) AS discovered_via,
    CAST(CASE WHEN c.url_key IS NULL THEN s.contribution_if_new ELSE s.contribution END AS BIGINT) AS contribution,
    CAST(s.changed_at AS BIGINT) AS changed_at,
    CAST(c.url_key IS NULL AS BOOLEAN) AS is_new
FROM nearest n
JOIN sums s ON s.url_key = n.url_key
LEFT JOIN crawldb c ON c.url_key = n.url_key
WHERE n.place = 1
