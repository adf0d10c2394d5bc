"""`cobnut config`: which settings hold, and who set them; passwords and keys for the search page."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.commands.credentials import hash_password, new_key
from cobnut.cli.groups import HintingGroup
from cobnut.cli.options import crawl_or_none, json_option, set_option, settings_of
from cobnut.cli.rows import json_line
from cobnut.config.checks import value_of
from cobnut.config.load import DEFAULT
from cobnut.config.template import toml_value
from cobnut.storage.layout import CrawlFolder


@click.group("config", cls=HintingGroup, no_args_is_help=False)
def command() -> None:
    """Show the settings and where they come from, and make passwords and keys for the search page."""


command.add_command(hash_password)
command.add_command(new_key)


@command.command("show")
@click.argument("crawl_dir", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
@click.option("--changed", is_flag=True, help="Only what is not at its default.")
@json_option
@set_option
def show(crawl_dir: Path | None, origin: bool, changed: bool, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Show the settings that hold: of the crawl in DIR, or without one."""
    if crawl_dir is not None and crawl_or_none(crawl_dir) is None:  # a published index may have settings too
        CrawlFolder.open(crawl_dir)
    loaded = settings_of(crawl_dir, overrides)
    keys = [k for k, by in loaded.origins.items() if not changed or by != DEFAULT]
    if as_json:
        for key in keys:
            line = {"key": key, "value": value_of(loaded.settings, key), "origin": loaded.origins[key]}
            click.echo(json_line(line))
        return
    for key in keys:
        text = f"{key} = {toml_value(value_of(loaded.settings, key))}"
        click.echo(f"{text}  # {loaded.origins[key]}" if origin else text)
