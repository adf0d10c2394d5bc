"""`cobnut config hash-password USER` and `cobnut config new-key NAME`: what lets somebody search a closed page.

A password is asked for, or read from standard input; it never stands in a command line, where any user of the machine
could read it, and is written nowhere.
"""

from __future__ import annotations

import sys

import click

from cobnut.config.credentials import new_api_key, new_login
from cobnut.errors import InputError

LONGEST = 512


@click.command("hash-password")
@click.argument("user", metavar="USER")
def hash_password(user: str) -> None:
    """Ask for a password and print the entry for serve.basic_auth that lets USER in with it.

    Without a terminal the password is the first line of standard input.
    """
    if sys.stdin.isatty():
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        password = sys.stdin.readline(LONGEST + 2).rstrip("\r\n")
    if not password:
        raise InputError("an empty password", remedy="type one, or write one to standard input")
    if len(password) > LONGEST or not password.isprintable():
        raise InputError(f"a password has at most {LONGEST} printable characters")
    try:
        click.echo(new_login(user, password).text())
    except ValueError as error:
        raise InputError(str(error)) from None


@click.command("new-key")
@click.argument("name", metavar="NAME")
def new_key(name: str) -> None:
    """Make an API key for NAME: the key itself, shown this once, and the entry for serve.api_keys.

    The key goes to standard error and the entry to standard output.
    """
    try:
        key, entry = new_api_key(name)
    except ValueError as error:
        raise InputError(str(error)) from None
    click.echo(f"Key, to be sent as `Authorization: Bearer KEY`; it is shown this once: {key}", err=True)
    click.echo(entry.text())
