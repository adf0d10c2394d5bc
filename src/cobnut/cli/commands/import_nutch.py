"""`cobnut import nutch DIR PATH…`: a crawl of Nutch's comes in."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import FOLDER, json_option, on_crawl, opened, writing
from cobnut.cli.reports import print_report

DAMAGED = 3


@click.command("nutch")
@on_crawl
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=FOLDER)
@click.option(
    "--reparse", is_flag=True, help="Parse stored pages anew (`cobnut parse`); Nutch's text and links are left."
)
@click.option("--overwrite", is_flag=True, help="What comes in replaces what is known here, even if that is newer.")
@click.option("--no-seeds", is_flag=True, help="Add no seed for the hosts of fetched pages: the scope stays as it is.")
@json_option
def command(
    crawl_dir: Path, paths: tuple[Path, ...], reparse: bool, overwrite: bool, no_seeds: bool, as_json: bool,
    overrides: tuple[str, ...],
) -> int:  # fmt: skip
    """Take in what Nutch crawled, any version from 0.7 to 1.x: into DIR, a crawl made by `cobnut create`.

    PATH is a crawldb, linkdb, hostdb, segment, a folder of segments, a whole crawl, or the `db` and `segments` of 0.7;
    several may be named, in any order. They are read and left as they are. Doing it again changes nothing.
    Exit 3: something could not be read; all else was taken in.
    """
    from cobnut.crawl.adopt import Adopted, adopt
    from cobnut.crawl.applied import applied_segments
    from cobnut.crawl.reports import reporting
    from cobnut.interop.nutch_import import NutchImport, look

    crawl = opened(crawl_dir, overrides)
    found = look(paths)
    with (
        writing(crawl.crawl),
        reporting(crawl.crawl, "import") as report,
        NutchImport(crawl.crawl, crawl.settings, reparse=reparse, applied=applied_segments(crawl.crawl)) as source,
    ):
        crawl.crawl.sweep_segments()
        taken = source.take(found)
        report.counts = dict(taken.counts)
        report.segments = list(taken.new_segments)
        adopt(
            crawl.crawl, crawl.settings, Adopted(taken.pages, taken.hosts, taken.links, taken.segments), report,
            overwrite=overwrite, with_seeds=not no_seeds,
        )  # fmt: skip
        losses = source.losses
        for reason, count in losses.left_out.items():
            report.left_out[reason] = report.left_out.get(reason, 0) + count
        report.counts["segments"] = len(taken.new_segments)
        report.messages = [*losses.lines(), *report.messages]
        if taken.waiting:
            report.messages.append(
                f"pages of {len(taken.waiting)} segments are to be parsed: run `cobnut parse {crawl_dir}`"
            )
        if taken.addresses and not no_seeds:
            report.messages.append(
                "no seed was made for hosts that are private addresses; inject those you mean: "
                + ", ".join(taken.addresses[:5])
            )
        report.details = {"damage": losses.damage, "waiting": taken.waiting, "addresses": taken.addresses}
    print_report(report, as_json)
    return DAMAGED if losses.damage else 0
