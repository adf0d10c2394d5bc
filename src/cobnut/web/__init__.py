"""The search page and its JSON API.

`app` maps addresses to answers, `parameters` reads what a request asks, `source` holds the index that is searched now,
`view` makes of a hit what a page shows, `display` writes URLs safely for people, `pages` fills the templates, `bot` is
the page about the crawler, `cache` keeps answers given lately. Around them: `gate` (names, requests per client with
`clients` and `limiter`, logins and keys with `access`), `guard` (methods, sizes, security headers, no traceback ever),
`access_log`. `serve` runs it all in worker processes, and `exposure` says what that opens to whom.

Server-rendered, useful without JavaScript (there is none), no cookies, nothing loaded from elsewhere. Not here: what a
query means and which hit is best (`search`). Nothing of the crawl side is known here.
"""
