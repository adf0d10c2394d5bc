"""`cobnut completion SHELL`: what a shell needs to complete commands, options and settings with Tab."""

from __future__ import annotations

import click

SHELLS = {
    "bash": 'eval "$(cobnut completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(cobnut completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "cobnut completion fish | source   # in ~/.config/fish/config.fish",
}
"""The shells, each with the line that switches completion on."""


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
def command(shell: str) -> None:
    """Print a script for bash, zsh or fish that completes commands, options, folders and the settings after -s.

    \b
    bash, in ~/.bashrc:     eval "$(cobnut completion bash)"
    zsh, in ~/.zshrc:       eval "$(cobnut completion zsh)"
    fish, in config.fish:   cobnut completion fish | source
    """
    from click.shell_completion import get_completion_class

    from cobnut.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these shells"
    complete = kind(cli, {}, "cobnut", "_COBNUT_COMPLETE")
    # not complete.source(): that of bash first starts bash to ask its version, and warns
    click.echo(f"# {SHELLS[shell]}")
    click.echo(complete.source_template % complete.source_vars())
