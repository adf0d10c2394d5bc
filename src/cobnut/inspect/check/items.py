"""What does an item say, and what is wrong with it?

An item is a JSON object. Bytes are given in base64 under a name that ends in `_b64`, or as text under the name alone.
Names that a check does not know are passed over.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

Item = dict[str, Any]
Answer = dict[str, Any]
Story = list[tuple[str, str]]
"""Labels with their text; a line without a label goes on with the one above."""


class BadItemError(ValueError):
    """An item that cannot be checked; the message says why."""


def text_of(item: Item, name: str) -> str | None:
    """The text under a name; None when there is none."""
    value = item.get(name)
    if value is None or isinstance(value, str):
        return value
    raise BadItemError(f'"{name}" is not a text')


def needed_text(item: Item, name: str) -> str:
    """The text under a name that must be there."""
    value = text_of(item, name)
    if value is None:
        raise BadItemError(f'"{name}" is missing')
    return value


def bytes_of(item: Item, name: str) -> bytes | None:
    """The bytes under `<name>_b64`, or the text under `name` in UTF-8; None when there is neither."""
    coded = text_of(item, f"{name}_b64")
    if coded is None:
        text = text_of(item, name)
        return None if text is None else text.encode("utf-8", "replace")
    try:
        return base64.b64decode(coded, validate=True)
    except (binascii.Error, ValueError):
        raise BadItemError(f'"{name}_b64" is not base64') from None


def headers_of(item: Item) -> list[tuple[str, str]]:
    """The header fields, in the order given: an object (a list as value repeats the name), or a list of pairs."""
    given = item.get("headers")
    if given is None:
        return []
    pairs = list(given.items()) if isinstance(given, dict) else given
    found: list[tuple[str, str]] = []
    if not isinstance(pairs, list):
        raise BadItemError('"headers" is neither an object nor a list of pairs')
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], str):
            raise BadItemError('"headers" is neither an object nor a list of pairs')
        name, value = pair
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, (str, int, float)):
                raise BadItemError(f'the header "{name}" is not a text')
            found.append((name, str(one)))
    return found


def header(pairs: list[tuple[str, str]], name: str) -> str | None:
    """All values of a header, joined by commas; None when it is not there."""
    values = [value for key, value in pairs if key.lower() == name]
    return ", ".join(values) if values else None
