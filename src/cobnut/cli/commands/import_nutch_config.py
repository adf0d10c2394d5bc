"""`cobnut import nutch-config CONF`: what a Nutch configuration becomes, as a table, and as a crawl's settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cobnut.cli.options import FOLDER, json_option, writing
from cobnut.errors import InputError

if TYPE_CHECKING:
    from cobnut.interop.nutch_config.found import Imported

_WIDEST = {"property": 44, "value": 40, "became": 70}


@click.command("nutch-config")
@click.argument("conf", metavar="CONF", type=FOLDER)
@click.option("--out", metavar="DIR", type=FOLDER, help="Make a new crawl in DIR with these settings, rules and seeds.")
@click.option("--into", metavar="DIR", type=FOLDER, help="Add them to the crawl in DIR; what it sets itself stays.")
@click.option("--defaults", is_flag=True, help="Take over what only nutch-default.xml says, too.")
@click.option("--force", is_flag=True, help="Replace settings and files that the crawl has already.")
@json_option
def command(conf: Path, out: Path | None, into: Path | None, defaults: bool, force: bool, as_json: bool) -> int:
    """Translate a Nutch configuration: CONF is Nutch's conf folder, or its nutch-site.xml.

    Read are nutch-site.xml, the filter and normalizer files that were in force, and seeds in a folder urls beside
    them. The table says what became of each property and each file. Without --out and --into nothing is written.
    Exit 1: a value or a rule could not be taken over.
    """
    from cobnut.interop.nutch_config.convert import import_conf
    from cobnut.interop.nutch_config.write import write_into, write_new
    from cobnut.storage.layout import SETTINGS_FILE, CrawlFolder

    if out is not None and into is not None:
        raise InputError("--out and --into exclude each other", remedy="name one")
    found = import_conf(conf, defaults=defaults)
    written: list[str] = []
    kept: list[str] = []
    target = into or out
    if out is not None and not (force and (out / SETTINGS_FILE).is_file()):
        written = write_new(out, found)
    elif target is not None:
        crawl = CrawlFolder.open(target)
        with writing(crawl):
            written, kept = write_into(crawl, found, force=force)
    if as_json:
        _print_json(found, written, kept)
    else:
        _print(found, written, kept, target)
    return 1 if found.lost or any(one.verdict == "wrong" for one in found.properties) else 0


def _print_json(found: Imported, written: list[str], kept: list[str]) -> None:
    import msgspec

    from cobnut.cli.rows import json_line

    whole: dict[str, Any] = msgspec.to_builtins(found)
    whole["seeds"] = len(found.seeds)
    whole |= {"rule_files": whole.pop("texts"), "written": written, "kept": kept}
    click.echo(json_line(whole))


def _print(found: Imported, written: list[str], kept: list[str], target: Path | None) -> None:
    from cobnut.inspect.show import plain

    _print_properties(found)
    if found.untouched_defaults:
        click.echo(
            f"{found.untouched_defaults:,} properties of nutch-default.xml are left out; --defaults takes them too"
        )
    for file in found.files:
        what = f"{file.became}: {file.rules:,} rules" if file.became else "not taken over"
        click.echo(plain(f"{file.source}: {what}{f' ({file.note})' if file.note else ''}", 400))
    for line in found.lost:
        click.echo(f"no form here: {plain(line, 400)}")
    for note in found.notes:
        click.echo(plain(note, 400))
    if found.seeds:
        click.echo(f"{len(found.seeds):,} seeds")
    for line in kept:
        click.echo(f"kept as the crawl has it (--force replaces it): {plain(line, 400)}")
    for path in written:
        click.echo(f"wrote {path}")
    if target is None:
        click.echo("nothing was written: --out DIR makes a crawl of it, --into DIR adds it to one")
    elif found.seeds:
        click.echo(f"next: cobnut inject {target} {target}/seeds.txt")


def _print_properties(found: Imported) -> None:
    from cobnut.inspect.show import plain

    lines = [("property", "value", "became", "note")]
    for one in found.properties:
        became = "; ".join(one.became) or {"built in": "built in", "kept": "nothing to set"}.get(one.verdict, "-")
        note = f"WRONG: {one.note}" if one.verdict == "wrong" else one.note
        shown = " ".join(one.value.split())
        lines.append((one.property, shown, became, note))
    cut = [
        tuple(plain(text, limit) for text, limit in zip(line, (*_WIDEST.values(), 200), strict=True)) for line in lines
    ]
    widths = [max(len(line[i]) for line in cut) for i in range(3)]
    for line in cut:
        click.echo(
            "  ".join([*(text.ljust(width) for text, width in zip(line, widths, strict=False)), line[3]]).rstrip()
        )
