"""`cobnut freegen DIR URLS`: a segment from a list of URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click

from cobnut.cli.options import json_option, on_crawl, opened, writing
from cobnut.cli.reports import print_notes, print_report
from cobnut.cli.seeds import SeedLines
from cobnut.inspect.show import plain

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@click.command("freegen")
@on_crawl
@click.argument("urls", metavar="URLS...", nargs=-1, required=True)
@click.option("--filter/--no-filter", "filters", default=None, help="Ask the filter `scope` too, or no filter at all.")
@click.option("--max-per-host", metavar="N", type=click.IntRange(0), help="Most URLs of one host.")
@click.option("--num-fetchers", metavar="N", type=click.IntRange(0), help="Parts of the fetchlist.")
@click.option("--verbose", is_flag=True, help="List every line that was left out, and why.")
@json_option
def command(
    crawl_dir: Path, urls: tuple[str, ...], filters: bool | None, max_per_host: int | None, num_fetchers: int | None,
    verbose: bool, as_json: bool, overrides: tuple[str, ...],
) -> int:  # fmt: skip
    """Make a segment that fetches exactly these URLs, whether they are due or not; prints its name.

    URLS are URLs, files or folders of them, or - for standard input: one URL a line, as in a seed file. The other steps
    go on with the segment as with any: fetch, parse, updatedb. All URL filters but `scope` are asked; what is to be
    forgotten stays out, whatever is asked. Exit 1: no URL is left.
    """
    from cobnut.crawl.freegen import freegen

    sources = [one if _URL.match(one) else SeedLines(one) for one in urls]
    crawl = opened(crawl_dir, overrides)
    with writing(crawl.crawl):
        segment, report = freegen(
            crawl.crawl, crawl.settings, _lines(sources), filters=filters, max_per_host=max_per_host,
            num_fetchers=num_fetchers,
        )  # fmt: skip
    print_report(report, as_json)
    if not as_json:
        if verbose:
            for row in report.details["rejected"]:
                click.echo(f"line {row['line']}: left out by {row['rule']}: {plain(str(row['url']), 300)}")
        print_notes(report, lambda line: f"line {line}", verbose)
        click.echo("no URL is left: no segment was made" if segment is None else f"segment {segment.name}")
    return 1 if segment is None else 0


def _lines(sources: list[str | SeedLines]) -> Iterator[str]:
    return chain.from_iterable([one] if isinstance(one, str) else one for one in sources)
