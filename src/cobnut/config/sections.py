"""Which settings are there?

Each component gets its own small frozen section. The defaults here are the product's defaults; a comment in
`cobnut.toml` and the reference page are made from the one-sentence texts in `DOCS`.

Not here: reading files, environment and command line (`config.load`).
"""

from __future__ import annotations

from typing import Literal

import msgspec

MiB = 1024 * 1024


class CrawlSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What belongs to the crawl and how far it goes."""

    scope: Literal["host", "domain", "prefix", "web"] = "host"
    depth: int = -1
    max_pages: int = 100_000
    max_time_s: int = 0
    round_pages: int = 20_000
    round_s: int = 60


class UrlSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How URLs are normalised and which may enter."""

    normalizers: tuple[str, ...] = ("basic",)
    filters: tuple[str, ...] = ("scheme", "length", "suffix", "repeat", "scope")
    max_length: int = 4096
    deny_suffixes: tuple[str, ...] = (
        "gif", "jpg", "jpeg", "png", "webp", "avif", "ico", "bmp", "svg", "css", "js", "mjs", "woff", "woff2", "ttf", "otf", "eot",
        "mp3", "mp4", "m4a", "m4v", "ogg", "ogv", "webm", "avi", "mov", "mpg", "mpeg", "wav", "flac",
        "zip", "gz", "tgz", "bz2", "xz", "7z", "rar", "tar", "exe", "msi", "dmg", "iso", "deb", "rpm", "jar", "apk",
    )  # fmt: skip


class FetcherSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who we are, how fast, through what, and with which limits."""

    agent_name: str = ""
    agent_version: str = "0.1"
    agent_contact: str = ""
    agent_url: str = ""
    agent_addresses: tuple[str, ...] = ()
    delay_s: float = -1.0
    min_delay_s: float = 0.0
    max_delay_s: float = 30.0
    host_delays: tuple[str, ...] = ()
    workers: int = 0
    connections: int = 500
    connections_per_host: int = 1
    connect_timeout_s: float = 10.0
    timeout_s: float = 60.0
    low_speed_bytes_s: int = 50
    low_speed_time_s: int = 20
    max_redirects: int = 5
    html_max_bytes: int = 16 * MiB
    other_max_bytes: int = 64 * MiB
    robots_max_bytes: int = 512_000
    robots_ttl_s: int = 86_400
    failures_per_host: int = 5
    backoff_s: float = 60.0
    backoff_max_s: float = 86_400.0
    tls_verify: bool = True
    ca_file: str = ""
    proxy: str = ""
    resolve: tuple[str, ...] = ()
    allow_net: tuple[str, ...] = ()
    nameservers: tuple[str, ...] = ()
    accept_language: str = "en;q=0.7,*;q=0.5"
    warc_max_bytes: int = 1024 * MiB


class ParserSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How pages are read."""

    workers: int = 0
    page_timeout_s: float = 10.0
    memory_mib: int = 2048
    max_html_bytes: int = 16 * MiB
    max_text_chars: int = 1_000_000
    max_links: int = 10_000
    max_embeds: int = 1_000
    follow_embeds: bool = False
    max_depth: int = 512
    max_anchor_chars: int = 200
    main_text: Literal["blocks", "trafilatura"] = "blocks"


class DbSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When pages are fetched again, and when they are given up."""

    schedule: Literal["adaptive", "default"] = "adaptive"
    interval_s: int = 86_400
    min_interval_s: int = 3_600
    max_interval_s: int = 90 * 86_400
    increase: float = 0.4
    decrease: float = 0.2
    retry_max: int = 3
    retry_delay_s: int = 86_400
    gone_factor: float = 1.5
    orphan_after_s: int = 0
    sync_delta: bool = False
    sync_delta_rate: float = 0.3
    host_schedules: tuple[str, ...] = ()
    media_type_schedules: tuple[str, ...] = ()


class GenerateSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What goes into a fetchlist."""

    top_n: int = -1
    max_per_host: int = -1
    max_per_domain: int = -1
    num_fetchers: int = 0
    min_score: float = 0.0
    ageing: float = 0.01


class LinkdbSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which links are kept per page linked to."""

    max_inlinks: int = 1_000
    ignore_internal: bool = False


class ScoringSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How pages are scored, in the order listed."""

    rules: tuple[str, ...] = ("opic",)
    injected_score: float = 1.0
    internal_factor: float = 1.0
    external_factor: float = 1.0
    rank_iterations: int = 20
    rank_damping: float = 0.85


class IndexSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a document holds."""

    max_text_chars: int = 200_000
    stored_text_chars: int = 20_000
    max_anchors: int = 50
    inlink_sample: int = 20
    max_index_segments: int = 16
    writer_heap_mib: int = 128


class SearchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How queries are answered."""

    candidates: int = 100
    per_page: int = 10
    max_query_chars: int = 400
    snippet_chars: int = 240
    or_below: int = 5
    max_postings: int = 20_000_000


class ServeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the search page is served."""

    bind: str = "127.0.0.1"
    port: int = 8080
    workers: int = 0
    hosts: tuple[str, ...] = ()
    basic_auth: tuple[str, ...] = ()
    api_keys: tuple[str, ...] = ()
    rate_per_s: float = -1.0
    rate_burst: int = 60
    trusted_proxies: tuple[str, ...] = ()
    cache_mib: int = 16
    access_log: str = ""
    log_queries: bool = False


class StorageSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How tables lie on disk."""

    partition_rows: int = 400_000
    delta_least_rows: int = 50_000
    delta_share: float = 0.5
    grace_s: int = 60
    lock_wait_s: float = 0.0
    memory_mib: int = 256


class EngineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What runs the stages."""

    name: Literal["local"] = "local"
    threads: int = 0


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All sections of one crawl."""

    crawl: CrawlSettings = CrawlSettings()
    urls: UrlSettings = UrlSettings()
    fetcher: FetcherSettings = FetcherSettings()
    parser: ParserSettings = ParserSettings()
    db: DbSettings = DbSettings()
    generate: GenerateSettings = GenerateSettings()
    linkdb: LinkdbSettings = LinkdbSettings()
    scoring: ScoringSettings = ScoringSettings()
    index: IndexSettings = IndexSettings()
    search: SearchSettings = SearchSettings()
    serve: ServeSettings = ServeSettings()
    storage: StorageSettings = StorageSettings()
    engine: EngineSettings = EngineSettings()


DOCS: dict[str, str] = {
    "crawl.scope": "Which links are followed: host (of a seed), domain (registrable), prefix (folder of a seed), web (all).",
    "crawl.depth": "Links followed from a seed; -1 is without limit, 0 only the seeds.",
    "crawl.max_pages": "Pages fetched in one run of `cobnut crawl`; 0 is without limit. Answers that bring no page do not "
    "count: unchanged (304), redirects, failures.",
    "crawl.max_time_s": "Time one run of `cobnut crawl` may take; 0 is without limit.",
    "crawl.round_pages": "Most URLs in the fetchlist of one round.",
    "crawl.round_s": "A round is sealed after this time; what it did not reach is in the next fetchlist.",
    "urls.normalizers": "Normalizers by name, run in this order; `rules:FILE` is a rule file.",
    "urls.filters": "Filters by name, run in this order; the first that refuses names the reason. `rules:FILE` is a rule file.",
    "urls.max_length": "Longest URL that may enter, in characters.",
    "urls.deny_suffixes": "Path endings that are not fetched (filter `suffix`).",
    "fetcher.agent_name": "Product token in User-Agent, and the name looked for in robots.txt.",
    "fetcher.agent_version": "Version in User-Agent.",
    "fetcher.agent_contact": "E-mail address or URL where a webmaster reaches you.",
    "fetcher.agent_url": "Page that says what this crawler does.",
    "fetcher.agent_addresses": "Addresses or networks that requests come from, as told on the page about the crawler.",
    "fetcher.delay_s": "Time between two requests to a host when robots.txt says nothing; -1: 1 s, and 0 on loopback.",
    "fetcher.min_delay_s": "Least time between two requests to a host, whatever robots.txt says.",
    "fetcher.max_delay_s": "A Crawl-delay longer than this is shortened to it.",
    "fetcher.host_delays": "Delays of single hosts in the place of `fetcher.delay_s`: `news.example.org 5s`; a longer Crawl-delay still holds.",
    "fetcher.workers": "Fetch processes; 0 is one per core.",
    "fetcher.connections": "Most connections at once per process.",
    "fetcher.connections_per_host": "Most connections at once per host.",
    "fetcher.connect_timeout_s": "Longest wait for a connection.",
    "fetcher.timeout_s": "Longest time for one answer.",
    "fetcher.low_speed_bytes_s": "An answer slower than this over `low_speed_time_s` is ended.",
    "fetcher.low_speed_time_s": "See `low_speed_bytes_s`.",
    "fetcher.max_redirects": "Redirects followed in a row; a longer chain ends there.",
    "fetcher.html_max_bytes": "Bytes of an HTML page that are kept, decoded; the rest is cut and marked.",
    "fetcher.other_max_bytes": "The same for other documents.",
    "fetcher.robots_max_bytes": "Bytes of robots.txt that are read.",
    "fetcher.robots_ttl_s": "How long a robots.txt is believed.",
    "fetcher.failures_per_host": "Failures in a row after which a host rests.",
    "fetcher.backoff_s": "First rest of a failing host; doubles with each further failure.",
    "fetcher.backoff_max_s": "Longest rest of a failing host.",
    "fetcher.tls_verify": "Check certificates.",
    "fetcher.ca_file": "Certificate authorities to trust instead of the system's, as a PEM file.",
    "fetcher.proxy": "Forward proxy for all requests, http://host:port.",
    "fetcher.resolve": "Fixed addresses, HOST[:PORT]:ADDR[:PORT]; HOST may be *, IPv6 in brackets.",
    "fetcher.allow_net": "Private networks that may be reached, such as 10.0.0.0/8.",
    "fetcher.nameservers": "Name servers to ask instead of the system's.",
    "fetcher.accept_language": "Accept-Language sent.",
    "fetcher.warc_max_bytes": "A WARC file larger than this is closed and the next one begun.",
    "parser.workers": "Parse processes; 0 is one per core.",
    "parser.page_timeout_s": "CPU time one page may take before its process is ended.",
    "parser.memory_mib": "Address space one parse process may take above its start.",
    "parser.max_html_bytes": "Decoded bytes of a page that are parsed.",
    "parser.max_text_chars": "Characters of text kept of a page.",
    "parser.max_links": "Links kept of a page.",
    "parser.max_embeds": "Images, styles, scripts, media and objects kept of a page, as links of these kinds; 0 keeps none.",
    "parser.follow_embeds": "Fetch what pages embed, too, as far as the filters let it in (`urls.deny_suffixes` names most of it).",
    "parser.max_depth": "Nesting depth beyond which tags are left out before parsing; text and links stay.",
    "parser.max_anchor_chars": "Characters of an anchor kept.",
    "parser.main_text": "Who finds a page's main part: blocks (our own rule), or trafilatura (better, slower; extra `quality`).",
    "db.schedule": "When to fetch again: adaptive (by how often a page changes) or default (fixed interval).",
    "db.interval_s": "First interval between two fetches of a page.",
    "db.min_interval_s": "Shortest interval the adaptive schedule sets.",
    "db.max_interval_s": "Longest interval.",
    "db.increase": "The interval grows by this share when a page has not changed.",
    "db.decrease": "The interval shrinks by this share when a page has changed.",
    "db.retry_max": "Failed tries after which a page counts as gone.",
    "db.retry_delay_s": "Time to the next try after a failure.",
    "db.gone_factor": "The interval of a page that is gone grows by this factor.",
    "db.orphan_after_s": "A page that no page leads to any more leaves the index after this time; 0: it stays.",
    "db.sync_delta": "The adaptive schedule waits at least as long as a page has not changed, and counts from between then and now.",
    "db.sync_delta_rate": "Share of that time by which the next visit comes earlier.",
    "db.host_schedules": "First, shortest and longest interval of single hosts: `news.example.org interval=1h min=10m max=1d`.",
    "db.media_type_schedules": "Growth of the interval by media type: `application/pdf increase=0.8 decrease=0.1`.",
    "generate.top_n": "Most URLs in a fetchlist, best score first; -1 is all that are due.",
    "generate.max_per_host": "Most URLs of one host in a fetchlist; -1 is without limit.",
    "generate.max_per_domain": "Most URLs of one registrable domain in a fetchlist; -1 is without limit.",
    "generate.num_fetchers": "Parts of a fetchlist; 0 is one per fetch process.",
    "generate.min_score": "URLs that score less are left out.",
    "generate.ageing": "What every whole day since it was due adds to a URL's score when the best are chosen; 0 leaves low scores waiting.",
    "linkdb.max_inlinks": "Inlinks kept per page, best sources first.",
    "linkdb.ignore_internal": "Leave out links within a host.",
    "scoring.rules": "Scoring rules by name, in this order; see plugins.md. Without `opic`, or another that does so, links pass nothing on.",
    "scoring.injected_score": "Score of a seed that names none.",
    "scoring.internal_factor": "Share of a score passed on to links within the host.",
    "scoring.external_factor": "Share of a score passed on to links to other hosts.",
    "scoring.rank_iterations": "Iterations of the link rank.",
    "scoring.rank_damping": "Damping of the link rank.",
    "index.max_text_chars": "Characters of a page's text that are indexed.",
    "index.stored_text_chars": "Characters of a page's text that are kept for snippets.",
    "index.max_anchors": "Distinct anchors indexed per page.",
    "index.inlink_sample": "Inlinks kept with a document to be shown.",
    "index.max_index_segments": "Index segments above which an index is compacted.",
    "index.writer_heap_mib": "Memory of the index writer.",
    "search.candidates": "Documents taken from the engine for ranking.",
    "search.per_page": "Hits on a result page.",
    "search.max_query_chars": "Longest query; the rest is cut.",
    "search.snippet_chars": "Length of a snippet.",
    "search.or_below": "When fewer documents hold all words, documents that hold some are added.",
    "search.max_postings": "Index entries one query may read, by estimate; a costlier one is searched for more loosely.",
    "serve.bind": "Address the search page listens on.",
    "serve.port": "Port the search page listens on.",
    "serve.workers": "Search processes; 0 is one per core.",
    "serve.hosts": "Names the search page may be asked by (Host); `*.example.org` is all below; empty is any.",
    "serve.basic_auth": "Who may search, as made by `cobnut config hash-password USER`; empty is everybody.",
    "serve.api_keys": "Keys that may search, as made by `cobnut config new-key NAME`; sent as `Authorization: Bearer`.",
    "serve.rate_per_s": "Requests a second per client, in the long run; 0 is without limit, -1: 10, and 0 on loopback.",
    "serve.rate_burst": "Requests a client may make at once before `rate_per_s` holds.",
    "serve.trusted_proxies": "Addresses or networks whose X-Forwarded-For is believed.",
    "serve.cache_mib": "Memory for ready answers in each search process; 0 keeps none.",
    "serve.access_log": "File that gets one JSON line per request; `-` is standard output, empty is none.",
    "serve.log_queries": "Write what was searched for into the access log.",
    "storage.partition_rows": "Rows above which a table is split further: what of it is in memory at once.",
    "storage.delta_least_rows": "Partitions of fewer rows are written whole at every round; larger ones get a delta.",
    "storage.delta_share": "A delta is folded in when it has more than this share of its partition's rows; 0: always.",
    "storage.grace_s": "Time before a superseded generation is removed.",
    "storage.lock_wait_s": "How long to wait for another writer.",
    "storage.memory_mib": "Memory the relational engine may take; what has no room in it goes through the disk; what cannot be divided, as the rows of one huge host, gets up to four times as much.",
    "engine.name": "What runs the stages.",
    "engine.threads": "Threads of the relational engine; 0 is one per core.",
}
"""One sentence for every setting; a test holds it complete."""
