-- Which pages may be copies, or stand for some: several versions, content that another has too, or another page that is
-- named as canonical. Most are none of these, and what is known of them need not be looked up.
WITH good AS (
    SELECT v.url_key AS url_key, v.signature AS signature, v.canonical_key AS canonical_key
    FROM parsed v
    WHERE v.parse_status = 'ok'
),
alike AS (
    SELECT v.signature AS signature FROM good v GROUP BY v.signature HAVING COUNT(*) > 1
),
every_key AS (
    SELECT v.url_key AS url_key FROM good v GROUP BY v.url_key HAVING COUNT(*) > 1
    UNION
    SELECT v.url_key AS url_key FROM good v JOIN alike a ON a.signature = v.signature
    UNION
    SELECT v.url_key AS url_key FROM good v WHERE v.canonical_key <> v.url_key
    UNION
    SELECT v.canonical_key AS url_key FROM good v WHERE v.canonical_key <> v.url_key
)
SELECT CAST(e.url_key AS STRING) AS url_key
FROM every_key e
