"""`cobnut export …`: write the crawl in a form that other programs read."""

from __future__ import annotations

import click

from cobnut.cli.groups import TableGroup

COMMANDS: dict[str, tuple[str, str]] = {
    "warc": ("export_warc", "Write what the servers sent as WARC files."),
    "nutch": ("export_nutch", "Write the crawl as Nutch 1.x or 0.7 has it."),
}
"""Every subcommand, in the order of `--help`: its module in `cli.commands`, and its line."""


@click.group("export", cls=TableGroup, table=COMMANDS, no_args_is_help=False)
def command() -> None:
    """Write the crawl in a form that other programs read."""
