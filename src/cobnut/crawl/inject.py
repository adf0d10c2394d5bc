"""How are seeds put into a crawl, and what is said of them?

Not here: the rules and the SQL (`stages.inject`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from cobnut.config.schedules import first_intervals
from cobnut.config.sections import Settings
from cobnut.crawl.reports import StepReport, reporting
from cobnut.engines.local import LocalEngine, Run
from cobnut.engines.session import Session
from cobnut.frontier.forgotten import forgotten_of
from cobnut.frontier.scoring import InjectedScore, told
from cobnut.observe.clock import Clock, SystemClock
from cobnut.records import catalogue as tables
from cobnut.records.columns import pa_schema
from cobnut.stages import inject as inject_stage
from cobnut.stages import screen as screen_stage
from cobnut.storage.layout import CrawlFolder
from cobnut.urls.filters import Scope, compile_filter
from cobnut.urls.resolve import compile_forms

if TYPE_CHECKING:
    pass

MICRO = 1_000_000
MOST_LISTED = 1_000


def inject(
    crawl: CrawlFolder,
    settings: Settings,
    lines: Iterable[str],
    *,
    overwrite: bool = False,
    update: bool = False,
    filter_existing: bool = False,
    clock: Clock | None = None,
) -> StepReport:
    """Adds seeds, one line each. `details["rejected"]` lists what was left out: line number, text, rule."""
    import pyarrow as pa

    clock = clock or SystemClock()
    schema = pa_schema(inject_stage.LINES)
    texts = pa.array(lines, pa.string())
    table = pa.table([pa.array(range(1, len(texts) + 1), pa.int64()), texts], schema=schema)
    score = InjectedScore(settings.scoring)
    # a seed is in scope by being one: only the other rules are asked
    seed_filters = tuple(name for name in settings.urls.filters if name != "scope")
    context = inject_stage.InjectContext(
        forms=compile_forms(settings.urls.normalizers),
        refuses=compile_filter(_with_filters(settings, seed_filters), Scope("web", forgotten=forgotten_of(crawl))),
        score=score,
        default_score=round(settings.scoring.injected_score * MICRO),
        host_intervals=first_intervals(settings.db.host_schedules),
    )
    seen: dict[str, Any] = {"merged": 0, "urls": 0}

    def look(session: Session) -> None:
        seen["lines"] = session.count("read")
        rows = "(SELECT * FROM read WHERE rule IS NOT NULL OR note IS NOT NULL ORDER BY line_no)"
        seen["told"] = session.table(rows, inject_stage.READ)

    def note_counts(session: Session, partition: int, of: int) -> None:
        seen["merged"] += session.count("known")
        seen["urls"] += session.count("best")

    def note_again() -> None:
        seen.update(merged=0, urls=0)
        score.failures.clear()

    with reporting(crawl, "inject") as report:
        if filter_existing:
            removed = _screen(crawl, settings, context.refuses)
        before = crawl.table(tables.CRAWLDB).manifest()
        outcome = LocalEngine(settings).run(
            Run(
                crawl,
                inject_stage.STAGE,
                given={"lines": table},
                params={
                    "now_ms": clock.now_ms(),
                    "interval_s": settings.db.interval_s,
                    "overwrite": overwrite,
                    "renew": update,
                },
                context=context,
                manifest={"applied": before.get("applied", [])},
                expects={"crawldb": before.get("generation")},
                rows_hint=table.num_rows,
                on_partition=note_counts,
                on_again=note_again,
                on_whole=look,
            )
        )
        noted = seen["told"].to_pylist()
        rejected = [r for r in noted if r["rule"] is not None]
        report.counts = {
            "lines": seen["lines"],
            "urls": seen["urls"],
            "injected": seen["urls"] - seen["merged"],
            "merged": seen["merged"],
            "rejected": len(rejected),
            "crawldb": outcome.rows["crawldb"],
        }
        if filter_existing:
            report.counts["removed"] = removed
        for row in rejected:
            report.left_out[row["rule"]] = report.left_out.get(row["rule"], 0) + 1
        report.details = {
            "rejected": [
                {"line": r["line_no"], "url": r["requested"][: inject_stage.MOST_SHOWN], "rule": r["rule"]}
                for r in rejected[:MOST_LISTED]
            ],
            "notes": [{"line": r["line_no"], "note": r["note"]} for r in noted if r["note"]][:MOST_LISTED],
        }
        report.messages = outcome.messages
        report.add_keys(outcome.keys)
        report.messages += told(score.failures, "seeds, which keep their score")
    return report


def _screen(crawl: CrawlFolder, settings: Settings, refuses: Callable[[str], str | None]) -> int:
    """Takes out of the crawldb what the filters refuse now; how many rows that are."""
    before = crawl.table(tables.CRAWLDB).manifest()
    done = LocalEngine(settings).run(
        Run(
            crawl, screen_stage.STAGE, context=screen_stage.ScreenContext(refuses),
            manifest={"applied": before.get("applied", [])}, expects={"crawldb": before.get("generation")},
        )
    )  # fmt: skip
    return int(before.get("rows", 0)) - done.rows["crawldb"]


def _with_filters(settings: Settings, names: tuple[str, ...]) -> Any:
    import msgspec

    return msgspec.structs.replace(settings.urls, filters=names)
