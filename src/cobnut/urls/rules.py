"""How does a user write URL rules without writing a plug-in? In a rule file, `rules:FILE` among filters or normalizers.

Filter rules, for `urls.filters`: one rule a line, a sign, a kind and a value. `+` accepts, `-` refuses, the first rule
that matches decides, and a URL that none matches is refused (end with `+ all` to accept it instead).

    # images are not wanted, nor is what one host calls private
    - suffix .png
    > www.example.org
    - path ^/private/
    <
    + host example.org
    + regex ^https?://[^/]*\\.example\\.net/

* `all`: every URL. `host`: this host and all below it. `prefix`, `suffix`: how the URL begins or ends, as written.
* `regex`: found anywhere in the URL; `path`, `pathquery`: found in the path, or in path and query.
* `> HOST`: the rules that follow are asked only for this host and all below it, until `<` or the next `>`.

Normalizer rules, for `urls.normalizers`: a TOML file of `[[rule]]` tables, each with `pattern` and `replace`; every
match is replaced, `\\1` and `\\g<name>` stand for groups. As with every normalizer the result must be stable: of rules
that change their own result again and again, no URL is left.

Regular expressions are Python's, with the classes and the case of ASCII. URLs come normalised. A relative FILE lies in
the crawl's folder.

Not here: what Nutch's files become (`interop.nutch_config`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from cobnut.errors import InputError, MachineError

PREFIX = "rules:"
"""What a name begins with that means a rule file."""

FOLDER = "rules"
"""Where in a crawl's folder its rule files lie, by custom: a backup takes them along."""

MAX_BYTES = 16 * 1024 * 1024
MAX_PATTERN = 65_536

Matches = Callable[[str], bool]
KINDS = ("all", "host", "prefix", "suffix", "regex", "path", "pathquery")

_Rule = tuple[str | None, bool, str, list[str]]
"""Only below this host, accepted?, kind, values: consecutive lines of one kind and sign are one rule."""


def is_rules(name: str) -> bool:
    """Does this name of a filter or normalizer mean a rule file?"""
    return name.startswith(PREFIX)


def shown_name(name: str) -> str:
    """The name as reasons give it: the file without its folders.

    >>> shown_name("rules:/crawls/one/rules/regex.txt"), shown_name("scope")
    ('rules:regex.txt', 'scope')
    """
    return PREFIX + name.rpartition("/")[2].removeprefix(PREFIX) if is_rules(name) else name


def in_folder(name: str, folder: Path) -> str:
    """The name with its file's whole path, when that is relative; other names as they are."""
    return f"{PREFIX}{folder / name.removeprefix(PREFIX)}" if is_rules(name) else name


def filter_file(name: str) -> Matches:
    """The rules of `rules:FILE` as a filter: is this normalised URL refused?"""
    path = name.removeprefix(PREFIX)
    return compile_filter_rules(_text(path), path)


def normalizer_file(name: str) -> Callable[[str], str]:
    """The rules of `rules:FILE` as a normalizer."""
    path = name.removeprefix(PREFIX)
    return compile_normalizer_rules(_text(path), path)


def _text(path: str) -> str:
    remedy = "name a file that is there, or take it out of urls.filters or urls.normalizers"
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise InputError(f"a rule file holds at most {MAX_BYTES >> 20} MiB", where=path)
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"the rule file is not UTF-8 text (byte {error.start})", where=path) from None
    except FileNotFoundError:
        raise InputError("no such rule file", where=path or PREFIX, remedy=remedy) from None
    except IsADirectoryError:
        raise InputError("a rule file is needed, this is a folder", where=path, remedy=remedy) from None
    except (OSError, ValueError) as error:
        raise MachineError(f"cannot read the rule file ({error})", where=path) from error


def compile_filter_rules(text: str, where: str) -> Matches:
    """Filter rules as one function: is this normalised URL refused? An `InputError` names the line that is none."""
    rules = [(below, accepts, _matcher(kind, values)) for below, accepts, kind, values in _merged(text, where)]

    def refuses(url: str) -> bool:
        host = _host(url)
        for below, accepts, matches in rules:
            if (below is None or host == below or host.endswith("." + below)) and matches(url):
                return not accepts
        return True

    return refuses


def _merged(text: str, where: str) -> Iterator[_Rule]:
    """The rules in order; neighbours of one kind and sign as one, since their order does not matter."""
    last: _Rule | None = None
    for rule in _lines(text, where):
        if last is not None and last[:3] == rule[:3]:
            last[3].extend(rule[3])
            continue
        if last is not None:
            yield last
        last = rule
    if last is not None:
        yield last


def _lines(text: str, where: str) -> Iterator[_Rule]:
    below: str | None = None
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        at = f"{where}:{number}"
        sign, rest = line[0], line[1:].removeprefix(" ")
        if sign == ">":
            below = rest.strip().lower().strip(".") or None
        elif sign == "<" and not rest.strip():
            below = None
        elif sign in "+-":
            kind, _, value = rest.partition(" ")
            yield below, sign == "+", kind, [_checked(kind.rstrip(), value, at)]
        else:
            raise InputError(f"not a rule: {line[:60]!r}", where=at, remedy="write + or -, a kind and a value")


def _checked(kind: str, value: str, at: str) -> str:
    """The value of a line, in the form that is compared."""
    if kind not in KINDS:
        raise InputError(f"no kind of rule is called {kind[:40]!r}", where=at, remedy=f"known: {', '.join(KINDS)}")
    if kind == "all":
        return ""
    if not value.strip():
        raise InputError(f"the rule `{kind}` needs a value", where=at)
    if kind == "host":
        return value.strip().lower().strip(".")
    if kind in ("prefix", "suffix"):
        return value.strip()
    compile_pattern(value, at)
    return value


def compile_pattern(pattern: str, where: str) -> re.Pattern[str]:
    """A pattern of a rule file; an `InputError` says what is wrong with it."""
    if len(pattern) > MAX_PATTERN:
        raise InputError(f"a pattern of more than {MAX_PATTERN:,} characters", where=where)
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # what Python means to read otherwise one day
            return re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError, ValueError, FutureWarning) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"not a regular expression ({line}): {pattern[:80]!r}", where=where) from None


def _matcher(kind: str, values: list[str]) -> Matches:
    if kind == "all":
        return lambda url: True
    if kind == "host":
        names = frozenset(values)
        return lambda url: any(name in names for name in _upwards(_host(url)))
    if kind == "prefix":
        beginnings = tuple(values)
        return lambda url: url.startswith(beginnings)
    if kind == "suffix":
        endings = tuple(values)
        return lambda url: url.endswith(endings)
    searches = [re.compile(value, re.ASCII).search for value in values]
    if kind == "regex":
        return lambda url: any(search(url) for search in searches)
    if kind == "path":
        return lambda url: any(search(part) for part in (_path(url).partition("?")[0],) for search in searches)
    return lambda url: any(search(part) for part in (_path(url),) for search in searches)


def _host(url: str) -> str:
    """The host in a normalised URL; an IPv6 address with its brackets."""
    authority = url.partition("://")[2].partition("/")[0]
    if authority.endswith("]"):
        return authority
    return authority.partition(":")[0] if not authority.startswith("[") else authority.rpartition(":")[0]


def _upwards(host: str) -> Iterator[str]:
    """The host and every domain above it."""
    host = host.rstrip(".")
    yield host
    while "." in host:
        host = host.partition(".")[2]
        yield host


def _path(url: str) -> str:
    """Path and query of a normalised URL."""
    start = url.find("/", url.find("://") + 3)
    return url[start:] if start >= 0 else "/"


def compile_normalizer_rules(text: str, where: str) -> Callable[[str], str]:
    """Normalizer rules as one function of a URL. An `InputError` names the rule that is none."""
    try:
        tree = tomllib.loads(text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"not TOML ({error})", where=where) from None
    listed = tree.pop("rule", [])
    if tree or not isinstance(listed, list):
        raise InputError(
            "normalizer rules stand in [[rule]] tables", where=where, remedy="each has pattern and replace"
        )
    rules = tuple(_replacement(rule, f"{where}, rule {number}") for number, rule in enumerate(listed, 1))

    def normalize(url: str) -> str:
        for pattern, replace in rules:
            url = pattern.sub(replace, url)
        return url

    return normalize


def _replacement(rule: object, at: str) -> tuple[re.Pattern[str], str]:
    if not isinstance(rule, dict) or set(rule) != {"pattern", "replace"}:
        raise InputError("a normalizer rule has pattern and replace, nothing else", where=at)
    pattern, replace = rule["pattern"], rule["replace"]
    if not isinstance(pattern, str) or not isinstance(replace, str):
        raise InputError("pattern and replace are texts", where=at)
    compiled = compile_pattern(pattern, at)
    check_replacement(compiled, replace, at)
    return compiled, replace


def check_replacement(pattern: re.Pattern[str], replace: str, where: str) -> None:
    """An `InputError` when the text names a group that the pattern does not have, or an escape that there is not."""
    try:
        pattern.sub(replace, "")  # reads the replacement before it looks for a match
    except (re.error, IndexError, ValueError) as error:
        raise InputError(f"not a replacement ({error}): {replace[:80]!r}", where=where) from None
