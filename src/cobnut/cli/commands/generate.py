"""`cobnut generate DIR`: step 3."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import given_options, json_option, on_crawl, opened, writing
from cobnut.cli.reports import print_report
from cobnut.inspect.show import iso_time


@click.command("generate")
@on_crawl
@click.option("--top-n", metavar="N", help="Most URLs in the fetchlist, best score first.")
@click.option("--max-per-host", metavar="N", help="Most URLs of one host.")
@click.option("--num-fetchers", metavar="N", help="Parts of the fetchlist; a host is in exactly one.")
@json_option
def command(
    crawl_dir: Path, top_n: str | None, max_per_host: str | None, num_fetchers: str | None, as_json: bool,
    overrides: tuple[str, ...],
) -> None:  # fmt: skip
    """Make a segment with the list of what to fetch next; prints its name."""
    from cobnut.crawl import steps

    options = {
        "generate.top_n": top_n, "generate.max_per_host": max_per_host, "generate.num_fetchers": num_fetchers
    }  # fmt: skip
    crawl = opened(crawl_dir, overrides, given_options(options))
    with writing(crawl.crawl):
        segment, report = steps.generate(crawl.crawl, crawl.settings)
    print_report(report, as_json)
    if as_json:
        return
    if segment is not None:
        click.echo(f"segment {segment.name}")
    elif crawl.settings.generate.top_n == 0:
        click.echo("nothing is selected: the limit, generate.top_n, is 0")
    elif crawl.settings.generate.max_per_host == 0:
        click.echo("nothing is selected: the limit, generate.max_per_host, is 0")
    else:
        due = report.details.get("next_due_at")
        click.echo("nothing is due" + (f"; next at {iso_time(due)}" if due is not None else ""))
