"""`cobnut cdx PATH...`: the index that replay tools want, of a crawl or of any archives."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from cobnut.errors import InputError
from cobnut.inspect.show import plain
from cobnut.storage.layout import GENERATED, SETTINGS_FILE, CrawlFolder


@click.command("cdx")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--output", metavar="FILE", type=click.Path(path_type=Path), help="Write to this file, not to stdout.")
def command(paths: tuple[Path, ...], output: Path | None) -> int:
    """Write a CDXJ index of the records in PATH: a crawl, a WARC or ARC file, or a folder of such.

    Lines are sorted; keys are SURT, as pywb has them. File names are relative to the folder that was named, or to the
    crawl: give pywb that folder as archive path. Exit 1: a file is damaged, or holds records that cannot be found by
    an offset because they share a gzip member.
    """
    from cobnut.interop.warc.cdx import CdxReport, in_order, lines_of

    report = CdxReport()
    found = {archive[0].resolve(): archive for path in reversed(paths) for archive in reversed([*_archives(path)])}
    archives = list(reversed(found.values()))  # one that is named twice stands in the index once

    def lines() -> Iterator[bytes]:
        for path, name, refuses, own in archives:
            report.files += 1
            yield from lines_of(path, name, report, refuses, own=own)

    if output is None:
        for line in in_order(lines()):
            sys.stdout.write(line.decode("ascii"))
    else:
        _write(output, in_order(lines()))
    for told in report.damage[:100]:
        click.echo(f"cobnut cdx: {plain(told.file)} at byte {told.offset:,}: {plain(told.reason)}", err=True)
    if report.not_alone:
        click.echo(
            f"cobnut cdx: {report.not_alone:,} records share a gzip member and are left out: import the file and "
            "export it again",
            err=True,
        )
    if output is not None:
        click.echo(f"cdx: lines {report.lines:,}, files {report.files:,}")
    return 1 if report.damage or report.not_alone else 0


def _archives(path: Path) -> Iterator[tuple[Path, str, Callable[[str], bool], bool]]:
    """The archives of one path: the names the index gives them, what is to be left out, whether it is a crawl."""
    from cobnut.frontier.forgotten import forgotten_of
    from cobnut.interop.warc.reading import find_archives
    from cobnut.urls.filters import is_forgotten
    from cobnut.urls.resolve import forms

    if (path / SETTINGS_FILE).is_file():
        crawl = CrawlFolder.open(path)
        forgotten = forgotten_of(crawl)
        forgets = is_forgotten(forgotten)

        def refuses(url: str) -> bool:
            found = forms(url) if forgotten else None
            return found is not None and forgets(found.normalized)

        for segment in crawl.segments():
            if segment.state() != GENERATED:
                for file in sorted(segment.warc_path.glob("*.warc.gz")):
                    yield file, str(file.relative_to(path)), refuses, True
        return
    for file in find_archives([path]):
        yield file, str(file.relative_to(path)) if path.is_dir() else file.name, lambda url: False, False


def _write(output: Path, lines: Iterator[bytes]) -> None:
    from cobnut.inspect.dump import whole_file

    if output.is_dir():
        raise InputError("a folder is in the way", where=str(output), remedy="name a file")
    if not output.absolute().parent.is_dir():
        raise InputError("no such folder", where=str(output.parent), remedy="make it first")
    with whole_file(output, "write") as file:
        file.writelines(lines)
