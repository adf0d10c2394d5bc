"""`cobnut upgrade DIR`: which format version has each part of a crawl, and bring older ones up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cobnut.cli.options import json_option, on_crawl, opened
from cobnut.errors import DataError

if TYPE_CHECKING:
    from cobnut.storage.upgrade import Part


@click.command("upgrade")
@on_crawl
@click.option("--check", "only_look", is_flag=True, help="Only show the versions; change nothing.")
@json_option
def command(crawl_dir: Path, only_look: bool, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Bring every table, segment and index of the crawl in DIR to this program's format version.

    Nothing is done where all are current. A crawl that a newer Cobnut wrote is refused (exit code 3). Each part is
    published by itself; run again after an interruption, it goes on where it stopped.
    """
    from cobnut.cli.rows import print_json
    from cobnut.records.catalogue import FORMAT_VERSION
    from cobnut.storage.layout import is_published
    from cobnut.storage.upgrade import refuse_newer, survey, survey_published, unfinished, upgrade

    if is_published(crawl_dir):
        parts = survey_published(crawl_dir)
        shown = [_row(part, part.version, FORMAT_VERSION) for part in parts]
        if as_json:
            print_json(shown)
        else:
            _print(shown, FORMAT_VERSION)
        refuse_newer(parts)
        if any(part.state(FORMAT_VERSION) == "older" for part in parts):
            raise DataError("older than this program", where=str(crawl_dir), remedy="publish the index here once more")
        return
    crawl = opened(crawl_dir, overrides).crawl
    before = after = survey(crawl)
    states = {part.state(FORMAT_VERSION) for part in before}
    if not only_look and "newer" not in states and ("older" in states or unfinished(crawl)):
        upgrade(crawl)
        after = survey(crawl)
    old = {part.what: part.version for part in before}
    rows = [_row(part, old.get(part.what, part.version), FORMAT_VERSION) for part in after]
    if as_json:
        print_json(rows)
    else:
        _print(rows, FORMAT_VERSION)
    refuse_newer(after)


def _row(part: Part, was: int | None, current: int) -> dict[str, object]:
    return {
        "part": part.what,
        "format_version": part.version,
        "state": part.state(current),
        "upgraded_from": was if was != part.version else None,
    }


def _print(rows: list[dict[str, object]], current: int) -> None:
    width = max(len(str(row["part"])) for row in rows)
    for row in rows:
        version = "-" if row["format_version"] is None else str(row["format_version"])
        note = "" if row["upgraded_from"] is None else f", upgraded from {row['upgraded_from']}"
        state = "nothing yet" if row["state"] == "absent" else row["state"]
        click.echo(f"{row['part']:<{width}}  {version:>2}  {state}{note}")
    changed = sum(row["upgraded_from"] is not None for row in rows)
    if changed:
        click.echo(f"{changed} upgraded to format version {current}")
    elif all(row["state"] in ("current", "absent") for row in rows):
        click.echo(f"all is of format version {current}: nothing to do")
