-- The pages of this partition that nothing keeps out, before the URL filters are asked.
SELECT CAST(d.url_key AS STRING) AS url_key
FROM due d
WHERE d.held IS NULL
