"""`cobnut import …`: take in what other programs crawled."""

from __future__ import annotations

import click

from cobnut.cli.groups import TableGroup

COMMANDS: dict[str, tuple[str, str]] = {
    "nutch": ("import_nutch", "A crawl of Apache Nutch: pages, links, segments, from 0.7 to 1.x."),
    "nutch-config": ("import_nutch_config", "Nutch's configuration: properties, URL filters and normalizers, seeds."),
    "warc": ("import_warc", "Make segments of the documents in web archives (WARC, ARC)."),
}
"""Every subcommand, in the order of `--help`: its module in `cli.commands`, and its line."""


@click.group("import", cls=TableGroup, table=COMMANDS, no_args_is_help=False)
def command() -> None:
    """Take in what other programs crawled."""
