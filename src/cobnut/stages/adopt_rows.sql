-- Of each page of this partition the adopted row that was visited last, completed by what the segments that came along
-- know better: the exact time, where the content lies, what the answer said. What redirects or is gone has no content.
WITH numbered AS (
    SELECT
        a.*,
        row_number() OVER (
            PARTITION BY a.url_key
            ORDER BY
                CASE
                    WHEN a.fetched_at IS NULL THEN a.checked_at
                    WHEN a.checked_at IS NULL OR a.checked_at < a.fetched_at THEN a.fetched_at
                    ELSE a.checked_at
                END DESC NULLS LAST,
                a.sequence DESC NULLS LAST, a.status ASC NULLS LAST, a.due_at ASC NULLS LAST, a.score DESC NULLS LAST,
                a.requested ASC NULLS LAST
        ) AS place
    FROM adopted a
),
joined AS (
    SELECT
        a.*,
        v.url_key IS NOT NULL AS was_visited,
        COALESCE(v.has_answer, FALSE) AND a.status NOT IN ('gone', 'redirect_temp', 'redirect_perm') AS has_answer,
        v.outcome AS v_outcome, v.reason AS v_reason, v.http_status AS v_http_status, v.checked_at AS v_checked_at,
        v.fetched_at AS v_fetched_at, v.redirect_key AS v_redirect_key, v.segment AS v_segment,
        v.warc_file AS v_warc_file, v.warc_offset AS v_warc_offset, v.etag AS v_etag,
        v.last_modified AS v_last_modified, v.page_reason AS v_page_reason, v.media_type AS v_media_type,
        v.canonical_key AS v_canonical_key, v.fingerprint AS v_fingerprint, v.outlink_count AS v_outlink_count
    FROM numbered a
    LEFT JOIN visits v ON v.url_key = a.url_key
    WHERE a.place = 1
)
SELECT
    CAST(j.url_key AS STRING) AS url_key,
    CAST(j.url AS STRING) AS url,
    CAST(j.host AS STRING) AS host,
    CAST(j.bucket AS INT) AS bucket,
    CAST(j.status AS STRING) AS status,
    CAST(CASE
        WHEN j.reason IS NOT NULL THEN j.reason
        WHEN j.status IN ('fetched', 'not_modified', 'parse_failed', 'orphan') THEN j.v_page_reason
        WHEN j.v_outcome IN ('success', 'not_modified') THEN NULL
        ELSE j.v_reason
    END AS STRING) AS reason,
    CAST(j.due_at AS BIGINT) AS due_at,
    CAST(CASE
        WHEN j.fetched_at IS NULL OR j.fetched_at < j.v_fetched_at THEN j.v_fetched_at
        ELSE j.fetched_at
    END AS BIGINT) AS fetched_at,
    CAST(j.modified_at AS BIGINT) AS modified_at,
    CAST(j.retries AS INT) AS retries,
    CAST(j.interval_s AS BIGINT) AS interval_s,
    CAST(j.fixed_interval_s AS BIGINT) AS fixed_interval_s,
    CAST(j.score AS BIGINT) AS score,
    CAST(j.signature AS BINARY) AS signature,
    CAST(COALESCE(j.outlink_count, j.v_outlink_count) AS INT) AS outlink_count,
    CAST(j.depth AS INT) AS depth,
    CAST(CASE WHEN j.etag IS NULL AND j.has_answer THEN j.v_etag ELSE j.etag END AS STRING) AS etag,
    CAST(CASE
        WHEN j.last_modified IS NULL AND j.has_answer THEN j.v_last_modified
        ELSE j.last_modified
    END AS STRING) AS last_modified,
    CAST(COALESCE(j.http_status, j.v_http_status) AS INT) AS http_status,
    CAST(CASE
        WHEN j.checked_at IS NULL OR j.checked_at < j.v_checked_at THEN j.v_checked_at
        ELSE j.checked_at
    END AS BIGINT) AS checked_at,
    CAST(COALESCE(j.media_type, j.v_media_type) AS STRING) AS media_type,
    CAST(COALESCE(j.redirect_key, j.v_redirect_key) AS STRING) AS redirect_key,
    CAST(CASE WHEN j.has_answer THEN j.v_canonical_key ELSE j.canonical_key END AS STRING) AS canonical_key,
    CAST(CASE WHEN j.has_answer THEN j.v_fingerprint ELSE j.fingerprint END AS BIGINT) AS fingerprint,
    CAST(CASE WHEN j.has_answer THEN j.v_segment ELSE j.segment END AS STRING) AS segment,
    CAST(CASE WHEN j.has_answer THEN j.v_warc_file ELSE j.warc_file END AS STRING) AS warc_file,
    CAST(CASE WHEN j.has_answer THEN j.v_warc_offset ELSE j.warc_offset END AS BIGINT) AS warc_offset,
    CAST(j.discovered_at AS BIGINT) AS discovered_at,
    CAST(j.discovered_from AS STRING) AS discovered_from,
    CAST(j.discovered_via AS STRING) AS discovered_via,
    j.metadata AS metadata,
    CAST(j.requested AS STRING) AS requested,
    CAST(j.may_seed AS BOOLEAN) AS may_seed,
    CAST(j.sequence AS BIGINT) AS sequence
FROM joined j
