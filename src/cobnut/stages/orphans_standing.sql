-- The pages that stand: their last full answer holds, whatever failed since.
SELECT CAST(o.url_key AS STRING) AS url_key
FROM every_page o
WHERE o.segment IS NOT NULL
