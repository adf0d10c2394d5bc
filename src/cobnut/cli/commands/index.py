"""`cobnut index DIR`: step 8."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import json_option, on_crawl, opened, writing
from cobnut.cli.reports import print_report
from cobnut.cli.seeds import seed_lines
from cobnut.config.sections import Settings


@click.command("index")
@on_crawl
@click.argument("segments", metavar="[SEGMENT]...", nargs=-1)
@click.option("--without-links-from", metavar="FILE", help="Leave out the links of the pages listed, one URL a line.")
@json_option
def command(
    crawl_dir: Path, segments: tuple[str, ...], without_links_from: str | None, as_json: bool,
    overrides: tuple[str, ...],
) -> None:  # fmt: skip
    """Build an index inside each parsed segment; those whose inputs have not changed stay as they are."""
    from cobnut.crawl import steps

    crawl = opened(crawl_dir, overrides)
    chosen = [crawl.crawl.segment(name) for name in segments] or None
    without = frozenset[str]() if without_links_from is None else listed_keys(without_links_from, crawl.settings)
    with writing(crawl.crawl):
        report = steps.index(crawl.crawl, crawl.settings, chosen, without)
    print_report(report, as_json)


def listed_keys(source: str, settings: Settings) -> frozenset[str]:
    """The url_keys of the pages that a file lists; lines that are no URL are told and left out."""
    from cobnut.inspect.show import plain
    from cobnut.urls.resolve import compile_forms

    forms = compile_forms(settings.urls.normalizers)
    keys = set()
    for line in seed_lines(source):
        url = line.split("\t")[0].strip()
        if not url or url.startswith("#"):
            continue
        found = forms(url)
        if found is None:
            click.echo(f"cobnut index: not a URL, left out: {plain(url, 200)}", err=True)
        else:
            keys.add(found.key)
    return frozenset(keys)
