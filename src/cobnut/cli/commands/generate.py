"""`cobnut generate DIR`: step 3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cobnut.cli.options import duration, given_options, json_option, on_crawl, opened, writing
from cobnut.cli.reports import print_report
from cobnut.inspect.show import iso_time, plain

if TYPE_CHECKING:
    from cobnut.config.sections import GenerateSettings
    from cobnut.crawl.reports import StepReport

_HELD = {
    "not_due": "not due yet",
    "host_backoff": "on hosts that asked for a pause or failed",
    "in_segment": "in a segment that is not applied yet: fetch, parse and updatedb it",
    "min_score": "below generate.min_score",
    "max_depth": "deeper than crawl.depth",
    "status": "of another status than --status asks for",
    "where": "not what --where asks for",
    "top_n": "beyond generate.top_n",
    "max_per_host": "beyond generate.max_per_host",
    "max_per_domain": "beyond generate.max_per_domain",
}


@click.command("generate")
@on_crawl
@click.option("--top-n", metavar="N", help="Most URLs in the fetchlist, best score first.")
@click.option("--max-per-host", metavar="N", help="Most URLs of one host.")
@click.option("--max-per-domain", metavar="N", help="Most URLs of one registrable domain.")
@click.option("--min-score", metavar="X", help="Leave out what scores less.")
@click.option("--status", metavar="LIST", help="Only URLs of these statuses, as in unfetched,gone.")
@click.option("--where", metavar="EXPR", help="Only URLs that an expression over crawldb, pages and hostdb means.")
@click.option(
    "--ahead", metavar="TIME", default="0", callback=duration, help="Also what is due within this time (12h, 7d)."
)
@click.option("--segments", metavar="N", type=int, default=1, help="Up to N segments, each within all limits.")
@click.option("--num-fetchers", metavar="N", help="Parts of the fetchlist; a host is in exactly one.")
@json_option
def command(
    crawl_dir: Path, top_n: str | None, max_per_host: str | None, max_per_domain: str | None, min_score: str | None,
    status: str | None, where: str | None, ahead: float, segments: int, num_fetchers: str | None, as_json: bool,
    overrides: tuple[str, ...],
) -> None:  # fmt: skip
    """Make a segment with the list of what to fetch next; prints its name."""
    from cobnut.crawl import steps

    options = {
        "generate.top_n": top_n, "generate.max_per_host": max_per_host, "generate.max_per_domain": max_per_domain,
        "generate.min_score": min_score, "generate.num_fetchers": num_fetchers,
    }  # fmt: skip
    crawl = opened(crawl_dir, overrides, given_options(options))
    statuses = [] if status is None else [name.strip() for name in status.split(",")]
    with writing(crawl.crawl):
        segment, report = steps.generate(
            crawl.crawl, crawl.settings, segments=segments, where=where, statuses=statuses, ahead_s=ahead
        )  # fmt: skip
    print_report(report, as_json)
    if as_json:
        return
    for name in report.segments:
        click.echo(f"segment {name}")
    if segment is None:
        for line in _why_nothing(report, crawl.settings.generate):
            click.echo(line)


def _why_nothing(report: StepReport, limits: GenerateSettings) -> Iterator[str]:
    """Why the fetchlist would be empty: reason by reason, the one that holds most back first."""
    for name in ("top_n", "max_per_host", "max_per_domain"):
        if getattr(limits, name) == 0:
            yield f"nothing is selected: the limit, generate.{name}, is 0"
            return
    held = sorted(((count, name) for name, count in report.left_out.items() if count), reverse=True)
    if not held:
        yield "nothing is due: the crawldb is empty; inject URLs first"
        return
    due = report.details.get("next_due_at")
    if {name for _, name in held} <= {"not_due", "host_backoff"}:
        yield f"nothing is due; next at {iso_time(due)}"
    else:
        yield "nothing is selected" + (f"; next due at {iso_time(due)}" if due is not None else "")
    ready = report.details.get("ready_at", {})
    for count, name in held:
        reason = _HELD.get(name, f"refused by the URL filter {plain(name.removeprefix('filtered_by:'))}")
        first = f"; the first at {iso_time(ready[name])}" if name in ready else ""
        yield f"  {count:,} {reason}{first}"
