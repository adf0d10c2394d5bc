-- The pages of this partition whose inlinks may change: what the segments' pages link to now, and what they linked to
-- before. Where there are no links yet, nothing has to be looked for.
SELECT CAST(f.to_key AS STRING) AS to_key
FROM fresh f
CROSS JOIN params p
WHERE p.has_links
UNION
SELECT CAST(o.to_key AS STRING) AS to_key
FROM linkdb o
JOIN sources s ON s.url_key = o.from_key
UNION
SELECT CAST(o.to_key AS STRING) AS to_key
FROM linkdb o
CROSS JOIN params p
WHERE p.everything
