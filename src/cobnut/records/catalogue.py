"""Which tables are there?

Stages meet only in these tables. Times are int64 milliseconds since 1970-01-01 UTC, durations carry their unit in the
name, scores are int64 millionths (1.0 is 1_000_000), so that sums do not depend on the order of addition.

Not here: how rows come to be (`stages`), how they are stored (`storage`).
"""

from __future__ import annotations

from cobnut.errors import InputError
from cobnut.records.columns import Column, ColumnType, Table

FORMAT_VERSION = 1
"""Version of everything a crawl keeps on disk; a newer one is refused with a clear error."""


def _c(name: str, type_: ColumnType, doc: str) -> Column:
    return Column(name, type_, doc)


def _k(name: str, type_: ColumnType, doc: str) -> Column:
    return Column(name, type_, doc, nullable=False)


_URL_KEY = _k("url_key", "string", "Identity of the page: its URL with the host reversed; one-to-one with the normalised URL.")
_URL = _c("url", "string", "The URL as found and requested; NULL where it equals the normalised form.")
_HOST = _k("host", "string", "Host name in lower case, without port; an IPv6 address in brackets.")
_BUCKET = _k("bucket", "int32", "Host bucket, 0 to 65535: the low 16 bits of xxh3-64 of `host`.")

CRAWLDB = Table(
    "crawldb", "crawl", ("url_key",), "bucket", ("inject", "updatedb", "adopt"),
    "What is known of every URL and when it is due: the hot columns that scheduling needs.",
    (
        _URL_KEY, _URL, _HOST, _BUCKET,
        _k("status", "string", "One of the nine states (see `records.outcomes`)."),
        _c("reason", "string", "Why the URL is in this state, from the documented list; NULL when there is nothing to say."),
        _k("due_at", "int64", "When it is to be fetched next."),
        _c("fetched_at", "int64", "Last time an answer was fetched successfully (200 or 304)."),
        _c("modified_at", "int64", "Last time the content was seen to differ."),
        _k("retries", "int32", "Failed tries since the last success."),
        _k("interval_s", "int64", "Time between two fetches."),
        _c("fixed_interval_s", "int64", "Interval fixed by the seed; it then overrides every schedule."),
        _k("score", "int64", "Importance for scheduling, in millionths."),
        _c("signature", "binary", "Digest of the last content, 16 bytes (MD5 of the body by default); NULL for empty content."),
        _c("outlink_count", "int32", "Page links of the last parsed version."),
        _k("depth", "int32", "Links from the nearest seed; a seed has 0."),
    ),
)

PAGES = Table(
    "pages", "crawl", ("url_key",), "bucket", ("inject", "updatedb", "adopt"),
    "What is known of every URL beside scheduling: the cold columns.",
    (
        _URL_KEY, _HOST, _BUCKET,
        _c("etag", "string", "ETag of the last full answer, sent back as If-None-Match; NULL once the page is gone or redirects."),
        _c("last_modified", "string", "Last-Modified of the last full answer, sent back as If-Modified-Since; NULL like `etag`."),
        _c("http_status", "int32", "Status of the last answer."),
        _c("checked_at", "int64", "Last time a fetch was tried, whatever came of it."),
        _c("media_type", "string", "Media type of the last content, as detected."),
        _c("redirect_key", "string", "Where it redirects to."),
        _c("canonical_key", "string", "What the page names as its canonical URL."),
        _c("fingerprint", "int64", "Near-duplicate fingerprint of the text."),
        _c("segment", "string", "Segment that holds the last full answer; NULL before there is one, and once the page is gone or redirects."),
        _c("warc_file", "string", "WARC file in that segment."),
        _c("warc_offset", "int64", "Offset of the response record in that file."),
        _k("discovered_at", "int64", "When the URL was first heard of."),
        _c("discovered_from", "string", "url_key of the page that first named it; NULL for a seed."),
        _c("discovered_via", "string", "seed, link, redirect, refresh or sitemap."),
        _c("metadata", "map", "What the seed file said beside the reserved names."),
    ),
)

SEEDS = Table(
    "seeds", "crawl", ("url_key",), None, ("inject", "adopt", "adopthosts"),
    "The URLs a user asked for. They define the scopes host, domain and prefix, and which private addresses are allowed.",
    (
        _URL_KEY, _k("url", "string", "The seed as resolved, not NULL here."), _HOST,
        _k("injected_at", "int64", "When it was injected."),
    ),
)

FORGOTTEN = Table(
    "forgotten", "crawl", ("kind", "value"), None, ("forget",),
    "What is never to be fetched, kept or shown again, and why: also the log of what was forgotten and taken back.",
    (
        _k("kind", "string", "url, host or prefix."),
        _k("value", "string", "The normalised URL, the host's name, or the beginning of normalised URLs."),
        _c("reason", "string", "Why, as whoever asked for it said."),
        _k("forgotten_at", "int64", "When it was asked for, the last time."),
        _c("undone_at", "int64", "When it was taken back; NULL as long as it holds."),
    ),
)

HOSTDB = Table(
    "hostdb", "crawl", ("host",), "bucket", ("updatedb", "adopt", "adopthosts"),
    "What is known of every host that was contacted.",
    (
        _HOST, _BUCKET,
        _c("next_fetch_at", "int64", "No request before this time (Retry-After, back-off)."),
        _c("retry_after_at", "int64", "Until when the host last asked to be left alone (Retry-After of a 429 or 503), within bounds."),
        _k("backoff_s", "int64", "Present back-off; 0 when the host is well."),
        _k("failures", "int64", "Failed requests in a row (network errors, 5xx, 429), over all rounds."),
        _k("request_count", "int64", "Requests ever sent."),
        _k("success_count", "int64", "Answers ever that were no failure of the host; a 404 is one."),
        _k("error_count", "int64", "Requests ever that brought no usable answer."),
        _k("dns_error_count", "int64", "Failed name look-ups ever."),
        _c("last_success_at", "int64", "When it last answered a page so; robots.txt does not count."),
        _c("last_error", "string", "Reason of the last failure."),
        _c("last_error_at", "int64", "When that was."),
        _c("crawl_delay_ms", "int64", "Crawl-delay of robots.txt for our agent."),
        _k("body_bytes", "int64", "Bytes of bodies received."),
        _k("elapsed_ms", "int64", "Sum of the answer times; divided by request_count it is the mean latency."),
        _c("recent_ms", "int64", "Mean latency of late: each round counts a quarter, what was before the rest."),
        _k("updated_at", "int64", "Last time this row changed."),
    ),
)

ROBOTS = Table(
    "robots", "crawl", ("origin",), "bucket", ("updatedb", "adopthosts"),
    "The robots.txt of every origin, as last fetched.",
    (
        _k("origin", "string", "scheme://host[:port]."), _HOST, _BUCKET,
        _k("state", "string", "rules, allow_all or disallow_all."),
        _c("http_status", "int32", "Status of the answer; NULL when there was none."),
        _c("reason", "string", "Why the state is what it is, when not simply read."),
        _c("body", "binary", "The file, up to 500 KiB."),
        _k("fetched_at", "int64", "When it was fetched."),
        _c("sitemaps", "strings", "Its Sitemap lines, resolved."),
    ),
)

LINKDB = Table(
    "linkdb", "crawl", ("to_key", "from_key"), "to_bucket", ("invertlinks", "adoptlinks"),
    "Who links to a page, with which words: capped per page, best sources kept.",
    (
        _k("to_key", "string", "The page linked to."),
        _k("from_key", "string", "The page that links."),
        _k("to_host", "string", "Host of the page linked to."),
        _k("to_bucket", "int32", "Host bucket of `to_host`."),
        _k("from_host", "string", "Host of the page that links."),
        _c("anchor", "string", "The words of the link; NULL when it has none."),
        _k("nofollow", "bool", "The link, or its whole page, said nofollow."),
        _k("kind", "string", "link, frame, refresh, redirect, canonical …"),
        _k("from_score", "int64", "Score of the source when the link was last seen, in millionths."),
        _k("segment", "string", "Segment the source was last parsed in; `imported` for a link that another crawl brought."),
    ),
)

RANKS = Table(
    "ranks", "crawl", ("url_key",), "bucket", ("rank",),
    "Link rank of every page and of its host, computed from all current links.",
    (
        _URL_KEY, _HOST, _BUCKET,
        _k("page_rank", "int64", "PageRank in millionths; the mean over all pages is 1.0."),
        _k("host_rank", "int64", "PageRank of the host graph in millionths; the mean over all hosts is 1.0."),
    ),
)

DUPLICATES = Table(
    "duplicates", "crawl", ("url_key", "segment"), "bucket", ("dedup",),
    "Which stored versions are not shown, and which one stands for them.",
    (
        _URL_KEY, _k("segment", "string", "Segment of the version that is left out."), _HOST, _BUCKET,
        _k("representative_key", "string", "url_key of the version that stays."),
        _k("representative_segment", "string", "Its segment."),
        _k("kind", "string", "same_url, exact or canonical."),
        _k("rule", "string", "What decided: newest, score, fetched_at, url_length, url_key or canonical."),
    ),
)

ORPHANS = Table(
    "orphans", "crawl", ("url_key",), "bucket", ("orphans",),
    "Pages that were found through others and that no page leads to any more.",
    (
        _URL_KEY, _HOST, _BUCKET,
        _k("since", "int64", "When it was first seen that no page leads to it."),
    ),
)

FETCHLIST = Table(
    "fetchlist", "segment", ("url_key",), None, ("generate",),
    "What one round is to fetch, in parts; a host is in exactly one part. One file a part, best score first.",
    (
        _URL_KEY, _k("url", "string", "The URL to request, never NULL here."), _HOST, _BUCKET,
        _k("part", "int32", "Which fetcher takes it, 0 to N-1."),
        _k("fetch", "bool", "False: keep the page, only refresh its row."),
        _k("score", "int64", "Score when generated, in millionths."),
        _k("depth", "int32", "Links from the nearest seed."),
        _c("etag", "string", "For If-None-Match."),
        _c("last_modified", "string", "For If-Modified-Since."),
        _c("signature", "binary", "Digest of the version we have."),
        _k("fetched_before", "bool", "The page was fetched in an earlier round: its links have passed on their score already."),
        _c("metadata", "map", "From the seed."),
    ),
)

FETCHED = Table(
    "fetched", "segment", ("url_key",), None, ("fetch",),
    "What became of every URL of the round: one row a request that was answered or failed, redirect hops included.",
    (
        _URL_KEY, _k("url", "string", "The URL requested."), _HOST, _BUCKET,
        _k("outcome", "string", "success, not_modified, redirect_perm, redirect_temp, gone, retry, or denied."),
        _c("reason", "string", "Why, from the documented list; NULL for a plain success."),
        _c("http_status", "int32", "Status of the answer; NULL when there was none."),
        _c("headers", "map", "The answer's headers that are kept, names in lower case."),
        _k("fetched_at", "int64", "When the request was sent."),
        _c("elapsed_ms", "int64", "From sending to the last byte; NULL when not measured."),
        _k("body_bytes", "int64", "Bytes of the body as received."),
        _k("truncated", "bool", "The body was cut at a limit, or shorter than announced."),
        _c("redirect_url", "string", "Target of a redirect, resolved."),
        _c("redirect_key", "string", "Its url_key."),
        _c("digest", "binary", "MD5 of the body with its Content-Encoding undone; NULL when empty."),
        _c("etag", "string", "ETag of the answer."),
        _c("last_modified", "string", "Last-Modified of the answer."),
        _c("last_modified_at", "int64", "The same as a time; NULL where it is none, or later than the answer."),
        _c("retry_after_s", "int64", "Retry-After of the answer."),
        _c("warc_file", "string", "File in the segment's warc folder that holds the answer."),
        _c("warc_offset", "int64", "Offset of the response record."),
        _c("address", "string", "IP address that answered."),
        _k("score", "int64", "Score from the fetchlist; a redirect target has that of its source."),
        _k("depth", "int32", "Depth from the fetchlist; a redirect target has that of its source."),
        _c("hop_from", "string", "url_key of the URL whose redirect led here; NULL for a URL of the fetchlist."),
        _c("had_condition", "bool", "A conditional request was sent: only then a 304 is believed."),
        _c("flags", "strings", "What a refusal is, where it says so: bot_challenge or login_wall."),
    ),
)

HOSTS = Table(
    "hosts", "segment", ("host", "seen_at"), None, ("fetch",),
    "What the round learned of each host and origin.",
    (
        _HOST, _BUCKET,
        _k("seen_at", "int64", "When it came; traffic: when the last of these requests ended."),
        _k("event", "string", "robots (what an origin's robots.txt said) or traffic (sums for the host)."),
        _c("origin", "string", "robots: scheme://host[:port]."),
        _c("state", "string", "robots: rules, allow_all or disallow_all."),
        _c("http_status", "int32", "robots: status of the answer."),
        _c("reason", "string", "robots: why; traffic: reason of the last failure."),
        _c("body", "binary", "robots: the file."),
        _c("sitemaps", "strings", "robots: its Sitemap lines, resolved."),
        _c("crawl_delay_ms", "int64", "robots: Crawl-delay for our agent."),
        _c("request_count", "int64", "traffic: requests sent."),
        _c("error_count", "int64", "traffic: requests without a usable answer."),
        _c("dns_error_count", "int64", "traffic: failed look-ups."),
        _c("failures", "int64", "traffic: failures in a row at the end of the round."),
        _c("next_fetch_at", "int64", "traffic: no request before this time."),
        _c("backoff_s", "int64", "traffic: back-off at the end of the round."),
        _c("body_bytes", "int64", "traffic: bytes of bodies received."),
        _c("elapsed_ms", "int64", "traffic: sum of the answer times."),
        _c("success_count", "int64", "traffic: answers that were no failure of the host."),
        _c("last_success_at", "int64", "traffic: when a page was last answered so, in this round."),
        _c("last_error_at", "int64", "traffic: when the last failure came, in this round."),
        _c("retry_after_at", "int64", "traffic: until when the host asked to be left alone, in this round."),
    ),
)

PARSED = Table(
    "parsed", "segment", ("url_key",), None, ("parse",),
    "What every fetched page says: one row a page fetched with success.",
    (
        _URL_KEY, _k("url", "string", "The URL requested."), _HOST, _BUCKET,
        _k("parse_status", "string", "ok, failed or skipped."),
        _c("reason", "string", "Why it failed or was skipped."),
        _c("title", "string", "Title, white space folded."),
        _c("text", "string", "Visible text; blocks parted by newlines."),
        _c("main_text", "string", "The text without navigation and boilerplate; NULL where not told apart."),
        _c("headings", "strings", "Texts of h1 to h3."),
        _c("description", "string", "meta description."),
        _c("language", "string", "ISO 639-1 code, as detected."),
        _c("charset", "string", "Encoding the body was decoded with (WHATWG name)."),
        _c("charset_source", "string", "bom, header, meta, utf8, guess or none."),
        _c("media_type", "string", "Media type, as detected."),
        _c("base_url", "string", "What the links were resolved against."),
        _c("canonical_key", "string", "url_key of the canonical URL the page names."),
        _k("noindex", "bool", "The page or its header forbids indexing."),
        _k("nofollow", "bool", "The page or its header forbids following its links."),
        _k("noarchive", "bool", "The page or its header forbids showing a cached copy."),
        _c("refresh_delay_s", "int64", "Delay of a meta or header refresh."),
        _c("refresh_url", "string", "Its target; NULL when it only reloads."),
        _c("refresh_key", "string", "Its url_key, where it comes at once, in less than 5 seconds: the page is a redirect."),
        _k("outlink_count", "int32", "Page links kept."),
        _c("embed_count", "int32", "Images, styles, scripts, media and objects kept; NULL where they were not looked for."),
        _k("links_dropped", "int32", "Links left out beyond the limit or unreadable, embeds beyond theirs."),
        _k("truncated", "bool", "The body was cut, or decoded only up to the limit."),
        _c("flags", "strings", "What the page is rather than a page to be read: needs_javascript, login_wall, bot_challenge."),
        _c("signature", "binary", "What dedup compares: MD5 of the body by default; NULL for empty text."),
        _c("fingerprint", "int64", "Near-duplicate fingerprint of the text."),
        _k("fetched_at", "int64", "When the page was fetched."),
        _k("score", "int64", "Score carried from `fetched`."),
    ),
)

LINKS = Table(
    "links", "segment", ("from_key", "position"), "to_bucket", ("parse",),
    "Every link of every parsed page, and what it embeds. One file a part, sorted by `to_bucket`, so that readers prune row groups.",
    (
        _k("from_key", "string", "The page that links."),
        _k("position", "int32", "Place in the page, in document order; embeds behind the links."),
        _k("from_host", "string", "Its host."),
        _k("from_score", "int64", "Its score, in millionths."),
        _k("from_depth", "int32", "Its depth."),
        _k("contribution", "int64", "Share of the score that this link passes on, in millionths."),
        _c("to_url", "string", "The URL linked to; NULL where it equals the normalised form."),
        _k("to_key", "string", "Its url_key."),
        _k("to_host", "string", "Its host."),
        _k("to_bucket", "int32", "Host bucket of `to_host`."),
        _c("anchor", "string", "The words of the link; NULL when it has none."),
        _k("nofollow", "bool", "It is not followed: the link or its whole page said so, or it is an embed and `parser.follow_embeds` is off."),
        _k("kind", "string", "link, frame, refresh, redirect, canonical …, or what is embedded: image, style, script, media, object."),
        _c("changed_at", "int64", "When the page linked to changed last, as a sitemap or feed says."),
    ),
)

LINKED = Table(
    "linked", "segment", ("url_key",), None, ("updatesegs",),
    "What the whole crawl says of the pages of one segment: scores and anchors.",
    (
        _URL_KEY, _HOST, _BUCKET,
        _k("score", "int64", "Crawldb score, in millionths."),
        _k("page_rank", "int64", "In millionths."),
        _k("host_rank", "int64", "In millionths."),
        _k("inlink_count", "int64", "Inlinks kept in the linkdb, from other pages."),
        _k("inlink_host_count", "int64", "Distinct other hosts among them."),
        _c("shown_url", "string", "URL that stands for the page, where one that redirects to it does; otherwise NULL."),
        _c("anchors", "anchors", "Anchors, best sources first, each with the page it stands on."),
    ),
)

TABLES: tuple[Table, ...] = (
    CRAWLDB, PAGES, SEEDS, FORGOTTEN, HOSTDB, ROBOTS, LINKDB, RANKS, DUPLICATES, ORPHANS,
    FETCHLIST, FETCHED, HOSTS, PARSED, LINKS, LINKED,
)  # fmt: skip


def table(name: str) -> Table:
    """The table of that name; an `InputError` names those there are."""
    for candidate in TABLES:
        if candidate.name == name:
            return candidate
    raise InputError(f"no table is called {name!r}", remedy="the tables are " + ", ".join(t.name for t in TABLES))
