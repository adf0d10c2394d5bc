"""`cobnut rollback DIR TABLE`: the previous version of a table becomes the current one."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import on_crawl, opened
from cobnut.errors import InputError
from cobnut.records.catalogue import TABLES
from cobnut.storage.generations import CURRENT, GenerationStore


@click.command("rollback")
@on_crawl
@click.argument("table")
def command(crawl_dir: Path, table: str, overrides: tuple[str, ...]) -> None:
    """Make the previous version of TABLE (a table of the crawl, or index) the current one.

    DIR may also be a folder that an index was published to; its only table is index.
    """
    stores = _published(crawl_dir) if (crawl_dir / CURRENT).is_file() else _of_crawl(crawl_dir, overrides)
    if table not in stores:
        import difflib

        near = difflib.get_close_matches(table, stores, n=1)
        hint = f"did you mean {near[0]}?" if near else f"tables: {', '.join(stores)}"
        raise InputError(f"no table of a crawl is called {table!r}", remedy=hint)
    was, now = stores[table].rollback()
    click.echo(f"{table}: generation {now} is current again (was {was})")


def _of_crawl(crawl_dir: Path, overrides: tuple[str, ...]) -> dict[str, GenerationStore]:
    crawl = opened(crawl_dir, overrides).crawl
    stores = {t.name: crawl.table(t).generations for t in TABLES if t.scope == "crawl"}
    return {**stores, "index": crawl.index_generations()}


def _published(folder: Path) -> dict[str, GenerationStore]:
    return {"index": GenerationStore(folder, "index")}
