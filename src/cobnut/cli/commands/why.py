"""`cobnut why DIR URL`: all that is known of one URL."""

from __future__ import annotations

from pathlib import Path

import click

from cobnut.cli.options import json_option, on_crawl, opened
from cobnut.cli.rows import json_line


@click.command("why")
@on_crawl
@click.argument("url")
@json_option
def command(crawl_dir: Path, url: str, as_json: bool, overrides: tuple[str, ...]) -> int:
    """Tell all that is known of URL: where it comes from, what became of it, and why. Exit 1: nothing is known."""
    from cobnut.frontier.admission import refusal
    from cobnut.inspect.evidence import gather, plain_evidence
    from cobnut.inspect.webdb import forms_of
    from cobnut.inspect.why import story, verdict

    crawl = opened(crawl_dir, overrides)
    forms = forms_of(url, crawl.settings)
    evidence = gather(crawl.crawl, crawl.settings, url, forms, refusal(crawl.crawl, crawl.settings))
    if as_json:
        click.echo(json_line({"verdict": verdict(evidence), **plain_evidence(evidence)}))
    else:
        for line in story(evidence):
            click.echo(line)
    return 0 if evidence.is_known else 1
