"""`cobnut export nutch DIR OUT`: the crawl as Nutch has it."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import FOLDER, json_option, on_crawl, opened
from cobnut.cli.rows import json_line
from cobnut.inspect.show import plain


@click.command("nutch")
@on_crawl
@click.argument("out", metavar="OUT", type=FOLDER)
@click.option(
    "--layout", type=click.Choice(["1.x", "0.7"]), default="1.x", show_default=True,
    help="crawldb, linkdb, hostdb and segments of Nutch 1.x; or web database and segments of 0.7.",
)  # fmt: skip
@json_option
def command(crawl_dir: Path, out: Path, layout: str, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Write the crawl in DIR into the new folder OUT, for Nutch to read and to go on with. A crawl may be running.

    What Nutch has no place for is left out; `docs/from-nutch.md` lists it.
    """
    from cobnut.interop.nutch_export import LAYOUTS, export_nutch

    crawl = opened(crawl_dir, overrides)
    wanted = next(known for known in LAYOUTS if known == layout)
    done = export_nutch(crawl.crawl, crawl.settings, out, wanted)
    if done.without_content:
        click.echo(
            f"cobnut export nutch: {done.without_content:,} answers are in no WARC file any more: without content",
            err=True,
        )
    if as_json:
        import msgspec

        click.echo(json_line(msgspec.to_builtins(done)))
        return
    parts = ", ".join(f"{name} {count:,}" for name, count in done.records.items())
    click.echo(f"export nutch: {plain(str(out))}, segments {done.segments}, {parts}, bytes {done.bytes:,}")
