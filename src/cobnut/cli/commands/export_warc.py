"""`cobnut export warc DIR OUT`: what the servers sent, as WARC files for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import FOLDER, json_option, on_crawl, opened
from cobnut.cli.reports import counted
from cobnut.cli.rows import json_line
from cobnut.errors import InputError
from cobnut.inspect.show import plain


@click.command("warc")
@on_crawl
@click.argument("target", metavar="OUT", type=FOLDER)
@click.option("--segment", "names", metavar="NAME", multiple=True, help="Only this segment; may be repeated.")
@click.option("--prefix", metavar="NAME", help="How the files' names begin; the crawl's name when not given.")
@click.option("--max-mib", metavar="N", type=click.IntRange(1), default=1024, help="MiB after which a file is ended.")
@click.option("--all-versions", is_flag=True, help="Write every answer of a URL, not only the newest.")
@json_option
def command(
    crawl_dir: Path, target: Path, names: tuple[str, ...], prefix: str | None, max_mib: int, all_versions: bool,
    as_json: bool, overrides: tuple[str, ...],
) -> int:  # fmt: skip
    """Write the answers that the crawl holds into WARC files in the folder OUT: one gzip member a record.

    Of each URL the newest answer is written; what is to be forgotten is not. Exit 1: something could not be read.
    """
    from cobnut.interop.warc.export import export_warc, safe_prefix

    if prefix is not None and safe_prefix(prefix) != prefix:
        raise InputError("a prefix is made of letters, digits, dots and dashes", where=repr(prefix[:100]))
    crawl = opened(crawl_dir, overrides).crawl
    segments = [crawl.segment(name) for name in dict.fromkeys(names)] if names else crawl.segments()
    report = export_warc(
        crawl, target, prefix=prefix or safe_prefix(crawl_dir.resolve().name), segments=segments,
        all_versions=all_versions, max_bytes=max_mib << 20,
    )  # fmt: skip
    for path in report.unreadable:
        click.echo(f"cobnut export warc: {plain(path)} is missing or broken: what could be read is written", err=True)
    if as_json:
        import msgspec

        click.echo(json_line(msgspec.to_builtins(report)))
    else:
        click.echo(f"export warc: records {report.records:,}, files {len(report.files):,}, bytes {report.bytes:,}")
        if report.left_out:
            click.echo(f"export warc: left out: {counted(report.left_out, by_size=True)}")
        for name in report.files:
            click.echo(plain(str(target / name)))
    return 1 if report.unreadable else 0
