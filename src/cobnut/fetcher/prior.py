"""What do the disk and earlier rounds know before a part is fetched?

Reads the fetchlist, the rows and WARC records a killed run left, and what the tables `robots` and `hostdb` and
segments fetched a moment ago say of the hosts to come, into a `Run`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from cobnut.fetcher import outcome
from cobnut.fetcher.answer import Answer, now_ms, read_headers, status_of
from cobnut.fetcher.archive import Recovered
from cobnut.fetcher.body import Body, BodyBudget
from cobnut.fetcher.origins import NAMING_FAILED, OURS, decoded
from cobnut.fetcher.pace import HostPast, longest_delay_s
from cobnut.fetcher.results import FetchedRow, PartOutput
from cobnut.fetcher.robots import RobotsRules
from cobnut.fetcher.rows import kept_headers, refusal_flags
from cobnut.fetcher.run import Run
from cobnut.fetcher.task import Origin, Task
from cobnut.records.catalogue import FETCHLIST
from cobnut.storage.parts import part_name
from cobnut.text.dates import past_ms
from cobnut.urls.filters import FORGOTTEN
from cobnut.urls.hosts import bucket_of, host_of
from cobnut.urls.keys import key_to_url

DISALLOW_TTL_S = 300
BATCH_ROWS = 10_000
_COLUMNS = ("url_key", "url", "host", "bucket", "fetch", "score", "depth", "etag", "last_modified")


class Lost(NamedTuple):
    """An answer that a killed run archived and did not come to write of: the row it stands for, if for one, and what
    it says of its host."""

    output: PartOutput
    row: FetchedRow | None
    url: str
    is_robots: bool
    status: int
    retry_after: str | None
    at_ms: int
    size: int
    robots: bytes = b""


def load(run: Run, clock_now: float) -> None:
    """Fills a run with everything that is to be done."""
    redirected: list[tuple[str, str, int, int, tuple[str, ...]]] = []
    delays: dict[str, int] = {}
    lost: list[Lost] = []
    for part_output in run.outputs:
        redirected += _recover(run, part_output, delays, lost)
    for part_output in run.outputs:
        _queue_fetchlist(run, part_output)
    _prior_hosts(run, delays)
    _prior_robots(run)
    for part_output in run.outputs:
        _own_robots(run, part_output)
    counted = {part_output.part: part_output.counted() for part_output in run.outputs} if lost else {}
    for answer in lost:
        _replay(run, answer, counted[answer.output.part], clock_now)
    for part_output in run.outputs:
        part_output.flush()
    for url, key, score, depth, chain in redirected:
        host = host_of(url)
        run.follow(url, key, host, bucket_of(host), score, depth, chain)


def _queue_fetchlist(run: Run, part_output: PartOutput) -> None:
    import pyarrow.parquet as pq

    forgets = bool(run.spec.scope.forgotten)
    path = Path(run.spec.segment_path) / FETCHLIST.name / f"{part_name(part_output.part)}.parquet"
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH_ROWS, columns=list(_COLUMNS)):
            columns = batch.to_pydict()
            for key, url, host, bucket, fetch, score, depth, etag, last_modified in zip(
                *(columns[name] for name in _COLUMNS), strict=True
            ):
                run.pace.own(host, bucket, part_output)
                if fetch and forgets and run.is_forgotten(key_to_url(key)):
                    run.give_up(None, FORGOTTEN)  # asked for since the fetchlist was made
                elif fetch:
                    run.add(Task(url, key, host, bucket, part_output, score, depth, etag, last_modified))


def _recover(
    run: Run, part_output: PartOutput, delays: dict[str, int], lost: list[Lost]
) -> list[tuple[str, str, int, int, tuple[str, ...]]]:
    """Rows that are there count as done; records behind them go into `lost`. Redirects whose targets are still to come.
    What a robots.txt among the records asks for goes into `delays`."""
    rows, offsets = part_output.acknowledged()
    sources: dict[str, str] = {}
    redirects: list[tuple[str, str, int, int]] = []
    for row in rows:
        run.mark_done(row.url_key)
        run.counts.recovered += 1
        run.counts.kept += row.outcome == outcome.SUCCESS
        if row.hop_from:
            sources[row.url_key] = row.hop_from
        if row.redirect_url and row.reason is None and row.outcome in (outcome.PERMANENT, outcome.TEMPORARY):
            redirects.append((row.url_key, row.redirect_url, row.score, row.depth))
    for found in part_output.unacknowledged(offsets):
        answer = _lost(run, part_output, found, delays)
        made = _row_of(run, found)
        if made is None or not run.mark_done(made.url_key):
            lost += [answer] if answer is not None else []
            continue
        run.counts.recovered += 1
        run.counts.kept += made.outcome == outcome.SUCCESS
        assert answer is not None
        lost.append(answer._replace(row=made))
        if made.hop_from:
            sources[made.url_key] = made.hop_from
        if made.redirect_url and made.reason is None:
            redirects.append((made.url_key, made.redirect_url, made.score, made.depth))
    ready = []
    for key, url, score, depth in redirects:
        forms = run.forms(url)
        if forms is not None:
            chain = [key]
            while chain[0] in sources and sources[chain[0]] not in chain:
                chain.insert(0, sources[chain[0]])
            ready.append((forms.url, forms.key, score, depth, tuple(chain)))
    return ready


def _lost(run: Run, part_output: PartOutput, found: Recovered, delays: dict[str, int]) -> Lost | None:
    """What an answer says of its host; the Crawl-delay of a robots.txt goes into `delays`."""
    response = found.response
    status = status_of(response.head)
    if status is None:
        return None
    headers = read_headers(response.head)
    is_robots, body = response.purpose == "robots", b""
    if is_robots and status == 200:
        answer = Answer(200, response.head, headers, response.body, None, None, None, 0, None, 0, False, True)
        body = decoded(answer, run.spec.fetcher.robots_max_bytes)
        rules = RobotsRules.parse(body, run.agent)
        if rules.crawl_delay_ms is not None:
            host = host_of(response.url)
            delays[host] = max(rules.crawl_delay_ms, delays.get(host, 0))
    return Lost(
        part_output, None, response.url, is_robots, status, headers.get("retry-after"), response.at_ms,
        len(response.body), body,
    )  # fmt: skip


def _own_robots(run: Run, part_output: PartOutput) -> None:
    """What a killed run of this segment was told by robots.txt files is not asked again."""
    for row in part_output.robots():
        if row["state"] != "disallow_all" and 0 <= now_ms() - row["seen_at"] < 1000 * run.spec.fetcher.robots_ttl_s:
            is_open = row["state"] == "allow_all"
            rules = RobotsRules.allow_all() if is_open else RobotsRules.parse(row["body"] or b"", run.agent)
            run.origins.set(row["origin"], Origin(rules))


def _replay(run: Run, lost: Lost, counted: dict[str, int], now: float) -> None:
    """Counts an answer for its host, once; and adds the row it stands for.

    `counted` is up to when the answers of each host are counted: one that makes no row, as a 429 does, stays behind
    the last row, however often the run is killed.
    """
    is_known = lost.is_robots and run.origins.get(lost.url.removesuffix("/robots.txt")) is not None
    host = host_of(lost.url)
    if not is_known and (lost.row is not None or lost.at_ms > counted.get(host, -1)):
        run.pace.own(host, bucket_of(host), lost.output)
        run.pace.replay(host, lost.is_robots, lost.status, lost.retry_after, lost.at_ms, lost.size)
    if lost.is_robots and not is_known:
        run.origins.recall(lost.url, lost.status, lost.robots, lost.at_ms, lost.output)
    if lost.row is not None:
        lost.output.add(lost.row, now)


def _row_of(run: Run, found: Recovered) -> FetchedRow | None:
    """The row that a complete WARC record stands for; None for robots.txt, and for an answer that was to be
    asked again."""
    response = found.response
    status = status_of(response.head)
    forms = run.forms(response.url)
    if response.purpose is not None or status is None or status in (429, 503) or forms is None:
        return None
    headers = read_headers(response.head)
    body = Body(len(response.body) + 1, headers.get("content-encoding", ""), BodyBudget())
    body.add(response.body)
    broken = body.broken
    received, digest = body.finish()
    answer = Answer(
        status, response.head, headers, received, digest, response.truncated, None, 0, response.address, 0, broken, True
    )
    chain = (response.hop_from,) if response.hop_from else ()
    verdict, target = run.judge(response.url, forms.key, chain, answer, response.had_condition, response.depth == 0)
    return FetchedRow(
        forms.key, response.url, forms.host, forms.bucket, verdict.outcome, verdict.reason, status,
        kept_headers(headers), response.at_ms, None, len(response.body), response.truncated is not None,
        target.url if target is not None else None, target.key if target is not None else None, digest,
        headers.get("etag"), headers.get("last-modified"), past_ms(headers.get("last-modified"), response.at_ms), None,
        found.place.file, found.place.offset,
        response.address, response.score, response.depth, response.hop_from, response.had_condition,
        refusal_flags(answer),
    )  # fmt: skip


def _prior_hosts(run: Run, delays: dict[str, int]) -> None:
    """What the tables say of hosts, and of those that redirects may lead to; what segments say that are not in the
    tables yet, newer rows over older ones. Of segments that the tables hold, only when hosts were asked last counts:
    what other crawls know may have come over the rest (`mergedb`); and a pause that is newer than what the hostdb says,
    which may have been rolled back. `delays`: Crawl-delays of robots.txt answers that were read back."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    wall = now_ms()
    past: dict[str, HostPast] = {}
    hosts = list(run.pace.facts)
    columns = ["host", "next_fetch_at", "backoff_s", "crawl_delay_ms", "failures"]
    since = wall - int(longest_delay_s(run.spec.fetcher) * 1000)

    def told(files: Sequence[str], filters: Any) -> Iterator[dict[str, Any]]:
        for path in files if hosts else ():
            with contextlib.suppress(FileNotFoundError):  # a chunk without its partner, which went meanwhile
                names = [*columns, "seen_at", "event", "reason"]
                yield from pq.read_table(path, columns=names, filters=filters).to_pylist()

    held = list(told(run.spec.asked_files, pc.field("seen_at") >= since))
    pauses = _pauses_at_last(held, wall)
    wanted = pc.field("host").isin([*hosts, *pauses])
    wanted |= (pc.field("next_fetch_at") > wall) | (pc.field("crawl_delay_ms") > 0)
    for path in run.spec.hostdb_files if hosts else ():
        for row in pq.read_table(path, columns=[*columns, "last_error", "updated_at"], filters=wanted).to_pylist():
            past[row["host"]] = HostPast(
                0, row["next_fetch_at"] or 0, row["backoff_s"] or 0, row["crawl_delay_ms"], row["failures"] or 0,
                row["last_error"],
            )  # fmt: skip
            if row["host"] in pauses and pauses[row["host"]]["seen_at"] <= (row["updated_at"] or 0):
                del pauses[row["host"]]
    recent = (pc.field("seen_at") >= since) | (pc.field("next_fetch_at") > wall) | (pc.field("crawl_delay_ms") > 0)
    rows = [*pauses.values(), *told(run.spec.hosts_files, recent | (pc.field("event") == "traffic"))]
    for row in sorted(rows, key=itemgetter("seen_at")):
        known = past.get(row["host"], HostPast())
        if row["event"] == "traffic":
            known = known._replace(
                next_fetch_at=row["next_fetch_at"] or 0, backoff_s=row["backoff_s"] or 0,
                failures=row["failures"] or 0, last_error=row["reason"] or known.last_error,
            )  # fmt: skip
        elif row["crawl_delay_ms"] is not None:
            known = known._replace(crawl_delay_ms=row["crawl_delay_ms"])
        past[row["host"]] = known
    for row in [*rows, *held]:
        known = past.get(row["host"], HostPast())
        past[row["host"]] = known._replace(asked_at=max(known.asked_at, row["seen_at"]))
    for host, delay_ms in delays.items():
        known = past.get(host, HostPast())
        past[host] = known._replace(crawl_delay_ms=max(delay_ms, known.crawl_delay_ms or 0))
    run.pace.remember(past, run.spec.asked_until_ms)


def _pauses_at_last(rows: list[dict[str, Any]], wall: int) -> dict[str, dict[str, Any]]:
    """The last row about the traffic of each host, where it asks for a pause that is not over."""
    last = {row["host"]: row for row in sorted(rows, key=itemgetter("seen_at")) if row["event"] == "traffic"}
    return {host: row for host, row in last.items() if (row["next_fetch_at"] or 0) > wall}


def _prior_robots(run: Run) -> None:
    import pyarrow.parquet as pq

    wall = now_ms()
    hosts = list(run.pace.facts)
    columns = ["origin", "host", "state", "reason", "body", "fetched_at"]
    for path in run.spec.robots_files if hosts else ():
        for row in pq.read_table(path, columns=columns, filters=[("host", "in", hosts)]).to_pylist():
            age_s = (wall - row["fetched_at"]) / 1000
            ttl_s = run.spec.fetcher.robots_ttl_s
            if row["state"] == "disallow_all":
                # no longer than the host rests for it: what is due then asks anew, and does not wait another day
                ttl_s = min(ttl_s, int(run.spec.fetcher.backoff_s), DISALLOW_TTL_S)
            if not 0 <= age_s < ttl_s or row["reason"] in OURS:
                continue
            if row["state"] == "rules":
                rules = RobotsRules.parse(row["body"] or b"", run.agent)
            else:
                rules = RobotsRules.allow_all() if row["state"] == "allow_all" else RobotsRules.disallow_all()
            run.origins.set(row["origin"], Origin(rules, row["reason"] if row["reason"] in NAMING_FAILED else None))
