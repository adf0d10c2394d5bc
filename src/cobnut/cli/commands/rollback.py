"""`cobnut rollback DIR TABLE`: the previous version of a table becomes the current one."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from cobnut.cli.options import on_crawl, opened, writing
from cobnut.errors import InputError
from cobnut.records.catalogue import TABLES
from cobnut.storage.generations import CURRENT, GenerationStore
from cobnut.storage.layout import CrawlFolder


@click.command("rollback")
@on_crawl
@click.argument("table")
def command(crawl_dir: Path, table: str, overrides: tuple[str, ...]) -> None:
    """Make the previous version of TABLE (a table of the crawl, or index) the current one.

    DIR may also be a folder that an index was published to; its only table is index.
    """
    crawl = None if (crawl_dir / CURRENT).is_file() else opened(crawl_dir, overrides).crawl
    stores = _published(crawl_dir) if crawl is None else _of_crawl(crawl)
    if table not in stores:
        import difflib

        near = difflib.get_close_matches(table, stores, n=1)
        hint = f"did you mean {near[0]}?" if near else f"tables: {', '.join(stores)}"
        raise InputError(f"no table of a crawl is called {table!r}", remedy=hint)
    with nullcontext() if crawl is None else writing(crawl):
        was, now = stores[table].rollback()
    click.echo(f"{table}: generation {now} is current again (was {was})")


def _of_crawl(crawl: CrawlFolder) -> dict[str, GenerationStore]:
    stores = {t.name: crawl.table(t).generations for t in TABLES if t.scope == "crawl"}
    return {**stores, "index": crawl.index_generations()}


def _published(folder: Path) -> dict[str, GenerationStore]:
    return {"index": GenerationStore(folder, "index")}
