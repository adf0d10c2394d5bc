-- The rows of this partition that the round changes or adds: the former ones (known), merged with what its requests
-- (answers) and links (known and targets) say. The rule is `frontier.transition`; this text is the same rule for all rows
-- at once. Most rows are not requested in a round, only linked: they have a short rule of their own at the end, since the
-- long one would be dear for all of them.
WITH admitted AS (
    SELECT * FROM targets WHERE rule IS NULL
),
joined AS (
    SELECT
        a.url_key AS url_key,
        c.url_key IS NOT NULL AS was_known,
        CASE
            WHEN c.url_key IS NOT NULL THEN c.url
            WHEN t.url_key IS NOT NULL THEN t.url
            ELSE a.url
        END AS url,
        COALESCE(c.host, a.host) AS host,
        COALESCE(c.bucket, a.bucket) AS bucket,
        c.status AS old_status,
        c.reason AS old_reason,
        c.due_at AS old_due_at,
        c.fetched_at AS old_fetched_at,
        c.modified_at AS old_modified_at,
        COALESCE(c.retries, 0) AS old_retries,
        CASE WHEN c.interval_s > 0 THEN c.interval_s ELSE COALESCE(h.interval_s, p.interval_s) END AS old_interval_s,
        c.fixed_interval_s AS fixed_interval_s,
        c.signature AS old_signature,
        c.outlink_count AS old_outlink_count,
        -- a page that a redirect led to and no link brings in has the score it was asked with
        COALESCE(c.score, CASE WHEN t.url_key IS NULL THEN a.score ELSE 0 END, 0) AS former_score,
        COALESCE(c.links_contribution, t.contribution, 0) AS contribution,
        CASE
            WHEN c.depth IS NULL AND t.depth IS NULL THEN a.depth
            WHEN c.depth IS NULL THEN t.depth
            WHEN c.links_depth < c.depth THEN c.links_depth
            ELSE c.depth
        END AS depth,
        a.outcome AS outcome,
        a.reason AS reason,
        a.fetched_at AS fetched_at,
        -- what the server says of the last change is believed unless the visit before knows better
        CASE
            WHEN a.last_modified_at <= a.fetched_at AND a.last_modified_at > 0
                AND (c.fetched_at IS NULL OR a.last_modified_at > c.fetched_at) THEN a.last_modified_at
            ELSE a.fetched_at
        END AS changed_at,
        COALESCE(c.listed_at, t.changed_at) AS listed_at,
        a.parse_status AS parse_status,
        a.parse_reason AS parse_reason,
        COALESCE(a.noindex, FALSE) AS noindex,
        a.outlink_count AS outlink_count,
        a.signature AS signature,
        -- the host failed, not the page: it costs the page no try
        CASE
            WHEN a.outcome = 'retry' AND a.host_failed THEN TRUE
            WHEN a.outcome = 'retry' AND a.reason IN (
                'dns_failed', 'dns_timeout', 'connect_failed', 'connect_timeout', 'proxy_failed', 'robots_unreachable',
                'host_backoff', 'round_over', 'no_agent', 'http_429', 'http_503'
            ) THEN TRUE
            ELSE FALSE
        END AS host_failed,
        -- visits come up to a tenth of the delay before they are due (see generate)
        a.fetched_at + p.retry_delay_s * 100 < c.due_at AS is_early,
        p.now_ms AS now_ms,
        COALESCE(h.min_interval_s, p.min_interval_s) AS min_interval_s,
        COALESCE(h.max_interval_s, p.max_interval_s) AS max_interval_s,
        COALESCE(m.grow, p.grow) AS grow,
        COALESCE(m.shrink, p.shrink) AS shrink,
        CAST(1 AS DOUBLE) / CAST(2 AS DOUBLE) AS half,
        CAST(9 AS DOUBLE) / CAST(10 AS DOUBLE) AS nine_tenths,
        p.sync AS sync,
        p.sync_rate AS sync_rate,
        p.gone_grow AS gone_grow,
        p.retry_max AS retry_max,
        p.retry_delay_s AS retry_delay_s
    FROM answers a
    LEFT JOIN known c ON c.url_key = a.url_key
    LEFT JOIN admitted t ON t.url_key = a.url_key
    LEFT JOIN paces h ON h.kind = 'host' AND h.name = COALESCE(c.host, a.host)
    LEFT JOIN paces m ON m.kind = 'media_type' AND m.name = a.media_type
    CROSS JOIN params p
),
judged AS (
    SELECT
        j.*,
        -- within bounds before and after the sum: neither it nor what is added later leaves 64 bits
        CASE
            WHEN j.former_score > 1000000000000000000 THEN 1000000000000000000
            WHEN j.former_score < -1000000000000000000 THEN -1000000000000000000
            ELSE j.former_score
        END + j.contribution AS summed_score,
        CASE
            WHEN j.outcome = 'not_modified' THEN 'same'
            WHEN j.outcome = 'success' AND j.parse_status = 'failed' THEN 'parse_failed'
            WHEN j.outcome = 'success' AND j.old_signature IS NULL THEN 'first'
            WHEN j.outcome = 'success' AND j.signature IS NULL THEN 'changed'
            WHEN j.outcome = 'success' AND j.signature = j.old_signature THEN 'same'
            WHEN j.outcome = 'success' THEN 'changed'
            WHEN j.outcome = 'redirect_perm' THEN 'redirect_perm'
            WHEN j.outcome = 'redirect_temp' THEN 'redirect_temp'
            WHEN j.outcome = 'denied' THEN 'gone'
            WHEN j.outcome = 'gone' AND j.reason = 'http_404'
                AND (j.old_status IS NULL OR j.old_status <> 'gone')
                AND (j.old_reason IS NULL OR j.old_reason <> 'http_404') THEN 'missing_once'
            WHEN j.outcome = 'gone' AND j.reason = 'http_404'
                AND j.old_status <> 'gone' AND j.is_early THEN 'missing_again'
            WHEN j.outcome = 'gone' THEN 'gone'
            WHEN j.host_failed THEN 'wait'
            WHEN j.old_retries > 0 AND j.old_status <> 'gone' AND j.is_early THEN 'retry_early'
            WHEN j.old_retries + 1 >= j.retry_max THEN 'gone'
            ELSE 'retry'
        END AS verdict
    FROM joined j
),
dated AS (
    SELECT
        v.*,
        CASE
            WHEN v.verdict = 'first' AND v.signature IS NULL THEN COALESCE(v.old_modified_at, v.changed_at)
            WHEN v.verdict IN ('first', 'changed') THEN v.changed_at
            ELSE v.old_modified_at
        END AS modified_at
    FROM judged v
),
paced AS (
    SELECT
        d.*,
        CASE
            WHEN d.sync AND d.verdict IN ('first', 'changed', 'same') AND d.modified_at < d.fetched_at
                THEN d.fetched_at - d.modified_at
            ELSE 0
        END AS unchanged_ms,
        CASE
            WHEN d.verdict = 'changed' THEN CAST(FLOOR(CAST(d.old_interval_s AS DOUBLE) * d.shrink + d.half) AS BIGINT)
            WHEN d.verdict = 'same' THEN CAST(FLOOR(CAST(d.old_interval_s AS DOUBLE) * d.grow + d.half) AS BIGINT)
            WHEN d.verdict IN ('gone', 'parse_failed') AND d.old_interval_s < d.max_interval_s
                THEN CAST(FLOOR(CAST(d.old_interval_s AS DOUBLE) * d.gone_grow + d.half) AS BIGINT)
            WHEN d.verdict IN ('gone', 'parse_failed')
                THEN CAST(FLOOR(CAST(d.max_interval_s AS DOUBLE) * d.nine_tenths + d.half) AS BIGINT)
            ELSE d.old_interval_s
        END AS wished_interval_s
    FROM dated d
),
synced AS (
    SELECT
        y.*,
        CASE
            WHEN CAST(FLOOR(CAST(y.unchanged_ms AS DOUBLE) * y.sync_rate + y.half) AS BIGINT) <= 1000 * y.max_interval_s
                THEN CAST(FLOOR(CAST(y.unchanged_ms AS DOUBLE) * y.sync_rate + y.half) AS BIGINT)
            WHEN CAST(FLOOR(CAST(y.unchanged_ms AS DOUBLE) * y.sync_rate + y.half) AS BIGINT) >= y.unchanged_ms
                THEN 1000 * y.max_interval_s
            ELSE 0
        END AS offset_ms,
        CASE
            WHEN CAST(FLOOR(CAST(y.unchanged_ms AS DOUBLE) / CAST(1000 AS DOUBLE)) AS BIGINT) > y.wished_interval_s
                THEN CAST(FLOOR(CAST(y.unchanged_ms AS DOUBLE) / CAST(1000 AS DOUBLE)) AS BIGINT)
            ELSE y.wished_interval_s
        END AS own_interval_s
    FROM paced y
),
bounded AS (
    SELECT
        w.*,
        CASE
            WHEN w.verdict IN ('wait', 'retry', 'retry_early', 'missing_once', 'missing_again') THEN w.old_interval_s
            WHEN w.own_interval_s > w.max_interval_s THEN w.max_interval_s
            WHEN w.verdict IN ('first', 'changed', 'same', 'redirect_perm', 'redirect_temp')
                AND w.own_interval_s < w.min_interval_s AND w.min_interval_s > w.max_interval_s THEN w.max_interval_s
            WHEN w.verdict IN ('first', 'changed', 'same', 'redirect_perm', 'redirect_temp')
                AND w.own_interval_s < w.min_interval_s THEN w.min_interval_s
            ELSE w.own_interval_s
        END AS bounded_interval_s
    FROM synced w
),
clamped AS (
    SELECT
        b.*,
        -- an interval of 0 that no seed asks for would make the page due for ever
        CASE
            WHEN b.fixed_interval_s IS NOT NULL THEN b.fixed_interval_s
            WHEN b.bounded_interval_s < 1 THEN 1
            ELSE b.bounded_interval_s
        END AS interval_s,
        CASE
            WHEN b.verdict IN ('first', 'changed', 'same', 'parse_failed') THEN b.fetched_at
            ELSE b.old_fetched_at
        END AS next_fetched_at
    FROM bounded b
),
planned AS (
    SELECT
        k.*,
        CASE
            -- a clock that was set back leaves times that are too far off: such a page would be asked again at once
            WHEN k.verdict IN ('missing_again', 'retry_early') AND k.old_due_at <= k.fetched_at + k.retry_delay_s * 1000
                THEN k.old_due_at
            WHEN k.verdict IN ('wait', 'retry', 'missing_once', 'missing_again', 'retry_early')
                THEN k.fetched_at + k.retry_delay_s * 1000
            WHEN k.fixed_interval_s IS NOT NULL THEN k.fetched_at + k.interval_s * 1000
            ELSE k.fetched_at - k.offset_ms + k.interval_s * 1000
        END AS planned_at,
        -- a list of the site says that the page has changed since it was fetched
        CASE
            WHEN k.listed_at > k.next_fetched_at AND k.listed_at <= k.now_ms
                AND k.verdict IN ('first', 'changed', 'same') THEN TRUE
            ELSE FALSE
        END AS is_stale
    FROM clamped k
),
linked_only AS (
    SELECT
        c.*,
        CASE
            WHEN c.score > 1000000000000000000 THEN 1000000000000000000
            WHEN c.score < -1000000000000000000 THEN -1000000000000000000
            ELSE c.score
        END + COALESCE(c.links_contribution, 0) AS summed_score
    FROM known c
    LEFT JOIN answers a ON a.url_key = c.url_key
    WHERE a.url_key IS NULL
        AND (c.links_contribution <> 0 OR c.links_depth < c.depth OR c.listed_at IS NOT NULL)
)
SELECT
    CAST(m.url_key AS STRING) AS url_key,
    CAST(m.url AS STRING) AS url,
    CAST(m.host AS STRING) AS host,
    CAST(m.bucket AS INT) AS bucket,
    CAST(CASE
        WHEN m.verdict IN ('first', 'changed') THEN 'fetched'
        WHEN m.verdict = 'same' THEN 'not_modified'
        WHEN m.verdict IN ('redirect_perm', 'redirect_temp', 'gone', 'parse_failed') THEN m.verdict
        WHEN m.verdict = 'wait' AND m.was_known THEN m.old_status
        ELSE 'unfetched'
    END AS STRING) AS status,
    CAST(CASE
        -- what a failure said is over once the page answers; what its content says (noindex …) still holds
        WHEN m.outcome = 'not_modified' AND m.old_status IN ('fetched', 'not_modified', 'parse_failed') THEN m.old_reason
        WHEN m.outcome = 'not_modified' THEN NULL
        -- a failure of the host takes nothing back of what is known of the page
        WHEN m.verdict = 'wait' AND (m.old_status <> 'unfetched' OR m.old_reason = 'http_404') THEN m.old_reason
        WHEN m.outcome = 'success' AND m.parse_status IN ('failed', 'skipped') THEN m.parse_reason
        WHEN m.outcome = 'success' AND m.noindex THEN 'noindex'
        ELSE m.reason
    END AS STRING) AS reason,
    CAST(CASE WHEN m.is_stale AND m.planned_at > m.now_ms THEN m.now_ms ELSE m.planned_at END AS BIGINT) AS due_at,
    CAST(m.next_fetched_at AS BIGINT) AS fetched_at,
    CAST(m.modified_at AS BIGINT) AS modified_at,
    CAST(CASE
        WHEN m.verdict IN ('retry', 'gone') AND m.outcome = 'retry' THEN m.old_retries + 1
        WHEN m.verdict IN ('first', 'changed', 'same', 'redirect_perm', 'redirect_temp') THEN 0
        ELSE m.old_retries
    END AS INT) AS retries,
    CAST(m.interval_s AS BIGINT) AS interval_s,
    CAST(m.fixed_interval_s AS BIGINT) AS fixed_interval_s,
    CAST(CASE
        WHEN m.summed_score > 1000000000000000000 THEN 1000000000000000000
        WHEN m.summed_score < -1000000000000000000 THEN -1000000000000000000
        ELSE m.summed_score
    END AS BIGINT) AS score,
    CAST(CASE WHEN m.verdict IN ('first', 'changed') THEN m.signature ELSE m.old_signature END AS BINARY) AS signature,
    CAST(CASE
        WHEN m.outcome = 'success' AND m.outlink_count IS NOT NULL THEN m.outlink_count
        ELSE m.old_outlink_count
    END AS INT) AS outlink_count,
    CAST(m.depth AS INT) AS depth
FROM planned m
UNION ALL
-- Known pages that are linked only: score, depth, and the next visit where a list of the site says that they changed.
SELECT
    CAST(c.url_key AS STRING) AS url_key,
    CAST(c.url AS STRING) AS url,
    CAST(c.host AS STRING) AS host,
    CAST(c.bucket AS INT) AS bucket,
    CAST(c.status AS STRING) AS status,
    CAST(c.reason AS STRING) AS reason,
    CAST(CASE
        WHEN c.listed_at > c.fetched_at AND c.listed_at <= p.now_ms
            AND c.status IN ('fetched', 'not_modified') AND c.due_at > p.now_ms THEN p.now_ms
        ELSE c.due_at
    END AS BIGINT) AS due_at,
    CAST(c.fetched_at AS BIGINT) AS fetched_at,
    CAST(c.modified_at AS BIGINT) AS modified_at,
    CAST(c.retries AS INT) AS retries,
    CAST(CASE
        WHEN c.fixed_interval_s IS NOT NULL THEN c.fixed_interval_s
        WHEN c.interval_s > 0 THEN c.interval_s
        WHEN COALESCE(h.interval_s, p.interval_s) < 1 THEN 1
        ELSE COALESCE(h.interval_s, p.interval_s)
    END AS BIGINT) AS interval_s,
    CAST(c.fixed_interval_s AS BIGINT) AS fixed_interval_s,
    CAST(CASE
        WHEN c.summed_score > 1000000000000000000 THEN 1000000000000000000
        WHEN c.summed_score < -1000000000000000000 THEN -1000000000000000000
        ELSE c.summed_score
    END AS BIGINT) AS score,
    CAST(c.signature AS BINARY) AS signature,
    CAST(c.outlink_count AS INT) AS outlink_count,
    CAST(CASE WHEN c.links_depth < c.depth THEN c.links_depth ELSE c.depth END AS INT) AS depth
FROM linked_only c
LEFT JOIN paces h ON h.kind = 'host' AND h.name = c.host
CROSS JOIN params p
UNION ALL
-- Pages that are new, and not requested yet.
SELECT
    CAST(t.url_key AS STRING) AS url_key,
    CAST(t.url AS STRING) AS url,
    CAST(t.host AS STRING) AS host,
    CAST(t.bucket AS INT) AS bucket,
    CAST('unfetched' AS STRING) AS status,
    CAST(NULL AS STRING) AS reason,
    CAST(p.now_ms AS BIGINT) AS due_at,
    CAST(NULL AS BIGINT) AS fetched_at,
    CAST(NULL AS BIGINT) AS modified_at,
    CAST(0 AS INT) AS retries,
    CAST(CASE
        WHEN COALESCE(h.interval_s, p.interval_s) < 1 THEN 1
        ELSE COALESCE(h.interval_s, p.interval_s)
    END AS BIGINT) AS interval_s,
    CAST(NULL AS BIGINT) AS fixed_interval_s,
    CAST(t.contribution AS BIGINT) AS score,
    CAST(NULL AS BINARY) AS signature,
    CAST(NULL AS INT) AS outlink_count,
    CAST(t.depth AS INT) AS depth
FROM admitted t
LEFT JOIN answers a ON a.url_key = t.url_key
LEFT JOIN known c ON c.url_key = t.url_key
LEFT JOIN paces h ON h.kind = 'host' AND h.name = t.host
CROSS JOIN params p
WHERE a.url_key IS NULL AND c.url_key IS NULL
