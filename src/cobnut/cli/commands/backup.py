"""`cobnut backup DIR TARGET`: a copy of a crawl that is whole, even while it is at work."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import FOLDER, json_option, on_crawl, opened
from cobnut.cli.rows import json_line
from cobnut.inspect.show import plain


@click.command("backup")
@on_crawl
@click.argument("target", metavar="TARGET", type=FOLDER)
@click.option("--link", is_flag=True, help="Share files that never change with the crawl, where the disk is the same.")
@json_option
def command(crawl_dir: Path, target: Path, link: bool, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Copy the crawl in DIR to the new folder TARGET. A crawl may be running: the copy is whole all the same.

    The copy is a crawl: search it, serve it, go on with it. What comes in while it is made is left out.
    """
    from cobnut.storage.backup import back_up

    done = back_up(opened(crawl_dir, overrides).crawl, target, link=link)
    if as_json:
        import msgspec

        click.echo(json_line(msgspec.to_builtins(done)))
        return
    shared = f", of which linked {done.linked:,}" if link else ""
    click.echo(
        f"backup: {plain(str(target))}, segments {done.segments}, files {done.files:,}{shared}, bytes {done.bytes:,}"
    )
