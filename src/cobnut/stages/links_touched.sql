-- The pages of this partition whose inlinks may change: what the segments' pages link to now, and what they linked to
-- before. Pages that nothing has linked to yet are not among them: they have no rows to be replaced.
SELECT CAST(o.to_key AS STRING) AS to_key
FROM linkdb o
WHERE EXISTS (SELECT 1 FROM fresh f WHERE f.to_key = o.to_key)
UNION
SELECT CAST(o.to_key AS STRING) AS to_key
FROM linkdb o
JOIN sources s ON s.url_key = o.from_key
UNION
SELECT CAST(o.to_key AS STRING) AS to_key
FROM linkdb o
CROSS JOIN params p
WHERE p.everything
