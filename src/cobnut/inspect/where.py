"""Which rows does `--where` mean?

An expression over the columns of one table: comparisons, LIKE, IN, BETWEEN, IS NULL, AND, OR, NOT, `+ - * / %`, some
functions, and literals. It is read here and written anew for the engine, every literal as a parameter: nothing that was
typed reaches the engine as text, and nothing but columns of the table can be named.

Columns have the values that a person is shown: scores as numbers (`score > 0.5`), and the URL in `url` also where the
table leaves it NULL because it equals the normalised form. A text compared with a column of another kind is read in
that kind: `fetched_at > '2026-01-31'` as a time, `signature = '0cc175b9…'` as bytes.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import msgspec

from cobnut.errors import InputError
from cobnut.inspect.show import SCORES
from cobnut.records.columns import Column
from cobnut.urls.resolve import forms

LONGEST = 4_000
DEEPEST = 40
FUNCTIONS = ("lower", "upper", "length", "coalesce", "abs", "starts_with", "ends_with", "contains")
URL_FUNCTION = "cobnut_url"
"""The engine's name for the function that makes the URL of a url_key; whoever runs a condition must provide it."""

_URL_KEYS = {"url": "url_key", "to_url": "to_key"}
_EXAMPLE = "for example --where \"status = 'gone' AND retries > 1\""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<text>'(?:[^']|'')*')"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*|\"[A-Za-z_][A-Za-z_0-9]*\")"
    r"|(?P<sign><>|!=|<=|>=|[=<>()\[\],+\-*/%]))",
    re.ASCII,
)
_KEYWORDS = {"and", "or", "not", "in", "like", "ilike", "is", "null", "between", "true", "false"}
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_COMPARE = {"=", "<>", "!=", "<", "<=", ">", ">="}


class Where(msgspec.Struct, frozen=True):
    """A condition in the engine's SQL, and the values of its parameters in order."""

    sql: str
    params: tuple[Any, ...]


class _Piece(msgspec.Struct, frozen=True):
    """A part of the condition: its SQL, its parameters, its kind, and its text when it is a bare literal."""

    sql: str
    params: tuple[Any, ...] = ()
    kind: str = "value"
    literal: str | None = None


def parse_where(text: str, columns: tuple[Column, ...]) -> Where:
    """The condition that was typed; an `InputError` shows where it cannot be read.

    >>> from cobnut.records.catalogue import CRAWLDB
    >>> parse_where("status = 'gone' and retries > 1", CRAWLDB.columns)
    Where(sql='(("status" = ?) AND ("retries" > ?))', params=('gone', 1))
    """
    if len(text) > LONGEST:
        raise InputError(f"--where takes at most {LONGEST} characters")
    reader = _Reader(text, {c.name: c for c in columns})
    piece = reader.condition()
    reader.end()
    reader.claim(piece)
    return Where(piece.sql, piece.params)


class _Reader:
    def __init__(self, text: str, columns: dict[str, Column]) -> None:
        self.text, self.columns = text, columns
        self.tokens, self.position, self.depth = _tokens(text), 0, 0

    def condition(self) -> _Piece:
        return self._chain("OR", lambda: self._chain("AND", self._negation))

    def end(self) -> None:
        if self._peek() != ("end", ""):
            raise self._unexpected()

    def _chain(self, word: str, part: Callable[[], _Piece]) -> _Piece:
        pieces = [part()]
        while self._keyword(word.lower()):
            pieces.append(part())
        if len(pieces) == 1:
            return pieces[0]
        for piece in pieces:
            self.claim(piece)
        return _joined(f" {word} ", pieces, "claim")

    def _negation(self) -> _Piece:
        if not self._keyword("not"):
            return self._predicate()
        with_depth = self._deeper()
        try:
            inner = self.claim(self._negation())
        finally:
            self.depth -= with_depth
        return _Piece(f"(NOT {inner.sql})", inner.params, "claim")

    def _predicate(self) -> _Piece:
        left = self._sum()
        kind, value = self._peek()
        if kind == "sign" and value in _COMPARE:
            self.position += 1
            return self._compared(left, "<>" if value == "!=" else value, self._sum())
        if self._keyword("is"):
            negated = self._keyword("not")
            self._expect_keyword("null")
            return _Piece(f"({left.sql} IS {'NOT ' if negated else ''}NULL)", left.params, "claim")
        negated = self._keyword("not")
        no = "NOT " if negated else ""
        for word in ("like", "ilike"):
            if self._keyword(word):
                right = self._sum()
                return _Piece(f"({left.sql} {no}{word.upper()} {right.sql})", left.params + right.params, "claim")
        if self._keyword("between"):
            low = self._as(self._sum(), left)
            self._expect_keyword("and")
            high = self._as(self._sum(), left)
            params = left.params + low.params + high.params
            return _Piece(f"({left.sql} {no}BETWEEN {low.sql} AND {high.sql})", params, "claim")
        if self._keyword("in"):
            self._expect("(")
            values = [self._as(self._sum(), left)]
            while self._sign(","):
                values.append(self._as(self._sum(), left))
            self._expect(")")
            among = _joined(", ", values)
            return _Piece(f"({left.sql} {no}IN {among.sql})", left.params + among.params, "claim")
        if negated:
            raise self._unexpected()
        return left

    def _compared(self, left: _Piece, sign: str, right: _Piece) -> _Piece:
        if left.literal is not None and right.kind in _URL_KEYS:
            left, right, sign = right, left, _TURNED.get(sign, sign)
        if sign == "=" and left.kind in _URL_KEYS and right.literal is not None:
            return _is_url(left.kind, right.literal)
        left, right = self._as(left, right), self._as(right, left)
        return _Piece(f"({left.sql} {sign} {right.sql})", left.params + right.params, "claim")

    def _sum(self) -> _Piece:
        left = self._product()
        while sign := self._sign("+", "-"):
            right = self._product()
            left = _Piece(f"({left.sql} {sign} {right.sql})", left.params + right.params)
        return left

    def _product(self) -> _Piece:
        left = self._operand()
        while sign := self._sign("*", "/", "%"):
            right = self._operand()
            left = _Piece(f"({left.sql} {sign} {right.sql})", left.params + right.params)
        return left

    def _operand(self) -> _Piece:
        kind, value = self._peek()
        self.position += 1
        if kind == "number":
            return _Piece("?", (float(value) if re.search("[.eE]", value) else int(value),))
        if kind == "text":
            text = value[1:-1].replace("''", "'")
            return _Piece("?", (text,), "value", text)
        if kind == "sign" and value == "-":
            deeper = self._deeper()
            inner = self._operand()
            self.depth -= deeper
            return _Piece(f"(-{inner.sql})", inner.params)
        if kind == "sign" and value == "(":
            deeper = self._deeper()
            inner = self.condition()
            self._expect(")")
            self.depth -= deeper
            return inner
        if kind == "name":
            return self._named(value)
        self.position -= 1
        raise self._unexpected()

    def _named(self, value: str) -> _Piece:
        name = value.strip('"')
        lower = name.lower()
        if lower in ("true", "false") and lower not in self.columns:
            return _Piece(lower.upper(), (), "claim")
        if lower == "null":
            return _Piece("NULL")
        if self._sign("("):
            return self._call(name)
        column = self.columns.get(lower)
        if column is None:
            raise self._no_column(name)
        if column.type == "map" and self._sign("["):
            asked = self._operand()
            self._expect("]")
            return _Piece(f'"{column.name}"[{asked.sql}]', asked.params)
        if column.name in SCORES and column.type == "int64":
            return _Piece(f'("{column.name}" / 1e6)')
        key = _URL_KEYS.get(column.name)
        if key in self.columns and column.nullable:
            return _Piece(f'coalesce("{column.name}", {URL_FUNCTION}("{key}"))', (), column.name)
        kind = "claim" if column.type == "bool" else "time" if column.name.endswith("_at") else column.type
        return _Piece(f'"{column.name}"', (), kind)

    def _call(self, name: str) -> _Piece:
        if name.lower() not in FUNCTIONS:
            raise self._error(f"no function {name!r}", f"functions: {', '.join(FUNCTIONS)}")
        deeper = self._deeper()
        arguments = [self._sum()]
        while self._sign(","):
            arguments.append(self._sum())
        self._expect(")")
        self.depth -= deeper
        joined = _joined(", ", arguments)
        kind = "claim" if name.lower() in ("starts_with", "ends_with", "contains") else "value"
        return _Piece(f"{name.lower()}{joined.sql}", joined.params, kind)

    def _as(self, piece: _Piece, other: _Piece) -> _Piece:
        """A bare text in the kind of what it is compared with."""
        if piece.literal is None:
            return piece
        if other.kind == "time":
            return _Piece("?", (_time_ms(piece.literal),))
        if other.kind == "binary":
            try:
                return _Piece("?", (bytes.fromhex(piece.literal),))
            except ValueError:
                raise self._error(f"{piece.literal[:40]!r} is not hexadecimal", _EXAMPLE) from None
        return piece

    def claim(self, piece: _Piece) -> _Piece:
        if piece.kind != "claim":
            raise self._error("a comparison is expected, and one part is none", _EXAMPLE)
        return piece

    def _deeper(self) -> int:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._error(f"nested more than {DEEPEST} deep", "write it flatter")
        return 1

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.position] if self.position < len(self.tokens) else ("end", "")

    def _keyword(self, word: str) -> bool:
        kind, value = self._peek()
        if kind == "name" and value.lower() == word:
            self.position += 1
            return True
        return False

    def _expect_keyword(self, word: str) -> None:
        if not self._keyword(word):
            raise self._unexpected(f"{word.upper()} expected")

    def _sign(self, *signs: str) -> str:
        kind, value = self._peek()
        if kind == "sign" and value in signs:
            self.position += 1
            return value
        return ""

    def _expect(self, sign: str) -> None:
        if not self._sign(sign):
            raise self._unexpected(f"{sign!r} expected")

    def _unexpected(self, wanted: str = "") -> InputError:
        kind, value = self._peek()
        what = "it ends too early" if kind == "end" else f"{value[:40]!r} is not expected here"
        return self._error(f"{what}{', ' + wanted if wanted else ''}", _EXAMPLE)

    def _no_column(self, name: str) -> InputError:
        import difflib

        if name.lower() in _KEYWORDS or name.lower() in ("select", "from", "exists", "case", "cast"):
            return self._error(f"{name!r} is not expected here", _EXAMPLE)
        near = difflib.get_close_matches(name.lower(), list(self.columns), n=1)
        hint = f"did you mean {near[0]}?" if near else f"columns: {', '.join(self.columns)}"
        return self._error(f"no column {name!r}", hint)

    def _error(self, what: str, remedy: str) -> InputError:
        return InputError(f"--where cannot be read: {what}", where=repr(self.text[:120]), remedy=remedy)


def _is_url(column: str, url: str) -> _Piece:
    """`url = '…'` without the URL of every row, which a large table would take long to make."""
    made = forms(url)
    if made is None or made.normalized != url:
        return _Piece(f'("{column}" IS NOT NULL AND "{column}" = ?)', (url,), "claim")
    sql = f'(("{column}" = ?) OR ("{column}" IS NULL AND "{_URL_KEYS[column]}" = ?))'
    return _Piece(sql, (url, made.key), "claim")


def _joined(glue: str, pieces: list[_Piece], kind: str = "value") -> _Piece:
    params = tuple(value for piece in pieces for value in piece.params)
    return _Piece(f"({glue.join(piece.sql for piece in pieces)})", params, kind)


def _tokens(text: str) -> list[tuple[str, str]]:
    found, position = [], 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            rest = text[position:].strip()
            raise InputError(f"--where cannot be read at {rest[:40]!r}", where=repr(text[:120]), remedy=_EXAMPLE)
        found.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return found


def _time_ms(text: str) -> int:
    try:
        moment = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(f"{text[:40]!r} is no time", remedy="write 2026-01-31 or 2026-01-31T12:00:00Z") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return int(moment.timestamp() * 1000)
