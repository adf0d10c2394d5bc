-- The rows of `pages` of the seeds of this partition.
SELECT
    CAST(p.url_key AS STRING) AS url_key,
    CAST(p.host AS STRING) AS host,
    CAST(p.bucket AS INT) AS bucket,
    CAST(p.etag AS STRING) AS etag,
    CAST(p.last_modified AS STRING) AS last_modified,
    CAST(p.http_status AS INT) AS http_status,
    CAST(p.checked_at AS BIGINT) AS checked_at,
    CAST(p.media_type AS STRING) AS media_type,
    CAST(p.redirect_key AS STRING) AS redirect_key,
    CAST(p.canonical_key AS STRING) AS canonical_key,
    CAST(p.fingerprint AS BIGINT) AS fingerprint,
    CAST(p.segment AS STRING) AS segment,
    CAST(p.warc_file AS STRING) AS warc_file,
    CAST(p.warc_offset AS BIGINT) AS warc_offset,
    CAST(p.discovered_at AS BIGINT) AS discovered_at,
    CAST(p.discovered_from AS STRING) AS discovered_from,
    CAST(p.discovered_via AS STRING) AS discovered_via,
    p.metadata AS metadata
FROM pages p
JOIN best b ON b.url_key = p.url_key
