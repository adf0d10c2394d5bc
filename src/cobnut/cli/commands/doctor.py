"""`cobnut doctor DIR`: is the crawl whole, and what helps where it is not?"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cobnut.cli.options import json_option, on_crawl, opened
from cobnut.errors import CobnutError, InputError
from cobnut.inspect.show import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from cobnut.inspect.doctor import Diagnosis, Finding

FINDINGS_REMAIN = 3
_PERIOD_S = 0.1


@click.command("doctor")
@on_crawl
@click.option("--deep", is_flag=True, help="Read everything to the last byte: all columns, all archived answers.")
@click.option("--repair", is_flag=True, help="Put right what can be without losing anything.")
@json_option
def command(crawl_dir: Path, deep: bool, repair: bool, as_json: bool, overrides: tuple[str, ...]) -> int:
    """Look whether the crawl in DIR is whole: tables, segments, archives, indexes, locks, leavings, the clock.

    Every finding says what is wrong, where, what it means, and the command that helps. A note is out of the ordinary
    and does no harm. Exit code 0: whole; 3: problems remain. Nothing is changed without --repair, which removes what
    killed runs left and what is made again from other things, and goes back to a whole generation where CURRENT names
    none.

    A crawl may be running. DIR may also be a folder that an index was published to.
    """
    from cobnut.inspect.doctor import examine, examine_published
    from cobnut.storage.layout import CrawlFolder, is_published

    say = _progress()
    if is_published(crawl_dir):
        found = examine_published(crawl_dir, deep=deep, say=say)
    else:
        folder = CrawlFolder.open(crawl_dir)
        settings: CobnutError | None = None
        try:
            folder = opened(crawl_dir, overrides).crawl
        except InputError as error:
            if overrides:
                raise
            settings = error
        found = examine(folder, deep=deep, repair=repair, say=say)
        if settings is not None:
            _add_settings(found, settings, crawl_dir)
    say("")
    if as_json:
        _print_json(found)
    else:
        _print(found)
    return FINDINGS_REMAIN if found.problems else 0


def _add_settings(found: Diagnosis, error: CobnutError, folder: Path) -> None:
    from cobnut.inspect.doctor import Finding

    found.findings.append(
        Finding(
            check="settings", what=error.what, where=error.where or str(folder / "cobnut.toml"),
            consequence="no command works on the crawl", remedy=error.remedy or "mend the file",
        )
    )  # fmt: skip


def _print_json(found: Diagnosis) -> None:
    import msgspec

    from cobnut.cli.rows import json_line

    value = msgspec.to_builtins(found)
    for finding in value["findings"]:
        del finding["mends"]
    click.echo(json_line({**value, "healthy": not found.problems}))


def _print(found: Diagnosis) -> None:
    from cobnut.inspect.doctor.finding import counted

    if found.at_work is not None:
        click.echo(f"cobnut doctor: {plain(found.at_work)} is at work on the crawl", err=True)
    for finding in found.findings:
        _print_finding(finding)
    checked = found.checked
    looked = ", ".join(
        counted(number, one, many)
        for number, one, many in (
            (checked.tables, "table", None), (checked.segments, "segment", None),
            (checked.indexes, "index", "indexes"), (checked.files, "file", None), (checked.rows, "row", None),
            (checked.records, "archived answer", None), (checked.bytes, "byte", None),
        )
    )  # fmt: skip
    repaired = sum(f.repaired for f in found.findings)
    state = "whole" if not found.problems else counted(len(found.problems), "problem")
    more = f", {counted(len(found.notes), 'note')}" if found.notes else ""
    done = f", {repaired:,} put right" if repaired else ""
    click.echo(f"doctor: {state}{more}{done}; looked at {looked}")


def _print_finding(finding: Finding) -> None:
    label = "repaired" if finding.repaired else finding.kind
    click.echo(f"{label}: {plain(finding.what)}")
    click.echo(f"    where: {plain(finding.where)}")
    if not finding.repaired:
        click.echo(f"    means: {plain(finding.consequence)}")
        click.echo(f"    helps: {plain(finding.remedy)}")


def _progress() -> Callable[[str], None]:
    """One line on a terminal that says what is looked at; nothing elsewhere."""
    if not sys.stderr.isatty():
        return lambda doing: None
    shown_s = 0.0

    def say(doing: str) -> None:
        nonlocal shown_s
        now = time.monotonic()
        if doing and now - shown_s < _PERIOD_S:
            return
        shown_s = now
        click.echo(f"\r\x1b[K{plain(doing, 100)}", nl=False, err=True)

    return say
