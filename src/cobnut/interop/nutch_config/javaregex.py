r"""What does a regular expression of Java's mean in Python?

Most of the syntax is the same, possessive quantifiers and atomic groups included. Translated are: `\p{…}` of POSIX and
of Java's own (ASCII, as Java means them without a flag), named groups, `\Q…\E`, flags in the middle of a pattern, `\z`
and `\Z`, octal, hexadecimal and control escapes, `\h`, `\R`, a `[` inside a class (a union), and `$1` in replacements.
Refused with the reason: intersections of classes (`&&`), Unicode scripts, blocks and categories, `\G`, `\X`, the flags
d, U and u, and look-behind without a fixed length.

Not here: compiling (the result is for `urls.rules`, which matches in ASCII, as Java does by default).
"""

from __future__ import annotations

import re

MAX_CHARS = 16_384
MAX_DEPTH = 200
MAX_FLAGS = 16

_PUNCT = r"""!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~"""
_CLASSES = {
    "Lower": "a-z", "Upper": "A-Z", "ASCII": r"\x00-\x7f", "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9",
    "Punct": _PUNCT, "Graph": "!-~", "Print": " -~", "Blank": r" \t", "Cntrl": r"\x00-\x1f\x7f", "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r", "IsAlphabetic": None, "L": None,
}  # fmt: skip
_SHORT = {"h": r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000", "v": r"\n\x0b\f\r\x85\u2028\u2029"}
_LINE_BREAK = r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])"
_SAME = frozenset("dDwWsSbBntrfaA")
_FLAGS = {"i": "i", "s": "s", "m": "m"}


class UntranslatableError(ValueError):
    """A pattern that Python has no form for; the text says which part of it."""


def to_python(pattern: str) -> str:
    r"""The pattern in Python's syntax; an `UntranslatableError` says why there is none.

    >>> to_python(r"(?<name>\p{Alpha}++)\.\k<name>\z"), to_python("a(?i)b|c")
    ('(?P<name>[a-zA-Z]++)\\.(?P=name)\\Z', 'a(?i:b)|(?i:c)')
    """
    if len(pattern) > MAX_CHARS:
        raise UntranslatableError(f"longer than {MAX_CHARS:,} characters")
    reader = _Reader(pattern)
    made = reader.alternatives(0)
    if reader.at < len(pattern):
        raise UntranslatableError("a ) that closes nothing")
    try:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(made, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise UntranslatableError(str(error).splitlines()[0] if str(error) else type(error).__name__) from None
    return made


class _Reader:
    """Goes through a pattern once, from left to right."""

    def __init__(self, pattern: str) -> None:
        self.text, self.at = pattern, 0

    def alternatives(self, depth: int) -> str:
        """Up to the end, or the `)` that closes the group this is in."""
        if depth > MAX_DEPTH:
            raise UntranslatableError("groups nested too deeply")
        out: list[str] = []
        flagged: list[str] = []  # flags hold to the end of the group, over alternatives too
        while self.at < len(self.text) and self.text[self.at] != ")":
            char = self.text[self.at]
            if char == "\\":
                out.append(self._escape())
            elif char == "[":
                out.append(f"[{self._class(0)}]")
            elif char == "(":
                flags = self._flags_to_the_end()
                if flags is None:
                    out.append(self._group(depth))
                elif len(flagged) >= MAX_FLAGS:
                    raise UntranslatableError(f"flags more than {MAX_FLAGS} times in one group")
                elif flags:
                    flagged.append(f"(?{flags}:")
                    out.append(flagged[-1])
            elif char == "|":
                out.append(")" * len(flagged) + "|" + "".join(flagged))
                self.at += 1
            elif char == "{" and not re.compile(r"\{\d+(,\d*)?\}").match(self.text, self.at):
                raise UntranslatableError("a { that begins no repetition")
            else:
                out.append(char)
                self.at += 1
        return "".join(out) + ")" * len(flagged)

    def _flags_to_the_end(self) -> str | None:
        """Flags as in `(?i)`; None where no such group begins."""
        match = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?\)").match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return _python_flags(match[1], match[2])

    def _group(self, depth: int) -> str:
        for start in ("(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"):
            if self.text.startswith(start, self.at):
                self.at += len(start)
                break
        else:
            if named := re.compile(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>").match(self.text, self.at):
                start, self.at = f"(?P<{named[1]}>", named.end()
            elif flagged := re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?:").match(self.text, self.at):
                flags = _python_flags(flagged[1], flagged[2])
                start, self.at = f"(?{flags}:", flagged.end()
            elif self.text.startswith("(?", self.at):
                raise UntranslatableError(f"the group {self.text[self.at : self.at + 4]}")
            else:
                start, self.at = "(", self.at + 1
        inner = self.alternatives(depth + 1)
        if not self.text.startswith(")", self.at):
            raise UntranslatableError("a ( that nothing closes")
        self.at += 1
        return f"{start}{inner})"

    def _escape(self) -> str:
        """An escape outside of a class."""
        text, at = self.text, self.at
        following = text[at + 1 : at + 2]
        if following == "Q":
            return self._quoted()
        if following == "k":
            named = re.compile(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>").match(text, at)
            if named is None:
                raise UntranslatableError(r"\k without a name")
            self.at = named.end()
            return f"(?P={named[1]})"
        if following in ("z", "Z", "R"):
            self.at += 2
            return {"z": r"\Z", "Z": r"(?=\n?\Z)", "R": _LINE_BREAK}[following]
        if following in "123456789" and following:
            self.at += 2
            return f"(?:\\{following})"  # a digit that follows must not be read as part of it
        made, negated = self._one()
        if made is None:
            return negated
        return f"[{'^' if negated else ''}{made}]" if len(made) > 2 or negated else made

    def _quoted(self) -> str:
        end = self.text.find("\\E", self.at)
        inner = self.text[self.at + 2 : end if end >= 0 else len(self.text)]
        self.at = end + 2 if end >= 0 else len(self.text)
        return re.escape(inner)

    def _one(self) -> tuple[str | None, str]:
        """An escape that stands for characters, as the inside of a class and whether it is all others ("^").

        Where Python reads the escape as it stands the first is None, the second the escape.
        """
        text, at = self.text, self.at
        following = text[at + 1 : at + 2]
        if following in ("p", "P"):
            match = re.compile(r"\\[pP](?:\{(?:\^?)([A-Za-z_=]+)\}|([A-Za-z]))").match(text, at)
            if match is None:
                raise UntranslatableError(r"\p without a name")
            self.at = match.end()
            name = (match[1] or match[2]).removeprefix("Is") if (match[1] or match[2]) != "IsAlphabetic" else "L"
            inside = _CLASSES.get(name)
            if inside is None:
                raise UntranslatableError(f"the class \\p{{{name}}} of Unicode")
            return inside, "^" if following == "P" else ""
        self.at += 2
        if following in ("h", "v", "H", "V"):
            return _SHORT[following.lower()], "^" if following.isupper() else ""
        if following == "" or following in ("G", "X", "N"):
            raise UntranslatableError(f"\\{following}")
        if following == "c":
            self.at += 1
            if at + 2 >= len(text):
                raise UntranslatableError(r"\c without a character")
            return _char(ord(text[at + 2]) ^ 64), ""
        for form, base in ((r"0([0-3]?[0-7]{1,2})", 8), (r"x([0-9a-fA-F]{2})", 16), (r"u([0-9a-fA-F]{4})", 16),
                           (r"x\{([0-9a-fA-F]{1,6})\}", 16)):  # fmt: skip
            if match := re.compile(form).match(text, at + 1):
                self.at = match.end()
                return _char(int(match[1], base)), ""
        if following == "e":
            return r"\x1b", ""
        if following in _SAME:
            return None, f"\\{following}"
        if following.isascii() and following.isalnum():
            raise UntranslatableError(f"the escape \\{following}")
        return None, re.escape(following)

    def _class(self, depth: int) -> str:
        """The inside of a class that begins here, `^` included; classes in it are taken apart (a union)."""
        if depth > 8:
            raise UntranslatableError("classes nested too deeply")
        text = self.text
        self.at += 1
        negated = text.startswith("^", self.at)
        self.at += negated
        if depth and negated:
            raise UntranslatableError("a negated class inside a class")
        out: list[str] = []
        first = True
        while True:
            if self.at >= len(text):
                raise UntranslatableError("a [ that nothing closes")
            char = text[self.at]
            if char == "]" and not first:
                self.at += 1
                return ("^" if negated else "") + "".join(out)
            out.append(self._member(char, depth))
            first = False

    def _member(self, char: str, depth: int) -> str:
        """One thing that stands in a class."""
        text = self.text
        if text.startswith("&&", self.at):
            raise UntranslatableError("an intersection of classes (&&)")
        if char == "[":
            return self._class(depth + 1)
        if text.startswith("--", self.at):  # Python says that it will read it as its own sign one day
            raise UntranslatableError("-- inside a class")
        if char != "\\":
            self.at += 1
            return f"\\{char}" if char in "]&~|" else char  # as above
        if text.startswith("\\Q", self.at):
            return self._quoted()
        made, rest = self._one()
        if made is None:
            if rest in (r"\b", r"\B", r"\A"):
                raise UntranslatableError(f"{rest} inside a class")
            return rest
        if rest:
            raise UntranslatableError("a negated class inside a class")
        return made


def _char(number: int) -> str:
    if number > 0x10FFFF:
        raise UntranslatableError(f"the character {number:#x}")
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65_536 else f"\\U{number:08x}"


def _python_flags(on: str, off: str | None) -> str:
    for flag in on + (off or ""):
        if flag not in _FLAGS:
            raise UntranslatableError(f"the flag {flag}")
    return on + (f"-{off}" if off else "")


def replacement_to_python(replacement: str, pattern: str) -> str:
    r"""A replacement with `$1` and `${name}` in Python's form; `pattern` is the one in Python's syntax.

    >>> replacement_to_python(r"$1-${name}\$$10", "(a)(?P<name>b)")
    '\\g<1>-\\g<name>$\\g<1>0'
    """
    groups = re.compile(pattern, re.ASCII).groups
    out: list[str] = []
    at = 0
    while at < len(replacement):
        char = replacement[at]
        if char == "\\":
            if at + 1 >= len(replacement):
                raise UntranslatableError("a replacement that ends in a backslash")
            out.append(_literal(replacement[at + 1]))
            at += 2
        elif char == "$":
            named = re.compile(r"\$\{([a-zA-Z][a-zA-Z0-9]*)\}").match(replacement, at)
            if named is not None:
                out.append(f"\\g<{named[1]}>")
                at = named.end()
                continue
            digits = re.compile(r"\$([0-9]+)").match(replacement, at)
            if digits is None:
                raise UntranslatableError("a $ in a replacement that names no group")
            number = digits[1][:1]
            for digit in digits[1][1:4]:  # as many digits as still name a group
                if int(number + digit) > groups:
                    break
                number += digit
            if int(number) > groups:
                raise UntranslatableError(f"group {number} in a replacement, of {groups}")
            out.append(f"\\g<{number}>")
            at += 1 + len(number)
        else:
            out.append(_literal(char))
            at += 1
    return "".join(out)


def _literal(char: str) -> str:
    return "\\\\" if char == "\\" else char
