"""How does a command get the agent's name when it has none?

Asked for once on a terminal and kept in `cobnut.toml`; without a terminal the command ends and names the settings. The
rule itself is in `cli.agent`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from cobnut.cli.agent import agent_error, ask_agent, missing_agent
from cobnut.config.checks import problem_with
from cobnut.config.sections import Settings


def agent_answers(hosts: Iterable[str], settings: Settings, crawl_dir: Path) -> dict[str, str]:
    """What was answered on the terminal, to be kept; empty when nothing had to be asked."""
    missing = missing_agent(hosts, settings.fetcher)
    if not missing:
        return {}
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise agent_error(missing, str(crawl_dir))
    click.echo("This crawl goes to the open web, where it should say who it is. This is asked only once.", err=True)
    return ask_agent(
        missing,
        lambda question: str(click.prompt(question, default="", show_default=False, err=True)),
        problem_with,
        lambda line: click.echo(line, err=True),
    )
