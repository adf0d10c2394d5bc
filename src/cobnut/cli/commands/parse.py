"""`cobnut parse DIR [SEGMENT]`: title, text, links of what was fetched."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from cobnut.cli.options import json_option, on_crawl, opened, segment_argument
from cobnut.cli.reports import print_report
from cobnut.errors import InputError
from cobnut.records.catalogue import FETCHED
from cobnut.storage.layout import GENERATED


@click.command("parse")
@on_crawl
@segment_argument
@json_option
def command(crawl_dir: Path, segment: str | None, as_json: bool, overrides: tuple[str, ...]) -> int | None:
    """Parse the pages of a segment: every one that is fetched and not parsed, when none is named."""
    from cobnut.cli.stopping import INTERRUPTED, stopping
    from cobnut.crawl import steps
    from cobnut.observe.clock import SystemClock
    from cobnut.observe.progress import Progress, ProgressState

    crawl = opened(crawl_dir, overrides)
    chosen = steps.segments_to_parse(crawl.crawl) if segment is None else [crawl.crawl.segment(segment)]
    for one in chosen:
        if one.state() == GENERATED and not one.part_files(FETCHED):
            raise InputError(
                f"nothing of segment {one.name} is fetched yet", where=str(one.path),
                remedy=f"run `cobnut fetch {crawl_dir} {one.name}` first",
            )  # fmt: skip
    if not chosen:
        click.echo("parse: no segment waits to be parsed")
    progress = Progress(sys.stderr, SystemClock(), sys.stderr.isatty())
    with stopping("parse") as asked:
        for one in chosen:
            if asked():
                break

            def show(done: int, total: int, name: str = one.name) -> None:
                progress.update(ProgressState(pages=done, queue=total - done, doing=f"parse {name}"))

            try:
                report = steps.parse(crawl.crawl, crawl.settings, one, on_progress=show, should_stop=asked)
            finally:
                progress.close()
            print_report(report, as_json)
    return INTERRUPTED if asked() else None
