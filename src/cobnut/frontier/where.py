"""Which rows does an expression mean that somebody typed?

An expression over named columns: comparisons, LIKE, IN, BETWEEN, IS NULL, AND, OR, NOT, `+ - * / %`, some functions,
and literals. It is read here and written anew for the engine, every literal as a parameter: nothing that was typed
reaches the engine as text, and nothing but the columns that are given can be named.

Columns have the values that a person is shown: scores as numbers (`score > 0.5`), and the URL in `url` also where the
table leaves it NULL because it equals the normalised form. A text compared with a column of another kind is read in
that kind: `fetched_at > '2026-01-31'` as a time, `signature = '0cc175b9…'` as bytes. What cannot be compared is
refused: a text that is no number with a number, a number with a text, anything with NULL, which nothing equals. What is
divided by 0 is NULL, so that no comparison holds for it.

Not here: which columns a command offers (`inspect.where`, `crawl.condition`), running the condition.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from cobnut.errors import InputError
from cobnut.records.columns import SCORES, Column
from cobnut.urls.resolve import forms

LONGEST = 4_000
DEEPEST = 40
_TEXTS, _ONLY_NUMBERS = ("text",), ("number", "time")
FUNCTIONS: dict[str, tuple[tuple[str, ...] | None, int, int, str]] = {
    "lower": (_TEXTS, 1, 1, "text"),
    "upper": (_TEXTS, 1, 1, "text"),
    "length": (_TEXTS, 1, 1, "number"),
    "coalesce": (None, 1, 16, ""),
    "abs": (_ONLY_NUMBERS, 1, 1, "number"),
    "starts_with": (_TEXTS, 2, 2, "claim"),
    "ends_with": (_TEXTS, 2, 2, "claim"),
    "contains": (_TEXTS, 2, 2, "claim"),
}
"""The kinds that a function takes (None: any), how many arguments at least and at most, and the kind it gives."""
_KINDS = {"string": "text", "int64": "number", "int32": "number", "double": "number", "bool": "claim"}
_NUMBERS = ("number", "time", "value")
_NAMES = {"claim": "true or false", "binary": "bytes", "time": "a time", "number": "a number", "text": "a text"}
_NULL = "NULL"
_NESTED = {"map", "strings", "anchors"}
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
MOST_TERMS = 100
LARGEST = 2**63 - 1
_EXAMPLE = "for example --where \"status = 'gone' AND retries > 1\""

_QUOTES = "a text stands in single quotes, as in host = 'a.example'; one within it is doubled"

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<text>'(?:[^']|'')*')"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)?|\"[A-Za-z_][A-Za-z_0-9]*\")"
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


class Name(msgspec.Struct, frozen=True):
    """What a name in an expression stands for: a column, in the engine's SQL.

    `key` is the SQL of the url_key that a URL left NULL is made of, `url` the SQL of that URL.
    """

    sql: str
    column: Column
    key: str = ""
    url: str = ""


class _Piece(msgspec.Struct, frozen=True):
    """A part of the condition: its SQL, its parameters, its kind, its text when it is a bare literal, and the column
    when it is a URL."""

    sql: str
    params: tuple[Any, ...] = ()
    kind: str = "value"
    literal: str | None = None
    url: Name | None = None


def parse_condition(text: str, names: Mapping[str, Name]) -> Where:
    """The condition that was typed, over these names (in lower case); an `InputError` shows where it cannot be read."""
    if len(text) > LONGEST:
        raise InputError(f"--where takes at most {LONGEST} characters")
    if not text.strip():
        raise InputError("--where is empty", remedy=_EXAMPLE)
    reader = _Reader(text, names)
    piece = reader.condition()
    reader.end()
    reader.claim(piece)
    return Where(piece.sql, piece.params)


class _Reader:
    def __init__(self, text: str, names: Mapping[str, Name]) -> None:
        self.text, self.names = text, names
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
                if not {left.kind, right.kind} <= {"text", "value"}:
                    raise self._error(f"{word.upper()} compares texts", _EXAMPLE, back=1)
                return _Piece(f"({left.sql} {no}{word.upper()} {right.sql})", left.params + right.params, "claim")
        if self._keyword("between"):
            low = self._sum()
            self._expect_keyword("and")
            left, (low, high) = self._among(left, [low, self._sum()])
            params = left.params + low.params + high.params
            return _Piece(f"({left.sql} {no}BETWEEN {low.sql} AND {high.sql})", params, "claim")
        if self._keyword("in"):
            self._expect("(")
            values = [self._sum()]
            while self._sign(","):
                values.append(self._sum())
            self._expect(")")
            left, values = self._among(left, values)
            among = _joined(", ", values)
            return _Piece(f"({left.sql} {no}IN {among.sql})", left.params + among.params, "claim")
        if negated:
            raise self._unexpected()
        return left

    def _compared(self, left: _Piece, sign: str, right: _Piece) -> _Piece:
        if left.literal is not None and right.url is not None:
            left, right, sign = right, left, _TURNED.get(sign, sign)
        if sign == "=" and left.url is not None and right.literal is not None:
            return _is_url(left.url, right.literal)
        left, right = self._as(left, right), self._as(right, left)
        return _Piece(f"({left.sql} {sign} {right.sql})", left.params + right.params, "claim")

    def _among(self, left: _Piece, others: list[_Piece]) -> tuple[_Piece, list[_Piece]]:
        """What is compared with several, and these; where it is a bare text, it is read in their kind."""
        if left.literal is not None:
            meant = self._as(left, next((one for one in others if one.literal is None), others[0]))
            left = _Piece(meant.sql, meant.params, meant.kind)  # from now on of this kind
        return left, [self._as(one, left) for one in others]

    def _sum(self) -> _Piece:
        return self._series(self._product, "+", "-")

    def _product(self) -> _Piece:
        return self._series(self._operand, "*", "/", "%")

    def _series(self, part: Callable[[], _Piece], *signs: str) -> _Piece:
        left, terms = part(), 1
        while sign := self._sign(*signs):
            left, terms = self._computed(left, sign, part()), terms + 1
            if terms > MOST_TERMS:  # each is one level deeper for the engine
                raise self._error(f"more than {MOST_TERMS} terms", "write it shorter")
        return left

    def _computed(self, left: _Piece, sign: str, right: _Piece) -> _Piece:
        for piece in (left, right):
            if piece.kind not in _NUMBERS:
                raise self._error(f"{sign!r} takes numbers", _EXAMPLE, back=1)
        if sign in "/%":
            if right.sql == "?" and not right.params[0]:
                raise self._error("nothing can be divided by 0", _EXAMPLE, back=1)
            if right.sql != "?":  # the engines differ in what they make of x / 0: NULL, infinity or an error
                right = _Piece(f"nullif({right.sql}, 0)", right.params)
        return _Piece(f"({left.sql} {sign} {right.sql})", left.params + right.params, "number")

    def _operand(self) -> _Piece:
        kind, value = self._peek()
        self.position += 1
        if kind == "number":
            return _Piece("?", (self._number(value),), "number")
        if kind == "text":
            text = value[1:-1].replace("''", "'")
            return _Piece("?", (text,), "text", text)
        if kind == "sign" and value == "-":
            deeper = self._deeper()
            inner = self._operand()
            self.depth -= deeper
            if inner.kind not in _NUMBERS:
                raise self._error("'-' takes a number", _EXAMPLE)
            return _Piece(f"(-{inner.sql})", inner.params, "number")
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

    def _number(self, digits: str) -> int | float:
        whole = not re.search("[.eE]", digits)
        # the digits of a very long number would take long to read one by one
        number: int | float = int(digits) if whole and len(digits.lstrip("0")) <= 19 else float(digits)
        if not math.isfinite(number) or (whole and number > LARGEST):
            raise self._error(f"{digits[:40]} is too large a number", _EXAMPLE, back=1)
        return number

    def _named(self, value: str) -> _Piece:
        name = value.strip('"')
        lower = name.lower()
        if lower in ("true", "false") and lower not in self.names:
            return _Piece(lower.upper(), (), "claim")
        if lower == "null":
            return _Piece(_NULL)
        if self._sign("("):
            return self._call(name)
        meant = self.names.get(lower)
        if meant is None:
            raise self._no_column(name)
        column = meant.column
        if column.type == "map" and self._sign("["):
            asked = self._operand()
            self._expect("]")
            if asked.literal is None:
                raise self._error(f"{name} is asked for a name in quotes", "for example metadata['topic'] = 'nuts'")
            return _Piece(f"{meant.sql}[{asked.sql}]", asked.params, "text")
        if column.name in SCORES and column.type == "int64":
            return _Piece(f"({meant.sql} / 1e6)", (), "number")
        if meant.url:
            return _Piece(f"coalesce({meant.sql}, {meant.url})", (), "text", None, meant)
        if column.name.endswith("_at"):
            return _Piece(meant.sql, (), "time")
        return _Piece(meant.sql, (), _KINDS.get(column.type, column.type))

    def _call(self, name: str) -> _Piece:
        lower = name.lower()
        if lower not in FUNCTIONS:
            raise self._error(f"no function {name!r}", f"functions: {', '.join(FUNCTIONS)}", back=2)
        deeper = self._deeper()
        arguments = [self._sum()]
        while self._sign(","):
            arguments.append(self._sum())
        self._expect(")")
        self.depth -= deeper
        takes, least, most, gives = FUNCTIONS[lower]
        if not least <= len(arguments) <= most:
            many = str(least) if least == most else f"{least} to {most}"
            raise self._error(f"{lower}() takes {many} argument{'s'[: most - 1]}", _EXAMPLE, back=1)
        for argument in arguments:
            if takes is not None and argument.kind not in (*takes, "value"):
                raise self._error(f"{lower}() takes {'texts' if 'text' in takes else 'numbers'}", _EXAMPLE, back=1)
        if lower == "coalesce":
            meant = next((a for a in arguments if a.kind != "value" and a.literal is None), arguments[0])
            arguments = [a if a.sql == _NULL else self._as(a, meant) for a in arguments]
        joined = _joined(", ", arguments)
        kinds = [a.kind for a in arguments if a.kind != "value"]
        return _Piece(f"{lower}{joined.sql}", joined.params, gives or (kinds[0] if kinds else "value"))

    def _as(self, piece: _Piece, other: _Piece) -> _Piece:
        """A literal in the kind of what it is compared with; an error where the two cannot be compared."""
        if {piece.kind, other.kind} & _NESTED:
            raise self._error("a map or list is compared", "ask a map for a name: metadata['topic'] = 'nuts'", back=1)
        if _NULL in (piece.sql, other.sql):
            raise self._error("nothing equals NULL", "write IS NULL or IS NOT NULL", back=1)
        if piece.literal is not None and other.kind in ("time", "binary", "number"):
            return self._read(piece.literal, other.kind)
        if other.literal is not None and piece.kind in ("time", "binary", "number"):
            return piece  # it is the other that is read
        kinds = ["number" if kind == "time" else kind for kind in (piece.kind, other.kind)]
        if kinds[0] != kinds[1] and "value" not in kinds:
            names = sorted((_NAMES[piece.kind], _NAMES[other.kind]), key=lambda name: (name != "a text", name))
            raise self._error(f"{names[0]} is compared with {names[1]}", _EXAMPLE, back=1)
        return piece

    def _read(self, text: str, kind: str) -> _Piece:
        """A text that was typed, as a value of another kind."""
        if kind == "time":
            moment = _time_ms(text)
            if moment is None:
                raise self._error(f"{text[:40]!r} is no time", "write 2026-01-31 or 2026-01-31T12:00:00Z", back=1)
            return _Piece("?", (moment,), "time")
        if kind == "binary":
            try:
                return _Piece("?", (bytes.fromhex(text),), "binary")
            except ValueError:
                raise self._error(f"{text[:40]!r} is not hexadecimal", _EXAMPLE, back=1) from None
        digits = text.strip()
        if not _NUMBER.fullmatch(digits):
            raise self._error(f"{text[:40]!r} is no number, as what it is compared with", _EXAMPLE, back=1)
        number = self._number(digits.lstrip("+-"))
        return _Piece("?", (-number if digits[0] == "-" else number,), "number")

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
        return self.tokens[self.position][:2] if self.position < len(self.tokens) else ("end", "")

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
            return self._error(f"{name!r} is not expected here", _EXAMPLE, back=1)
        near = difflib.get_close_matches(name.lower(), list(self.names), n=1)
        plain = [known for known in self.names if "." not in known]
        hint = f"did you mean {near[0]}?" if near else f"columns: {', '.join(plain)}"
        if self._stands_for_a_text():
            other = f", or did you mean {near[0]}?" if near else ""
            hint = f"write a text in single quotes: '{name[:80]}'{other}"
        return self._error(f"no column {name[:80]!r}", hint, back=1)

    def _stands_for_a_text(self) -> bool:
        """Whether what was read last stands where one writes a value: compared, or one of a list."""
        before = [value.lower() for _, value, _ in self.tokens[: self.position - 1]]
        if before and before[-1] in ("(", ","):
            opened = len(before) - 1 - before[::-1].index("(") if "(" in before else 0
            before = before[:opened]
            return before[-1:] == ["in"]
        return before[-1:] != [] and (before[-1] in _COMPARE or before[-1] in ("like", "ilike"))

    def _error(self, what: str, remedy: str, back: int = 0) -> InputError:
        """What is wrong, and where: at the token that comes next, or so many before it."""
        place = max(0, self.position - back)
        at = self.tokens[place][2] if place < len(self.tokens) else len(self.text)
        message = f"--where cannot be read: {what} (character {at + 1})"
        return InputError(message, where=repr(self.text[:120]), remedy=remedy)


def _is_url(name: Name, url: str) -> _Piece:
    """`url = '…'` without the URL of every row, which a large table would take long to make."""
    made = forms(url)
    if made is None or made.normalized != url:
        return _Piece(f"({name.sql} IS NOT NULL AND {name.sql} = ?)", (url,), "claim")
    return _Piece(f"(({name.sql} = ?) OR ({name.sql} IS NULL AND {name.key} = ?))", (url, made.key), "claim")


def _joined(glue: str, pieces: list[_Piece], kind: str = "value") -> _Piece:
    params = tuple(value for piece in pieces for value in piece.params)
    return _Piece(f"({glue.join(piece.sql for piece in pieces)})", params, kind)


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """Kind, text and place of each token."""
    found, position = [], 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            rest = text[position:].strip()
            at = text.index(rest[:1], position) + 1
            message = f"--where cannot be read at {rest[:40]!r} (character {at})"
            raise InputError(message, where=repr(text[:120]), remedy=_QUOTES if rest[0] in "'\"" else _EXAMPLE)
        found.append((match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        position = match.end()
    return found


def _time_ms(text: str) -> int | None:
    try:
        moment = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return int(moment.timestamp() * 1000)
