"""`cobnut mergedb DIR OTHER...`: the databases of other crawls come into this one."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import FOLDER, json_option, on_crawl, opened, writing
from cobnut.cli.reports import print_report


@click.command("mergedb")
@on_crawl
@click.argument("others", metavar="OTHER...", nargs=-1, required=True, type=FOLDER)
@click.option("--filter", "filters", is_flag=True, help="Leave out URLs that the URL filters refuse now.")
@click.option("--with-segments", is_flag=True, help="Also copy the segments that hold the pages' content.")
@json_option
def command(
    crawl_dir: Path, others: tuple[Path, ...], filters: bool, with_segments: bool, as_json: bool,
    overrides: tuple[str, ...],
) -> None:  # fmt: skip
    """Merge the crawldb, pages, hostdb, robots and seeds of OTHER crawls into that of DIR; they are only read.

    Of each URL the row visited last stays; of two as old that of the crawl named first, DIR before all. Pages come
    without content, and are fetched when they are due, unless --with-segments brings it. Doing it again changes
    nothing.
    """
    from cobnut.crawl.mergedb import mergedb

    crawl = opened(crawl_dir, overrides)
    with writing(crawl.crawl):
        report = mergedb(crawl.crawl, crawl.settings, others, filters=filters, with_segments=with_segments)
    print_report(report, as_json)
