"""`cobnut read nutch PATH`: what a file or folder of Nutch holds, from 0.7 to 1.23."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cobnut.cli.options import json_option
from cobnut.cli.rows import json_line, print_stats
from cobnut.errors import DataError, InputError
from cobnut.inspect.show import plain

if TYPE_CHECKING:
    from cobnut.interop.listing import Listed, Listing

TOLD = 20
"""Problems that are told one by one; the others are only counted."""


@click.command("nutch", short_help="A file or folder of Nutch, 0.7 to 1.23.")
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path, readable=False))
@click.option("--url", metavar="URL", help="Only the records of this URL, as it is written there; texts whole.")
@click.option("--stats", is_flag=True, help="Counts instead of records.")
@click.option("--limit", metavar="N", type=click.IntRange(0), help="Most records.")
@json_option
def command(path: Path, url: str | None, stats: bool, limit: int | None, as_json: bool) -> int | None:
    """A file or folder of Nutch, from 0.7 to 1.23.

    PATH is a crawldb, linkdb, hostdb, webgraphdb, a segment, a folder of segments, a whole crawl; the db, webdb or
    segments of 0.7; or one file of any of them. Nothing is changed. --json writes an object for every record: {"file",
    "key", "value"}, file being its path from PATH on.

    What cannot be read is left out and told on standard error in the end. Exit 1: nothing of that URL; 3: something
    was left out.
    """
    from cobnut.interop.listing import Listing
    from cobnut.interop.recognize import recognize

    if stats and (url is not None or limit is not None):
        raise InputError("--stats counts everything", remedy="leave out --url and --limit")
    listing = Listing(recognize(path))
    found = _print_stats(listing, as_json) if stats else _print_records(listing, url, limit, as_json)
    _tell_problems(listing, path)
    if url is not None and not found:
        click.echo(f"not in these files: {plain(url)}", err=True)
        return 1
    return None


def _print_records(listing: Listing, url: str | None, limit: int | None, as_json: bool) -> int:
    from cobnut.interop.listing_url import records_of_url

    records: Iterator[Listed] = iter(listing) if url is None else records_of_url(listing, url)
    count = 0
    if as_json:
        for one in islice(records, limit):
            print(json_line(one.as_json()))
            count += 1
        return count
    from cobnut.cli.nutch_text import lines

    file = None
    for one in islice(records, limit):
        count += 1
        if one.file != file:
            if file is not None:
                print()
            file = one.file
            print(plain(f"# {file} ({one.kind})"))
        for line in lines(one.key, one.value, url is not None):
            print(line)
    return count


def _print_stats(listing: Listing, as_json: bool) -> int:
    from cobnut.interop.listing_stats import stats

    count = 0
    for count, one in enumerate(stats(listing), 1):
        if as_json:
            print(json_line(one))
            continue
        if count > 1:
            print()
        print_stats(one)
    return count


def _tell_problems(listing: Listing, path: Path) -> None:
    """What was met, on standard error; where something was left out, that is how the command ends."""
    problems = listing.problems
    for problem in islice(problems, TOLD):
        click.echo(plain(f"{'left out' if problem.damage else 'note'}: {problem.line()}"), err=True)
    if problems.count > TOLD:
        click.echo(f"and {problems.count - TOLD:,} more", err=True)
    if problems.damage_count:
        count = problems.damage_count
        what = "one place" if count == 1 else f"{count:,} places"
        raise DataError(f"{what} could not be read; everything else was", where=str(path))
