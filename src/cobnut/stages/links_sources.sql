-- The newest segment that holds each parsed page: where its current links stand.
SELECT
    CAST(p.url_key AS STRING) AS url_key,
    CAST(MAX(p.segment) AS STRING) AS segment
FROM parsed p
WHERE p.parse_status = 'ok'
GROUP BY p.url_key
