-- The links of this partition that the segments bring: of several between two pages the first followed one with words.
-- Windows over wide rows are dear, and so is a join of all links: the choice is a minimum of one number (followed before
-- nofollow, with words before without, then the place in the page), made for the few pairs that have several links.
WITH current_links AS (
    SELECT
        l.to_key AS to_key, l.from_key AS from_key, l.to_host AS to_host, l.to_bucket AS to_bucket,
        l.from_host AS from_host, l.anchor AS anchor, l.nofollow AS nofollow, l.kind AS kind,
        l.from_score AS from_score, l.segment AS segment,
        CAST(l.position AS BIGINT)
            + CASE WHEN l.anchor IS NULL THEN CAST(1000000000000 AS BIGINT) ELSE CAST(0 AS BIGINT) END
            + CASE WHEN l.nofollow THEN CAST(2000000000000 AS BIGINT) ELSE CAST(0 AS BIGINT) END AS choice
    FROM links l
    LEFT JOIN outdated o ON o.url_key = l.from_key AND o.segment = l.segment
    -- what a page embeds is no link that a reader could follow, and its words are no anchor; nor has a page that only
    -- sends on to another any links
    WHERE o.url_key IS NULL AND l.kind NOT IN ('image', 'style', 'script', 'media', 'object', 'redirect')
),
several AS (
    SELECT c.to_key AS to_key, c.from_key AS from_key, MIN(c.choice) AS choice
    FROM current_links c
    GROUP BY c.to_key, c.from_key
    HAVING COUNT(*) > 1
)
SELECT
    CAST(c.to_key AS STRING) AS to_key,
    CAST(c.from_key AS STRING) AS from_key,
    CAST(c.to_host AS STRING) AS to_host,
    CAST(c.to_bucket AS INT) AS to_bucket,
    CAST(c.from_host AS STRING) AS from_host,
    CAST(c.anchor AS STRING) AS anchor,
    CAST(c.nofollow AS BOOLEAN) AS nofollow,
    CAST(c.kind AS STRING) AS kind,
    CAST(c.from_score AS BIGINT) AS from_score,
    CAST(c.segment AS STRING) AS segment
FROM current_links c
LEFT JOIN several s ON s.to_key = c.to_key AND s.from_key = c.from_key
WHERE s.choice IS NULL OR s.choice = c.choice
