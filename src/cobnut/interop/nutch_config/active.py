"""Which plug-ins were in force?

`plugin.includes` is a regular expression of names. It is not run: a hostile one could take for ever. Read is what
configurations hold: alternatives, groups, and `.*`; of anything else only the names that it spells out.

Not here: what the plug-ins become (`chains`).
"""

from __future__ import annotations

import re

IDS = (
    "urlfilter-regex", "urlfilter-automaton", "urlfilter-prefix", "urlfilter-suffix", "urlfilter-domain",
    "urlfilter-domainblacklist", "urlfilter-domaindenylist", "urlfilter-fast", "urlfilter-validator",
    "urlnormalizer-basic", "urlnormalizer-regex", "urlnormalizer-host", "urlnormalizer-protocol",
    "urlnormalizer-querystring", "urlnormalizer-pass", "urlnormalizer-slash", "urlnormalizer-ajax",
    "scoring-opic", "scoring-depth", "scoring-link", "scoring-orphan", "scoring-similarity", "scoring-metadata",
    "urlmeta",
)  # fmt: skip
"""Plug-ins whose place is asked for here."""

BY_DEFAULT = frozenset(
    (
        "urlfilter-regex", "urlfilter-validator", "urlnormalizer-basic", "urlnormalizer-regex", "urlnormalizer-pass",
        "scoring-opic",
    )
)  # fmt: skip
"""What Nutch has in force when nothing is said."""

_PLAIN = re.compile(r"(?:[\w|()-]|\(\?:|\.\*|\.\+|\\[.-])*", re.ASCII)
_MOST_STARS = 3
_LONGEST = 20_000


def active_plugins(includes: str | None, normalizer_class: str = "") -> frozenset[str]:
    """The names, among `IDS`, that `plugin.includes` covers; None: it is not set.

    0.7 had no plug-ins for normalizers: `urlnormalizer.class` named the one in force.

    >>> sorted(active_plugins("protocol-http|urlfilter-(regex|suffix)|urlnormalizer-.*"))[:2]
    ['urlfilter-regex', 'urlfilter-suffix']
    """
    if includes is None:
        found = BY_DEFAULT
    else:
        pattern = "".join(includes.split())[:_LONGEST]
        stars = max(
            (alternative.count(".*") + alternative.count(".+") for alternative in pattern.split("|")), default=0
        )
        readable = _PLAIN.fullmatch(pattern) is not None and stars <= _MOST_STARS and pattern.count("(") < 100
        found = frozenset(name for name in IDS if (_matches if readable else _named)(pattern, name))
    if not any(name.startswith("urlnormalizer-") for name in found) and "urlnormalizer" not in (includes or ""):
        regex = normalizer_class.rpartition(".")[2] == "RegexUrlNormalizer"
        found |= {"urlnormalizer-basic", *(["urlnormalizer-regex"] if regex else [])}
    return found


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.fullmatch(pattern, name, re.ASCII) is not None
    except (re.error, OverflowError, RecursionError):
        return _named(pattern, name)


def _named(pattern: str, name: str) -> bool:
    """Is the name spelt out, whole or with its kind before a group that has it?"""
    kind, _, own = name.partition("-")
    if name in re.findall(r"[\w-]+", pattern):
        return True
    groups = re.findall(rf"{kind}-\(([^()]*)\)", pattern)
    return any(own in group.split("|") for group in groups)
