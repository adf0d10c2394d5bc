-- Every page of this partition, with what keeps it out of the fetchlist; `held` is NULL where nothing does.
-- The rule is `frontier.turn`; this text is the same rule for all rows at once.
-- A run that knows when it began takes what is nearly due too, and with `refresh` everything, but nothing that was tried
-- since it began. What waits grows older: its sort value rises every whole day since it was due.
WITH untried AS (
    SELECT o.url_key
    FROM pages o
    CROSS JOIN params p
    WHERE o.checked_at < p.begun_ms
),
timed AS (
    SELECT
        c.*,
        CASE
            WHEN c.due_at <= p.now_ms + p.ahead_ms THEN TRUE
            -- farther away than any interval: the clock was wrong, or another program meant never
            WHEN c.due_at - p.now_ms > p.farthest_ms
                AND CAST(c.due_at - p.now_ms AS DOUBLE)
                    > CAST(COALESCE(c.fixed_interval_s, 0) AS DOUBLE) * CAST(1000 AS DOUBLE) THEN TRUE
            WHEN u.url_key IS NOT NULL AND p.refresh THEN TRUE
            WHEN u.url_key IS NOT NULL
                AND CAST(c.due_at AS DOUBLE) - CAST(c.interval_s AS DOUBLE) * CAST(p.early_permille AS DOUBLE)
                    <= CAST(p.now_ms AS DOUBLE) THEN TRUE
            ELSE FALSE
        END AS is_due,
        CASE WHEN c.due_at > p.now_ms THEN 0 WHEN c.due_at < 0 THEN p.now_ms ELSE p.now_ms - c.due_at END AS waited_ms
    FROM crawldb c
    LEFT JOIN untried u ON u.url_key = c.url_key
    CROSS JOIN params p
)
SELECT
    CAST(c.url_key AS STRING) AS url_key,
    CAST(c.url AS STRING) AS url,
    CAST(c.host AS STRING) AS host,
    CAST(c.bucket AS INT) AS bucket,
    CAST(CASE
        WHEN c.score > 1000000000000000000 THEN 1000000000000000000
        WHEN c.score < -1000000000000000000 THEN -1000000000000000000
        ELSE c.score
    END + p.ageing * CAST(FLOOR(CAST(c.waited_ms AS DOUBLE) / CAST(86400000 AS DOUBLE)) AS BIGINT) AS BIGINT) AS sort_value,
    CAST(c.score AS BIGINT) AS score,
    CAST(c.depth AS INT) AS depth,
    CAST(c.signature AS BINARY) AS signature,
    CAST(c.fetched_at IS NOT NULL AS BOOLEAN) AS fetched_before,
    CAST(CASE
        WHEN w.url_key IS NOT NULL THEN 'in_segment'
        WHEN NOT c.is_due THEN 'not_due'
        WHEN p.some_statuses AND s.status IS NULL THEN 'status'
        WHEN p.some_pages AND m.url_key IS NULL THEN 'where'
        WHEN c.score < p.min_score THEN 'min_score'
        WHEN h.next_fetch_at > p.now_ms THEN 'host_backoff'
        WHEN c.depth > p.max_depth THEN 'max_depth'
        ELSE NULL
    END AS STRING) AS held,
    CAST(CASE
        WHEN h.next_fetch_at > c.due_at OR (c.is_due AND h.next_fetch_at > p.now_ms) THEN h.next_fetch_at
        ELSE c.due_at
    END AS BIGINT) AS ready_at
FROM timed c
LEFT JOIN in_segments w ON w.url_key = c.url_key
LEFT JOIN (SELECT DISTINCT url_key FROM matching) m ON m.url_key = c.url_key
LEFT JOIN (SELECT DISTINCT status FROM statuses) s ON s.status = c.status
LEFT JOIN hostdb h ON h.host = c.host
CROSS JOIN params p
