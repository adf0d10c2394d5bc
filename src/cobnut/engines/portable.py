"""Does an SQL text mean the same on every engine?

Stages carry one SQL text that an embedded engine and a cluster run alike. Some of what both accept gives other rows, or
rows of another type, on each of them, without a word; those forms are *traps*, and this module finds them in a text. A
*finding* names the line, the trap, and what to write instead.

The look is at tokens, not at a parsed tree: it knows the types of columns only as far as it is told them, so that a
contract test on real rows (both engines, shuffled input) stands beside it.

Not here: running SQL (`engines.local`, `engines.spark`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator

import msgspec

from cobnut.records.columns import Column
from cobnut.records.steps import Job, Map, Sql, Stage, columns_of

FUNCTIONS = frozenset(
    {"row_number", "sum", "count", "min", "max", "coalesce", "floor", "round", "length", "abs", "cast"}
)
"""Functions that give the same on all engines for every argument the stages hand them."""

TYPES = {
    "string": "STRING", "int64": "BIGINT", "int32": "INT", "double": "DOUBLE", "bool": "BOOLEAN", "binary": "BINARY",
}  # fmt: skip
"""The type a CAST names for each type of column; maps and lists have no common name and are passed through."""

WORDS = {
    "qualify": "no engine-wide QUALIFY: filter a row_number in a subquery",
    "varchar": "VARCHAR without a length fails on one engine: use STRING",
    "text": "not a type everywhere: use STRING",
    "div": "integer division differs: FLOOR of a division of DOUBLEs",
    "at": "reserved on one engine: use another name",
    "limit": "which rows stay depends on the engine: number them in a total order",
    "offset": "which rows stay depends on the engine: number them in a total order",
    "unnest": "lists are taken apart differently: use a map step",
    "explode": "lists are taken apart differently: use a map step",
    "lateral": "not the same everywhere",
    "pivot": "not the same everywhere",
    "unpivot": "not the same everywhere",
    "exclude": "not known everywhere: name the columns",
    "semi": "not the same syntax everywhere: use a LEFT JOIN and IS NULL, or EXISTS",
    "anti": "not the same syntax everywhere: use a LEFT JOIN and IS NULL",
    "asof": "not known everywhere",
    "ilike": "case folding differs",
    "rlike": "regular expressions differ",
    "similar": "regular expressions differ",
    "glob": "not known everywhere",
    "struct": "no common constructor of structs: use a map step",
    "tablesample": "not repeatable",
    "interval": "times are int64 milliseconds",
    "timestamp": "times are int64 milliseconds",
    "date": "times are int64 milliseconds",
    "current_timestamp": "no step reads the clock: use a parameter",
    "current_date": "no step reads the clock: use a parameter",
}
_NO_FUNCTION = frozenset({
    "in", "as", "over", "on", "and", "or", "not", "when", "then", "else", "where", "exists", "from", "join", "by",
    "select", "values", "using", "with", "having", "union", "all", "distinct", "between", "is", "case", "like",
    "partition",
})  # fmt: skip
_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*|/\*.*?\*/)|(?P<string>'(?:[^']|'')*')|(?P<quoted>\"[^\"]*\"|`[^`]*`)"
    r"|(?P<number>\d+\.\d*|\.\d+|\d+)|(?P<word>[^\W\d]\w*)|(?P<op>::|//|\|\||<=>|<=|>=|<>|!=|==|->>?|[^\s\w])",
    re.DOTALL,
)


class Finding(msgspec.Struct, frozen=True):
    """One trap: the line it stands in (from 1), what was met, and what to write instead."""

    line: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}: {self.remedy}"


class _Token(msgspec.Struct, frozen=True):
    text: str
    kind: str
    line: int
    depth: int  # open parentheses around it; a parenthesis has the depth outside

    @property
    def low(self) -> str:
        return self.text.lower() if self.kind == "word" else self.text


class Known(msgspec.Struct, frozen=True):
    """What is known of the columns a text names: which are fractions, 32 bits wide, or passed through uncast."""

    fractions: frozenset[str] = frozenset()
    narrow: frozenset[str] = frozenset()
    outputs: tuple[Column, ...] | None = None


def lint_stage(stage: Stage) -> dict[str, list[Finding]]:
    """Findings of every SQL step of a stage, by the step's name."""
    seen = {i.name: columns_of(i) for i in stage.inputs} | {"params": stage.params}
    for step in stage.all_steps():
        if isinstance(step, Sql | Map):
            seen[step.output] = step.columns
    found = {}
    for step in stage.all_steps():
        if isinstance(step, Job) or not isinstance(step, Sql):
            continue
        columns = [c for name in step.inputs for c in seen.get(name, ())]
        missing = [
            Finding(1, f"input {n!r}", "the stage declares no such relation") for n in step.inputs if n not in seen
        ]
        wide = {c.name for c in columns if c.type == "int64"}
        known = Known(
            frozenset(c.name for c in columns if c.type == "double"),
            frozenset(c.name for c in columns if c.type == "int32" and c.name not in wide),
            step.columns,
        )
        found[step.name] = missing + lint(step.text, known)
    return found


def lint(text: str, known: Known | None = None) -> list[Finding]:
    """The traps in one SQL text, in the order of their lines."""
    known = known or Known()
    tokens, found = _tokens(text)
    for check in (_words, _operators, _functions, _orders, _integer_casts):
        found += check(tokens, known)
    found += _final_select(tokens, known)
    return sorted(found, key=lambda f: f.line)


def _tokens(text: str) -> tuple[list[_Token], list[Finding]]:
    tokens: list[_Token] = []
    found: list[Finding] = []
    depth, line, place = 0, 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", place, match.start())
        place = match.start()
        kind = match.lastgroup or "op"
        part = match.group()
        if kind == "comment":
            continue
        if part in (")", "]"):
            depth -= 1
        tokens.append(_Token(part, kind, line, depth))
        if part in ("(", "["):
            depth += 1
        if kind == "quoted":
            found.append(Finding(line, part, "quoted names are text on one engine: use plain names"))
        if kind == "string" and ("\\" in part or "''" in part[1:-1]):
            found.append(Finding(line, part[:40], "escapes in text differ: use a parameter"))
        if kind == "number" and "." in part:
            found.append(Finding(line, part, "the type of a decimal differs: use a DOUBLE parameter, or whole numbers"))
    if depth != 0:
        found.append(Finding(line, "parentheses", "they do not match"))
    return tokens, found


def _words(tokens: list[_Token], known: Known) -> list[Finding]:
    found = [Finding(t.line, t.text, WORDS[t.low]) for t in tokens if t.kind == "word" and t.low in WORDS]
    for a, b in itertools.pairwise(tokens):
        if a.low == "by" and b.low == "all":
            found.append(Finding(a.line, "BY ALL", "not known everywhere: name the columns"))
    return found


def _operators(tokens: list[_Token], known: Known) -> list[Finding]:
    found = []
    for place, token in enumerate(tokens):
        around = [t.text for t in (tokens[place - 1 : place] + tokens[place + 1 : place + 2])]
        if token.text == "::":
            found.append(Finding(token.line, "::", "use CAST(… AS …)"))
        elif token.text == "//":
            found.append(Finding(token.line, "//", "integer division differs: FLOOR of a division of DOUBLEs"))
        elif token.text in ("->", "->>", "=="):
            found.append(Finding(token.line, token.text, "not the same everywhere"))
        elif token.text == ";":
            found.append(Finding(token.line, ";", "a step is one statement without an end mark"))
        elif token.text == "/" and not (
            _cast_to_double_ends(tokens, place) and _cast_to_double_begins(tokens, place + 1)
        ):
            found.append(Finding(token.line, "/", "the type of a division differs: CAST both sides AS DOUBLE"))
        elif token.text == "[" and not (
            place
            and tokens[place - 1].kind == "word"
            and place + 1 < len(tokens)
            and tokens[place + 1].kind == "string"
        ):
            found.append(Finding(token.line, "[", "lists are written differently: only m['key'] is common"))
        elif token.text == "*" and known.narrow.intersection(around):
            name = next(iter(known.narrow.intersection(around)))
            found.append(Finding(token.line, f"{name} *", "32 bits overflow: CAST the column AS BIGINT first"))
    return found


def _functions(tokens: list[_Token], known: Known) -> list[Finding]:
    found = []
    for place, (name, opens) in enumerate(itertools.pairwise(tokens)):
        if name.kind != "word" or opens.text != "(" or name.low in _NO_FUNCTION:
            continue
        before = tokens[place - 1].low if place else ""
        after = tokens[place + 2].low if place + 2 < len(tokens) else ""
        if after in ("select", "with") or before in ("with",) or (before == "," and after == "select"):
            continue
        if name.low not in FUNCTIONS:
            found.append(
                Finding(
                    name.line, f"{name.text}()", "only these are the same everywhere: " + ", ".join(sorted(FUNCTIONS))
                )
            )
        elif name.low == "row_number":
            end = _closing(tokens, place + 1)
            window = tokens[end + 2 : _closing(tokens, end + 2)] if end + 2 < len(tokens) else []
            if not any(t.low == "order" for t in window):
                found.append(Finding(name.line, "row_number()", "without a total ORDER BY its numbers are anyone's"))
    return found


def _orders(tokens: list[_Token], known: Known) -> list[Finding]:
    found = []
    for place, token in enumerate(tokens):
        if token.low == "order" and place + 1 < len(tokens) and tokens[place + 1].low == "by":
            for item in _items(tokens, place + 2, token.depth, {"rows", "range", "union", "limit"}):
                words = [t.low for t in item]
                if (
                    words[-2:-1] != ["nulls"]
                    or words[-1] not in ("first", "last")
                    or words[-3:-2] not in (["asc"], ["desc"])
                ):
                    line = item[0].line if item else token.line
                    found.append(
                        Finding(
                            line, "ORDER BY " + " ".join(t.text for t in item)[:60], "say ASC or DESC, and NULLS LAST"
                        )
                    )
    return found


def _integer_casts(tokens: list[_Token], known: Known) -> list[Finding]:
    found = []
    for place, token in enumerate(tokens):
        if token.low != "cast" or _cast_type(tokens, place) not in ("int", "bigint"):
            continue
        body = tokens[place + 2 : _closing(tokens, place + 1) - 2]
        whole = body and body[0].low in ("floor", "round") and _closing(body, 1) == len(body) - 1
        if not whole and any(
            t.low == "double" or t.text in ("/", *known.fractions) or (t.kind == "number" and "." in t.text)
            for t in _without_integer_casts(body)
        ):
            found.append(
                Finding(token.line, "CAST of a fraction to an integer", "one cuts and one rounds: FLOOR or ROUND it")
            )
    return found


def _without_integer_casts(tokens: list[_Token]) -> Iterator[_Token]:
    place = 0
    while place < len(tokens):
        if tokens[place].low == "cast" and _cast_type(tokens, place) in ("int", "bigint"):
            place = _closing(tokens, place + 1)
        else:
            yield tokens[place]
        place += 1


def _final_select(tokens: list[_Token], known: Known) -> list[Finding]:
    found = []
    outputs = known.outputs
    selects = [i for i, t in enumerate(tokens) if t.low == "select" and t.depth == 0]
    if not selects:
        return [Finding(1, "no SELECT", "a step is one query")]
    for place in selects:
        start = place + 2 if tokens[place + 1 : place + 2] and tokens[place + 1].low == "distinct" else place + 1
        items = list(_items(tokens, start, 0, {"from"}))
        names = [item[-1].text if item else "" for item in items]
        if outputs is not None and names != [c.name for c in outputs]:
            found.append(
                Finding(
                    tokens[place].line, "SELECT " + ", ".join(names)[:200], "not the declared columns, in their order"
                )
            )
        types = {c.name: c.type for c in outputs or ()}
        for item, name in zip(items, names, strict=True):
            cast = (
                len(item) > 3 and item[0].low == "cast" and _closing(item, 1) == len(item) - 3 and item[-2].low == "as"
            )
            type_ = types.get(name)
            if not cast:
                if type_ is None or type_ in TYPES:
                    found.append(
                        Finding(item[0].line if item else 1, name, "CAST every output column: CAST(… AS TYPE) AS name")
                    )
            elif type_ in TYPES and (_cast_type(item, 0) or "").upper() != TYPES[type_]:
                found.append(Finding(item[0].line, name, f"declared {type_}: CAST(… AS {TYPES[type_]})"))
    return found


def _items(tokens: list[_Token], start: int, depth: int, ends: Collection[str]) -> Iterator[list[_Token]]:
    """The parts between the commas at one depth, up to an end word or the parenthesis that closes."""
    item: list[_Token] = []
    for token in tokens[start:]:
        if token.depth < depth or (token.depth == depth and token.low in ends):
            break
        if token.depth == depth and token.text == ",":
            yield item
            item = []
        else:
            item.append(token)
    yield item


def _closing(tokens: list[_Token], opening: int) -> int:
    """The place of the parenthesis that closes the one at `opening`."""
    depth = tokens[opening].depth if opening < len(tokens) else 0
    for place in range(opening + 1, len(tokens)):
        if tokens[place].depth == depth and tokens[place].text == ")":
            return place
    return len(tokens)


def _cast_type(tokens: list[_Token], place: int) -> str | None:
    """The type that the CAST at `place` names; None when it is none."""
    end = _closing(tokens, place + 1)
    return tokens[end - 1].low if end < len(tokens) and tokens[end - 2].low == "as" else None


def _cast_to_double_begins(tokens: list[_Token], place: int) -> bool:
    return place < len(tokens) and tokens[place].low == "cast" and _cast_type(tokens, place) == "double"


def _cast_to_double_ends(tokens: list[_Token], place: int) -> bool:
    if place < 1 or tokens[place - 1].text != ")":
        return False
    depth = tokens[place - 1].depth
    opening = next(i for i in range(place - 2, -1, -1) if tokens[i].depth == depth and tokens[i].text == "(")
    return opening > 0 and _cast_to_double_begins(tokens, opening - 1)
