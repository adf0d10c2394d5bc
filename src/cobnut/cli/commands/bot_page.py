"""`cobnut bot-page DIR`: the page that tells webmasters about the crawler, as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

import cobnut
from cobnut.cli.options import on_crawl, settings_of
from cobnut.errors import InputError
from cobnut.inspect.show import plain
from cobnut.storage.layout import SETTINGS_FILE


@click.command("bot-page")
@on_crawl
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="File to write instead of the output.")
def command(crawl_dir: Path, out: Path | None, overrides: tuple[str, ...]) -> None:
    """Write a page for webmasters about the crawler of DIR: its name, how to keep it out, whom to ask.

    It is made from the settings and needs nothing beside it: put it on any web server and name its address in
    fetcher.agent_url. `cobnut serve` has the same page at /bot.
    """
    if not (crawl_dir / SETTINGS_FILE).is_file():
        raise InputError(f"no {SETTINGS_FILE} here", where=str(crawl_dir), remedy="name the folder of a crawl")
    fetcher = settings_of(crawl_dir, overrides).settings.fetcher
    if not fetcher.agent_name:
        remedy = "set fetcher.agent_name and fetcher.agent_contact in its cobnut.toml"
        raise InputError("the crawler has no name yet", where=str(crawl_dir), remedy=remedy)
    from cobnut.web.bot import standalone

    page = standalone(fetcher, cobnut.__version__)
    if out is None:
        click.echo(page, nl=False)
        return
    from cobnut.storage.files import write_atomic

    write_atomic(out, page.encode())
    click.echo(f"bot-page: {plain(str(out))} tells about {fetcher.agent_name}")
