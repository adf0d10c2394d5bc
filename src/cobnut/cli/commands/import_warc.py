"""`cobnut import warc DIR FILE...`: web archives become segments of a crawl."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cobnut.cli.commands.create import opened_or_made
from cobnut.cli.options import Opened, json_option, on_crawl, writing
from cobnut.cli.reports import counted
from cobnut.inspect.show import plain
from cobnut.records.catalogue import CRAWLDB, SEEDS
from cobnut.urls.hosts import host_of

if TYPE_CHECKING:
    from cobnut.crawl.reports import StepReport
    from cobnut.interop.intake import IntakeReport
    from cobnut.interop.warc.reading import ReadReport


@click.command("warc")
@on_crawl
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--all-versions", is_flag=True, help="Keep every version of a URL, not only the newest.")
@json_option
def command(
    crawl_dir: Path, paths: tuple[Path, ...], all_versions: bool, as_json: bool, overrides: tuple[str, ...]
) -> int:
    """Make segments of the documents in web archives; DIR is made when it is not there yet.

    FILE is a WARC or ARC file, packed or not, or a folder of such. What was read goes on like what was fetched:
    parse, updatedb, invertlinks, rank, updatesegs, index, dedup and merge, or `cobnut crawl DIR` for all of them.
    Of several versions of a URL the newest is kept, and none that the crawl has as new or newer already. Exit 1: a file
    is damaged; what could be read of it is imported.
    """
    from cobnut.crawl.reports import reporting
    from cobnut.interop.intake import SegmentIntake
    from cobnut.interop.warc.reading import find_archives, read_archives

    archives = find_archives(paths)
    crawl = opened_or_made(crawl_dir, overrides)
    with writing(crawl.crawl), reporting(crawl.crawl, "import-warc") as report:
        crawl.crawl.sweep_segments()
        origin = ", ".join(path.name for path in archives[:20])
        with SegmentIntake(crawl.crawl, crawl.settings, origin=origin, all_versions=all_versions) as intake:
            read = read_archives(archives, intake, _progress if sys.stderr.isatty() else lambda path, records: None)
            done = intake.finish()
        _fill(report, read, done)
        report.counts["seeds"] = inject_new_hosts(crawl, done.seeds)
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    _print(report, read, done, as_json, crawl_dir)
    return 1 if read.damage_count else 0


def inject_new_hosts(crawl: Opened, seeds: list[str]) -> int:
    """One seed for each host that has none yet, so that its links are in the scope; how many."""
    import pyarrow.compute as pc

    from cobnut.crawl import steps
    from cobnut.urls.keys import url_key

    rows = crawl.crawl.table(SEEDS).read(["host", "url_key"])
    known = set(rows.column("host").to_pylist())
    # a run that was killed may have written of a seed and not come to its row
    mine = [key for key in map(url_key, seeds) if key in set(rows.column("url_key").to_pylist())]
    there = crawl.crawl.table(CRAWLDB).read(["url_key"], filters=pc.field("url_key").isin(mine)) if mine else None
    lost = set(mine) - set(there.column("url_key").to_pylist() if there is not None else ())
    wanted = [url for url in seeds if host_of(url) not in known or url_key(url) in lost]
    if wanted:
        steps.inject(crawl.crawl, crawl.settings, wanted)
    return len(wanted)


def _fill(report: StepReport, read: ReadReport, done: IntakeReport) -> None:
    report.segments = done.segments
    report.counts = {
        "files": read.files, "bytes": read.bytes, "records": sum(read.records.values()),
        "imported": done.documents, "damaged_places": read.damage_count, "odd_lengths": read.odd_lengths,
    }  # fmt: skip
    report.left_out = done.left_out
    report.details = {
        "records": read.records,
        "outcomes": done.outcomes,
        "revisits": {"read": read.revisits, "resolved": read.revisits_resolved},
        "damage": [{"file": told.file, "offset": told.offset, "reason": told.reason} for told in read.damage],
        "address_hosts": done.address_hosts[:100],
    }
    if done.address_hosts:
        some = ", ".join(done.address_hosts[:3])
        report.messages.append(
            f"{len(done.address_hosts)} hosts are addresses or this machine ({some}) and become no seeds, since a seed "
            "lets the fetcher ask them; inject them if you want that"
        )


def _print(report: StepReport, read: ReadReport, done: IntakeReport, as_json: bool, crawl_dir: Path) -> None:
    for told in read.damage:
        click.echo(f"cobnut import warc: {plain(told.file)} at byte {told.offset:,}: {plain(told.reason)}", err=True)
    if read.damage_count > len(read.damage):
        click.echo(f"cobnut import warc: {read.damage_count - len(read.damage):,} further damaged places", err=True)
    if as_json:
        import msgspec

        from cobnut.cli.rows import json_line

        click.echo(json_line(msgspec.to_builtins(report)))
        return
    for line in report.messages:
        click.echo(f"cobnut import warc: {plain(line)}", err=True)
    said = f"import warc: read: {counted(read.records) or 'no records'}"
    click.echo(f"{said} in {read.files:,} files ({report.wall_s:.1f} s)")
    click.echo(f"import warc: imported: {counted(done.outcomes, by_size=True) or 'nothing new'}")
    if read.odd_lengths:
        click.echo(f"import warc: {read.odd_lengths:,} records had a wrong length and were measured anew")
    if done.left_out:
        click.echo(f"import warc: left out: {counted(done.left_out, by_size=True)}")
    for name in done.segments:
        click.echo(f"segment {name}")
    if done.segments:
        folder = shlex.quote(str(crawl_dir))
        click.echo(f"next: cobnut crawl {folder}, or step by step from cobnut parse {folder}")


def _progress(path: Path, records: int) -> None:
    click.echo(f"\r\x1b[K{plain(path.name)[:60]}: {records:,} records", err=True, nl=False)
