"""What do the servers answer to the URLs of a fetchlist?

Reads `fetchlist` and what earlier rounds know of hosts and origins, writes `fetched`, `hosts` and the WARC
files. The work is done in fetch workers (`fetcher.pool`); this sets up what they must know, and checks what
they left.

A half-fetched segment goes on where it stopped: rows on disk are never fetched again. When a run ends without
being stopped, the segment is sealed (state `fetched`), even where the round's time did not suffice for every
host: URLs without a row are in the next fetchlist.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from cobnut.config.sections import Settings
from cobnut.errors import DataError, InputError
from cobnut.records.catalogue import CRAWLDB, FETCHED, FETCHLIST, HOSTDB, HOSTS, ROBOTS, SEEDS
from cobnut.records.steps import Job, Stage
from cobnut.urls.hosts import bucket_of

if TYPE_CHECKING:
    from cobnut.fetcher.messages import FetchSpec
    from cobnut.fetcher.pool import FetchPool, PoolProgress, PoolReport
    from cobnut.storage.layout import CrawlFolder, SegmentFolder
    from cobnut.storage.locks import GroupLock
    from cobnut.storage.tables import TableVersion

STAGE = Stage(
    "fetch",
    "Fetches the URLs of a fetchlist, politely, and keeps what the servers sent.",
    inputs=(),
    steps=(Job("fetch"),),
    reads=("fetchlist", "seeds", "crawldb", "hostdb", "robots", "hosts"),
    writes=("fetched", "hosts"),
)

PROXY_NOTICE = "the proxy resolves the names: that none of them leads to a private address cannot be checked here"


class FetchReport(msgspec.Struct, frozen=True):
    """What one run did. `outcomes`, `reasons` and `flags` (of refusals) count the rows of the segment's parts, those of
    former runs included.

    `listed`: URLs to fetch in the fetchlist; `left`: those without a row, which return to the next fetchlist,
    with the reasons in `left_by`. `sealed`: the segment is fetched. `complete`: every URL has a row.
    """

    segment: str
    listed: int
    rows: int
    hops: int
    left: int
    outcomes: dict[str, int]
    reasons: dict[str, int]
    flags: dict[str, int]
    left_by: dict[str, int]
    requests: int
    robots: int
    body_bytes: int
    warc_bytes: int
    recovered: int
    elapsed_s: float
    cpu_s: float
    sealed: bool
    stopped: bool
    replaced_workers: int
    notices: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Every URL of the fetchlist has a row."""
        return self.left == 0


class FetchProgress(msgspec.Struct, frozen=True):
    """How far a run has come."""

    outcomes: dict[str, int]
    reasons: dict[str, int]
    in_flight: int
    queued: int
    body_bytes: int
    hosts: tuple[str, ...]
    elapsed_s: float


def run_fetch(
    crawl: CrawlFolder,
    segment: SegmentFolder,
    settings: Settings,
    *,
    pool: FetchPool | None = None,
    part: int | None = None,
    clock: Callable[[], float] = time.monotonic,
    on_progress: Callable[[FetchProgress], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    max_pages: int | None = None,
    deadline: float | None = None,
) -> FetchReport:
    """Fetches a segment, or with `part` one part of it.

    `deadline` is a time of `clock` after which nothing new is started; `crawl.round_s` bounds the round as
    well (0: it does not). `max_pages`: no more pages (outcome success) than that come in this run. `pool`
    is reused when given, and left running. `MachineError` when another process fetches one of the parts, or
    another segment of this crawl.
    """
    from cobnut.fetcher.pool import FetchPool

    parts = fetchlist_parts(segment)
    if part is not None and part not in parts:
        numbers = ", ".join(map(str, parts)) or "none"
        raise InputError(f"segment {segment.name} has no part {part}", remedy=f"its parts are {numbers}")
    chosen = parts if part is None else [part]
    own = FetchPool(settings.fetcher.workers) if pool is None else None
    with ExitStack() as stack:
        stack.enter_context(_one_segment_at_a_time(crawl, segment))
        if own is not None:
            stack.callback(own.close)
        tables = (ROBOTS, HOSTDB, CRAWLDB)
        versions = [stack.enter_context(v) for t in tables if (v := crawl.table(t).current()) is not None]
        spec = make_spec(crawl, segment, settings, versions, _deadline_s(settings, clock, deadline))
        report = (pool or own).run(  # type: ignore[union-attr] # one of the two is set
            spec, chosen, clock, owner_of=_Owners(segment, parts),
            on_progress=_forward(on_progress), should_stop=should_stop, max_pages=max_pages,
        )  # fmt: skip
    sealed = not report.stopped and _all_parts_done(segment, parts)
    if sealed and segment.state() == "generated":
        segment.set_state("fetched")
    return _report(segment, settings, chosen, report, sealed)


def _one_segment_at_a_time(crawl: CrawlFolder, segment: SegmentFolder) -> GroupLock:
    """Processes may share the parts of one segment, since a host is in one part; two segments may share hosts."""
    from cobnut.fetcher.results import STATE_FOLDER
    from cobnut.storage.layout import FETCH_LOCK
    from cobnut.storage.locks import GroupLock, owner_of

    def refusal(other: str) -> str:
        return f"segment {other} is being fetched; {segment.name} beside it would ask hosts without the pause they get"

    def owner_in(other: str) -> str | None:
        locks = sorted((crawl.segments_path / other / STATE_FOLDER).glob("*.lock"))
        return next((owner for lock in locks if (owner := owner_of(lock)) is not None), None)

    return GroupLock(crawl.path / FETCH_LOCK, segment.name, refusal, crawl.lock_wait_s, owner_in)


def fetchlist_parts(segment: SegmentFolder) -> list[int]:
    """The numbers of the segment's fetchlist parts."""
    numbers = []
    for path in segment.part_files(FETCHLIST):
        digits = path.stem.removeprefix("part-")
        if not digits.isdigit():
            raise DataError("not a part of a fetchlist", where=str(path))
        numbers.append(int(digits))
    return numbers


def make_spec(
    crawl: CrawlFolder, segment: SegmentFolder, settings: Settings, versions: Iterable[TableVersion],
    deadline_s: float | None,
) -> FetchSpec:  # fmt: skip
    """What the workers must know. `versions` are held open by the caller while they work."""
    from cobnut import __version__
    from cobnut.fetcher.endpoints import parse_proxy
    from cobnut.fetcher.messages import FetchSpec
    from cobnut.frontier.admission import scope_of
    from cobnut.storage.locks import this_process
    from cobnut.urls.addresses import AddressGuard, parse_net
    from cobnut.urls.overrides import parse_resolve

    fetcher = settings.fetcher
    seeds = [str(url) for url in crawl.table(SEEDS).read(["url"]).column("url").to_pylist()]
    opened = {version.table.name: version for version in versions}
    paths = {name: tuple(map(str, version.files())) for name, version in opened.items()}
    hostdb = opened.get(HOSTDB.name)
    applied = {entry["segment"] for entry in hostdb.manifest.get("applied", [])} if hostdb is not None else set()
    crawldb = opened.get(CRAWLDB.name)
    hosts_files, asked_files, asked_until = _last_requests(crawl, segment, settings, applied)
    proxy = parse_proxy(fetcher.proxy)
    guard = AddressGuard(tuple(map(parse_net, fetcher.allow_net)), typed_endpoints(seeds))
    return FetchSpec(
        segment_path=str(segment.path), fetcher=fetcher, urls=settings.urls,
        scope=scope_of(crawl, settings), guard=guard,
        rules=tuple(map(parse_resolve, fetcher.resolve)), proxy=proxy.url if proxy is not None else "",
        software=f"Cobnut/{__version__}", deadline_s=deadline_s,
        robots_files=paths.get(ROBOTS.name, ()), hostdb_files=paths.get(HOSTDB.name, ()),
        hosts_files=hosts_files, asked_files=asked_files, asked_until_ms=asked_until, owner=this_process(),
        crawldb_files=() if crawldb is None else tuple(
            # what is newer first: of two rows for a page the first found holds
            tuple(map(str, (*files.delta, *files.base)))
            for files in map(crawldb.files, range(crawldb.partitions))
        ),
    )  # fmt: skip


def _last_requests(
    crawl: CrawlFolder, segment: SegmentFolder, settings: Settings, applied: set[str]
) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Files that say when hosts were asked last: of segments that are not in the hostdb; of those in it that were
    written no longer ago than a pause may last. And until when a killed run of another segment may have asked any
    host."""
    from cobnut.fetcher.answer import now_ms
    from cobnut.fetcher.pace import longest_delay_s
    from cobnut.fetcher.results import STATE_FOLDER, asked_until_ms

    since_s = now_ms() / 1000 - longest_delay_s(settings.fetcher)
    files: list[str] = []
    asked_files: list[str] = []
    asked_until = 0
    for other in crawl.segments():
        folder = other.folder(HOSTS)
        if other.name not in applied:
            files += map(str, other.part_files(HOSTS))
        elif folder.is_dir() and folder.stat().st_mtime >= since_s:
            asked_files += map(str, other.part_files(HOSTS))
        if other.name not in applied and other.name != segment.name:  # of its own parts each worker knows by itself
            locks = (other.path / STATE_FOLDER).glob("*.lock")
            asked_until = max(asked_until, *map(asked_until_ms, locks), 0)
    return tuple(files), tuple(asked_files), asked_until


def typed_endpoints(seeds: Iterable[str]) -> frozenset[tuple[str, int]]:
    """Host and port of the seeds that name an address or this machine itself: private or not, the user asked
    for them.

    A seed that names another host opens nothing: its name might lead anywhere tomorrow.

    >>> sorted(typed_endpoints(["http://127.0.0.1:8080/a", "http://example.org/"]))
    [('127.0.0.1', 8080)]
    """
    from cobnut.urls.addresses import read_ip
    from cobnut.urls.hosts import host_of, is_loopback_host, port_of

    hosts = ((host_of(seed), port_of(seed)) for seed in seeds)
    return frozenset((host, port) for host, port in hosts if read_ip(host) is not None or is_loopback_host(host))


class _Owners:
    """Which part a host is in; read when the first redirect asks. A host that is in none belongs to one by its
    bucket, so that processes that share the parts never ask it side by side."""

    def __init__(self, segment: SegmentFolder, parts: list[int]) -> None:
        self._segment, self._parts = segment, parts
        self._by_host: dict[str, int] | None = None

    def __call__(self, host: str) -> int | None:
        if self._by_host is None:
            from cobnut.storage.tables import read_files

            files = zip(self._parts, self._segment.part_files(FETCHLIST), strict=True)
            self._by_host = {
                str(name): number
                for number, path in files
                for name in read_files(FETCHLIST, [path], ["host"]).column("host").unique().to_pylist()
            }
        found = self._by_host.get(host)
        return found if found is not None else self._parts[bucket_of(host) % len(self._parts)]


def _deadline_s(settings: Settings, clock: Callable[[], float], deadline: float | None) -> float | None:
    limits = [float(settings.crawl.round_s)] if settings.crawl.round_s > 0 else []
    if deadline is not None:
        limits.append(max(0.0, deadline - clock()))
    return min(limits, default=None)


def _forward(on_progress: Callable[[FetchProgress], None] | None) -> Callable[[PoolProgress], None]:
    def forward(progress: PoolProgress) -> None:
        if on_progress is not None:
            counts = progress.counts
            on_progress(
                FetchProgress(
                    counts.outcomes, counts.reasons, progress.in_flight, progress.queued, counts.body_bytes,
                    progress.hosts, progress.elapsed_s,
                )
            )  # fmt: skip

    return forward


def _all_parts_done(segment: SegmentFolder, parts: list[int]) -> bool:
    from cobnut.fetcher.results import done_path

    return all(done_path(segment.path, part).exists() for part in parts)


def _report(
    segment: SegmentFolder, settings: Settings, chosen: list[int], pool_report: PoolReport, sealed: bool
) -> FetchReport:
    """Counts what lies on disk: rows out = distinct keys in, or the segment is damaged."""
    import pyarrow.compute as pc

    from cobnut.storage.parts import part_name
    from cobnut.storage.tables import read_files

    outcomes, reasons, flags = Counter[str](), Counter[str](), Counter[str]()
    rows = hops = 0
    keys: set[str] = set()
    names = tuple(f"{part_name(number)}-" for number in chosen)
    for path in segment.part_files(FETCHED):
        if path.name.startswith(names):
            data = read_files(FETCHED, [path], ["url_key", "outcome", "reason", "hop_from", "flags"])
            rows += data.num_rows
            hops += data.num_rows - data.column("hop_from").null_count
            keys.update(data.column("url_key").to_pylist())
            told = (data.column("outcome"), data.column("reason"), pc.list_flatten(data.column("flags")))
            for counter, values in zip((outcomes, reasons, flags), told, strict=True):
                for entry in pc.value_counts(values.drop_null()).to_pylist():
                    counter[entry["values"]] += entry["counts"]
    if len(keys) != rows:
        raise DataError(
            f"{rows} rows of fetched pages for {len(keys)} pages", where=str(segment.folder(FETCHED)),
            remedy="remove the segment: its URLs return to the next fetchlist",
        )  # fmt: skip
    listed = left = 0
    for number in chosen:
        path = segment.folder(FETCHLIST) / f"{part_name(number)}.parquet"
        wanted = read_files(FETCHLIST, [path], ["url_key"], [("fetch", "=", True)]).column("url_key").to_pylist()
        listed += len(wanted)
        left += sum(1 for key in wanted if key not in keys)
    counts = pool_report.counts
    return FetchReport(
        segment=segment.name, listed=listed, rows=rows, hops=hops, left=left, outcomes=dict(outcomes),
        reasons=dict(reasons), flags=dict(flags), left_by=dict(counts.left), requests=counts.requests,
        robots=counts.robots, body_bytes=counts.body_bytes, warc_bytes=counts.warc_bytes, recovered=counts.recovered,
        elapsed_s=pool_report.elapsed_s, cpu_s=pool_report.cpu_s, sealed=sealed, stopped=pool_report.stopped,
        replaced_workers=pool_report.replaced_workers, notices=notices(settings, pool_report),
    )  # fmt: skip


def notices(settings: Settings, pool_report: PoolReport) -> tuple[str, ...]:
    """What a person should be told beside the numbers."""
    found = []
    if settings.fetcher.proxy:
        found.append(PROXY_NOTICE)
    refused = pool_report.counts.refused_addresses
    for option, count in sorted(refused.items(), key=lambda entry: (-entry[1], entry[0]))[:5]:
        found.append(f"private addresses refused ({count}): {option}")
    if pool_report.replaced_workers:
        found.append(f"fetch workers that ended unexpectedly and were replaced: {pool_report.replaced_workers}")
    if pool_report.unpassed_hops:
        found.append(
            f"redirect targets left to the next round, their hosts being fetched elsewhere: {pool_report.unpassed_hops}"
        )
    return tuple(found)
