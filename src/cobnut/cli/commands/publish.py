"""`cobnut publish DIR TARGET`: the index, in a folder that needs nothing else."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import FOLDER, dir_argument, json_option, opened, set_option, settings_of
from cobnut.cli.rows import json_line
from cobnut.inspect.show import plain
from cobnut.storage.generations import CURRENT, GenerationStore


@click.command("publish")
@dir_argument
@click.argument("target", metavar="TARGET", type=FOLDER)
@json_option
@set_option
def command(crawl_dir: Path, target: Path, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Copy the index of the crawl in DIR into the folder TARGET, for `cobnut serve TARGET` and `cobnut search TARGET`.

    TARGET may lie on another disk, be copied to another machine, and be published to again while it is served: a server
    goes on with the new index within two seconds. It needs neither the crawl nor anything else.
    """
    if (crawl_dir / CURRENT).is_file():  # an index by itself, perhaps one that was published
        settings = settings_of(None, overrides).settings
        source = GenerationStore(crawl_dir, "index")
    else:
        crawl = opened(crawl_dir, overrides)
        settings, source = crawl.settings, crawl.crawl.index_generations()
    from cobnut.index.publish import publish_index

    store = GenerationStore(
        target,
        f"the published index {target}",
        lock_wait_s=settings.storage.lock_wait_s,
        grace_s=settings.storage.grace_s,
    )
    report = publish_index(source, store)
    for line in report.messages:
        click.echo(f"cobnut publish: {plain(line)}", err=True)
    if as_json:
        import msgspec

        click.echo(json_line(msgspec.to_builtins(report)))
    elif report.unchanged:
        click.echo(f"publish: unchanged, {plain(str(target))} holds this index as generation {report.generation}")
    else:
        click.echo(
            f"publish: generation {report.generation} of {plain(str(target))}, documents {report.doc_count:,}, "
            f"bytes {report.bytes:,}, of which copied {report.copied_bytes:,}"
        )
