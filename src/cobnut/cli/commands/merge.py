"""`cobnut merge DIR`: step 10."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import json_option, on_crawl, opened, writing
from cobnut.cli.reports import print_report


@click.command("merge")
@on_crawl
@json_option
def command(crawl_dir: Path, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Make one index for searching out of the segments' indexes; it depends on none of them."""
    from cobnut.crawl import steps

    crawl = opened(crawl_dir, overrides)
    with writing(crawl.crawl):
        report = steps.merge(crawl.crawl, crawl.settings)
    print_report(report, as_json)
