"""How does a step tell what it did?

One line on stdout with its counts, another with what was left out and why; messages on stderr.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import click

from cobnut.inspect.show import plain

if TYPE_CHECKING:
    from cobnut.crawl.reports import StepReport
    from cobnut.engines.conserve import Keys


def print_report(report: StepReport, as_json: bool = False) -> None:
    """Prints a step's report."""
    if as_json:
        import msgspec

        from cobnut.cli.rows import json_line

        click.echo(json_line(msgspec.to_builtins(report)))
        return
    for line in report.messages:
        click.echo(f"cobnut {report.stage}: {plain(line)}", err=True)
    click.echo(f"{report.stage}: {counted(report.counts) or 'done'} ({report.wall_s:.1f} s)")
    if report.left_out:
        click.echo(f"{report.stage}: left out: {counted(report.left_out, by_size=True)}")
    if report.keys:
        click.echo(f"{report.stage}: keys: {kept_keys(report.keys)}")


def kept_keys(keys: Mapping[str, Keys]) -> str:
    """Rows out = keys in, and what is new: `crawldb 3 + 9 new = 12; none lost, none twice`.

    Of a table that a stage makes anew, or in which rows are replaced by others, only both numbers are told.
    """
    kept = [f"{n} {k.before:,} + {k.after - k.before:,} new = {k.after:,}" for n, k in keys.items() if k.kept]
    others = [f"{n} {k.after:,} (before: {k.before:,})" for n, k in keys.items() if not k.kept]
    told = [f"{', '.join(kept)}; none lost, none twice"] if kept else []
    return "; ".join([*told, *([f"{', '.join(others)}; none twice"] if others else [])])


def print_notes(report: StepReport, place: Callable[[int], str], verbose: bool) -> None:
    """Prints what was ignored on lines of a list that count all the same: the first of it, or with `verbose` all."""
    notes = [f"{plain(place(row['line']))}: {plain(row['note'], 300)}" for row in report.details.get("notes", [])]
    if verbose:
        for note in notes:
            click.echo(note)
    elif notes:
        more = " or more" if len(notes) >= 1_000 else ""  # the report lists no more
        many = f" ({len(notes):,} such lines{more}; --verbose lists them)" if len(notes) > 1 else ""
        click.echo(f"cobnut {report.stage}: left out of {notes[0]}{many}", err=True)


def counted(counts: Mapping[str, int], by_size: bool = False) -> str:
    """`name 1,234, name 5`: what is zero is left out when the largest come first."""
    items = [(name, count) for name, count in counts.items() if count or not by_size]
    if by_size:
        items.sort(key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{plain(name)} {count:,}" for name, count in items)
