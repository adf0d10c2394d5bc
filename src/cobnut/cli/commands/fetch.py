"""`cobnut fetch DIR [SEGMENT]`: step 4."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from cobnut.cli.agreed import agent_answers
from cobnut.cli.options import json_option, network_overrides, on_crawl, on_network, opened, segment_argument
from cobnut.cli.reports import print_report
from cobnut.config.template import set_values
from cobnut.storage.files import write_atomic
from cobnut.storage.layout import SegmentFolder


@click.command("fetch")
@on_crawl
@segment_argument
@click.option("--part", metavar="K", type=click.IntRange(min=0), help="Only this part of the fetchlist.")
@on_network
@json_option
def command(
    crawl_dir: Path, segment: str | None, part: int | None, as_json: bool, overrides: tuple[str, ...],
    proxy: str | None, resolve: tuple[str, ...], allow_net: tuple[str, ...],
) -> int | None:  # fmt: skip
    """Fetch a segment: the newest one that is not fetched, when none is named. A half-fetched one is resumed."""
    from cobnut.cli.stopping import INTERRUPTED, stopping
    from cobnut.crawl import steps
    from cobnut.observe.clock import SystemClock
    from cobnut.observe.progress import Progress, ProgressState

    options = network_overrides(proxy, resolve, allow_net)
    crawl = opened(crawl_dir, overrides, options)
    chosen = steps.segment_to_fetch(crawl.crawl) if segment is None else crawl.crawl.segment(segment)
    answers = agent_answers(fetchlist_hosts(chosen), crawl.settings, crawl_dir)
    if answers:
        set_values(crawl.crawl.settings_path, answers, write_atomic)
        crawl = opened(crawl_dir, overrides, options)
    progress = Progress(sys.stderr, SystemClock(), sys.stderr.isatty())

    def show(counts: Any) -> None:
        progress.update(
            ProgressState(pages=counts.pages, queue=counts.queued, reasons=counts.reasons, doing=f"fetch {chosen.name}")
        )

    with stopping("fetch") as asked:
        try:
            report = steps.fetch(crawl.crawl, crawl.settings, chosen, part=part, on_progress=show, should_stop=asked)
        finally:
            progress.close()
    print_report(report, as_json)
    return INTERRUPTED if asked() else None


def fetchlist_hosts(segment: SegmentFolder) -> set[str]:
    """The hosts of a segment's fetchlist."""
    from cobnut.records.catalogue import FETCHLIST
    from cobnut.storage.tables import read_files

    return set(read_files(FETCHLIST, segment.part_files(FETCHLIST), ["host"]).column("host").unique().to_pylist())
