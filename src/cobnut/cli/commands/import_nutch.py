"""`cobnut import nutch DIR PATH…`: a crawl of Nutch's comes in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cobnut.cli.commands.create import opened_or_made
from cobnut.cli.options import FOLDER, Opened, json_option, on_crawl, writing
from cobnut.cli.reports import print_report

if TYPE_CHECKING:
    from cobnut.crawl.reports import StepReport
    from cobnut.observe.clock import Clock

DAMAGED = 3
MOST_NAMED = 5


@click.command("nutch")
@on_crawl
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=FOLDER)
@click.option("--reparse", is_flag=True, help="Leave Nutch's text and links: `cobnut parse` reads the content anew.")
@click.option("--overwrite", is_flag=True, help="What comes in replaces what is known here, even if that is newer.")
@click.option("--no-seeds", is_flag=True, help="Add no seeds for the hosts of fetched pages: the scope stays as it is.")
@json_option
def command(
    crawl_dir: Path, paths: tuple[Path, ...], reparse: bool, overwrite: bool, no_seeds: bool, as_json: bool,
    overrides: tuple[str, ...],
) -> int:  # fmt: skip
    """Take in what Nutch crawled, in any version from 0.7 to 1.x: into DIR, a crawl that is made where there is none.

    PATH is a crawldb, linkdb, hostdb, a segment, a folder of segments, a whole crawl, or the db and segments of 0.7;
    name several in any order. They are only read. Doing it again changes nothing. Exit 3: something could not be
    read; all else was taken in.
    """
    from cobnut.interop.nutch_import import look
    from cobnut.interop.nutch_import.losses import REASONS
    from cobnut.observe.clock import SystemClock
    from cobnut.observe.progress import Progress, ProgressState

    if not crawl_dir.exists():
        look(paths)  # a wrong path is told before a crawl is made
    crawl = opened_or_made(crawl_dir, overrides)
    progress = Progress(sys.stderr, SystemClock(), sys.stderr.isatty())

    def show(what: str, count: int) -> None:
        progress.update(ProgressState(pages=count, doing=f"import {what}"))

    with writing(crawl.crawl):
        try:
            report = take_in(
                crawl, paths, reparse=reparse, overwrite=overwrite, with_seeds=not no_seeds, on_progress=show
            )
        finally:
            progress.close()
    print_report(report, as_json)
    if not as_json:
        for reason in sorted(report.left_out.keys() & REASONS.keys()):
            click.echo(f"  {reason}: {REASONS[reason]}")
    return DAMAGED if report.details["damage"] else 0


def take_in(
    opened_crawl: Opened,
    paths: Sequence[Path],
    *,
    reparse: bool = False,
    overwrite: bool = False,
    with_seeds: bool = True,
    clock: Clock | None = None,
    on_progress: Callable[[str, int], None] = lambda what, count: None,
) -> StepReport:
    """Imports what lies at the paths. `details["damage"]` counts what could not be read. The caller holds the lock."""
    from cobnut.crawl.adopt import Adopted, adopt
    from cobnut.crawl.applied import applied_segments
    from cobnut.crawl.reports import reporting
    from cobnut.interop.nutch_import import NutchImport, look

    crawl, settings = opened_crawl.crawl, opened_crawl.settings
    found = look(paths)
    with (
        reporting(crawl, "import") as report,
        NutchImport(
            crawl, settings, reparse=reparse, applied=applied_segments(crawl), clock=clock, on_progress=on_progress
        ) as source,
    ):
        crawl.sweep_segments()
        taken = source.take(found)
        report.counts = dict(taken.counts)
        report.segments = list(taken.new_segments)
        adopt(
            crawl, settings, Adopted(taken.pages, taken.hosts, taken.links, taken.segments), report,
            overwrite=overwrite, with_seeds=with_seeds, clock=clock,
        )  # fmt: skip
        losses = source.losses
        report.counts["segments"] = len(taken.new_segments)
        for reason, count in losses.left_out.items():
            report.left_out[reason] = report.left_out.get(reason, 0) + count
        report.messages = [*losses.lines(), *report.messages]
        if taken.waiting:
            report.messages.append(
                f"{len(taken.waiting)} segments hold pages that are to be parsed: run `cobnut parse {crawl.path}`"
            )
        if taken.addresses and with_seeds:
            report.messages.append(
                "no seeds were made for hosts that are private addresses; inject those you mean: "
                + ", ".join(taken.addresses[:MOST_NAMED])
            )
        report.details = {"damage": losses.damage, "waiting": taken.waiting, "addresses": taken.addresses}
    return report
