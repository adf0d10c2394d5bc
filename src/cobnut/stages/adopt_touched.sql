-- The pages of this partition whose inlinks may change: those that adopted links lead to.
SELECT CAST(o.to_key AS STRING) AS to_key
FROM linkdb o
WHERE EXISTS (SELECT 1 FROM adopted_inlinks a WHERE a.to_key = o.to_key)
UNION
SELECT CAST(o.to_key AS STRING) AS to_key
FROM linkdb o
CROSS JOIN params p
WHERE p.everything
