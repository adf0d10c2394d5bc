"""What do Nutch's normalizer files become? Normalizer rules of `urls.rules`, in their order.

`regex-normalize.xml` has Java patterns and substitutions; `host-urlnormalizer.txt` replaces hosts (`*.example.org` is
every host below) and `protocols.txt` sets the scheme of hosts.

Not here: filters (`rulefiles`).
"""

from __future__ import annotations

import re

from cobnut.config.template import toml_value
from cobnut.errors import InputError
from cobnut.interop.nutch_config.javaregex import UntranslatableError, replacement_to_python, to_python
from cobnut.interop.nutch_config.rulefiles import RuleFile
from cobnut.interop.nutch_config.xmlconf import elements
from cobnut.urls.rules import compile_normalizer_rules

_HOST = re.compile(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*", re.ASCII)


def regex_rewrites(data: bytes, source: str, name: str) -> RuleFile:
    """regex-normalize.xml: `<regex>`es of `<pattern>` and `<substitution>`."""
    rules: list[tuple[str, str]] = []
    lost: list[str] = []
    all_elements = elements(data, source)
    if all_elements[-1].tag != "regex-normalize":
        raise InputError(f"no normalizer rules: the root is <{all_elements[-1].tag[:40]}>", where=source)
    fields: dict[str, str] = {}
    for element in all_elements:
        if element.tag in ("pattern", "substitution") and element.parents[-1:] == ("regex",):
            fields[element.tag] = element.text
        if element.tag != "regex":
            continue
        pattern, substitution = fields.get("pattern", ""), fields.get("substitution", "")
        fields = {}
        try:
            if not pattern:
                raise UntranslatableError("there is no pattern")
            made = to_python(pattern)
            rules.append((made, replacement_to_python(substitution, made)))
        except UntranslatableError as error:
            shown = "".join(c if c.isprintable() else "?" for c in pattern)[:200]
            lost.append(f"{source}:{element.line}: {shown}: {error}")
    return _file(name, source, rules, lost)


def host_rewrites(text: str, source: str, name: str) -> RuleFile:
    """host-urlnormalizer.txt: the host as it is and what it becomes, parted by blanks."""
    return _by_host(text, source, name, _HOST, "^(https?://){}(?=[:/]|$)", "\\g<1>{}")


def protocol_rewrites(text: str, source: str, name: str) -> RuleFile:
    """protocols.txt: a host and the scheme that its URLs get."""
    return _by_host(text, source, name, re.compile("https?"), "^https?://({})(?=[:/]|$)", "{}://\\g<1>")


def _by_host(text: str, source: str, name: str, allowed: re.Pattern[str], pattern: str, replacement: str) -> RuleFile:
    """Two words a line; `{}` in the pattern is the first, a host, and in the replacement the second."""
    rules: list[tuple[str, str]] = []
    lost: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        host, target = words[0].lower(), words[1].lower() if len(words) == 2 else ""
        if len(words) != 2 or not _HOST.fullmatch(host) or not allowed.fullmatch(target):
            shown = "".join(c if c.isprintable() else "?" for c in line)[:200]
            lost.append(f"{source}:{number}: {shown}: a host and what it becomes are needed")
            continue
        own = re.escape(host.removeprefix("*."))
        own = f"(?:[^/?#@:]*\\.)?{own}" if host.startswith("*.") else own
        rules.append((pattern.replace("{}", own), replacement.replace("{}", target)))
    return _file(name, source, rules, lost)


def _file(name: str, source: str, rules: list[tuple[str, str]], lost: list[str]) -> RuleFile:
    lines = [f"# made by `cobnut import nutch-config` from {source}"]
    lines += [f"# no form here: {why}" for why in lost]
    for pattern, replacement in rules:
        lines.append(f"\n[[rule]]\npattern = {toml_value(pattern)}\nreplace = {toml_value(replacement)}")
    text = "\n".join(lines) + "\n"
    compile_normalizer_rules(text, name)  # what is written must be readable
    return RuleFile(name, text, len(rules), lost)
