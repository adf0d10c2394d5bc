-- The versions of pages in these segments that are none of their newest ones: their links are not looked at.
SELECT
    CAST(p.url_key AS STRING) AS url_key,
    CAST(p.segment AS STRING) AS segment
FROM parsed p
LEFT JOIN sources s ON s.url_key = p.url_key
WHERE s.url_key IS NULL OR s.segment <> p.segment
