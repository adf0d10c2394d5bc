-- Links to pages that redirect, as links to where they lead in the end: what was said of the one is said of the other.
SELECT
    CAST(r.final_key AS STRING) AS to_key,
    CAST(l.from_key AS STRING) AS from_key,
    CAST(r.host AS STRING) AS to_host,
    CAST(r.bucket AS INT) AS bucket,
    CAST(l.from_host AS STRING) AS from_host,
    CAST(l.anchor AS STRING) AS anchor,
    CAST(l.from_score AS BIGINT) AS from_score
FROM all_links l
JOIN redirected r ON r.url_key = l.to_key
WHERE l.from_key <> r.final_key
