-- What the round's links come to for each page of this partition, in numbers: one row a linked page.
-- A page fetched before has passed on its score already: its links then count only for pages that are new.
-- A sum beyond a score of 1e12 counts as that (`records.columns.MOST_SCORE`), so that what it is added to fits in 64 bits.
WITH passed AS (
    SELECT DISTINCT url_key FROM refetched
),
followed AS (
    SELECT
        l.to_key AS url_key,
        CASE WHEN l.kind = 'redirect' THEN l.from_depth ELSE l.from_depth + 1 END AS depth,
        -- a list of pages is believed about its own host only
        CASE WHEN l.changed_at IS NOT NULL AND l.from_host = l.to_host THEN l.changed_at ELSE NULL END AS changed_at,
        CASE WHEN r.url_key IS NULL THEN l.contribution ELSE 0 END AS contribution,
        l.contribution AS contribution_if_new
    FROM links l
    LEFT JOIN passed r ON r.url_key = l.from_key
    WHERE NOT l.nofollow
)
SELECT
    CAST(f.url_key AS STRING) AS url_key,
    CAST(MIN(f.depth) AS INT) AS depth,
    CAST(CASE
        WHEN SUM(f.contribution) > 1000000000000000000 THEN 1000000000000000000
        WHEN SUM(f.contribution) < -1000000000000000000 THEN -1000000000000000000
        ELSE SUM(f.contribution)
    END AS BIGINT) AS contribution,
    CAST(CASE
        WHEN SUM(f.contribution_if_new) > 1000000000000000000 THEN 1000000000000000000
        WHEN SUM(f.contribution_if_new) < -1000000000000000000 THEN -1000000000000000000
        ELSE SUM(f.contribution_if_new)
    END AS BIGINT) AS contribution_if_new,
    CAST(MAX(f.changed_at) AS BIGINT) AS changed_at
FROM followed f
GROUP BY f.url_key
