"""`cobnut forget DIR URL|--host H|--prefix P`: never fetched, kept or shown again."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from cobnut.cli.options import json_option, on_crawl, opened
from cobnut.cli.reports import print_report
from cobnut.cli.rows import print_json
from cobnut.errors import InputError
from cobnut.inspect.show import iso_time, plain
from cobnut.records.catalogue import FORGOTTEN
from cobnut.storage.layout import CrawlFolder


@click.command("forget")
@on_crawl
@click.argument("urls", metavar="[URL]...", nargs=-1)
@click.option("--host", "hosts", metavar="HOST", multiple=True, help="All pages of a host; may be repeated.")
@click.option("--prefix", "prefixes", metavar="URL", multiple=True, help="All pages whose URL begins so.")
@click.option("--reason", metavar="TEXT", help="Why; kept with the time.")
@click.option("--list", "only_list", is_flag=True, help="Show what is forgotten, and what was and is not any more.")
@click.option("--undo", "take_back", is_flag=True, help="Take it back: it may be fetched and shown again.")
@json_option
def command(
    crawl_dir: Path, urls: tuple[str, ...], hosts: tuple[str, ...], prefixes: tuple[str, ...], reason: str | None,
    only_list: bool, take_back: bool, as_json: bool, overrides: tuple[str, ...],
) -> None:  # fmt: skip
    """Forget pages: they leave the index at once, and are never fetched or shown again.

    A server on DIR stops showing them within two seconds; an index that was published must be published again. What the
    segments hold of them is purged by `cobnut clean`. Works while a crawl is running.
    """
    from cobnut.crawl import forgetting

    crawl = opened(crawl_dir, overrides)
    if only_list:
        show(crawl.crawl, as_json)
        return
    asked = [(forgetting.URL, urls), (forgetting.HOST, hosts), (forgetting.PREFIX, prefixes)]
    entries = [forgetting.entry_of(kind, text, crawl.settings) for kind, texts in asked for text in texts]
    if not entries:
        raise InputError("nothing named to forget", remedy="name a URL, --host or --prefix, or see --list")
    if take_back:
        report = forgetting.undo(crawl.crawl, entries)
    else:
        report = forgetting.forget(crawl.crawl, crawl.settings, entries, reason)
    print_report(report, as_json)
    if as_json:
        return
    where = shlex.quote(str(crawl_dir))
    if take_back:
        click.echo(f"what was not purged is shown again after `cobnut merge {where}`, and fetched again when due")
    else:
        click.echo(f"`cobnut clean {where}` purges what the segments hold of it")


def show(crawl: CrawlFolder, as_json: bool) -> None:
    """The table, newest first."""
    rows = crawl.table(FORGOTTEN).read().sort_by([("forgotten_at", "descending"), ("value", "ascending")]).to_pylist()
    if as_json:
        print_json({**row, "holds": row["undone_at"] is None} for row in rows)
        return
    for row in rows:
        line = f"{row['kind']:<6}  {plain(row['value'], 300)}  since {iso_time(row['forgotten_at'])}"
        if row["undone_at"] is not None:
            line += f", taken back {iso_time(row['undone_at'])}"
        click.echo(line + (f": {plain(row['reason'], 300)}" if row["reason"] else ""))
    if not rows:
        click.echo("nothing is forgotten")
