"""How does what another crawl knows come into this one?

`adopt` takes files of adopted rows (see `stages.adopt`), and the segments that came along. A segment whose visits the
crawldb shows counts as applied: it is named in the manifests, so that `updatedb` does not apply it. One whose visits it
does not show waits for `updatedb`, as after a fetch. Which it is is told by the pages themselves: after a visit was
taken in, a page is due later than that visit.

Not here: making such rows (`interop`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cobnut.config.sections import Settings
from cobnut.crawl.applied import applied_segments, rows_in, segment_digest
from cobnut.crawl.linkage import limits_of
from cobnut.crawl.reports import StepReport
from cobnut.engines.local import LocalEngine, Run
from cobnut.engines.session import Session
from cobnut.errors import DataError
from cobnut.observe.clock import Clock, SystemClock
from cobnut.records import catalogue as tables
from cobnut.records.columns import Table
from cobnut.stages import adopt as adopt_stage
from cobnut.stages import adoptlinks as adoptlinks_stage
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.tables import batches_of

SAMPLE = 5_000
"""Visits of a segment that are looked at to tell whether the crawldb shows them."""


class Adopted(msgspec.Struct):
    """Files of adopted rows, and the segments that came along."""

    pages: list[Path] = []
    hosts: list[Path] = []
    links: list[Path] = []
    segments: list[SegmentFolder] = []


def adopt(
    crawl: CrawlFolder,
    settings: Settings,
    adopted: Adopted,
    report: StepReport,
    *,
    overwrite: bool = False,
    with_seeds: bool = True,
    clock: Clock | None = None,
    on_publish: Callable[[str], None] | None = None,
) -> None:
    """Merges adopted rows into the crawl's tables; counts and messages go into the report."""
    clock = clock or SystemClock()
    if adopted.pages or adopted.hosts:
        _adopt_rows(crawl, settings, adopted, report, overwrite, with_seeds, clock, on_publish)
    if adopted.links:
        _adopt_links(crawl, settings, adopted, report, on_publish)


def _adopt_rows(
    crawl: CrawlFolder,
    settings: Settings,
    adopted: Adopted,
    report: StepReport,
    overwrite: bool,
    with_seeds: bool,
    clock: Clock,
    on_publish: Callable[[str], None] | None,
) -> None:
    if adopted.pages:
        _begin_tables(crawl)
    before = crawl.table(tables.CRAWLDB).manifest()
    done = {entry["segment"] for entry in before.get("applied", [])}
    shown = _shown(crawl, adopted) if adopted.pages else set()
    newest = max(done | shown, default="")
    for segment in adopted.segments:
        name = segment.name
        if not adopted.pages or name in done or name in shown:
            continue
        if name < newest:  # updatedb takes segments in the order of their names: it could never be applied
            shown.add(name)
            report.messages.append(
                f"segment {name}: the crawldb does not show its visits, but later ones; it is not applied"
            )
        else:
            report.messages.append(
                f"segment {name}: the crawldb does not show its visits; `cobnut updatedb` applies it"
            )
    fresh = [s for s in sorted(adopted.segments, key=lambda s: s.name) if s.name in shown and s.name not in done]
    along = [s for s in adopted.segments if s.name in shown or s.name in done]
    seen: dict[str, int] = dict.fromkeys(("adopted", "keys", "rows", "taken", "unknown"), 0)

    def count(session: Session, partition: int, of: int) -> None:
        for name, query in (
            ("adopted", "SELECT count(*) FROM newest"),
            ("taken", "SELECT count(*) FROM winners"),
            ("unknown", "SELECT count(*) FROM visits v ANTI JOIN next_crawldb c ON c.url_key = v.url_key"),
            ("keys", "SELECT count(*) FROM (SELECT url_key FROM crawldb UNION SELECT url_key FROM adopted)"),
            ("rows", "SELECT count(*) FROM next_crawldb"),
        ):
            seen[name] += session.connection.execute(query).fetchall()[0][0]
        if adopted.pages and seen["rows"] != seen["keys"]:
            raise DataError(
                f"the crawldb would have {seen['rows']:,} rows and should have {seen['keys']:,}; nothing was written",
                where=str(crawl.path), remedy=f"`cobnut doctor {crawl.path}` checks the tables",
            )  # fmt: skip

    nothing = [] if adopted.pages else [tables.CRAWLDB, tables.PAGES, tables.SEEDS]
    outcome = LocalEngine(settings).run(
        Run(
            crawl,
            adopt_stage.STAGE,
            segments=along,
            files={"adopted": adopted.pages, "adopted_hosts": adopted.hosts},
            params={"now_ms": clock.now_ms(), "overwrite": overwrite, "with_seeds": with_seeds},
            manifest={
                "applied": [
                    *before.get("applied", []),
                    *({"segment": s.name, "digest": segment_digest(s)} for s in fresh),
                ]
            },
            rows_hint=sum(rows_in(path) for path in adopted.pages),
            expects={"crawldb": before.get("generation")},
            skip_outputs=frozenset(t.name for t in nothing),
            on_partition=count,
            on_again=lambda: seen.update(dict.fromkeys(seen, 0)),
            on_publish=on_publish,
        )
    )
    report.messages += outcome.messages
    report.add_keys(outcome.keys)
    if adopted.pages:
        rows = outcome.rows["crawldb"]
        merged = sum(rows_in(path) for path in adopted.pages) - seen["adopted"]
        if merged:
            report.left_out["same_key"] = report.left_out.get("same_key", 0) + merged
        if seen["unknown"]:
            report.messages.append(
                f"{seen['unknown']:,} pages of the segments are not in the crawldb: they are found, not fetched again"
            )
        report.counts["urls"] = seen["adopted"]
        report.counts["new"] = rows - before.get("rows", 0)
        report.counts["kept"] = seen["adopted"] - seen["taken"]
        report.counts["crawldb"] = rows
    if adopted.hosts:
        report.counts["hostdb"] = outcome.rows["hostdb"]


def _begin_tables(crawl: CrawlFolder) -> None:
    """In a new crawl, empty tables: pages that hold segments beside no crawldb at all would be taken for a loss."""
    for table in (tables.PAGES, tables.CRAWLDB):
        store = crawl.table(table)
        if not store.manifest():
            with store.begin() as draft:
                draft.write_partition(0, [])
                draft.publish("adopt", applied=[])


def _adopt_links(
    crawl: CrawlFolder,
    settings: Settings,
    adopted: Adopted,
    report: StepReport,
    on_publish: Callable[[str], None] | None,
) -> None:
    before = crawl.table(tables.LINKDB).manifest()
    limits = limits_of(settings, False)  # links within a host come along
    everything = bool(before) and before.get("limits", {}).get("max_inlinks") != limits["max_inlinks"]
    outcome = LocalEngine(settings).run(
        Run(
            crawl,
            adoptlinks_stage.STAGE,
            files={"adopted_links": adopted.links},
            params={
                "max_inlinks": limits["max_inlinks"],
                "imported": adoptlinks_stage.IMPORTED,
                "everything": everything,
            },
            manifest={
                "applied": [{"segment": name} for name in applied_segments(crawl, tables.LINKDB)],
                "limits": limits,
            },
            rows_hint=sum(rows_in(path) for path in adopted.links),
            expects={"linkdb": before.get("generation")},
            on_publish=on_publish,
        )
    )
    report.messages += outcome.messages
    report.add_keys(outcome.keys)
    report.counts["linkdb"] = outcome.rows["linkdb"]


def _shown(crawl: CrawlFolder, adopted: Adopted) -> set[str]:
    """Segments whose visits the adopted rows, or else the crawldb, show: at least half of those that are looked at."""
    import pyarrow as pa
    import pyarrow.compute as pc

    visits = {s.name: _sample(s) for s in adopted.segments}
    keys = pa.array(sorted({key for sample in visits.values() for key in sample}), pa.string())
    due: dict[str, int] = {}
    sources: list[tuple[Table, Sequence[Path]]] = []
    version = crawl.table(tables.CRAWLDB).current()
    try:
        if version is not None:
            sources.append((tables.CRAWLDB, version.files()))
        sources.append((adopt_stage.ADOPTED, adopted.pages))  # last: what came along says it
        for table, files in sources:
            for batch in batches_of(table, files, ["url_key", "due_at", "status"], 65_536):
                found = batch.filter(pc.is_in(batch.column("url_key"), value_set=keys)).to_pydict()
                for key, at, status in zip(found["url_key"], found["due_at"], found["status"], strict=True):
                    due[key] = -1 if status == "unfetched" else at
    finally:
        if version is not None:
            version.close()
    shown = set()
    for name, sample in visits.items():
        known = [due[key] > at for key, at in sample.items() if key in due]
        if not known or 2 * sum(known) >= len(known):
            shown.add(name)
    return shown


def _sample(segment: SegmentFolder) -> dict[str, int]:
    """Some visits that changed a page's state: key to time."""
    sample: dict[str, int] = {}
    columns = ["url_key", "fetched_at", "outcome"]
    for batch in batches_of(tables.FETCHED, segment.part_files(tables.FETCHED), columns):
        rows: dict[str, list[Any]] = batch.to_pydict()
        for key, at, outcome in zip(rows["url_key"], rows["fetched_at"], rows["outcome"], strict=True):
            if outcome in ("success", "not_modified", "redirect_perm", "redirect_temp", "gone"):
                sample[key] = at
        if len(sample) >= SAMPLE:
            break
    return sample
