"""What do Nutch's URL filter files become? A rule file of `urls.rules`, rule by rule and in their order.

| Nutch | its file | how it decides |
| urlfilter-regex | regex-urlfilter.txt (0.7: crawl-urlfilter.txt) | sign and Java pattern, first match decides |
| urlfilter-automaton | automaton-urlfilter.txt | the same, with patterns that must match the whole URL |
| urlfilter-prefix | prefix-urlfilter.txt | a URL must begin so |
| urlfilter-suffix | suffix-urlfilter.txt | endings that are refused, or the only ones accepted |
| urlfilter-domain | domain-urlfilter.txt | hosts, domains and endings of domains that are accepted |
| urlfilter-domaindenylist | domaindenylist-urlfilter.txt, domainblacklist-urlfilter.txt | the same, refused |
| urlfilter-fast | fast-urlfilter.txt | refused paths by host |

A rule without a form here is left out, kept as a comment, and told: a lost `-` lets more in, a lost `+` less.

Not here: normalizers (`rewrites`), which of the files are in force (`convert`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cobnut.errors import InputError
from cobnut.interop.nutch_config.javaregex import UntranslatableError, to_python
from cobnut.urls.rules import compile_filter_rules, compile_pattern

MAX_RULES = 1_000_000
MAX_PATTERNS = 20_000
"""Most rules of a file, and most of them that are expressions: each of these costs time for every URL."""


class RuleFile(NamedTuple):
    """A file made: its name, its text, how many rules it has, and those that have no form here (line: why)."""

    name: str
    text: str
    rules: int
    lost: list[str]


class _Draft:
    """A rule file in the making."""

    def __init__(self, name: str, source: str) -> None:
        self.name, self.source = name, source
        self.lines = [f"# made by `cobnut import nutch-config` from {source}"]
        self.count = self.patterns = 0
        self.lost: list[str] = []

    def rule(self, accepts: bool, kind: str, value: str = "") -> None:
        self.lines.append(f"{'+' if accepts else '-'} {kind}" + (f" {value}" if value else ""))
        self.count += 1
        self.patterns += kind in ("regex", "path", "pathquery")
        if self.count > MAX_RULES or self.patterns > MAX_PATTERNS:
            what = f"{MAX_RULES:,} rules" if self.count > MAX_RULES else f"{MAX_PATTERNS:,} expressions"
            raise InputError(f"more than {what}", where=self.source)

    def lose(self, number: int, line: str, why: str) -> None:
        if len(self.lost) >= MAX_PATTERNS:
            raise InputError(f"more than {MAX_PATTERNS:,} rules that have no form here", where=self.source)
        shown = "".join(c if c.isprintable() else "?" for c in line[:200])
        self.lost.append(f"{self.source}:{number}: {shown}: {why}")
        self.lines.append(f"# no form here ({''.join(c if c.isprintable() else '?' for c in why)}): {shown}")

    def done(self, last: str | None = None) -> RuleFile:
        if last is not None:
            self.lines.append(last)
        text = "\n".join(self.lines) + "\n"
        compile_filter_rules(text, self.name)  # what is written must be readable
        return RuleFile(self.name, text, self.count, self.lost)


def _content(text: str) -> Iterable[tuple[int, str]]:
    """The lines that are no comments, numbered."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if line.strip() and not line.startswith("#"):
            yield number, line


def regex_rules(text: str, source: str, name: str) -> RuleFile:
    """regex-urlfilter.txt: a sign, then a Java pattern that is looked for anywhere; `>` and `<` as here."""
    return _signed(text, source, name, to_python)


def automaton_rules(text: str, source: str, name: str) -> RuleFile:
    """automaton-urlfilter.txt: a sign, then a pattern for the whole URL."""
    return _signed(text, source, name, lambda pattern: f"^(?:{automaton_to_python(pattern)})$")


def _signed(text: str, source: str, name: str, translate: Callable[[str], str]) -> RuleFile:
    draft = _Draft(name, source)
    for number, line in _content(text):
        sign, pattern = line[0], line[1:]
        if sign in "+-":
            try:
                made = translate(pattern)
                if not made.strip() or any(c in made for c in "\0\n"):
                    raise UntranslatableError("it is empty" if not made.strip() else "a control character")
                compile_pattern(made, "here")
            except (UntranslatableError, InputError) as error:
                draft.lose(number, line, str(error))
                continue
            if made == ".":  # every URL has a character
                draft.rule(sign == "+", "all")
            else:
                draft.rule(sign == "+", "regex", made)
        elif sign == ">":
            draft.lines.append(f"> {_host(pattern)}")
        elif sign == "<":
            draft.lines.append("<")
        elif sign not in " \t":  # Nutch passes over these two
            draft.lose(number, line, "it begins with neither + nor -")
    return draft.done()


def _host(text: str) -> str:
    return "".join(c for c in text.strip().lower() if c.isprintable())


def automaton_to_python(pattern: str) -> str:
    r"""A pattern of the automaton library in Python's syntax: no anchors, `@` is any string, quotes are literal.

    >>> automaton_to_python('http://"a.b"/@\\.(gif|jpg)')
    'http://a\\.b/.*\\.(gif|jpg)'
    """
    out: list[str] = []
    at, in_class = 0, False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            if at + 1 >= len(pattern):
                raise UntranslatableError("it ends in a backslash")
            out.append(re.escape(pattern[at + 1]))
            at += 2
            continue
        if in_class:
            first = out[-1] in ("[", "[^")
            in_class = char != "]"
            out.append("^" if char == "^" and out[-1] == "[" else "\\" + char if char in "[&~|^" else char)
            if char == "]" and first:
                raise UntranslatableError("an empty class")
        elif char == '"':
            end = pattern.find('"', at + 1)
            if end < 0:
                raise UntranslatableError("a quote that nothing closes")
            out.append(re.escape(pattern[at + 1 : end]))
            at = end
        elif char in "~&#<>" or pattern.startswith("(?", at):
            raise UntranslatableError(f"the operator {pattern[at : at + 2].strip('@')}")
        elif char in "*+?" and out[-1:] in (["*"], ["+"], ["?"], ["}"]):
            raise UntranslatableError("a repetition of a repetition")
        elif char == "@":
            out.append(".*")
        elif char in "^$":
            out.append("\\" + char)
        else:
            in_class = char == "["
            out.append(char)
        at += 1
    made = "".join(out)
    try:
        re.compile(made, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise UntranslatableError(str(error).splitlines()[0] if str(error) else type(error).__name__) from None
    return made


def prefix_rules(text: str, source: str, name: str) -> RuleFile:
    """prefix-urlfilter.txt: a URL that begins so is accepted, all others are refused."""
    draft = _Draft(name, source)
    for number, line in _content(text):
        _plain(draft, number, line, lambda value: draft.rule(True, "prefix", value))
    return draft.done()


def _plain(draft: _Draft, number: int, line: str, add: Callable[[str], None]) -> None:
    """Adds the value of a line that is no pattern."""
    value = line.strip()
    if not value.isprintable() or " " in value:
        draft.lose(number, line, "no URL has such characters")
    else:
        add(value)


def suffix_rules(text: str, source: str, name: str) -> RuleFile:
    """suffix-urlfilter.txt: a line of `+` or `-`, with P (path only) and I (any case), says what endings mean.

    `+`: a URL that ends so is refused, all others are accepted. `-`, and without such a line: the other way round.
    """
    draft = _Draft(name, source)
    accepted, in_path, any_case = True, False, False
    values: list[str] = []
    for number, line in _content(text):
        if line[0] in "+-":
            accepted = line[0] == "-"
            in_path, any_case = "P" in line[1:], "I" in line[1:]
        else:
            _plain(draft, number, line, values.append)
    for value in values:
        if in_path or any_case:
            made = f"{'(?i:' if any_case else '(?:'}{re.escape(value)})$"
            draft.rule(accepted, "path" if in_path else "regex", made)
        else:
            draft.rule(accepted, "suffix", value)
    return draft.done(None if accepted else "+ all")


def domain_rules(text: str, source: str, name: str, *, accepted: bool) -> RuleFile:
    """domain-urlfilter.txt (accepted) and its opposite: hosts, domains, endings of domains, each with all below it."""
    draft = _Draft(name, source)
    for number, line in _content(text):
        _plain(draft, number, line, lambda value: draft.rule(accepted, "host", value.strip(".") or "-"))
    return draft.done(None if accepted else "+ all")


_FAST_KINDS = {"denypath": "path", "denypathquery": "pathquery"}


def fast_rules(text: str, source: str, name: str) -> RuleFile:
    """fast-urlfilter.txt: `Host NAME` or `Domain NAME` (`.`: all), then `DenyPath` or `DenyPathQuery` with patterns."""
    draft = _Draft(name, source)
    for number, line in _content(text):
        word, _, value = line.strip().partition(" ")
        word, value = word.lower(), value.strip()
        if word in ("host", "domain") and value:
            draft.lines.append("<" if value == "." else f"> {_host(value)}")
        elif word in _FAST_KINDS and value:
            try:
                made = to_python(value)
                compile_pattern(made, "here")
                draft.rule(False, _FAST_KINDS[word], made)
            except (UntranslatableError, InputError) as error:
                draft.lose(number, line, str(error))
        else:
            draft.lose(number, line, "neither Host, Domain, DenyPath nor DenyPathQuery")
    return draft.done("<\n+ all")
