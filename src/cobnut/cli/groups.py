"""Which command of a group was meant?"""

from __future__ import annotations

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
