"""`cobnut dump DIR [TABLE]`: a whole table as JSON lines, CSV or Parquet, for another program."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cobnut.cli.options import Opened, on_crawl, opened
from cobnut.errors import InputError
from cobnut.storage.files import temporary_name

if TYPE_CHECKING:
    from cobnut.inspect.dump import Dump
    from cobnut.inspect.tables import Selection

FORMATS = ("jsonl", "csv", "parquet")


@click.command("dump")
@on_crawl
@click.argument("table_name", metavar="[TABLE]", required=False, default="crawldb")
@click.option("--format", "form", type=click.Choice(FORMATS), help="By default that of OUT's name, or else jsonl.")
@click.option("-o", "--output", metavar="OUT", type=click.Path(path_type=Path), help="Write this file, not to stdout.")
@click.option(
    "--where", metavar="SQL", help="Only rows that fit, as in `read`: status = 'gone' AND due_at < '2026-12-31'."
)
@click.option("--status", "statuses", metavar="STATUS", multiple=True, help="Only rows in this state; may be repeated.")
@click.option("--host", metavar="HOST", help="Only rows of this host.")
@click.option("--columns", metavar="A,B", help="Only these columns, in this order.")
@click.option("--segment", metavar="NAME", multiple=True, help="Rows of this segment alone; may be repeated.")
@click.option("--limit", metavar="N", type=click.IntRange(0), help="At most so many rows, the first ones.")
@click.option(
    "--times", type=click.Choice(("ms", "iso")), default="ms", help="Times in ms since 1970 UTC, or ISO 8601."
)
@click.option("--spreadsheet", is_flag=True, help="CSV: an apostrophe before texts that begin with = + - or @.")
def command(
    crawl_dir: Path, table_name: str, form: str | None, output: Path | None, where: str | None,
    statuses: tuple[str, ...], host: str | None, columns: str | None, segment: tuple[str, ...], limit: int | None,
    times: str, spreadsheet: bool, overrides: tuple[str, ...],
) -> int:  # fmt: skip
    """Write a whole table for another program: every row and column as it is stored, in the order of the key.

    TABLE is any table of the crawl (crawldb when none is named), of its segments, or crawldb+pages: both side by side.
    Times are ms since 1970 UTC, scores millionths, bytes hexadecimal. A file appears whole or not at all, and replaces
    one of that name. In CSV a text is always quoted and NULL is empty; it is what is stored, and a spreadsheet may take
    it for a formula: see --spreadsheet.
    """
    from cobnut.inspect.dump import dump, whole_file

    crawl = opened(crawl_dir, overrides)
    wanted = _wanted(
        crawl, table_name, form or _form_of(output), host, where, limit,
        statuses=statuses, columns=columns, segment=segment, times=times, spreadsheet=spreadsheet,
    )  # fmt: skip
    begun = time.monotonic()
    if output is None or str(output) == "-":
        if wanted.form == "parquet" and sys.stdout.isatty():
            raise InputError("Parquet is nothing for a terminal", remedy="name a file with -o")
        sys.stdout.flush()
        with tempfile.TemporaryDirectory(prefix="cobnut-dump-") as folder:
            dump(crawl.crawl, wanted, sys.stdout.buffer, Path(folder) / "engine")
        return 0
    if output.resolve().is_relative_to(crawl_dir.resolve()):
        raise InputError(
            "the crawl's own folder is no place for a dump", where=str(output), remedy="name another folder"
        )
    beside = output.resolve()
    if output.exists() and not output.is_file():  # a device, whose folder is no place for files
        beside = Path(tempfile.gettempdir()) / "dump"
    with whole_file(output) as file:
        rows = dump(crawl.crawl, wanted, file, beside.with_name(temporary_name(beside.name)))
    click.echo(f"dump: {wanted.table.name}, rows {rows:,} ({time.monotonic() - begun:.1f} s)")
    return 0


def _form_of(output: Path | None) -> str:
    suffix = "" if output is None else output.suffix.lower().removeprefix(".")
    return suffix if suffix in FORMATS else "jsonl"


def _wanted(
    crawl: Opened, name: str, form: str, host: str | None, where: str | None, limit: int | None, *,
    statuses: tuple[str, ...], columns: str | None, segment: tuple[str, ...], times: Any, spreadsheet: bool,
) -> Dump:  # fmt: skip
    """What was asked for; an `InputError` says what cannot be."""
    from cobnut.inspect.dump import Dump, table_of
    from cobnut.inspect.tables import SEGMENT_TABLES, check_selection
    from cobnut.records.outcomes import STATUSES
    from cobnut.urls.nearest import unknown_name

    table = table_of(name)
    if segment and name not in SEGMENT_TABLES:
        raise InputError(f"{name} is no table of a segment", remedy=f"they are {', '.join(SEGMENT_TABLES)}")
    if statuses and "status" not in table.column_names:
        raise InputError(f"{name} has no status", remedy="crawldb has, and crawldb+pages")
    for status in statuses:
        if status not in STATUSES:
            raise unknown_name("status", status, set(STATUSES))
    if spreadsheet and form != "csv":
        raise InputError("--spreadsheet is for --format csv")
    chosen = None if columns is None else tuple(part.strip() for part in columns.split(",") if part.strip())
    if chosen == ():
        raise InputError("--columns names no column", remedy="for example --columns url,status")
    segments = [crawl.crawl.segment(one) for one in dict.fromkeys(segment)] if segment else crawl.crawl.segments()
    wanted = Dump(
        table, form, _selection(host, where, limit), statuses, chosen,  # type: ignore[arg-type] # one of FORMATS
        tuple(sorted(segments, key=lambda s: s.name)) if name in SEGMENT_TABLES else (), times, spreadsheet,
    )  # fmt: skip
    wanted.chosen()
    check_selection(wanted.wide(), wanted.selection)
    return wanted


def _selection(host: str | None, where: str | None, limit: int | None) -> Selection:
    from cobnut.inspect.tables import Selection
    from cobnut.urls.hosts import bucket_of, host_of

    if host is None:
        return Selection(where=where, limit=limit)
    host = host_of(f"http://{host}/") or host
    return Selection(host=host, bucket=bucket_of(host), where=where, limit=limit)
