"""`cobnut serve DIR`: the search page, in the foreground."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import crawl_or_none, dir_argument, given_options, set_option, settings_of


@click.command("serve")
@dir_argument
@click.option("--port", metavar="PORT", help="Port to listen on; 0 takes a free one.")
@click.option("--bind", metavar="ADDRESS", help="Address to listen on; 127.0.0.1 by default, 0.0.0.0 is all.")
@click.option("--workers", metavar="N", help="Search processes; 0 is one per core.")
@set_option
def command(
    crawl_dir: Path, port: str | None, bind: str | None, workers: str | None, overrides: tuple[str, ...]
) -> None:
    """Serve the search page of the crawl in DIR, or of the index folder DIR, until Ctrl-C."""
    options = given_options({"serve.port": port, "serve.bind": bind, "serve.workers": workers})
    settings = settings_of(crawl_or_none(crawl_dir), overrides, options).settings
    from cobnut.web.serve import serve

    serve(crawl_dir, settings.serve.bind, settings.serve.port, settings.serve.workers, settings)
