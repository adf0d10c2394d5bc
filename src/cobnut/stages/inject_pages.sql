-- The rows of `pages` that seeds change or add in this partition, with the seed's metadata beside the former one. When a
-- page was last tried, and where its last full answer lies, stays true of a row that is overwritten.
SELECT
    CAST(s.url_key AS STRING) AS url_key,
    CAST(s.host AS STRING) AS host,
    CAST(s.bucket AS INT) AS bucket,
    CAST(CASE WHEN NOT p.overwrite THEN o.etag ELSE NULL END AS STRING) AS etag,
    CAST(CASE WHEN NOT p.overwrite THEN o.last_modified ELSE NULL END AS STRING) AS last_modified,
    CAST(CASE WHEN NOT p.overwrite THEN o.http_status ELSE NULL END AS INT) AS http_status,
    CAST(o.checked_at AS BIGINT) AS checked_at,
    CAST(CASE WHEN NOT p.overwrite THEN o.media_type ELSE NULL END AS STRING) AS media_type,
    CAST(CASE WHEN NOT p.overwrite THEN o.redirect_key ELSE NULL END AS STRING) AS redirect_key,
    CAST(CASE WHEN NOT p.overwrite THEN o.canonical_key ELSE NULL END AS STRING) AS canonical_key,
    CAST(CASE WHEN NOT p.overwrite THEN o.fingerprint ELSE NULL END AS BIGINT) AS fingerprint,
    CAST(o.segment AS STRING) AS segment,
    CAST(o.warc_file AS STRING) AS warc_file,
    CAST(o.warc_offset AS BIGINT) AS warc_offset,
    CAST(CASE WHEN o.url_key IS NOT NULL THEN o.discovered_at ELSE p.now_ms END AS BIGINT) AS discovered_at,
    CAST(o.discovered_from AS STRING) AS discovered_from,
    CAST(CASE WHEN o.url_key IS NOT NULL THEN o.discovered_via ELSE 'seed' END AS STRING) AS discovered_via,
    CASE WHEN NOT p.overwrite THEN o.metadata ELSE NULL END AS metadata,
    CASE WHEN o.url_key IS NULL OR p.overwrite OR p.renew THEN s.metadata ELSE NULL END AS new_metadata
FROM best s
LEFT JOIN known_pages o ON o.url_key = s.url_key
CROSS JOIN params p
