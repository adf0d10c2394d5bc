-- The next `pages` of this partition after seeds were added, with the seed's metadata beside the former one. When it was
-- last tried, and where its last full answer lies, stays true of a row that is overwritten.
WITH best AS (
    SELECT
        s.*,
        row_number() OVER (
            PARTITION BY s.url_key ORDER BY s.score DESC NULLS LAST, s.line_no DESC NULLS LAST
        ) AS place
    FROM found s
)
SELECT
    CAST(c.url_key AS STRING) AS url_key,
    CAST(c.host AS STRING) AS host,
    CAST(c.bucket AS INT) AS bucket,
    CAST(CASE WHEN k.keeps THEN o.etag ELSE NULL END AS STRING) AS etag,
    CAST(CASE WHEN k.keeps THEN o.last_modified ELSE NULL END AS STRING) AS last_modified,
    CAST(CASE WHEN k.keeps THEN o.http_status ELSE NULL END AS INT) AS http_status,
    CAST(o.checked_at AS BIGINT) AS checked_at,
    CAST(CASE WHEN k.keeps THEN o.media_type ELSE NULL END AS STRING) AS media_type,
    CAST(CASE WHEN k.keeps THEN o.redirect_key ELSE NULL END AS STRING) AS redirect_key,
    CAST(CASE WHEN k.keeps THEN o.canonical_key ELSE NULL END AS STRING) AS canonical_key,
    CAST(CASE WHEN k.keeps THEN o.fingerprint ELSE NULL END AS BIGINT) AS fingerprint,
    CAST(o.segment AS STRING) AS segment,
    CAST(o.warc_file AS STRING) AS warc_file,
    CAST(o.warc_offset AS BIGINT) AS warc_offset,
    CAST(CASE WHEN o.url_key IS NOT NULL THEN o.discovered_at ELSE k.now_ms END AS BIGINT) AS discovered_at,
    CAST(o.discovered_from AS STRING) AS discovered_from,
    CAST(CASE WHEN o.url_key IS NOT NULL THEN o.discovered_via ELSE 'seed' END AS STRING) AS discovered_via,
    CASE WHEN k.keeps THEN o.metadata ELSE NULL END AS metadata,
    CASE WHEN o.url_key IS NULL OR k.takes_new THEN s.metadata ELSE NULL END AS new_metadata
FROM next_crawldb c
LEFT JOIN pages o ON o.url_key = c.url_key
LEFT JOIN best s ON s.url_key = c.url_key AND s.place = 1
JOIN (
    SELECT
        d.url_key AS url_key,
        b.url_key IS NULL OR NOT p.overwrite AS keeps,
        p.overwrite OR p.renew AS takes_new,
        p.now_ms AS now_ms
    FROM next_crawldb d
    LEFT JOIN best b ON b.url_key = d.url_key AND b.place = 1
    CROSS JOIN params p
) k ON k.url_key = c.url_key
