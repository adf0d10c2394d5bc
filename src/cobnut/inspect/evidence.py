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
from cobnut.inspect.tables import Selection, engine, engine_errors, held, one_row, rows_of_table
from cobnut.inspect.webdb import with_url
from cobnut.records import catalogue
from cobnut.records.columns import Table
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.tables import parquet
from cobnut.urls.filters import is_forgotten
from cobnut.urls.hosts import origin_of
from cobnut.urls.keys import key_to_url
from cobnut.urls.resolve import UrlForms

Row = dict[str, Any]

MOST_LINKS = 20
MOST_VISITS = 100


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one URL. Rows are those of the tables; None or empty means that there is none."""

    asked: str
    url: UrlForms
    refused_by: str | None
    forgotten: Row | None
    seed: Row | None
    crawldb: Row | None
    page: Row | None
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
    crawl: CrawlFolder, settings: Settings, asked: str, url: UrlForms, refuses: Callable[[str], str | None]
) -> Evidence:
    """Everything known of a URL; `refuses` names the filter rule that keeps a normalised URL out."""
    segments = crawl.segments()
    inlinks, count, hosts = _inlinks(crawl, url, segments)
    robots = _robots(crawl, url)
    allows, rule = _robots_verdict(robots, settings, url)
    document, index_state = _document(crawl, url)
    key = url.key
    return Evidence(
        asked=asked, url=url, refused_by=refuses(url.normalized), forgotten=_forgotten(crawl, url),
        seed=_first(crawl, catalogue.SEEDS, Selection(key=key)),
        crawldb=one_row(crawl, catalogue.CRAWLDB, key, url.bucket),
        page=one_row(crawl, catalogue.PAGES, key, url.bucket),
        listed=_of_segments(segments, catalogue.FETCHLIST, '"url_key" = ?', [key]),
        fetched=_of_segments(segments, catalogue.FETCHED, '("url_key" = ? OR "hop_from" = ?)', [key, key]),
        parsed=_of_segments(segments, catalogue.PARSED, '"url_key" = ?', [key]),
        robots=robots, robots_allows=allows, robots_rule=rule,
        host=_first(crawl, catalogue.HOSTDB, Selection(host=url.host, bucket=url.bucket)),
        inlink_count=count, inlink_host_count=hosts, inlinks=inlinks,
        redirects_here=_redirects_here(crawl, key),
        ranks=one_row(crawl, catalogue.RANKS, key, url.bucket),
        duplicates=list(
            rows_of_table(crawl, catalogue.DUPLICATES, Selection(key=key, bucket=url.bucket)).as_dicts()
        ),
        stands_for=_stands_for(crawl, key),
        document=document, index_state=index_state, segments_on_disk=len(segments),
    )  # fmt: skip


def _forgotten(crawl: CrawlFolder, url: UrlForms) -> Row | None:
    """The entry by which the page is to be forgotten, the oldest where there are several."""
    rows = [
        row for row in crawl.table(catalogue.FORGOTTEN).read().to_pylist()
        if row["undone_at"] is None and is_forgotten(one_entry(row["kind"], row["value"]))(url.normalized)
    ]  # fmt: skip
    return min(rows, key=lambda row: (row["forgotten_at"], row["value"]), default=None)


def _first(crawl: CrawlFolder, table: Table, selection: Selection) -> Row | None:
    return next(rows_of_table(crawl, table, selection).as_dicts(), None)


def _of_segments(segments: Sequence[SegmentFolder], table: Table, condition: str, params: list[Any]) -> list[Row]:
    """Rows of one table over all segments on disk, oldest first, each with the name of its segment."""
    files: list[Path] = []
    for segment in segments:
        files += segment.part_files(table)
    if not files:
        return []
    # the text of a page may be large, and a story needs none of it
    names = [c for c in table.column_names if c not in ("text", "main_text", "headings")]
    chosen = ", ".join(f'"{name}"' for name in names)
    source = parquet(files).removesuffix(")") + ", filename = true)"
    with engine() as connection, engine_errors(table, files):
        rows = connection.execute(
            f"SELECT filename, {chosen} FROM {source} WHERE {condition} ORDER BY filename DESC LIMIT {MOST_VISITS}",
            params,
        ).fetchall()
    found = [
        {"segment": Path(row[0]).parent.parent.name, **dict(zip(names, row[1:], strict=True))} for row in reversed(rows)
    ]
    return sorted(found, key=lambda row: (row["segment"], row.get("fetched_at") or 0))


def _inlinks(crawl: CrawlFolder, url: UrlForms, segments: Sequence[SegmentFolder]) -> tuple[list[Row], int, int]:
    """Some links to the page, how many there are, and from how many hosts: of the linkdb, or else of the segments."""
    version = crawl.table(catalogue.LINKDB).current()
    if version is not None:
        with version:
            files = version.files()
            found = _links_in(catalogue.LINKDB, files, url, "from_score DESC, from_key") if files else ([], 0, 0)
        if found[1]:
            return found
    parts = [path for segment in segments for path in segment.part_files(catalogue.LINKS)]
    return _links_in(catalogue.LINKS, parts, url, "from_score DESC, from_key, position") if parts else ([], 0, 0)


def _links_in(table: Table, files: Sequence[Path], url: UrlForms, order: str) -> tuple[list[Row], int, int]:
    names = ("from_key", "from_host", "anchor", "nofollow", "kind")
    condition = "to_bucket = ? AND to_key = ? AND from_key <> to_key"
    params = [url.bucket, url.key]
    with engine() as connection, engine_errors(table, files):
        total = connection.execute(
            f"SELECT count(DISTINCT from_key), count(DISTINCT from_host) FROM {held(files)} WHERE {condition}",
            params,
        ).fetchone() or (0, 0)
        rows = connection.execute(
            f"SELECT {', '.join(names)} FROM {held(files)} WHERE {condition} ORDER BY {order} LIMIT {MOST_LINKS}",
            params,
        ).fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows], int(total[0]), int(total[1])


def _redirects_here(crawl: CrawlFolder, key: str) -> list[str]:
    selection = Selection(equal=(("redirect_key", key),), limit=MOST_LINKS)
    return [key_to_url(row["url_key"]) for row in rows_of_table(crawl, catalogue.PAGES, selection).as_dicts()]


def _stands_for(crawl: CrawlFolder, key: str) -> int:
    version = crawl.table(catalogue.DUPLICATES).current()
    if version is None or not version.files():
        return 0
    with version, engine() as connection, engine_errors(catalogue.DUPLICATES, version.files()):
        sql = f"SELECT count(*) FROM {held(version.files())} WHERE representative_key = ? AND url_key <> ?"
        row = connection.execute(sql, [key, key]).fetchone()
    return int(row[0]) if row else 0


def _robots(crawl: CrawlFolder, url: UrlForms) -> Row | None:
    origin = origin_of(url.normalized)
    return _first(crawl, catalogue.ROBOTS, Selection(equal=(("origin", origin),), bucket=url.bucket))


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


def _document(crawl: CrawlFolder, url: UrlForms) -> tuple[Row | None, str]:
    """What the index holds of the page, and the state of the index: no index, ready, or what is wrong with it."""
    from cobnut.search.open import open_searcher

    if not (crawl.index_path / "CURRENT").exists():
        return None, "no index"
    try:
        searcher = open_searcher(crawl.path)
    except CobnutError as error:
        return None, error.line()
    try:
        document = searcher.document(url.key)
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
