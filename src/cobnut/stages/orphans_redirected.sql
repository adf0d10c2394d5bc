-- The pages that others redirect to. What answered 404 or 410 since leads nowhere; what failed otherwise may do so again.
SELECT DISTINCT CAST(o.redirect_key AS STRING) AS url_key
FROM every_page o
WHERE o.redirect_key IS NOT NULL AND o.redirect_key <> o.url_key
    AND (o.http_status IS NULL OR o.http_status NOT IN (404, 410))
