"""How do links, ranks and anchors come about, and how do they get into the segments?

Not here: the stages themselves (`stages.invertlinks`, `stages.rank`, `stages.updatesegs`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cobnut.config.sections import Settings
from cobnut.crawl.applied import applied_segments, parsed_segments, rows_in
from cobnut.crawl.reports import StepReport, reporting
from cobnut.engines.local import LocalEngine, Run
from cobnut.engines.session import Session
from cobnut.frontier.forgotten import forgotten_of, key_test
from cobnut.frontier.representative import MOST_HOPS, shown_for
from cobnut.records import catalogue as tables
from cobnut.records.columns import pa_schema
from cobnut.records.outcomes import EMBED_KINDS
from cobnut.stages import invertlinks as invertlinks_stage
from cobnut.stages import rank as rank_stage
from cobnut.stages import updatesegs as updatesegs_stage
from cobnut.storage.files import sweep
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.parts import PartWriter, part_name

if TYPE_CHECKING:
    import pyarrow as pa

PERMANENT = (301, 308)
"""Answers that say that a page has moved for good (RFC 9110, section 15.4)."""


def invertlinks(crawl: CrawlFolder, settings: Settings) -> StepReport:
    """Takes the links of segments that the crawldb holds and the linkdb does not into the linkdb."""
    with reporting(crawl, "invertlinks") as report:
        linkdb = crawl.table(tables.LINKDB).manifest()
        done = [entry["segment"] for entry in linkdb.get("applied", [])]
        known = set(applied_segments(crawl))
        # an imported segment may be applied before its pages are parsed: its links come with a later run
        fresh = [s for s in parsed_segments(crawl) if s.name in known and s.name not in set(done)]
        report.segments = [s.name for s in fresh]
        if not fresh:
            report.messages.append("no new segments: the linkdb stays as it is")
            report.counts = {"linkdb": linkdb.get("rows", 0)}
            return report
        hint = sum(rows_in(path) for s in fresh for path in s.part_files(tables.LINKS))
        limits = limits_of(settings, settings.linkdb.ignore_internal)
        embeds = 0

        def count_embeds(session: Session, partition: int, of: int) -> None:
            nonlocal embeds
            kinds = ", ".join(f"'{kind}'" for kind in sorted(EMBED_KINDS))
            embeds += session.count(f"links WHERE kind IN ({kinds})")

        def count_again() -> None:
            nonlocal embeds
            embeds = 0

        outcome = LocalEngine(settings).run(
            Run(
                crawl,
                invertlinks_stage.STAGE,
                segments=fresh,
                params={
                    **limits,
                    "has_links": bool(linkdb),
                    "everything": bool(linkdb) and linkdb.get("limits") != limits,
                },
                manifest={
                    "applied": [*({"segment": n} for n in done), *({"segment": s.name} for s in fresh)],
                    "limits": limits,
                },
                expects={"linkdb": linkdb.get("generation")},
                rows_hint=hint,
                on_partition=count_embeds,
                on_again=count_again,
            )
        )
        report.counts = {"links": hint - embeds, "embeds": embeds, "linkdb": outcome.rows["linkdb"]}
        report.messages = outcome.messages
        report.add_keys(outcome.keys)
    return report


def limits_of(settings: Settings, ignore_internal: bool) -> dict[str, Any]:
    """What a linkdb leaves out, as its manifest says; where it says otherwise, every row is looked at again."""
    return {"max_inlinks": settings.linkdb.max_inlinks, "ignore_internal": ignore_internal}


def rank(crawl: CrawlFolder, settings: Settings) -> StepReport:
    """Computes link ranks from the links of the segments on disk, and for the other pages from the linkdb."""
    with reporting(crawl, "rank") as report:
        segments = parsed_segments(crawl)
        scoring = settings.scoring
        report.counts = rank_stage.run_rank(crawl, segments, scoring.rank_damping, scoring.rank_iterations)
        report.segments = [s.name for s in segments]
    return report


def updatesegs(crawl: CrawlFolder, settings: Settings) -> StepReport:
    """Writes scores and anchors into every parsed segment."""
    with reporting(crawl, "updatesegs") as report:
        segments = parsed_segments(crawl)
        report.segments = [s.name for s in segments]
        if not segments:
            report.messages.append("no parsed segments: nothing to do")
            return report
        is_forgotten = key_test(forgotten_of(crawl))
        redirects = _Redirects(crawl)
        for segment in segments:
            sweep(segment.folder(tables.LINKED))
        writers: dict[str, PartWriter] = {}

        def begin() -> None:
            for segment in segments:
                if segment.name in writers:
                    writers[segment.name].abort()
                writers[segment.name] = PartWriter(segment.folder(tables.LINKED), tables.LINKED, part_name(0))

        try:
            begin()
            LocalEngine(settings).run(
                Run(
                    crawl,
                    updatesegs_stage.STAGE,
                    segments=segments,
                    given={"redirected": redirects.table(is_forgotten)},
                    params={"max_anchors": settings.index.max_anchors},
                    on_partition=lambda session, p, n: _write_linked(session, writers, is_forgotten, redirects),
                    on_again=begin,
                )
            )
        except BaseException:
            for writer in writers.values():
                writer.abort()
            raise
        report.counts = {"pages": sum(w.rows for w in writers.values()), "segments": len(writers)}
        for writer in writers.values():
            writer.close()
    return report


class _Redirects:
    """The pages that redirect, as the crawl knows them now: where each leads, and what leads to each."""

    def __init__(self, crawl: CrawlFolder) -> None:
        import pyarrow.compute as pc

        self.target: dict[str, str] = {}
        self.into: dict[str, list[tuple[str, bool]]] = {}
        rows = crawl.table(tables.PAGES).read(
            ["url_key", "redirect_key", "http_status"], filters=pc.field("redirect_key").is_valid()
        )
        for key, to, status in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            self.target[key] = to
            self.into.setdefault(to, []).append((key, status not in PERMANENT))

    def table(self, is_forgotten: Callable[[str], bool]) -> pa.Table:
        """Each page that redirects and where it leads in the end; a loop leads nowhere."""
        import pyarrow as pa

        from cobnut.urls.hosts import bucket_of, host_of
        from cobnut.urls.keys import key_to_url

        found: dict[str, list[Any]] = {column.name: [] for column in updatesegs_stage.REDIRECTED}
        for key in self.target:
            final = self._final(key)
            if final is not None and not is_forgotten(key):
                host = host_of(key_to_url(final))
                for name, value in zip(found, (key, final, host, bucket_of(host)), strict=True):
                    found[name].append(value)
        return pa.table(found, schema=pa_schema(updatesegs_stage.REDIRECTED))

    def _final(self, key: str) -> str | None:
        passed = [key]
        while (to := self.target.get(passed[-1])) is not None:
            if to in passed or len(passed) > MOST_HOPS:
                return None
            passed.append(to)
        return passed[-1]

    def shown(self, key: str, is_forgotten: Callable[[str], bool]) -> str | None:
        """The URL that stands for a page, where it is not its own."""
        if key not in self.into:
            return None
        from cobnut.urls.keys import key_to_url, url_key

        def sources(url: str) -> list[tuple[str, bool]]:
            into = self.into.get(url_key(url), ())
            return [(key_to_url(source), temporary) for source, temporary in into if not is_forgotten(source)]

        own = key_to_url(key)
        shown = shown_for(own, sources)
        return None if shown == own else shown


def _write_linked(
    session: Session, writers: dict[str, PartWriter], is_forgotten: Callable[[str], bool],
    redirects: _Redirects,
) -> None:  # fmt: skip
    """Joins this partition's rows with their anchors, which no portable SQL gathers into lists.

    The words of pages that are to be forgotten say nothing of others any more.
    """
    import pyarrow as pa

    anchors: dict[str, list[dict[str, str]]] = {}
    for batch in session.batches("anchor_rows", "ORDER BY url_key, place"):
        columns = (batch.column(i).to_pylist() for i in range(3))
        for key, source, words in zip(*columns, strict=True):
            if not is_forgotten(source):
                anchors.setdefault(key, []).append({"from_key": source, "anchor": words})
    schema = tables.LINKED.schema()
    for batch in session.batches("linked_rows", "ORDER BY segment, url_key"):
        lists = [anchors.get(key) for key in batch.column("url_key").to_pylist()]
        shown = [redirects.shown(key, is_forgotten) for key in batch.column("url_key").to_pylist()]
        rows = pa.Table.from_batches([batch]).append_column("anchors", pa.array(lists, schema.field("anchors").type))
        rows = rows.append_column("shown_url", pa.array(shown, pa.string()))
        names = rows.column("segment").to_pylist()
        start = 0
        for end in range(1, len(names) + 1):
            if end == len(names) or names[end] != names[start]:
                writers[names[start]].write(rows.slice(start, end - start).select(schema.names))
                start = end
