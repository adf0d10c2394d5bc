"""`cobnut create DIR`: a new, empty crawl with a commented `cobnut.toml`."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import Opened, changed_values, on_crawl, opened, settings_of
from cobnut.config.template import settings_text
from cobnut.storage.layout import SETTINGS_FILE, CrawlFolder


def create_crawl(crawl_dir: Path, overrides: tuple[str, ...] | list[str] = ()) -> CrawlFolder:
    """Makes the crawl; what `-s` sets is written into its `cobnut.toml`, since it is to hold for the crawl."""
    return CrawlFolder.create(crawl_dir, settings_text(changed_values(settings_of(None, overrides))))


def opened_or_made(crawl_dir: Path, overrides: tuple[str, ...]) -> Opened:
    """The crawl in DIR, made when there is nothing yet."""
    if not (crawl_dir / SETTINGS_FILE).is_file() and not (crawl_dir.is_dir() and any(crawl_dir.iterdir())):
        create_crawl(crawl_dir, overrides)
    CrawlFolder.open(crawl_dir)
    return opened(crawl_dir, overrides)


@click.command("create")
@on_crawl
def command(crawl_dir: Path, overrides: tuple[str, ...]) -> None:
    """Make a new, empty crawl in DIR with a commented cobnut.toml; what -s sets is written into it."""
    crawl = create_crawl(crawl_dir, overrides)
    click.echo(f"made a crawl in {crawl.path}; its settings are in {crawl.settings_path}")
