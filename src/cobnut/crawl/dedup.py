"""How is it decided which copies are shown?

Not here: the rule (`stages.dedup`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cobnut.config.sections import Settings
from cobnut.crawl.applied import parsed_segments
from cobnut.crawl.reports import StepReport, reporting
from cobnut.engines.local import LocalEngine, Run
from cobnut.frontier.forgotten import forgotten_of, forgotten_rows
from cobnut.records import catalogue as tables
from cobnut.stages import dedup as dedup_stage
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.tables import read_files

if TYPE_CHECKING:
    import pyarrow as pa


def dedup(crawl: CrawlFolder, settings: Settings) -> StepReport:
    """Decides which stored versions of pages are not shown."""
    with reporting(crawl, "dedup") as report:
        segments = parsed_segments(crawl)
        outcome = LocalEngine(settings).run(
            Run(
                crawl,
                dedup_stage.STAGE,
                segments=segments,
                given={"forgotten_pages": _forgotten_pages(crawl, segments)},
                manifest={"segments": [s.name for s in segments]},
            )
        )
        kinds = crawl.table(tables.DUPLICATES).read(["kind"]).column("kind").to_pylist()
        report.counts = {"duplicates": outcome.rows["duplicates"]}
        report.left_out = {k: kinds.count(k) for k in sorted(set(kinds))}
        report.messages = outcome.messages
        report.add_keys(outcome.keys)
    return report


def _forgotten_pages(crawl: CrawlFolder, segments: list[SegmentFolder]) -> pa.Table:
    """The url_keys of parsed pages that are to be forgotten."""
    import pyarrow as pa

    found = pa.table({"url_key": pa.array([], pa.string())})
    if not (forgotten := forgotten_of(crawl)):
        return found
    for segment in segments:
        pages = read_files(tables.PARSED, segment.part_files(tables.PARSED), ["url_key"])
        found = pa.concat_tables([found, pages.filter(forgotten_rows(forgotten, pages)).cast(found.schema)])
    return found
