"""`cobnut admin db -create DIR`: what `create` was called in Nutch 0.7."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.commands.create import create_crawl
from cobnut.cli.options import set_option
from cobnut.errors import InputError


@click.command("admin", context_settings={"ignore_unknown_options": True})
@set_option
@click.argument("words", metavar="db -create DIR", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...], overrides: tuple[str, ...]) -> None:
    """`cobnut admin db -create DIR` does what `cobnut create DIR` does."""
    if len(words) != 3 or words[0] != "db" or words[1] not in ("-create", "--create"):
        raise InputError("the form is `cobnut admin db -create DIR`", remedy="or `cobnut create DIR`")
    crawl = create_crawl(Path(words[2]), overrides)
    click.echo(f"made a crawl in {crawl.path}; its settings are in {crawl.settings_path}")
