"""`cobnut rollback DIR TABLE`: the previous version of a table becomes the current one."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import on_crawl, opened
from cobnut.errors import InputError
from cobnut.records.catalogue import TABLES


@click.command("rollback")
@on_crawl
@click.argument("table")
def command(crawl_dir: Path, table: str, overrides: tuple[str, ...]) -> None:
    """Make the previous version of TABLE (a table of the crawl, or index) the current one."""
    crawl = opened(crawl_dir, overrides).crawl
    stores = {t.name: crawl.table(t).generations for t in TABLES if t.scope == "crawl"}
    stores["index"] = crawl.index_generations()
    if table not in stores:
        import difflib

        near = difflib.get_close_matches(table, stores, n=1)
        hint = f"did you mean {near[0]}?" if near else f"tables: {', '.join(stores)}"
        raise InputError(f"no table of a crawl is called {table!r}", remedy=hint)
    was, now = stores[table].rollback()
    click.echo(f"{table}: generation {now} is current again (was {was})")
