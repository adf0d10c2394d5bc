"""`cobnut create DIR`: a new, empty crawl with a commented `cobnut.toml`."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import changed_values, on_crawl, settings_of
from cobnut.config.template import settings_text
from cobnut.storage.layout import CrawlFolder


def create_crawl(crawl_dir: Path, overrides: tuple[str, ...] | list[str] = ()) -> CrawlFolder:
    """Makes the crawl; what `-s` sets is written into its `cobnut.toml`, since it is to hold for the crawl."""
    return CrawlFolder.create(crawl_dir, settings_text(changed_values(settings_of(None, overrides))))


@click.command("create")
@on_crawl
def command(crawl_dir: Path, overrides: tuple[str, ...]) -> None:
    """Make a new, empty crawl in DIR with a commented cobnut.toml; what -s sets is written into it."""
    crawl = create_crawl(crawl_dir, overrides)
    click.echo(f"made a crawl in {crawl.path}; its settings are in {crawl.settings_path}")
