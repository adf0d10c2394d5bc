"""`cobnut updatedb DIR [SEGMENT...]`: step 5."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import json_option, on_crawl, opened, writing
from cobnut.cli.reports import print_report


@click.command("updatedb")
@on_crawl
@click.argument("segments", metavar="[SEGMENT]...", nargs=-1)
@json_option
def command(crawl_dir: Path, segments: tuple[str, ...], as_json: bool, overrides: tuple[str, ...]) -> None:
    """Merge results and links of segments into the crawldb: all that are parsed and pending, in name order."""
    from cobnut.crawl import steps

    crawl = opened(crawl_dir, overrides)
    with writing(crawl.crawl):
        report = steps.updatedb(crawl.crawl, crawl.settings, list(segments) or None)
    print_report(report, as_json)
