"""`cobnut plugins [DIR]`: which parts there are, which are active, and in which order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from cobnut.cli.options import FOLDER, json_option, set_option, settings_of
from cobnut.errors import InputError

if TYPE_CHECKING:
    from cobnut.inspect.plugins import Part


@click.command("plugins")
@click.argument("crawl_dir", metavar="[DIR]", required=False, type=FOLDER)
@click.option("--dir", "option_dir", metavar="DIR", type=FOLDER, help="As DIR: the crawl whose settings count.")
@json_option
@set_option
def command(crawl_dir: Path | None, option_dir: Path | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Show every part that can be chosen by name: built in and installed, active or not, in the order they run.

    With DIR the settings of that crawl count, without it the defaults. Beside each part stands what does the same in
    Nutch. A part that cannot be used is shown with the reason.
    """
    from cobnut.cli.rows import print_json
    from cobnut.inspect.plugins import parts_of

    folder = _one(crawl_dir, option_dir)
    parts = parts_of(settings_of(folder, overrides).settings)
    if as_json:
        print_json([msgspec.to_builtins(part) for part in parts])
        return
    for kind in dict.fromkeys(part.kind for part in parts):
        _print_kind([part for part in parts if part.kind == kind])


def _one(crawl_dir: Path | None, option_dir: Path | None) -> Path | None:
    from cobnut.storage.layout import CrawlFolder

    if crawl_dir is not None and option_dir is not None and crawl_dir != option_dir:
        raise InputError("two crawls are named", where=f"{crawl_dir}, {option_dir}", remedy="name one")
    folder = option_dir if crawl_dir is None else crawl_dir
    if folder is not None:
        CrawlFolder.open(folder)  # a clear error when it is none
    return folder


def _print_kind(parts: list[Part]) -> None:
    from cobnut.inspect.show import plain

    click.echo(f"{parts[0].kind}s ({parts[0].setting})")
    lines = [
        (
            str(part.order) if part.order is not None else "-",
            plain(part.name, 40),
            plain(part.source, 40),
            plain(part.nutch or "", 40),
            plain(part.does, 100),
        )
        for part in parts
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(4)]
    for part, line in zip(parts, lines, strict=True):
        columns = [text.ljust(width) for text, width in zip(line[:4], widths, strict=True)]
        click.echo("  " + "  ".join([*columns, line[4]]).rstrip())
        if part.error is not None:
            click.echo(f"  {'':>{widths[0]}}  ! {plain(part.error, 300)}")
