"""When is it looked for pages that no page leads to any more?

Whenever links were inverted, if `db.orphan_after_s` is set.

Not here: the rule (`stages.orphans`), what leaves the index (`stages.merge`).
"""

from __future__ import annotations

from cobnut.config.sections import Settings
from cobnut.crawl.reports import StepReport, reporting
from cobnut.engines.local import LocalEngine, Run
from cobnut.observe.clock import Clock, SystemClock
from cobnut.records import catalogue as tables
from cobnut.stages import orphans as orphans_stage
from cobnut.storage.layout import CrawlFolder


def orphans(crawl: CrawlFolder, settings: Settings, clock: Clock | None = None) -> StepReport:
    """Finds the pages that no page leads to now; does nothing when nobody asked for it or the linkdb cannot tell."""
    with reporting(crawl, "orphans") as report:
        if settings.db.orphan_after_s <= 0:
            return report
        if settings.linkdb.ignore_internal:
            report.messages.append("no orphans are looked for: linkdb.ignore_internal leaves out links within a host")
            return report
        if crawl.table(tables.LINKDB).manifest().get("generation") is None:
            return report
        done = LocalEngine(settings).run(
            Run(crawl, orphans_stage.STAGE, params={"now_ms": (clock or SystemClock()).now_ms()})
        )
        report.counts = {"orphans": done.rows["orphans"]}
        report.messages = done.messages
        report.add_keys(done.keys)
    return report
