"""How are ten thousand hosts fetched at once, politely?

    pool (parent) ──spec, parts, hops──▶ worker (process) ── run (state of a URL) ── queues, robots, names, guard
         ◀──progress, hops, results───                      └ exchange (libcurl) ─ archive (WARC) ─ results (Parquet)

A URL goes through: host queue → robots of its origin → address, checked → request → answer archived → row. A
row of a chunk that has its name on disk is acknowledged: it is never fetched again in this segment.

Not here: which URLs (`frontier`), what a page says (`parsers`), when a URL is fetched again
(`frontier.transition`).
"""
