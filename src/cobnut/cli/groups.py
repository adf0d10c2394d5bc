"""Which command of a group was meant?"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class HintingGroup(click.Group):
    """A group whose error for an unknown command names the nearest one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name in the error."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], known, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
            raise click.UsageError(f"no command is called {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)


class TableGroup(HintingGroup):
    """A group whose commands stand in a table: name -> (module in `cli.commands`, line). Imported when called."""

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the table's order."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in self.table:
            return None
        command: click.Command = importlib.import_module(f"cobnut.cli.commands.{self.table[cmd_name][0]}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without importing anything."""
        if self.table:
            with formatter.section("Commands"):
                formatter.write_dl([(name, line) for name, (_, line) in self.table.items()])
