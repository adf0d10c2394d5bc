"""What does each of Nutch's properties mean here?

One row a property, from 0.7 to 1.23; a `*` at the end of a name stands for all that begin so. A row says one of three
things: which setting takes it (`sets`), how the matter is handled here without one (`built in`), or that there is no
counterpart and why (`none`). Rows are tried exact name first, then the longest beginning.

What hangs on several properties at once (name of the agent, proxy, plug-ins, scope, files) is put together in
`convert`; its rows here say so in the same words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from cobnut.interop.nutch_config.values import (
    KeepsDefaultError,
    count,
    days,
    limit,
    limit_or_off,
    milliseconds,
    minutes,
    number,
    positive,
    whether,
    words,
)

Verdict = Literal["sets", "built in", "none"]
Reader = Callable[[str], Any]


class Row(NamedTuple):
    """One property, or all that begin with what stands before the `*`."""

    name: str
    verdict: Verdict
    settings: tuple[tuple[str, Reader], ...]
    note: str


def _sets(name: str, setting: str, read: Reader = number, note: str = "", *more: tuple[str, Reader]) -> Row:
    return Row(name, "sets", ((setting, read), *more), note)


def _here(name: str, note: str) -> Row:
    return Row(name, "built in", (), note)


def _none(name: str, note: str) -> Row:
    return Row(name, "none", (), note)


def _joined(name: str, note: str) -> Row:
    """Taken together with others in `convert`."""
    return Row(name, "sets", (), note)


def _timeout(text: str) -> float:
    if number(text) <= 0:
        raise KeepsDefaultError("0 or less is no limit in Java; here there is one")
    return milliseconds(text)


def _redirects(text: str) -> float:
    if number(text) <= 0:
        raise KeepsDefaultError("0 leaves the target to a later round; here redirects are followed in the same round")
    return number(text)


def _schedule(text: str) -> str:
    name = text.strip().rpartition(".")[2]
    if name == "DefaultFetchSchedule":
        return "default"
    if name in ("AdaptiveFetchSchedule", "MimeAdaptiveFetchSchedule"):
        return "adaptive"
    raise ValueError(f"no schedule of ours does what {name[:80]!r} does")


def _additions(text: str) -> int:
    if whether(text):
        raise KeepsDefaultError("links are added, as by default")
    return 0


_NO_HADOOP = "there is no Hadoop here: tables are files of one machine, and stages run on it (engine.*, storage.*)"
_NO_WRITER = "the index is built in; there is no writer for other engines"
_ONE_RANKING = "ranking is built in: a sum of named features, shown by `cobnut search DIR QUERY --explain`"
_NO_SCRIPTS = "no browser runs pages here: JavaScript is not executed"
_HTTP_ONLY = "only http and https are fetched"
_WARC = "what servers sent is always kept, as WARC in the segment"
_ROBOTS = "robots.txt is read by RFC 9309, without exceptions"
_HTTP = "settled with each server by libcurl"
_FIELDS = "the fields of the index are fixed"
_OPTION = "an option of the command, no setting"
_PLUGINS = "plug-ins are named in urls.normalizers, urls.filters and scoring.rules"
_NO_CASH = "no counterpart: scores are shared by the rule opic, and ranks computed by `cobnut rank DIR`"
_FILE = "names the file whose rules are taken over"

ROWS: tuple[Row, ...] = (
    # who we are
    _joined("http.agent.name", "fetcher.agent_name; letters, - and _ only (RFC 9309), other characters are left out"),
    _joined("http.agent.email", "fetcher.agent_contact; `me at example dot org` is read as an address"),
    _joined("http.agent.url", "fetcher.agent_url, and fetcher.agent_contact where no address is given"),
    _sets("http.agent.version", "fetcher.agent_version", words),
    _none("http.agent.description", "User-Agent holds name, version, contact and page only"),
    _here("http.robots.agents", "one name counts, fetcher.agent_name, and * where robots.txt does not have it"),
    _none("http.agent.rotate*", "a crawler has one name"),
    _none("http.agent.host*", "the host that fetches is not told"),
    # robots.txt
    _here("http.robots.403.allow", "every 4xx but 429 allows: there is no file to obey (RFC 9309)"),
    _here("http.robots.503.defer.visits*", "5xx and 429 forbid for now; the pages are tried again"),
    _here("http.robots.redirect.max", "five redirects of a robots.txt are followed"),
    _sets("http.robots.content.limit", "fetcher.robots_max_bytes", limit),
    _none("http.robot.rules.whitelist", "robots.txt is obeyed by every host's rules; there is no list of exceptions"),
    _none("http.robot.rules.allowlist", "robots.txt is obeyed by every host's rules; there is no list of exceptions"),
    _none("protocol.plugin.check.robots", _ROBOTS),
    _none("protocol.plugin.check.blocking", "pauses between requests cannot be switched off"),
    _here("fetcher.store.robotstxt", _WARC),
    # the wire
    _sets("http.timeout", "fetcher.connect_timeout_s", _timeout,
          "for connecting, and as fetcher.low_speed_time_s for an answer that stalls",
          ("fetcher.low_speed_time_s", _timeout)),
    _sets("http.time.limit", "fetcher.timeout_s", limit_or_off),
    _sets("http.content.limit", "fetcher.html_max_bytes", limit, "for HTML and all else",
          ("fetcher.other_max_bytes", limit)),
    _sets("http.redirect.max", "fetcher.max_redirects", _redirects),
    _joined("http.proxy.host", "with http.proxy.port: fetcher.proxy"),
    _joined("http.proxy.port", "with http.proxy.host: fetcher.proxy"),
    _none("http.proxy.*", "a forward proxy without login, for all hosts, is what fetcher.proxy knows"),
    _sets("http.tls.certificates.check", "fetcher.tls_verify", whether),
    _here("http.tls.supported.*", _HTTP),
    _sets("http.accept.language", "fetcher.accept_language", words),
    _here("http.accept*", "what can be parsed is asked for"),
    _here("http.useHttp*", _HTTP),
    _here("http.usehttp*", _HTTP),
    _here("http.enable.if.modified.since.header", "ETag and Last-Modified are sent back as the server gave them"),
    _none("http.enable.cookie.header", "no cookies are kept or sent"),
    _none("http.agent.host.cookie.file", "no cookies are kept or sent"),
    _none("http.auth*", "nothing behind a login is fetched"),
    _here("http.partial.truncated", "an answer that was cut is parsed and marked"),
    _here("http.store.*", _WARC),
    _here("store.*", _WARC),
    _none("http.filter.ipaddress.*", "private and local addresses are refused unless fetcher.allow_net names them"),
    _here("http.verbose", "`cobnut why DIR URL` tells of every request"),
    _here("http.log*", "`cobnut why DIR URL` tells of every request"),
    _here("http.max.delays", "a host that has to wait holds up no other; its URLs are never given up for that"),
    _here("http.headers.*", "the headers sent are fixed"),
    _none("http.custom.headers*", "the headers sent are fixed"),
    _none("http.*", "nothing of that name is known here"),
    _none("file.*", _HTTP_ONLY),
    _none("ftp.*", _HTTP_ONLY),
    _none("smb.*", _HTTP_ONLY),
    # fetching
    _joined("fetcher.server.delay", "fetcher.delay_s, when one thread works on a host"),
    _joined("fetcher.server.min.delay", "fetcher.delay_s, when several threads work on a host"),
    _sets("fetcher.min.crawl.delay", "fetcher.min_delay_s"),
    _sets("fetcher.max.crawl.delay", "fetcher.max_delay_s", limit,
          "a Crawl-delay beyond it is shortened to it; Nutch gives the pages up"),
    _sets("fetcher.threads.fetch", "fetcher.connections", positive, "counted per fetch process (fetcher.workers)"),
    _sets("fetcher.threads.per.queue", "fetcher.connections_per_host", positive),
    _sets("fetcher.threads.per.host", "fetcher.connections_per_host", positive),
    _here("fetcher.threads.per.host.by.ip", "hosts are told apart by name"),
    _here("fetcher.queue.mode", "hosts are told apart by name (byHost)"),
    _here("partition.url.mode", "hosts are told apart by name (byHost)"),
    _here("partition.url.*", "a host is in exactly one part of a fetchlist"),
    _here("fetcher.queue.use.host.settings", "db.host_schedules, and what `hostdb` remembers of a host"),
    _here("fetcher.queue.depth.multiplier", "the fetchlist is read as it is needed"),
    _sets("fetcher.max.exceptions.per.queue", "fetcher.failures_per_host", limit, "the host rests, its URLs stay"),
    _sets("fetcher.exceptions.per.queue.delay", "fetcher.backoff_s", number, "doubles with each further failure"),
    _here("fetcher.exceptions.per.queue.clear.after", "the next answer clears the count"),
    _sets("fetcher.timelimit.mins", "crawl.round_s", minutes, "what a round does not reach is in the next fetchlist"),
    _here("fetcher.throughput.*", "a slow host holds up no other, and a round ends after crawl.round_s"),
    _here("fetcher.threads.*", "one process holds many connections; nothing hangs in a thread"),
    _here("fetcher.parse", "parsing is a step of its own"),
    _here("fetcher.store.content", _WARC),
    _here("fetcher.filter.urls", "URLs are filtered when they enter, and redirects when they are met"),
    _here("fetcher.normalize.urls", "URLs are normalised when they enter"),
    _none("fetcher.follow.outlinks.*", "links are followed round by round, as far as crawl.depth"),
    _none("fetcher.bandwidth.*", "pauses between requests limit the pace, not a bandwidth"),
    _none("fetcher.publisher", "nothing is sent to message queues"),
    _here("fetcher.verbose", "`cobnut why DIR URL` tells of every request"),
    _here("fetcher.*", "the fetcher has no such part"),
    _none("publisher.*", "nothing is sent to message queues"),
    _none("rabbitmq.*", "nothing is sent to message queues"),
    # the crawldb and its schedule
    _sets("db.default.fetch.interval", "db.interval_s", days, "in days (0.7 to 0.9)"),
    _sets("db.fetch.interval.default", "db.interval_s", positive),
    _sets("db.fetch.interval.max", "db.max_interval_s", positive),
    _sets("db.fetch.schedule.class", "db.schedule", _schedule),
    _sets("db.fetch.schedule.adaptive.inc_rate", "db.increase"),
    _sets("db.fetch.schedule.adaptive.dec_rate", "db.decrease"),
    _sets("db.fetch.schedule.adaptive.min_interval", "db.min_interval_s"),
    _joined("db.fetch.schedule.adaptive.max_interval", "db.max_interval_s, where db.fetch.interval.max is not shorter"),
    _sets("db.fetch.schedule.adaptive.sync_delta", "db.sync_delta", whether),
    _sets("db.fetch.schedule.adaptive.sync_delta_rate", "db.sync_delta_rate"),
    _joined("db.fetch.schedule.mime.file", f"{_FILE}: db.media_type_schedules"),
    _here("db.fetch.schedule.*", "a file of intervals by host, where it lies there, becomes db.host_schedules"),
    _sets("db.fetch.retry.max", "db.retry_max"),
    _sets("db.max.outlinks.per.page", "parser.max_links", limit),
    _sets("db.max.outlink.length", "urls.max_length", limit),
    _sets("db.max.anchor.length", "parser.max_anchor_chars", limit),
    _sets("linkdb.max.anchor.length", "parser.max_anchor_chars", limit),
    _sets("db.max.inlinks", "linkdb.max_inlinks", limit, "the best sources stay"),
    _sets("linkdb.max.inlinks", "linkdb.max_inlinks", limit, "the best sources stay"),
    _here("db.update.max.inlinks", "all new links to a page count for its score"),
    _sets("linkdb.ignore.internal.links", "linkdb.ignore_internal", whether),
    _none("linkdb.ignore.external.links", "links from other hosts are always kept: they say most about a page"),
    _here("linkdb.*", "the linkdb is made anew from all segments' links"),
    _joined("db.ignore.external.links", "crawl.scope: host or domain when true, web when false"),
    _joined("db.ignore.external.links.mode", "byHost: crawl.scope host; byDomain: domain"),
    _none("db.ignore.external.exemptions*", "the scope has no exceptions; a rule file can say the same"),
    _none("db.ignore.internal.links", "links within a host are followed; see linkdb.ignore_internal"),
    _here("db.ignore.also.redirects", "where a seed redirects is in scope; other redirects obey crawl.scope"),
    _sets("db.update.additions.allowed", "crawl.depth", _additions, "0: only seeds are fetched"),
    _here("db.update.purge.404", "pages that are gone leave the index; their rows stay"),
    _here("db.update.purge.orphans", "rows of orphans stay"),
    _here("db.injector.*", "options of `cobnut inject DIR SEEDS`: --overwrite, --update"),
    _sets("db.score.injected", "scoring.injected_score"),
    _sets("db.score.link.internal", "scoring.internal_factor"),
    _sets("db.score.link.external", "scoring.external_factor"),
    _here("db.score.count.filtered", "how a score is shared is fixed"),
    _here("db.signature.*", "the MD5 of the body tells copies"),
    _here("db.url.*", "URLs are normalised and filtered whenever they enter"),
    _here("crawldb.url.*", "URLs are normalised and filtered whenever they enter"),
    _here("linkdb.url.*", "URLs are normalised and filtered whenever they enter"),
    _here("db.preserve.backup", "every table keeps its previous generation"),
    _none("db.parsemeta.to.crawldb", "the crawldb holds what scheduling reads; `parsed` holds the rest"),
    _here("db.reader.*", _OPTION),
    _none("db.*", "the crawldb has no such part"),
    _none("hostdb.*", "the hostdb is kept by `cobnut updatedb DIR`; nothing of it is set"),
    # generating
    _joined("generate.max.count", "generate.max_per_host; by generate.count.mode generate.max_per_domain"),
    _sets("generate.max.per.host", "generate.max_per_host", count),
    _here("generate.max.per.host.by.ip", "hosts are told apart by name"),
    _joined("generate.count.mode", "host: generate.max_per_host; domain: generate.max_per_domain"),
    _sets("generate.min.score", "generate.min_score"),
    _sets("generate.topN", "generate.top_n", count),
    _sets("generate.num.fetchers", "generate.num_fetchers", positive),
    _none("generate.min.interval", "nothing is left out of a fetchlist for its interval"),
    _none("generate.restrict.status", "what is due is what is fetched"),
    _none("generate.expr", "there are no expressions in settings"),
    _here("generate.update.crawldb", "URLs that wait in another segment are left out"),
    _here("crawl.gen.delay", "URLs are held back until their segment is applied or removed; no clock is involved"),
    _here("generate.filter", "the scope and the filters are asked when a fetchlist is made"),
    _none("generate.*", "the generator has no such part"),
    _here("fetchlist.score.by.link.count", "the best score first"),
    # parsing
    _sets("parser.timeout", "parser.page_timeout_s", limit, "CPU time of one page"),
    _here("parser.character.encoding.default", "the encoding is found from header, document and bytes"),
    _here("parser.caching.forbidden.policy", "noarchive is kept in `parsed`"),
    _here("parser.skip.truncated", "a page that was cut is parsed and marked"),
    _here("parser.store.text", "text is always kept"),
    _here("parser.delete.failed.parse", "a page that cannot be parsed has the state parse_failed and is not indexed"),
    _none("parser.html.*", "which elements give links and text is fixed"),
    _none("parser.*", "the parser is built in"),
    _here("parse.filter.urls", "URLs are filtered when they enter"),
    _here("parse.normalize.urls", "URLs are normalised when they enter"),
    _none("parse.plugin.file", "which parser takes a media type is fixed"),
    _none("parse.*", "the parser is built in"),
    _none("htmlparsefilter.*", "the parser is built in"),
    _none("parsefilter.*", "the parser is built in"),
    _none("tika.*", "the parser is built in: HTML, plain text, feeds, sitemaps"),
    _none("headings*", _FIELDS),
    _none("metatags.*", "which meta tags are kept is fixed"),
    _none("feed.*", "feeds are read for their links"),
    _none("creativecommons*", _FIELDS),
    _here("mime.*", "the media type is found from header and bytes"),
    _here("lang.*", "the language is found from declarations and text"),
    _none("sitemap.*", "sitemaps that robots.txt names are read, with the limits of the protocol"),
    # URLs
    _joined("urlfilter.regex.file", _FILE),
    _joined("urlfilter.regex.rules", "rules in the property itself go before the file's"),
    _joined("urlfilter.automaton.file", _FILE),
    _joined("urlfilter.automaton.rules", "rules in the property itself go before the file's"),
    _joined("urlfilter.prefix.file", _FILE),
    _joined("urlfilter.prefix.rules", "rules in the property itself go before the file's"),
    _joined("urlfilter.suffix.file", _FILE),
    _joined("urlfilter.suffix.rules", "rules in the property itself go before the file's"),
    _joined("urlfilter.domain.file", _FILE),
    _joined("urlfilter.domain.rules", "rules in the property itself go before the file's"),
    _joined("urlfilter.domainblacklist.file", _FILE),
    _joined("urlfilter.domainblacklist.rules", "rules in the property itself go before the file's"),
    _joined("urlfilter.domaindenylist.file", _FILE),
    _joined("urlfilter.domaindenylist.rules", "rules in the property itself go before the file's"),
    _joined("urlfilter.fast.file", _FILE),
    _here("urlfilter.fast.url.*", "urls.max_length limits the whole URL"),
    _joined("urlfilter.order", "the order of the rule files in urls.filters"),
    _joined("urlnormalizer.order", "the order of rules in urls.normalizers"),
    _joined("urlnormalizer.regex.file", _FILE),
    _joined("urlnormalizer.regex.rules", "rules in the property itself go before the file's"),
    _joined("urlnormalizer.hosts.file", _FILE),
    _joined("urlnormalizer.protocols.file", _FILE),
    _here("urlnormalizer.class", "urls.normalizers names the rules"),
    _here("urlnormalizer.loop.count", "rules are run until nothing changes, four times at most"),
    _here("urlnormalizer.basic.host.idn", "hosts are in ASCII (punycode)"),
    _joined("urlnormalizer.basic.host.trim-trailing-dot", "the rule trailing_dot in urls.normalizers"),
    _none("urlnormalizer.*", "normalizers have no scopes: one form of a URL holds everywhere"),
    _none("urlfilter.*", "there is no such filter"),
    # plug-ins
    _joined("plugin.includes", "which filters, normalizers and scoring plug-ins are taken over; the rest is built in"),
    _here("plugin.*", _PLUGINS),
    # scores and ranks
    _joined("scoring.depth.max", "crawl.depth, with scoring-depth in force; a seed has depth 0 here, 1 in Nutch"),
    _joined("scoring.filter.order", "the order of scoring.rules"),
    _joined("scoring.orphan.mark.orphan.after", "db.orphan_after_s, with scoring-orphan in force"),
    _none("scoring.orphan.*", "an orphan is no other state before: it leaves the index after db.orphan_after_s"),
    _none("scoring.similarity.*", "pages are not compared with a text that is wanted"),
    _none("scoring.parse.md", "metadata is not passed on to links"),
    _none("scoring.content.md", "metadata is not passed on to links"),
    _none("scoring.db.md", "metadata is not passed on to links"),
    _none("urlmeta.*", "metadata of a seed stays with the seed and is not passed on to links"),
    _none("scoring.*", _NO_CASH),
    _sets("link.analyze.num.iterations", "scoring.rank_iterations"),
    _sets("link.analyze.iteration", "scoring.rank_iterations"),
    _sets("link.analyze.damping.factor", "scoring.rank_damping"),
    _here("link.*", "several links between two pages count once in ranks; links within a host count"),
    _here("analyze.*", "`cobnut rank DIR`"),
    # index and search
    _sets("indexer.max.content.length", "index.max_text_chars", limit),
    _here("indexer.max.tokens", "index.max_text_chars counts characters"),
    _none("indexer.max.title.length", _FIELDS),
    _here("indexer.score.power", _ONE_RANKING),
    _here("indexer.boost.by.link.count", _ONE_RANKING),
    _here("indexer.delete*", "pages that are gone, redirect or forbid indexing leave the index by themselves"),
    _here("indexer.skip.notmodified", "a segment whose inputs have not changed is not indexed again"),
    _none("indexer.*", _NO_WRITER),
    _none("indexingfilter.order", _FIELDS),
    _none("index.*", _FIELDS),
    _none("indexwriter*", _NO_WRITER),
    _none("moreIndexingFilter.*", _FIELDS),
    _none("anchorIndexingFilter.*", "distinct anchors are indexed, up to index.max_anchors"),
    _none("subcollection.*", "a crawl has one index; `site:` narrows a search"),
    _none("solr.*", _NO_WRITER),
    _none("elastic.*", _NO_WRITER),
    _none("opensearch.*", _NO_WRITER),
    _none("cloudsearch.*", _NO_WRITER),
    _here("query.*", _ONE_RANKING),
    _here("searcher.dir", "the folder is an argument of `cobnut serve DIR`"),
    _here("searcher.summary.length", "search.snippet_chars counts characters"),
    _here("searcher.*", "the searcher is built in (search.*)"),
    _none("extension.*", "there are no clusters and no ontology of results"),
    _none("search.servers.*", "one machine holds the whole index"),
    _none("ipc.*", _NO_HADOOP),
    # what runs it
    _none("mapred.*", _NO_HADOOP),
    _none("mapreduce.*", _NO_HADOOP),
    _none("hadoop.*", _NO_HADOOP),
    _none("yarn.*", _NO_HADOOP),
    _none("dfs.*", _NO_HADOOP),
    _none("ndfs.*", _NO_HADOOP),
    _none("fs.*", _NO_HADOOP),
    _none("io.*", _NO_HADOOP),
    _none("tmp.dir", _NO_HADOOP),
    _none("storage.*", "there is no Gora here: tables are Parquet files in the crawl's folder"),
    _none("gora.*", "there is no Gora here: tables are Parquet files in the crawl's folder"),
    _none("nutch.*", "no setting of a crawl"),
    _none("webgui.*", "there is no such server"),
    _none("selenium.*", _NO_SCRIPTS),
    _none("webdriver.*", _NO_SCRIPTS),
    _none("interactiveselenium.*", _NO_SCRIPTS),
    _none("libselenium.*", _NO_SCRIPTS),
    _none("page.load.delay", _NO_SCRIPTS),
    _none("take.screenshot", _NO_SCRIPTS),
    _none("screenshot.location", _NO_SCRIPTS),
    _none("htmlunit.*", _NO_SCRIPTS),
    _here("warc.*", "`cobnut export warc` writes WARC; segments hold it anyway"),
    _none("commoncrawl.*", "`cobnut export warc` writes WARC"),
    _none("any23.*", _FIELDS),
    _none("geoip.*", _FIELDS),
    _none("exchanges*", _NO_WRITER),
)  # fmt: skip

_EXACT = {row.name: row for row in ROWS if not row.name.endswith("*")}
_BEGINNINGS = sorted((row for row in ROWS if row.name.endswith("*")), key=lambda row: -len(row.name))


def row_of(name: str) -> Row | None:
    """The row that speaks of a property; None when none does."""
    if name in _EXACT:
        return _EXACT[name]
    return next((row for row in _BEGINNINGS if name.startswith(row.name[:-1])), None)
