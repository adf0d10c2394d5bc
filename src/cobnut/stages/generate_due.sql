-- Every page of this partition, with what keeps it out of the fetchlist; `held` is NULL where nothing does.
-- A run that knows when it began takes what is nearly due too, and with `refresh` everything, but nothing that was tried
-- since it began.
WITH timed AS (
    SELECT
        c.*,
        CASE
            WHEN c.due_at <= p.now_ms THEN TRUE
            -- farther away than any interval: the clock was wrong, or another program meant never
            WHEN c.due_at - p.now_ms > p.farthest_ms AND c.due_at - p.now_ms > COALESCE(c.fixed_interval_s, 0) * 1000 THEN TRUE
            WHEN o.checked_at < p.begun_ms AND p.refresh THEN TRUE
            WHEN o.checked_at < p.begun_ms AND c.due_at - c.interval_s * p.early_permille <= p.now_ms THEN TRUE
            ELSE FALSE
        END AS is_due
    FROM crawldb c
    LEFT JOIN pages o ON o.url_key = c.url_key
    CROSS JOIN params p
)
SELECT
    CAST(c.url_key AS STRING) AS url_key,
    CAST(c.url AS STRING) AS url,
    CAST(c.host AS STRING) AS host,
    CAST(c.bucket AS INT) AS bucket,
    CAST(c.score AS BIGINT) AS score,
    CAST(c.depth AS INT) AS depth,
    CAST(c.signature AS BINARY) AS signature,
    CAST(c.fetched_at IS NOT NULL AS BOOLEAN) AS fetched_before,
    CAST(CASE
        WHEN w.url_key IS NOT NULL THEN 'in_segment'
        WHEN NOT c.is_due THEN 'not_due'
        WHEN c.score < p.min_score THEN 'min_score'
        WHEN h.next_fetch_at > p.now_ms THEN 'host_backoff'
        ELSE NULL
    END AS STRING) AS held,
    CAST(CASE
        WHEN h.next_fetch_at > c.due_at OR (c.is_due AND h.next_fetch_at > p.now_ms) THEN h.next_fetch_at
        ELSE c.due_at
    END AS BIGINT) AS ready_at
FROM timed c
LEFT JOIN (SELECT DISTINCT url_key FROM waiting) w ON w.url_key = c.url_key
LEFT JOIN hostdb h ON h.host = c.host
CROSS JOIN params p
