"""How are many items checked in one process?

One JSON object a line in, one a line out, in the same order; an `id` (text or whole number) is copied to the answer. A
line that cannot be checked, a blank one too, is answered with `{"error": …}`, and the rest goes on. A fault that every
line would meet (a part that is missing or broken) ends it: a `MachineError`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from cobnut.errors import CobnutError, MachineError
from cobnut.inspect.check.items import Answer, BadItemError, Item

MAX_LINE_BYTES = 100 * 1024 * 1024
MAX_DIGITS = 4000
"""Digits of a whole number; Python reads no more than some 4300."""

Check = Callable[[Item], Answer]


def answers(source: BinaryIO, check: Check) -> Iterator[tuple[bytes, bool]]:
    """For each line of `source` the line that answers it (without its end), and whether it could be checked."""
    while line := source.readline(MAX_LINE_BYTES):
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            while rest := source.readline(MAX_LINE_BYTES):
                if rest.endswith(b"\n"):
                    break
            yield _line({"error": f"a line of more than {MAX_LINE_BYTES >> 20} MiB"}), False
        elif line.isspace():
            yield _line({"error": "blank line"}), False
        else:
            yield _one(line, check)


def _one(line: bytes, check: Check) -> tuple[bytes, bool]:
    ident: Answer = {}
    try:
        item = _item(line)
        if isinstance(item.get("id"), (str, int)):
            ident = {"id": item["id"]}
        return _line({**ident, **check(item)}), True
    except BadItemError as wrong:
        return _line({**ident, "error": str(wrong)}), False
    except MachineError:
        raise
    except CobnutError as wrong:
        return _line({**ident, "error": wrong.line()}), False
    except Exception as fault:  # whatever one line does, the next one is answered
        what = f"{type(fault).__name__}: {str(fault)[:300]}"
        return _line({**ident, "error": f"internal error, please report it: {what}"}), False


def _item(line: bytes) -> Item:
    try:
        item = json.loads(line, parse_constant=_no_number, parse_int=_whole)
    except BadItemError:
        raise
    except UnicodeDecodeError:
        raise BadItemError("not UTF-8") from None
    except RecursionError:
        raise BadItemError("nested too deeply") from None
    except ValueError as wrong:
        raise BadItemError(f"not JSON: {str(wrong)[:200]}") from None
    if not isinstance(item, dict):
        raise BadItemError("not a JSON object")
    return item


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise BadItemError(f"a number of more than {MAX_DIGITS} digits")
    return int(digits)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _line(answer: Answer) -> bytes:
    try:
        return msgspec.json.encode(answer)
    except UnicodeEncodeError:
        # half a surrogate pair, which UTF-8 does not have: written as JSON's own escape, it can be read again
        return json.dumps(answer).encode()
