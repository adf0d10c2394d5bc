"""What would Cobnut make of this one thing: a URL, a robots.txt, a page, a query, a sitemap, a host?

One item in, everything about it out, and no crawl needed: the functions here call the very code that a crawl runs.
Each check has an `answer` (one item as plain JSON values in, plain JSON values out) and a `story` (the same answer as
labelled lines for a person).

* `items`: how items are read, and what is wrong with one
* `lines`: one JSON object a line in, one a line out
* `basis`: the settings, the filters and the address guard that hold
* `live`: what is not given is fetched, by the fetcher, with everything a crawl obeys
* `url`, `robots`, `page`, `query`, `sitemap`, `host`: the checks

Not here: what a crawl knows of a URL (`inspect.why`).
"""
