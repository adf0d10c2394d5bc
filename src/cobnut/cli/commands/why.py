"""`cobnut why DIR URL`: all that is known of one URL, or with `--host` of one host."""

from __future__ import annotations

import time
from pathlib import Path

import click

from cobnut.cli.options import Opened, json_option, on_crawl, opened
from cobnut.cli.rows import json_line
from cobnut.errors import InputError


@click.command("why")
@on_crawl
@click.argument("url", metavar="[URL]", required=False)
@click.option("--host", metavar="HOST", help="Of a host: how it is, and when and how it will be asked again.")
@json_option
def command(
    crawl_dir: Path, url: str | None, host: str | None, as_json: bool, overrides: tuple[str, ...]
) -> int:  # fmt: skip
    """Tell all that is known of URL: where it comes from, what became of it, and why. Exit 1: nothing is known.

    With --host: state of the host and its robots.txt, counts of its pages, what is due, failures, and the politeness
    that will apply.
    """
    if (url is None) == (host is None):
        raise InputError("name a URL, or a host with --host", remedy="for example `cobnut why DIR --host example.org`")
    crawl = opened(crawl_dir, overrides)
    if host is not None:
        return _host(crawl, host, as_json)
    from cobnut.frontier.admission import refusal
    from cobnut.inspect.evidence import gather, plain_evidence
    from cobnut.inspect.webdb import forms_of
    from cobnut.inspect.why import story, verdict

    forms = forms_of(str(url), crawl.settings)
    refuses = refusal(crawl.crawl, crawl.settings)
    evidence = gather(crawl.crawl, crawl.settings, str(url), forms, refuses, time.time_ns() // 1_000_000)
    if as_json:
        click.echo(json_line({"verdict": verdict(evidence), **plain_evidence(evidence)}))
    else:
        for line in story(evidence):
            click.echo(line)
    return 0 if evidence.is_known else 1


def _host(crawl: Opened, text: str, as_json: bool) -> int:
    from cobnut.frontier.admission import refusal
    from cobnut.inspect.host import gather_host, plain_host
    from cobnut.inspect.why_host import host_story, host_verdict
    from cobnut.urls.hosts import host_of

    host = host_of(text if "://" in text else f"http://{text}/")
    if not host:
        raise InputError("not the name of a host", where=repr(text[:200]))
    refuses = refusal(crawl.crawl, crawl.settings)
    evidence = gather_host(crawl.crawl, crawl.settings, host, refuses, time.time_ns() // 1_000_000)
    if as_json:
        click.echo(json_line({"verdict": host_verdict(evidence), **plain_host(evidence)}))
    else:
        for line in host_story(evidence):
            click.echo(line)
    return 0 if evidence.is_known else 1
