"""Which states, outcomes and reasons are there?

The nine states are those of Nutch 1.x, one-to-one, with its codes. An *outcome* is what one request came to; a *reason*
says why, from one documented list. `duplicate` and `orphan` are read off tables of those names and never stored in
the crawldb, but for an orphan that came from another program.
"""

from __future__ import annotations

UNFETCHED = "unfetched"
FETCHED = "fetched"
GONE = "gone"
REDIRECT_TEMP = "redirect_temp"
REDIRECT_PERM = "redirect_perm"
NOT_MODIFIED = "not_modified"
DUPLICATE = "duplicate"
ORPHAN = "orphan"
PARSE_FAILED = "parse_failed"

STATUSES: dict[str, int] = {
    UNFETCHED: 0x01,
    FETCHED: 0x02,
    GONE: 0x03,
    REDIRECT_TEMP: 0x04,
    REDIRECT_PERM: 0x05,
    NOT_MODIFIED: 0x06,
    DUPLICATE: 0x07,
    ORPHAN: 0x08,
    PARSE_FAILED: 0x09,
}
"""Name of each state, with Nutch 1.x's code for it."""

OUTCOMES: dict[str, str] = {
    "success": "An answer with a body to parse.",
    "not_modified": "304, believed only when a condition was sent.",
    "redirect_perm": "301 or 308 (and 300): the target stands for it.",
    "redirect_temp": "302, 303 or 307.",
    "gone": "The server says there is nothing here (404, 410, and other final refusals).",
    "retry": "A passing failure: of the network, of the server, or a limit of its.",
    "denied": "Not requested, and not to be: robots.txt, the address guard or a filter forbids it.",
}

REASONS: dict[str, str] = {
    "robots_denied": "robots.txt forbids it to our agent.",
    "robots_unreachable": "robots.txt could not be read (5xx, 429, network): nothing is fetched from the origin for now.",
    "http_4xx": "The server refused; the number stands in the reason (http_401, http_403, http_404, http_410 …).",
    "http_5xx": "The server failed; the number stands in the reason (http_500, http_503 …).",
    "http_429": "The server asked to slow down.",
    "http_other": "An answer outside the meaning of its status (1xx, 204 without content, 304 unasked).",
    "dns_failed": "The name does not exist or has no address.",
    "dns_timeout": "No name server answered in time.",
    "connect_failed": "No connection: refused, unreachable or reset.",
    "connect_timeout": "No connection in time.",
    "timeout": "The answer took too long, or came too slowly.",
    "tls_failed": "The certificate or the handshake is not acceptable.",
    "protocol_error": "The answer is not HTTP.",
    "proxy_failed": "The proxy did not answer.",
    "private_address": "The name or a redirect leads to a private address; --allow-net allows it.",
    "no_agent": "Only this machine is fetched from without a name: set fetcher.agent_name and fetcher.agent_contact.",
    "bad_scheme": "Neither http nor https.",
    "too_large": "The body was cut at the limit.",
    "bad_encoding": "The Content-Encoding does not decode.",
    "empty": "The body is empty.",
    "redirect_loop": "A redirect that leads back to where it came from.",
    "redirect_limit": "More redirects in a row than fetcher.max_redirects.",
    "redirect_bad": "A redirect without a usable target.",
    "redirect_filtered": "A redirect to a URL that a filter refuses.",
    "refresh": "The page sends on to another at once, by a meta tag or a header.",
    "filtered_by": "A named URL filter refuses it; the rule stands in the reason (filtered_by:scope …).",
    "host_backoff": "The host asked for a pause or failed too often; its URLs wait.",
    "round_over": "The round ended before its turn came: it is in the next fetchlist.",
    "parse_timeout": "Parsing took longer than allowed and was stopped.",
    "parse_crashed": "The parser ended unexpectedly on this page.",
    "parse_error": "The content could not be read as what it says it is.",
    "media_type": "A media type that no parser takes.",
    "noindex": "The page forbids indexing.",
    "canonical": "The page names another page as the one to show.",
    "trap_budget": "More URLs of one pattern than its budget allows.",
    "max_depth": "Deeper than crawl.depth.",
}
"""Every reason with one sentence; a number or a rule name may follow (`http_404`, `filtered_by:scope`)."""

LINK_KINDS: dict[str, str] = {
    "link": "a or area.",
    "frame": "frame or iframe.",
    "refresh": "Target of a meta or header refresh.",
    "redirect": "Target of an HTTP redirect.",
    "canonical": "The page named as canonical.",
    "alternate": "link rel=alternate, next or prev.",
    "sitemap": "Listed in a sitemap.",
    "image": "Embedded: img, source of a picture, icon, poster, input type=image.",
    "style": "Embedded: link rel=stylesheet.",
    "script": "Embedded: script with a src.",
    "media": "Embedded: audio, video, their sources and tracks.",
    "object": "Embedded: object or embed.",
}

EMBED_KINDS = frozenset(("image", "style", "script", "media", "object"))
"""Kinds of what a page is shown with. They are recorded; they pass nothing on, and are in no linkdb and no rank."""

FLAGS: dict[str, str] = {
    "needs_javascript": "Next to no text, and scripts that would fill it.",
    "login_wall": "A reader has to log in first.",
    "bot_challenge": "The server wants to know first whether a person asks.",
}
"""What a page may be rather than a page to be read."""
