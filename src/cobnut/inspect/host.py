"""What is known of one host, and how will it be treated?

Gathers what the tables and the segments on disk say of a host into one `HostEvidence`, and what follows from it for the
next round. Only the host's own rows are read, as far as the statistics of the files tell where they are; counts are
made batch by batch, however many pages the host has.

Not here: the story made of it (`inspect.why_host`), what is known of one URL (`inspect.evidence`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.config.schedules import parse_host_delay, parse_host_schedule
from cobnut.config.sections import Settings
from cobnut.inspect.show import data
from cobnut.inspect.tables import look_up, partition_with
from cobnut.records import catalogue
from cobnut.records.columns import Table
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.lookup import find, find_batches
from cobnut.urls.hosts import bucket_of
from cobnut.urls.keys import key_to_host, key_to_url

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]

MOST_ERRORS = 10
MOST_REDIRECTS = 10
MOST_ROUNDS = 10
MOST_SEEDS = 20
_SUMS = ("request_count", "error_count", "dns_error_count", "body_bytes", "elapsed_ms")


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    """How the host is asked in the next round, as the settings are now. Times in ms since 1970.

    `delay_from`: host (its own setting), crawl-delay, setting or default. `rests_until`: no request before that; None
    when it may be asked now.
    """

    delay_s: float
    delay_from: str
    connections: int
    rests_until: int | None
    interval: Row | None


class HostEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one host. Rows are those of the tables; None or empty means that there is none."""

    host: str
    bucket: int
    now: int
    refused_by: str | None
    forgotten: Row | None
    seed_count: int
    seeds: list[str]
    row: Row | None
    robots: list[Row]
    pages: int
    by_status: dict[str, int]
    by_reason: dict[str, int]
    by_http_status: dict[str, int]
    due_now: int
    next_due_at: int | None
    waiting: dict[str, int]
    redirects: int
    redirects_to: dict[str, int]
    last_errors: list[Row]
    rounds: list[Row]
    host_rank: int | None
    politeness: Politeness

    @property
    def is_known(self) -> bool:
        """Whether anything at all is known of the host."""
        return bool(
            self.row or self.robots or self.pages or self.seeds or self.waiting or self.rounds or self.forgotten
        )


def gather_host(
    crawl: CrawlFolder, settings: Settings, host: str, refuses: Callable[[str], str | None], now_ms: int
) -> HostEvidence:
    """Everything known of a host; `refuses` names the filter rule that keeps a normalised URL out."""
    bucket = bucket_of(host)
    row = next(iter(look_up(crawl, catalogue.HOSTDB, {"host": host}, bucket, limit=1)), None)
    robots = look_up(crawl, catalogue.ROBOTS, {"host": host}, bucket)
    seeds = [seed["url"] for seed in look_up(crawl, catalogue.SEEDS, {"host": host}, None, ["url"])]
    hot, cold = _hot(crawl, host, bucket, now_ms), _cold(crawl, host, bucket)
    waiting, rounds = _of_segments(crawl, host)
    ranks = look_up(crawl, catalogue.RANKS, {"host": host}, bucket, ["host_rank"], 1)
    return HostEvidence(
        host=host, bucket=bucket, now=now_ms, refused_by=refuses(f"http://{host}/"),
        forgotten=_forgotten(crawl, host), seed_count=len(seeds), seeds=seeds[:MOST_SEEDS], row=row,
        robots=[_readable(one) for one in robots], **hot, **_with_reasons(crawl, bucket, cold), waiting=waiting,
        rounds=rounds, host_rank=ranks[0]["host_rank"] if ranks else None,
        politeness=politeness(settings, host, row, now_ms),
    )  # fmt: skip


def politeness(settings: Settings, host: str, row: Row | None, now_ms: int) -> Politeness:
    """How a host with this row of the hostdb is asked (the rules are those of `fetcher.pace`)."""
    fetcher = settings.fetcher
    asked_ms = None if row is None else row["crawl_delay_ms"]
    asked_s = None if asked_ms is None else min(asked_ms / 1000, fetcher.max_delay_s)
    own_s = dict(map(parse_host_delay, fetcher.host_delays)).get(host)
    if own_s is not None and own_s >= (asked_s or 0.0):
        delay, source = own_s, "host"
    elif asked_s is not None:
        delay, source = asked_s, "crawl-delay"
    elif fetcher.delay_s >= 0:
        delay, source = fetcher.delay_s, "setting"
    else:
        delay, source = 1.0, "default"
    until = 0 if row is None else min(row["next_fetch_at"] or 0, now_ms + int(fetcher.backoff_max_s * 1000))
    own = [one for one in map(parse_host_schedule, settings.db.host_schedules) if one.host == host]
    return Politeness(
        delay_s=max(delay, fetcher.min_delay_s), delay_from=source, connections=fetcher.connections_per_host,
        rests_until=until if until > now_ms else None,
        interval=msgspec.structs.asdict(own[-1]) if own else None,
    )  # fmt: skip


def _batches(crawl: CrawlFolder, table: Table, host: str, bucket: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
    version = crawl.table(table).current()
    if version is None:
        return
    with version:
        files = version.files(partition_with(table, version, bucket))
        for _, batch in find_batches(table, files, {"bucket": bucket, "host": host}, columns):
            yield batch


def _hot(crawl: CrawlFolder, host: str, bucket: int, now_ms: int) -> Row:
    import pyarrow.compute as pc

    status, reason = Counter[str](), Counter[str]()
    pages = due = 0
    next_due: int | None = None
    for batch in _batches(crawl, catalogue.CRAWLDB, host, bucket, ["status", "reason", "due_at"]):
        pages += batch.num_rows
        _count(status, batch.column("status"))
        _count(reason, batch.column("reason"))
        later = pc.greater(batch.column("due_at"), now_ms)
        due += batch.num_rows - (pc.sum(later).as_py() or 0)
        soonest = pc.min(batch.column("due_at").filter(later)).as_py()
        if soonest is not None:
            next_due = soonest if next_due is None else min(soonest, next_due)
    return {
        "pages": pages, "by_status": _ordered(status), "by_reason": _ordered(reason), "due_now": due,
        "next_due_at": next_due,
    }  # fmt: skip


def _cold(crawl: CrawlFolder, host: str, bucket: int) -> Row:
    """Counts by HTTP status, redirects, and the visits that failed last."""
    import pyarrow as pa
    import pyarrow.compute as pc

    http, targets, failed = Counter[str](), Counter[str](), None
    names = ["url_key", "http_status", "checked_at", "redirect_key"]
    order = [("checked_at", "descending"), ("url_key", "ascending")]
    for batch in _batches(crawl, catalogue.PAGES, host, bucket, names):
        _count(http, batch.column("http_status"))
        targets.update(key_to_host(k.partition(")")[0]) for k in batch.column("redirect_key").drop_null().to_pylist())
        visited = pc.is_valid(batch.column("checked_at"))
        bad = pc.fill_null(pc.greater_equal(batch.column("http_status"), 400), True)
        some = pa.Table.from_batches([batch.filter(pc.and_(visited, bad))])
        if not some.num_rows:
            continue
        failed = (some if failed is None else pa.concat_tables([failed, some])).sort_by(order).slice(0, MOST_ERRORS)
    return {
        "by_http_status": _ordered(http), "redirects": sum(targets.values()),
        "redirects_to": dict(targets.most_common(MOST_REDIRECTS)),
        "last_errors": [] if failed is None else failed.drop_columns(["redirect_key"]).to_pylist(),
    }  # fmt: skip


def _count(counter: Counter[str], values: pa.Array) -> None:
    for pair in values.drop_null().value_counts().to_pylist():
        counter[str(pair["values"])] += pair["counts"]


def _with_reasons(crawl: CrawlFolder, bucket: int, cold: Row) -> Row:
    """The failures with what the crawldb says of the page."""
    errors = []
    for error in cold["last_errors"]:
        columns = ["status", "reason", "due_at"]
        known = look_up(crawl, catalogue.CRAWLDB, {"url_key": error["url_key"]}, bucket, columns, 1)
        if known and known[0]["reason"] is not None:
            errors.append({"url": key_to_url(error["url_key"]), **error, **known[0]})
    return {**cold, "last_errors": errors}


def _of_segments(crawl: CrawlFolder, host: str) -> tuple[dict[str, int], list[Row]]:
    """URLs of the host in fetchlists that are not applied, by segment; and what came of the last rounds."""
    applied = {entry["segment"] for entry in crawl.table(catalogue.CRAWLDB).manifest().get("applied", [])}
    waiting: dict[str, int] = {}
    rounds: list[Row] = []
    for segment in reversed(crawl.segments()):
        if segment.name not in applied:
            parts = segment.part_files(catalogue.FETCHLIST)
            found = find_batches(catalogue.FETCHLIST, parts, {"host": host}, ["url_key"])
            if count := sum(batch.num_rows for _, batch in found):
                waiting[segment.name] = count
        if len(rounds) < MOST_ROUNDS:
            files = segment.part_files(catalogue.HOSTS)
            columns = [c for c in catalogue.HOSTS.column_names if c not in ("body", "sitemaps", "bucket", "host")]
            traffic = [one.row for one in find(catalogue.HOSTS, files, {"host": host, "event": "traffic"}, columns)]
            if traffic:
                rounds.append({"segment": segment.name, **_summed(traffic)})
    return dict(sorted(waiting.items())), rounds[::-1]


def _summed(traffic: list[Row]) -> Row:
    """What a round learned of the host: each row counts what came since the one before, the last says how it ended."""
    last = max(traffic, key=lambda row: row["seen_at"])
    sums = {name: sum(row[name] or 0 for row in traffic) for name in _SUMS}
    return {**{name: value for name, value in last.items() if value is not None}, **sums}


def _forgotten(crawl: CrawlFolder, host: str) -> Row | None:
    rows = crawl.table(catalogue.FORGOTTEN).read().to_pylist()
    return next((r for r in rows if r["kind"] == "host" and r["value"] == host and r["undone_at"] is None), None)


def _readable(robots: Row) -> Row:
    body = robots["body"]
    return {**robots, "body": None if body is None else body.decode("utf-8", "replace")}


def _ordered(counts: Counter[str]) -> dict[str, int]:
    return dict(counts.most_common())


def plain_host(evidence: HostEvidence) -> Row:
    """The evidence as values that JSON can hold."""
    return {
        "known": evidence.is_known,
        **{name: data(msgspec.to_builtins(getattr(evidence, name))) for name in evidence.__struct_fields__},
    }
