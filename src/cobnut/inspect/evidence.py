"""What is known of one URL, and where does it stand?

Gathers everything that the tables, the segments on disk and the index say of one URL into one `Evidence`. Works on what
there is: without segments the crawl's tables and the index still tell most of it.

Not here: the story made of it (`inspect.why`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cobnut.config.sections import Settings
from cobnut.errors import CobnutError
from cobnut.frontier.forgotten import one_entry
from cobnut.frontier.turn import Waiting, limits_of, turn
from cobnut.inspect.tables import look_up, one_row
from cobnut.inspect.webdb import with_url
from cobnut.records import catalogue
from cobnut.records.columns import Table
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.lookup import find, find_batches
from cobnut.storage.tables import partition_of
from cobnut.urls.filters import is_forgotten
from cobnut.urls.hosts import bucket_of, origin_of
from cobnut.urls.keys import key_to_host, key_to_url, url_key
from cobnut.urls.resolve import UrlForms

Row = dict[str, Any]

MOST_LINKS = 20
MOST_VISITS = 100
MOST_HOPS = 20
_PLACE = ("from_key", "position")


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one URL. Rows are those of the tables; None or empty means that there is none."""

    asked: str
    url: UrlForms
    refused_by: str | None
    forgotten: Row | None
    seed: Row | None
    crawldb: Row | None
    page: Row | None
    path: list[Row]
    path_end: str | None
    leads_to: list[Row]
    led_to: Row | None
    listed: list[Row]
    fetched: list[Row]
    parsed: list[Row]
    robots: Row | None
    robots_allows: bool | None
    robots_rule: str | None
    host: Row | None
    inlink_count: int
    inlink_host_count: int
    inlinks: list[Row]
    redirects_here: list[str]
    ranks: Row | None
    duplicates: list[Row]
    stands_for: int
    scored_by: list[Row]
    orphan: Row | None
    turn: Row | None
    document: Row | None
    index_state: str
    segments_on_disk: int

    @property
    def is_known(self) -> bool:
        """Whether anything at all is known of the URL."""
        return bool(
            self.seed or self.crawldb or self.listed or self.fetched or self.document or self.inlinks
            or self.redirects_here or self.forgotten
        )  # fmt: skip


def gather(
    crawl: CrawlFolder, settings: Settings, asked: str, url: UrlForms, refuses: Callable[[str], str | None],
    now_ms: int,
) -> Evidence:  # fmt: skip
    """Everything known of a URL; `refuses` names the filter rule that keeps a normalised URL out."""
    segments = crawl.segments()
    inlinks, count, hosts = _inlinks(crawl, url, segments)
    robots = _robots(crawl, url)
    allows, rule = _robots_verdict(robots, settings, url)
    document, index_state = _document(crawl, url.key)
    key = url.key
    page = one_row(crawl, catalogue.PAGES, key, url.bucket)
    crawldb = one_row(crawl, catalogue.CRAWLDB, key, url.bucket)
    host = _first(crawl, catalogue.HOSTDB, {"host": url.host}, url.bucket)
    listed = _of_segments(segments, catalogue.FETCHLIST, {"url_key": key})
    refused_by, scored_by = refuses(url.normalized), _scored_by(settings)
    path, path_end = _path(crawl, key, page)
    leads_to = _leads_to(crawl, key, page)
    return Evidence(
        asked=asked, url=url, refused_by=refused_by, forgotten=_forgotten(crawl, url),
        seed=_first(crawl, catalogue.SEEDS, {"url_key": key}),
        crawldb=crawldb, page=page, path=path, path_end=path_end, leads_to=leads_to, led_to=_led_to(crawl, leads_to),
        listed=listed,
        fetched=_of_segments(segments, catalogue.FETCHED, {"url_key": key, "hop_from": key}),
        parsed=_of_segments(segments, catalogue.PARSED, {"url_key": key}),
        robots=robots, robots_allows=allows, robots_rule=rule,
        host=host,
        inlink_count=count, inlink_host_count=hosts, inlinks=inlinks,
        redirects_here=_redirects_here(crawl, key),
        ranks=one_row(crawl, catalogue.RANKS, key, url.bucket),
        duplicates=look_up(crawl, catalogue.DUPLICATES, {"url_key": key}, url.bucket),
        stands_for=_stands_for(crawl, key), scored_by=scored_by,
        orphan=one_row(crawl, catalogue.ORPHANS, key, url.bucket),
        turn=None if crawldb is None else _turn(crawl, settings, crawldb, host, listed, refused_by, now_ms),
        document=document, index_state=index_state, segments_on_disk=len(segments),
    )  # fmt: skip


def _turn(
    crawl: CrawlFolder, settings: Settings, row: Row, host: Row | None, listed: list[Row], refused_by: str | None,
    now_ms: int,
) -> Row:  # fmt: skip
    """What `generate`, typed now, would say of the page; scores in millionths. `segment` is the one it waits in."""
    applied = {entry["segment"] for entry in crawl.table(catalogue.CRAWLDB).manifest().get("applied", [])}
    waiting_in = next((one["segment"] for one in listed if one["segment"] not in applied), None)
    limits = limits_of(settings, now_ms)
    found = turn(
        Waiting(
            due_at=row["due_at"], interval_s=row["interval_s"], fixed_interval_s=row["fixed_interval_s"],
            score=row["score"], depth=row["depth"], in_segment=waiting_in is not None,
            rests_until=None if host is None else host["next_fetch_at"],
        ),
        limits,
    )  # fmt: skip
    held = f"filtered_by:{refused_by}" if found.held is None and refused_by is not None else found.held
    aged_by = limits.ageing * found.waited_days
    return {**msgspec.structs.asdict(found), "held": held, "segment": waiting_in, "aged_by": aged_by}


def _path(crawl: CrawlFolder, key: str, page: Row | None) -> tuple[list[Row], str | None]:
    """How the page was found: the pages from a seed to it, each named first by the one before.

    With it why the path does not begin at a seed: loop, unknown (a page that the crawl holds nothing of), or long.
    """
    path: list[Row] = []
    known: set[str] = set()
    while page is not None:
        via, source = page["discovered_via"], page["discovered_from"]
        path.append({"url": key_to_url(key), "via": via, "at": page["discovered_at"]})
        known.add(key)
        if source is None:
            return path[::-1], None
        if source in known or len(path) >= MOST_HOPS:
            return path[::-1], "loop" if source in known else "long"
        key = source
        page = one_row(crawl, catalogue.PAGES, key, bucket_of(key_to_host(key)))
    if not path:
        return [], None
    return [{"url": key_to_url(key), "via": None, "at": None}, *path[::-1]], "unknown"


def _leads_to(crawl: CrawlFolder, key: str, page: Row | None) -> list[Row]:
    """Where a page that redirects leads, hop by hop: each page with its state, None where the crawldb has none.

    The last one is the first again where it is a loop.
    """
    found: list[Row] = []
    passed = {key}
    while page is not None and (to := page["redirect_key"]) is not None and len(found) < MOST_HOPS:
        bucket = bucket_of(key_to_host(to))
        row = one_row(crawl, catalogue.CRAWLDB, to, bucket) or {"status": None, "reason": None}
        loops = to in passed
        found.append({"url": key_to_url(to), "status": row["status"], "reason": row["reason"], "loops": loops})
        if loops:
            break
        passed.add(to)
        page = one_row(crawl, catalogue.PAGES, to, bucket)
    return found


def _forgotten(crawl: CrawlFolder, url: UrlForms) -> Row | None:
    """The entry by which the page is to be forgotten, the oldest where there are several."""
    rows = [
        row for row in crawl.table(catalogue.FORGOTTEN).read().to_pylist()
        if row["undone_at"] is None and is_forgotten(one_entry(row["kind"], row["value"]))(url.normalized)
    ]  # fmt: skip
    return min(rows, key=lambda row: (row["forgotten_at"], row["value"]), default=None)


def _first(crawl: CrawlFolder, table: Table, equal: Row, bucket: int | None = None) -> Row | None:
    return next(iter(look_up(crawl, table, equal, bucket, limit=1)), None)


def _of_segments(segments: Sequence[SegmentFolder], table: Table, either: Row) -> list[Row]:
    """Rows of one table over all segments on disk, oldest first, each with the name of its segment.

    Rows that have one of the values; of very many, those of the newest segments.
    """
    # the text of a page may be large, and a story needs none of it
    names = [c for c in table.column_names if c not in ("text", "main_text", "headings")]
    rows: list[Row] = []
    for segment in reversed(segments):
        found = find(table, segment.part_files(table), {}, names, either=either, limit=MOST_VISITS - len(rows))
        rows += [{"segment": segment.name, **one.row} for one in found]
        if len(rows) >= MOST_VISITS:
            break
    return sorted(rows, key=lambda row: (row["segment"], row.get("fetched_at") or 0, row["url_key"]))


def _inlinks(crawl: CrawlFolder, url: UrlForms, segments: Sequence[SegmentFolder]) -> tuple[list[Row], int, int]:
    """Some links to the page, how many there are, and from how many hosts: of the linkdb, or else of the segments."""
    version = crawl.table(catalogue.LINKDB).current()
    if version is not None:
        with version:
            found = _links_in(catalogue.LINKDB, version.files(partition_of(url.bucket, version.partitions)), url)
        if found[1]:
            return found
    parts = [path for segment in segments for path in segment.part_files(catalogue.LINKS)]
    return _links_in(catalogue.LINKS, parts, url)


def _links_in(table: Table, files: Sequence[Path], url: UrlForms) -> tuple[list[Row], int, int]:
    """The links from the best pages, how many pages link, and from how many hosts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = ["from_key", "from_host", "anchor", "nofollow", "kind", "from_score"]
    names += ["position"] if table is catalogue.LINKS else []
    order: list[tuple[str, str]] = [("from_score", "descending"), *((n, "ascending") for n in names if n in _PLACE)]
    pages, hosts = pa.array([], pa.string()), pa.array([], pa.string())
    best = None
    for _, batch in find_batches(table, files, {"to_bucket": url.bucket, "to_key": url.key}, names):
        rows = batch.filter(pc.not_equal(batch.column("from_key"), url.key))
        # only names once each and the best rows are kept, however many links there are
        pages = pa.concat_arrays([pages, rows.column("from_key")]).unique()
        hosts = pa.concat_arrays([hosts, rows.column("from_host")]).unique()
        some = pa.Table.from_batches([rows])
        best = (some if best is None else pa.concat_tables([best, some])).sort_by(order).slice(0, MOST_LINKS)
    shown = [] if best is None else best.select(names[:5]).to_pylist()
    return shown, len(pages), len(hosts)


def _redirects_here(crawl: CrawlFolder, key: str) -> list[str]:
    rows = look_up(crawl, catalogue.PAGES, {"redirect_key": key}, None, ["url_key"], MOST_LINKS)
    return [key_to_url(row["url_key"]) for row in rows]


def _stands_for(crawl: CrawlFolder, key: str) -> int:
    rows = look_up(crawl, catalogue.DUPLICATES, {"representative_key": key}, None, ["url_key"])
    return sum(row["url_key"] != key for row in rows)


def _robots(crawl: CrawlFolder, url: UrlForms) -> Row | None:
    origin = origin_of(url.normalized)
    return _first(crawl, catalogue.ROBOTS, {"origin": origin}, url.bucket)


def _scored_by(settings: Settings) -> list[Row]:
    """The scoring rules in force, in order, with where each has a say; nowhere, when one cannot be made."""
    from cobnut.frontier.scoring import active_rules, places_of

    try:
        rules = active_rules(settings.scoring, settings.crawl.depth)
    except CobnutError:  # `cobnut plugins` says what is wrong with it
        return [{"rule": name, "places": []} for name in settings.scoring.rules]
    return [{"rule": active.name, "places": list(places_of(active.rule))} for active in rules]


def _robots_verdict(robots: Row | None, settings: Settings, url: UrlForms) -> tuple[bool | None, str | None]:
    if robots is None:
        return None, None
    if robots["state"] != "rules":
        return robots["state"] == "allow_all", None
    from cobnut.fetcher.identity import identity
    from cobnut.fetcher.robots import RobotsRules

    agent = identity(settings.fetcher, "", "").user_agent
    rules = RobotsRules.parse(robots["body"] or b"", agent, keep_lines=True)
    return rules.allows(url.url), rules.rule_for(url.url)


def _led_to(crawl: CrawlFolder, leads_to: list[Row]) -> Row | None:
    """What the index holds of the page at the end of the redirects."""
    if not leads_to or leads_to[-1]["loops"]:
        return None
    return _document(crawl, url_key(leads_to[-1]["url"]))[0]


def _document(crawl: CrawlFolder, key: str) -> tuple[Row | None, str]:
    """What the index holds of the page, and the state of the index: no index, ready, or what is wrong with it."""
    from cobnut.search.open import open_searcher

    if not (crawl.index_path / "CURRENT").exists():
        return None, "no index"
    try:
        searcher = open_searcher(crawl.path)
    except CobnutError as error:
        return None, error.line()
    try:
        document = searcher.document(key)
    finally:
        searcher.close()
    if document is None:
        return None, "ready"
    row = msgspec.structs.asdict(document)
    row["text_chars"] = len(row.pop("text"))
    row["inlink_sample"] = len(row["inlink_sample"])
    return row, "ready"


def plain_evidence(evidence: Evidence) -> dict[str, Any]:
    """The evidence as values that JSON can hold."""
    from cobnut.inspect.show import data

    robots = evidence.robots
    if robots is not None:
        robots = {**robots, "body": None if robots["body"] is None else robots["body"].decode("utf-8", "replace")}
    found: dict[str, Any] = {
        name: getattr(evidence, name) for name in evidence.__struct_fields__ if name not in ("url", "asked")
    }
    found["robots"] = robots
    if evidence.crawldb is not None:
        found["crawldb"] = with_url(evidence.crawldb)
    head = {"asked": evidence.asked, "known": evidence.is_known, **msgspec.structs.asdict(evidence.url)}
    return {**head, **{name: data(value) for name, value in found.items()}}
