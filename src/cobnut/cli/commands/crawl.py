"""`cobnut crawl DIR URL...`: rounds to the asked depth, then everything that makes it searchable."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cobnut.cli.agent import ANYWHERE
from cobnut.cli.agreed import agent_answers
from cobnut.cli.options import (
    Opened,
    changed_values,
    given_options,
    network_overrides,
    on_crawl,
    on_network,
    opened,
    settings_of,
)
from cobnut.config.load import Loaded
from cobnut.config.template import set_values, settings_text
from cobnut.errors import InputError
from cobnut.records.catalogue import CRAWLDB, ROBOTS, SEEDS
from cobnut.storage.files import write_atomic
from cobnut.storage.layout import SETTINGS_FILE, CrawlFolder
from cobnut.urls.hosts import host_of

if TYPE_CHECKING:
    from cobnut.crawl.driver import Summary

KEPT = ("crawl.scope", "crawl.depth")
"""Options that say what the crawl is: kept in `cobnut.toml`, so that a rerun and steps typed by hand agree."""


@click.command("crawl")
@on_crawl
@click.argument("urls", metavar="[URL]...", nargs=-1)
@click.option(
    "--max-pages",
    metavar="N",
    help="Pages fetched in this run; 0 is without limit. An answer that brings none (unchanged, redirect, 404) is not "
    "counted.",
)
@click.option("--depth", metavar="N", help="Links followed from a seed; -1 is without limit. Kept in cobnut.toml.")
@click.option("--max-time", metavar="TIME", help="Time this run may take (90, 10m, 2h).")
@click.option(
    "--scope", metavar="SCOPE", help="host, domain, prefix or web: which links are followed. Kept in cobnut.toml."
)
@click.option("--refresh", is_flag=True, help="Visit everything again that was visited before, due or not, once.")
@on_network
def command(
    crawl_dir: Path, urls: tuple[str, ...], overrides: tuple[str, ...], max_pages: str | None, depth: str | None,
    max_time: str | None, scope: str | None, refresh: bool, proxy: str | None, resolve: tuple[str, ...],
    allow_net: tuple[str, ...],
) -> int:  # fmt: skip
    """Crawl from the URLs to a searchable index; without URLs, go on with the crawl in DIR.

    Ctrl-C stops it in good order, a second one at once; run again, it goes on where it stopped. Run on a later day, it
    asks again for the pages that are due: what has changed, gone or come is then searched so.
    """
    what = given_options({"crawl.scope": scope, "crawl.depth": depth})
    how = given_options({"crawl.max_pages": max_pages, "crawl.max_time_s": max_time})
    options = [*what, *how, *network_overrides(proxy, resolve, allow_net)]
    exists = (crawl_dir / SETTINGS_FILE).is_file()
    if crawl_dir.is_dir() and any(crawl_dir.iterdir()):
        CrawlFolder.open(crawl_dir)  # an error that says what is wrong with the folder
    if not exists and not urls:
        raise InputError("no crawl here yet, and no URL to begin with", where=str(crawl_dir), remedy="name a URL")
    loaded = settings_of(crawl_dir if exists else None, overrides, options)
    check_seeds(urls, loaded)
    hosts = {host_of(url.split("\t")[0]) for url in urls} | (seed_hosts(CrawlFolder(crawl_dir)) if exists else set())
    if loaded.settings.crawl.scope == "web":
        hosts.add(ANYWHERE)
    kept: dict[str, Any] = {
        **{key: value for key, value in changed_values(settings_of(None, (), what)).items() if key in KEPT},
        **agent_answers(hosts - {""}, loaded.settings, crawl_dir),
    }
    if not exists:
        CrawlFolder.create(crawl_dir, settings_text(kept))
    elif kept:
        set_values(crawl_dir / SETTINGS_FILE, kept, write_atomic)
    crawl = opened(crawl_dir, overrides, options)
    if not urls and not crawl.crawl.table(CRAWLDB).manifest().get("rows") and not crawl.crawl.segments():
        raise InputError("no seeds yet", where=str(crawl_dir), remedy="name a URL, or use `cobnut inject`")
    return run(crawl, urls, refresh)


def run(opened_crawl: Opened, urls: tuple[str, ...], refresh: bool = False) -> int:
    """Runs the crawl with progress on stderr and the summary on stdout."""
    from cobnut.cli.stopping import INTERRUPTED, stopping
    from cobnut.cli.summary import summary_lines
    from cobnut.crawl.driver import Watch, run_crawl
    from cobnut.observe.clock import SystemClock
    from cobnut.observe.progress import Progress

    progress = Progress(sys.stderr, SystemClock(), sys.stderr.isatty())

    def say(line: str) -> None:
        from cobnut.inspect.show import plain

        progress.close()
        click.echo(f"cobnut crawl: {plain(line)}", err=True)

    with stopping("crawl") as asked:
        try:
            summary: Summary = run_crawl(
                opened_crawl.crawl, opened_crawl.settings, urls, refresh=refresh,
                watch=Watch(asked, progress.update, say),
            )  # fmt: skip
        finally:
            progress.close()
    causes = robots_causes(opened_crawl.crawl) if summary.reasons.get("robots_unreachable") else {}
    for line in summary_lines(summary, shlex.quote(str(opened_crawl.crawl.path)), causes):
        click.echo(line)
    if asked():
        return INTERRUPTED
    return 1 if summary.failed_seeds else 0


def robots_causes(crawl: CrawlFolder) -> Counter[str]:
    """Why robots.txt files could not be read when they were last asked for: origins by reason."""
    rows = crawl.table(ROBOTS).read(["state", "reason", "http_status"]).to_pylist()
    shut = [row for row in rows if row["state"] == "disallow_all"]
    return Counter(row["reason"] or f"http_{row['http_status']}" for row in shut if row["reason"] or row["http_status"])


def check_seeds(urls: tuple[str, ...], loaded: Loaded) -> None:
    """Refuses a run in which no seed named is a URL at all, before anything is made."""
    from cobnut.urls.resolve import compile_forms

    forms = compile_forms(loaded.settings.urls.normalizers)
    if urls and all(forms(url.split("\t")[0]) is None for url in urls):
        near = forms(f"https://{urls[0]}") if "://" not in urls[0] else None
        hint = f"did you mean https://{urls[0]} ?" if near is not None and "." in near.host else None
        raise InputError("not an http or https URL", where=repr(urls[0][:200]), remedy=hint)


def seed_hosts(crawl: CrawlFolder) -> set[str]:
    """Hosts of the seeds that the crawl has already."""
    return set(crawl.table(SEEDS).read(["host"]).column("host").to_pylist())
