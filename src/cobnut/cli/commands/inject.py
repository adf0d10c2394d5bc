"""`cobnut inject DIR SEEDS`: step 2."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import json_option, on_crawl, opened, writing
from cobnut.cli.reports import print_notes, print_report
from cobnut.cli.seeds import SeedLines
from cobnut.errors import InputError
from cobnut.inspect.show import plain


@click.command("inject")
@on_crawl
@click.argument("seeds", metavar="SEEDS")
@click.option("--overwrite", is_flag=True, help="Replace rows that the crawldb has already by what the seed says.")
@click.option("--update", is_flag=True, help="Take score, interval and metadata of the seed into rows there are.")
@click.option("--filter-existing", is_flag=True, help="Also drop rows of the crawldb that the filters refuse.")
@click.option("--verbose", is_flag=True, help="List every line that was left out, and why.")
@json_option
def command(
    crawl_dir: Path, seeds: str, overwrite: bool, update: bool, filter_existing: bool, verbose: bool, as_json: bool,
    overrides: tuple[str, ...],
) -> int:  # fmt: skip
    """Put seeds into the crawldb: SEEDS is a file, a folder of files, or - for standard input; gzip is read too.

    One URL a line, optionally followed by tabs and key=value pairs: nutch.score, nutch.fetchInterval (s),
    nutch.fetchInterval.fixed (s), and any others, which become metadata. Blank lines and # lines are skipped.
    Exit 1: no line named a URL that was accepted.
    """
    from cobnut.crawl import steps

    if overwrite and update:
        raise InputError("--overwrite and --update exclude each other", remedy="overwriting takes in everything anyway")
    lines = SeedLines(seeds)
    crawl = opened(crawl_dir, overrides)
    with writing(crawl.crawl):
        report = steps.inject(
            crawl.crawl, crawl.settings, lines, overwrite=overwrite, update=update,
            filter_existing=filter_existing,
        )  # fmt: skip
    print_report(report, as_json)
    if verbose and not as_json:
        for row in report.details.get("rejected", []):
            click.echo(f"{plain(lines.place(row['line']))}: left out by {row['rule']}: {plain(str(row['url']), 300)}")
    if not as_json:
        print_notes(report, lines.place, verbose)
    return 1 if report.counts["rejected"] and not report.counts["urls"] else 0
