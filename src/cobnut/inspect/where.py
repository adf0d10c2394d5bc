"""Which rows of one table does `--where` mean?

The expression is read by `frontier.where`; here are the names it may use: the columns of the table.
"""

from __future__ import annotations

from cobnut.frontier.where import Name, Where, parse_condition
from cobnut.records.columns import Column

URL_FUNCTION = "cobnut_url"
"""The engine's name for the function that makes the URL of a url_key; whoever runs a condition must provide it."""

_URL_KEYS = {"url": "url_key", "to_url": "to_key"}


def parse_where(text: str, columns: tuple[Column, ...]) -> Where:
    """The condition that was typed; an `InputError` shows where it cannot be read.

    >>> from cobnut.records.catalogue import CRAWLDB
    >>> parse_where("status = 'gone' and retries > 1", CRAWLDB.columns)
    Where(sql='(("status" = ?) AND ("retries" > ?))', params=('gone', 1))
    """
    known = {column.name for column in columns}
    return parse_condition(text, {column.name: _name(column, known) for column in columns})


def _name(column: Column, known: set[str]) -> Name:
    key = _URL_KEYS.get(column.name)
    if key not in known or not column.nullable:
        return Name(f'"{column.name}"', column)
    return Name(f'"{column.name}"', column, f'"{key}"', f'{URL_FUNCTION}("{key}")')
