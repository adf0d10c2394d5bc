-- What keeps pages of this partition out of the fetchlist: how many, and when the first of them is ready.
SELECT
    CAST(d.held AS STRING) AS held,
    CAST(COUNT(*) AS BIGINT) AS pages,
    CAST(MIN(d.ready_at) AS BIGINT) AS ready_at
FROM due d
WHERE d.held IS NOT NULL
GROUP BY d.held
