-- The pages in fetchlists that the crawldb has not taken in.
SELECT DISTINCT CAST(w.url_key AS STRING) AS url_key, CAST(w.bucket AS INT) AS bucket
FROM waiting w
