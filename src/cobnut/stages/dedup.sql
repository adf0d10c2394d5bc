-- Which stored versions are not shown. The same URL in several segments: the newest stays. A page that names another
-- stored page of its host as canonical: that one stays. The same content under several URLs: best score, then newest,
-- then shortest URL, then first by key. The score is the link rank, and where that is equal the crawldb's: the link rank
-- depends on the links alone, so that an interrupted crawl decides as an undisturbed one. Newest goes by the day, for the
-- same reason.
WITH good AS (
    SELECT
        v.url_key AS url_key, v.url AS url, v.host AS host, v.bucket AS bucket, v.segment AS segment,
        v.signature AS signature, v.canonical_key AS canonical_key, v.noindex AS noindex, v.fetched_at AS fetched_at
    FROM parsed v
    WHERE v.parse_status = 'ok'
),
-- of tables of the whole crawl only these rows: what is joined to a few must not be held in memory as a whole
known AS (
    SELECT c.url_key AS url_key, c.score AS score, c.status AS status, c.reason AS reason
    FROM crawldb c
    JOIN concerned k ON k.url_key = c.url_key
),
known_pages AS (
    SELECT o.url_key AS url_key, o.checked_at AS checked_at, o.segment AS segment
    FROM pages o
    JOIN concerned k ON k.url_key = o.url_key
),
known_ranks AS (
    SELECT r.url_key AS url_key, r.page_rank AS page_rank
    FROM ranks r
    JOIN concerned k ON k.url_key = r.url_key
),
versions AS (
    SELECT
        v.*,
        row_number() OVER (
            PARTITION BY v.url_key ORDER BY v.segment DESC NULLS LAST, v.fetched_at DESC NULLS LAST,
                v.signature ASC NULLS LAST, v.canonical_key ASC NULLS LAST, v.noindex ASC NULLS LAST,
                v.url ASC NULLS LAST
        ) AS place
    FROM good v
    JOIN concerned k ON k.url_key = v.url_key
),
newest AS (
    SELECT
        v.*,
        COALESCE(r.page_rank, 0) AS page_rank,
        COALESCE(c.score, 0) AS score,
        FLOOR(CAST(v.fetched_at AS DOUBLE) / CAST(86400000 AS DOUBLE)) AS fetched_day,
        c.status AS status,
        c.reason AS reason,
        -- the page is to be forgotten, has gone since, or a later answer of it holds nothing to show
        CASE
            WHEN f.url_key IS NOT NULL THEN TRUE
            WHEN o.checked_at IS NULL THEN FALSE
            WHEN o.segment IS NULL OR o.segment > v.segment THEN TRUE
            ELSE FALSE
        END AS taken_back
    FROM versions v
    LEFT JOIN known c ON c.url_key = v.url_key
    LEFT JOIN known_pages o ON o.url_key = v.url_key
    LEFT JOIN (SELECT DISTINCT url_key FROM forgotten_pages) f ON f.url_key = v.url_key
    LEFT JOIN known_ranks r ON r.url_key = v.url_key
    WHERE v.place = 1
),
same_url AS (
    SELECT
        v.url_key AS url_key, v.segment AS segment, v.host AS host, v.bucket AS bucket,
        n.url_key AS representative_key, n.segment AS representative_segment
    FROM versions v
    JOIN newest n ON n.url_key = v.url_key
    WHERE v.place > 1 AND v.segment <> n.segment
),
shown AS (
    SELECT * FROM newest
    WHERE NOT noindex AND NOT taken_back AND (status IS NULL OR status IN ('fetched', 'not_modified', 'unfetched'))
        -- the merged index hides these: such a page can stand for no other
        AND (reason IS NULL OR reason NOT IN (
            'noindex', 'media_type', 'http_404', 'http_410', 'robots_denied'
        ))
),
canonical AS (
    SELECT
        a.url_key AS url_key, a.segment AS segment, a.host AS host, a.bucket AS bucket,
        b.url_key AS representative_key, b.segment AS representative_segment
    FROM shown a
    JOIN shown b ON b.url_key = a.canonical_key
    WHERE a.url_key <> a.canonical_key AND a.host = b.host
        AND (b.canonical_key IS NULL OR b.canonical_key = b.url_key)
),
candidates AS (
    SELECT s.*
    FROM shown s
    LEFT JOIN canonical k ON k.url_key = s.url_key
    WHERE k.url_key IS NULL AND s.signature IS NOT NULL
),
ordered AS (
    SELECT
        c.*,
        row_number() OVER (
            PARTITION BY c.signature
            ORDER BY c.page_rank DESC NULLS LAST, c.score DESC NULLS LAST, c.fetched_day DESC NULLS LAST,
                LENGTH(c.url) ASC NULLS LAST, c.url_key ASC NULLS LAST
        ) AS rank_in_group
    FROM candidates c
),
exact AS (
    SELECT
        a.url_key AS url_key, a.segment AS segment, a.host AS host, a.bucket AS bucket,
        b.url_key AS representative_key, b.segment AS representative_segment,
        CASE
            WHEN a.page_rank <> b.page_rank OR a.score <> b.score THEN 'score'
            WHEN a.fetched_day <> b.fetched_day THEN 'fetched_at'
            WHEN LENGTH(a.url) <> LENGTH(b.url) THEN 'url_length'
            ELSE 'url_key'
        END AS rule
    FROM ordered a
    JOIN ordered b ON b.signature = a.signature AND b.rank_in_group = 1
    WHERE a.rank_in_group > 1
),
every_row AS (
    SELECT url_key, segment, host, bucket, representative_key, representative_segment, 'same_url' AS kind, 'newest' AS rule
    FROM same_url
    UNION ALL
    -- where the canonical page is itself a duplicate, the one that stands for it stands for both
    SELECT
        k.url_key, k.segment, k.host, k.bucket,
        COALESCE(x.representative_key, k.representative_key) AS representative_key,
        COALESCE(x.representative_segment, k.representative_segment) AS representative_segment,
        'canonical' AS kind, 'canonical' AS rule
    FROM canonical k
    LEFT JOIN exact x ON x.url_key = k.representative_key
    UNION ALL
    SELECT url_key, segment, host, bucket, representative_key, representative_segment, 'exact' AS kind, rule
    FROM exact
)
SELECT DISTINCT
    CAST(e.url_key AS STRING) AS url_key,
    CAST(e.segment AS STRING) AS segment,
    CAST(e.host AS STRING) AS host,
    CAST(e.bucket AS INT) AS bucket,
    CAST(e.representative_key AS STRING) AS representative_key,
    CAST(e.representative_segment AS STRING) AS representative_segment,
    CAST(e.kind AS STRING) AS kind,
    CAST(e.rule AS STRING) AS rule
FROM every_row e
