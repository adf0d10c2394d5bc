"""How are many items checked in one process?

One JSON object a line in, one a line out, in the same order; the name `id` is copied from item to answer. A line that
cannot be checked is answered with `{"error": …}`, and the rest goes on. Blank lines are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import BinaryIO

from cobnut.inspect.check.items import Answer, BadItemError, Item

MAX_LINE_BYTES = 256 * 1024 * 1024

Check = Callable[[Item], Answer]


def answers(source: BinaryIO, check: Check) -> Iterator[tuple[bytes, bool]]:
    """For each line of `source` the line that answers it (without its end), and whether it could be checked."""
    while line := source.readline(MAX_LINE_BYTES):
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            while rest := source.readline(MAX_LINE_BYTES):
                if rest.endswith(b"\n"):
                    break
            yield _line({"error": f"a line of more than {MAX_LINE_BYTES >> 20} MiB"}), False
        elif not line.isspace():
            yield _one(line, check)


def _one(line: bytes, check: Check) -> tuple[bytes, bool]:
    ident: Answer = {}
    try:
        item = json.loads(line)
        if not isinstance(item, dict):
            return _line({"error": "not a JSON object"}), False
        if "id" in item:
            ident = {"id": item["id"]}
        return _line({**ident, **check(item)}), True
    except BadItemError as wrong:
        return _line({**ident, "error": str(wrong)}), False
    except RecursionError:
        return _line({**ident, "error": "nested too deeply"}), False
    except UnicodeDecodeError:
        return _line({"error": "not UTF-8"}), False
    except json.JSONDecodeError as wrong:
        return _line({"error": f"not JSON: {wrong.msg} at column {wrong.colno}"}), False


def _line(answer: Answer) -> bytes:
    # a page may hold half a surrogate pair: written as JSON's own escape, it can be read again
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "backslashreplace")
