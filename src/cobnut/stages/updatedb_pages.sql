-- The rows of `pages` of this partition that the round changes or adds: what is known of each page beside scheduling. Validators and the place of the last
-- full answer stand as long as the page does: a redirect, 404, 410 or refusal takes them back, a passing failure does not.
-- So a page that comes back is asked for in full, and what was taken back stays hidden (see merge) until then.
WITH discovered AS (
    SELECT * FROM targets WHERE rule IS NULL
),
joined AS (
    SELECT
        COALESCE(a.url_key, t.url_key) AS key,
        o.url_key IS NOT NULL AS was_known,
        COALESCE(a.outcome = 'success', FALSE) AS has_answer,
        COALESCE(a.outcome IN ('success', 'redirect_perm', 'redirect_temp', 'gone', 'denied'), FALSE) AS has_news,
        COALESCE(a.outcome IN ('success', 'redirect_perm', 'redirect_temp', 'not_modified'), FALSE) AS has_way,
        a.url_key IS NOT NULL AS was_requested,
        COALESCE(o.host, a.host, t.host) AS the_host,
        COALESCE(o.bucket, a.bucket, t.bucket) AS the_bucket,
        o.etag AS old_etag, o.last_modified AS old_last_modified, o.http_status AS old_http_status,
        o.checked_at AS old_checked_at, o.media_type AS old_media_type, o.redirect_key AS old_redirect_key,
        o.canonical_key AS old_canonical_key, o.fingerprint AS old_fingerprint, o.segment AS old_segment,
        o.warc_file AS old_warc_file, o.warc_offset AS old_warc_offset, o.discovered_at AS old_discovered_at,
        o.discovered_from AS old_discovered_from, o.discovered_via AS old_discovered_via, o.metadata AS metadata,
        a.etag AS etag, a.last_modified AS last_modified, a.http_status AS http_status, a.fetched_at AS fetched_at,
        a.media_type AS media_type, a.redirect_key AS redirect_key, a.canonical_key AS canonical_key,
        a.fingerprint AS fingerprint, a.segment AS segment, a.warc_file AS warc_file, a.warc_offset AS warc_offset,
        a.hop_from AS hop_from, t.discovered_from AS discovered_from, t.discovered_via AS discovered_via,
        p.now_ms AS now_ms
    FROM answers a
    FULL OUTER JOIN discovered t ON t.url_key = a.url_key
    LEFT JOIN known_pages o ON o.url_key = COALESCE(a.url_key, t.url_key)
    CROSS JOIN params p
)
SELECT
    CAST(j.key AS STRING) AS url_key,
    CAST(j.the_host AS STRING) AS host,
    CAST(j.the_bucket AS INT) AS bucket,
    CAST(CASE WHEN j.has_answer THEN j.etag WHEN j.has_news THEN NULL ELSE j.old_etag END AS STRING) AS etag,
    CAST(CASE WHEN j.has_answer THEN j.last_modified WHEN j.has_news THEN NULL ELSE j.old_last_modified END AS STRING) AS last_modified,
    CAST(CASE WHEN j.was_requested THEN j.http_status ELSE j.old_http_status END AS INT) AS http_status,
    CAST(CASE WHEN j.was_requested THEN j.fetched_at ELSE j.old_checked_at END AS BIGINT) AS checked_at,
    CAST(CASE WHEN j.has_answer THEN j.media_type ELSE j.old_media_type END AS STRING) AS media_type,
    CAST(CASE WHEN j.has_way THEN j.redirect_key ELSE j.old_redirect_key END AS STRING) AS redirect_key,
    CAST(CASE WHEN j.has_answer THEN j.canonical_key ELSE j.old_canonical_key END AS STRING) AS canonical_key,
    CAST(CASE WHEN j.has_answer THEN j.fingerprint ELSE j.old_fingerprint END AS BIGINT) AS fingerprint,
    CAST(CASE WHEN j.has_answer THEN j.segment WHEN j.has_news THEN NULL ELSE j.old_segment END AS STRING) AS segment,
    CAST(CASE WHEN j.has_answer THEN j.warc_file WHEN j.has_news THEN NULL ELSE j.old_warc_file END AS STRING) AS warc_file,
    CAST(CASE
        WHEN j.has_answer THEN j.warc_offset
        WHEN j.has_news THEN NULL
        ELSE j.old_warc_offset
    END AS BIGINT) AS warc_offset,
    CAST(CASE WHEN j.was_known THEN j.old_discovered_at ELSE j.now_ms END AS BIGINT) AS discovered_at,
    CAST(CASE
        WHEN j.was_known THEN j.old_discovered_from
        WHEN j.discovered_from IS NOT NULL THEN j.discovered_from
        ELSE j.hop_from
    END AS STRING) AS discovered_from,
    CAST(CASE
        WHEN j.was_known THEN j.old_discovered_via
        WHEN j.discovered_via IS NOT NULL THEN j.discovered_via
        WHEN j.hop_from IS NOT NULL THEN 'redirect'
        ELSE 'link'
    END AS STRING) AS discovered_via,
    j.metadata AS metadata
FROM joined j
