"""`cobnut mergelinkdb DIR OTHER...`: the linkdbs of other crawls come into this one's."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import FOLDER, json_option, on_crawl, opened, writing
from cobnut.cli.reports import print_report


@click.command("mergelinkdb")
@on_crawl
@click.argument("others", metavar="OTHER...", nargs=-1, required=True, type=FOLDER)
@click.option("--filter", "filters", is_flag=True, help="Leave out links from or to URLs that the filters refuse now.")
@json_option
def command(
    crawl_dir: Path, others: tuple[Path, ...], filters: bool, as_json: bool, overrides: tuple[str, ...]
) -> None:
    """Merge the linkdbs of OTHER crawls into that of DIR; they are only read.

    Links of pages that were parsed in DIR stay as they are. Links that come in stay until their page is parsed here;
    of the links to a page the best are kept, as many as linkdb.max_inlinks says. Doing it again changes nothing.
    """
    from cobnut.crawl.mergedb import mergelinkdb

    crawl = opened(crawl_dir, overrides)
    with writing(crawl.crawl):
        report = mergelinkdb(crawl.crawl, crawl.settings, others, filters=filters)
    print_report(report, as_json)
