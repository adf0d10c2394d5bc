"""`cobnut clean DIR`: what nobody needs any more goes, and what is to be forgotten is purged."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import duration, json_option, on_crawl, opened
from cobnut.cli.rows import json_line
from cobnut.inspect.show import plain


@click.command("clean")
@on_crawl
@click.argument("segments", metavar="[SEGMENT]...", nargs=-1)
@click.option("--older-than", metavar="TIME", default="0", callback=duration, help="Only segments older (2d, 12h).")
@click.option("--keep", metavar="N", type=click.IntRange(0), default=0, help="The newest N segments stay in any case.")
@click.option(
    "--reports-older-than", metavar="TIME", default="30d", callback=duration, help="Reports that go; 30d by default."
)
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@json_option
def command(
    crawl_dir: Path, segments: tuple[str, ...], older_than: float, keep: int, reports_older_than: float, dry_run: bool,
    as_json: bool, overrides: tuple[str, ...],
) -> None:  # fmt: skip
    """Remove superseded segments, old generations, leavings of killed runs and old reports; purge forgotten pages.

    A segment is superseded when every page in it was fetched again later, or is gone. SEGMENT: look at these only; one
    that is still needed is refused with what depends on it. Never under a running crawl, nor under a reader.
    """
    from cobnut.crawl.cleaning import Policy, clean

    crawl = opened(crawl_dir, overrides)
    policy = Policy(
        segments=segments, older_than_s=older_than, keep=keep, reports_s=reports_older_than, dry_run=dry_run
    )  # fmt: skip
    report = clean(crawl.crawl, crawl.settings, policy)
    if as_json:
        import msgspec

        click.echo(json_line(msgspec.to_builtins(report)))
        return
    for line in report.messages:
        click.echo(f"cobnut clean: {plain(line)}", err=True)
    for item in report.details["items"]:
        note = f": {plain(item['note'])}" if item["note"] else ""
        click.echo(f"{item['what']:<10}  {plain(item['name'])}  {item['bytes']:,} bytes{note}")
    verb = "would become" if dry_run else "became"
    click.echo(f"clean: {len(report.details['items'])} entries, {report.counts['bytes']:,} bytes {verb} free")
