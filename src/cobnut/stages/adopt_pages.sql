-- The next `pages` of this partition. How a page that is known here was first heard of stays true; metadata of a seed
-- here stands before adopted ones, which `merge_adopted_metadata` adds (`new_metadata`). A row whose content lies nowhere keeps the place of the former content when the page
-- still has one.
WITH every_key AS (
    SELECT url_key FROM pages
    UNION
    SELECT url_key FROM crawldb
    UNION
    SELECT url_key FROM winners
),
joined AS (
    SELECT
        k.url_key AS key,
        w.url_key IS NOT NULL AS wins,
        o.url_key IS NOT NULL AS was_known,
        COALESCE(
            w.segment IS NULL AND w.status NOT IN ('gone', 'redirect_temp', 'redirect_perm') AND o.segment IS NOT NULL,
            FALSE
        ) AS keeps_content,
        COALESCE(o.host, w.host, c.host) AS the_host,
        COALESCE(o.bucket, w.bucket, c.bucket) AS the_bucket,
        o.etag AS old_etag, o.last_modified AS old_last_modified, o.http_status AS old_http_status,
        o.checked_at AS old_checked_at, o.media_type AS old_media_type, o.redirect_key AS old_redirect_key,
        o.canonical_key AS old_canonical_key, o.fingerprint AS old_fingerprint, o.segment AS old_segment,
        o.warc_file AS old_warc_file, o.warc_offset AS old_warc_offset, o.discovered_at AS old_discovered_at,
        o.discovered_from AS old_discovered_from, o.discovered_via AS old_discovered_via, o.metadata AS old_metadata,
        w.etag AS etag, w.last_modified AS last_modified, w.http_status AS http_status, w.checked_at AS checked_at,
        w.media_type AS media_type, w.redirect_key AS redirect_key, w.canonical_key AS canonical_key,
        w.fingerprint AS fingerprint, w.segment AS segment, w.warc_file AS warc_file, w.warc_offset AS warc_offset,
        w.discovered_at AS discovered_at, w.discovered_from AS discovered_from, w.discovered_via AS discovered_via,
        w.metadata AS metadata, n.metadata AS new_metadata,
        p.now_ms AS now_ms
    FROM every_key k
    LEFT JOIN pages o ON o.url_key = k.url_key
    LEFT JOIN crawldb c ON c.url_key = k.url_key
    LEFT JOIN winners w ON w.url_key = k.url_key
    LEFT JOIN newest n ON n.url_key = k.url_key
    CROSS JOIN params p
)
SELECT
    CAST(j.key AS STRING) AS url_key,
    CAST(j.the_host AS STRING) AS host,
    CAST(j.the_bucket AS INT) AS bucket,
    CAST(CASE WHEN j.wins AND NOT j.keeps_content THEN j.etag ELSE j.old_etag END AS STRING) AS etag,
    CAST(CASE WHEN j.wins AND NOT j.keeps_content THEN j.last_modified ELSE j.old_last_modified END AS STRING)
        AS last_modified,
    CAST(CASE WHEN j.wins THEN j.http_status ELSE j.old_http_status END AS INT) AS http_status,
    CAST(CASE WHEN j.wins THEN j.checked_at ELSE j.old_checked_at END AS BIGINT) AS checked_at,
    CAST(CASE WHEN j.wins THEN COALESCE(j.media_type, j.old_media_type) ELSE j.old_media_type END AS STRING)
        AS media_type,
    CAST(CASE WHEN j.wins THEN j.redirect_key ELSE j.old_redirect_key END AS STRING) AS redirect_key,
    CAST(CASE WHEN j.wins AND NOT j.keeps_content THEN j.canonical_key ELSE j.old_canonical_key END AS STRING)
        AS canonical_key,
    CAST(CASE WHEN j.wins AND NOT j.keeps_content THEN j.fingerprint ELSE j.old_fingerprint END AS BIGINT)
        AS fingerprint,
    CAST(CASE WHEN j.wins AND NOT j.keeps_content THEN j.segment ELSE j.old_segment END AS STRING) AS segment,
    CAST(CASE WHEN j.wins AND NOT j.keeps_content THEN j.warc_file ELSE j.old_warc_file END AS STRING) AS warc_file,
    CAST(CASE
        WHEN j.wins AND NOT j.keeps_content THEN j.warc_offset
        ELSE j.old_warc_offset
    END AS BIGINT) AS warc_offset,
    CAST(COALESCE(j.old_discovered_at, j.discovered_at, j.now_ms) AS BIGINT) AS discovered_at,
    CAST(CASE WHEN j.was_known THEN j.old_discovered_from ELSE j.discovered_from END AS STRING) AS discovered_from,
    CAST(CASE WHEN j.was_known THEN j.old_discovered_via ELSE j.discovered_via END AS STRING) AS discovered_via,
    CASE WHEN j.old_metadata IS NULL AND j.wins THEN j.metadata ELSE j.old_metadata END AS metadata,
    j.new_metadata AS new_metadata
FROM joined j
