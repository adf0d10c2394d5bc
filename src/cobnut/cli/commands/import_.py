"""`cobnut import …`: take in what other programs crawled."""

from __future__ import annotations

import click

from cobnut.cli.groups import TableGroup

COMMANDS: dict[str, tuple[str, str]] = {}
"""Every subcommand, in the order of `--help`: its module in `cli.commands`, and its line."""


@click.group("import", cls=TableGroup, table=COMMANDS, no_args_is_help=False)
def command() -> None:
    """Take in what other programs crawled."""
