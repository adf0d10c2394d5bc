"""`cobnut invertlinks DIR`: step 7."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import json_option, on_crawl, opened, writing
from cobnut.cli.reports import print_report


@click.command("invertlinks")
@on_crawl
@json_option
def command(crawl_dir: Path, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Build the linkdb: who links to a page, with which words.

    With db.orphan_after_s it is noted, too, which pages no page leads to any more.
    """
    from cobnut.crawl import steps

    crawl = opened(crawl_dir, overrides)
    with writing(crawl.crawl):
        report = steps.invertlinks(crawl.crawl, crawl.settings)
        orphans = steps.orphans(crawl.crawl, crawl.settings)
    report.counts |= orphans.counts
    report.messages += orphans.messages
    report.add_keys(orphans.keys)
    print_report(report, as_json)
