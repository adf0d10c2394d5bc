"""What becomes of Nutch's URL filters and normalizers? `urls.filters`, `urls.normalizers`, and rule files named there.

Only files of plug-ins that were in force are taken over. Nutch asks its filters one after the other and each may
refuse, so each becomes a rule file of its own, in the order of `urlfilter.order`. They stand in place of the filter
`suffix`, whose work they did; `scheme`, `length`, `repeat` and `scope` stay.

Not here: the rules themselves (`rulefiles`, `rewrites`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from cobnut.config.sections import UrlSettings
from cobnut.interop.nutch_config import rewrites, rulefiles
from cobnut.interop.nutch_config.folder import Conf, read_text
from cobnut.interop.nutch_config.found import Imported, MadeFile
from cobnut.interop.nutch_config.xmlconf import read_bytes
from cobnut.urls.rules import FOLDER, PREFIX

Value = Callable[[str], str | None]
"""A property's value, None where it is not set."""


class _Source(NamedTuple):
    """A plug-in: its names, the file it reads, the properties that name a file or hold the rules, and the class."""

    plugins: tuple[str, ...]
    names: tuple[str, ...]
    property: str
    short: str
    make: Callable[[bytes, str, str], rulefiles.RuleFile]


def _of_text(
    make: Callable[[str, str, str], rulefiles.RuleFile], data: bytes, source: str, name: str
) -> rulefiles.RuleFile:
    return make(data.decode("utf-8", "replace"), source, name)


_ACCEPTED = partial(rulefiles.domain_rules, accepted=True)
_REFUSED = partial(rulefiles.domain_rules, accepted=False)

FILTERS: tuple[_Source, ...] = (
    _Source(("urlfilter-regex",), ("regex-urlfilter.txt", "crawl-urlfilter.txt"), "urlfilter.regex",
            "RegexURLFilter", partial(_of_text, rulefiles.regex_rules)),
    _Source(("urlfilter-automaton",), ("automaton-urlfilter.txt",), "urlfilter.automaton",
            "AutomatonURLFilter", partial(_of_text, rulefiles.automaton_rules)),
    _Source(("urlfilter-prefix",), ("prefix-urlfilter.txt",), "urlfilter.prefix",
            "PrefixURLFilter", partial(_of_text, rulefiles.prefix_rules)),
    _Source(("urlfilter-suffix",), ("suffix-urlfilter.txt",), "urlfilter.suffix",
            "SuffixURLFilter", partial(_of_text, rulefiles.suffix_rules)),
    _Source(("urlfilter-domain",), ("domain-urlfilter.txt",), "urlfilter.domain",
            "DomainURLFilter", partial(_of_text, _ACCEPTED)),
    _Source(("urlfilter-domaindenylist",), ("domaindenylist-urlfilter.txt",), "urlfilter.domaindenylist",
            "DomainDenylistURLFilter", partial(_of_text, _REFUSED)),
    _Source(("urlfilter-domainblacklist",), ("domainblacklist-urlfilter.txt",), "urlfilter.domainblacklist",
            "DomainBlacklistURLFilter", partial(_of_text, _REFUSED)),
    _Source(("urlfilter-fast",), ("fast-urlfilter.txt",), "urlfilter.fast",
            "FastURLFilter", partial(_of_text, rulefiles.fast_rules)),
)  # fmt: skip

NORMALIZERS: tuple[_Source, ...] = (
    _Source(("urlnormalizer-regex",), ("regex-normalize.xml",), "urlnormalizer.regex",
            "RegexURLNormalizer", rewrites.regex_rewrites),
    _Source(("urlnormalizer-host",), ("host-urlnormalizer.txt",), "urlnormalizer.hosts",
            "HostURLNormalizer", partial(_of_text, rewrites.host_rewrites)),
    _Source(("urlnormalizer-protocol",), ("protocols.txt",), "urlnormalizer.protocols",
            "ProtocolURLNormalizer", partial(_of_text, rewrites.protocol_rewrites)),
)  # fmt: skip

_BUILT_IN = (("urlnormalizer-basic", "BasicURLNormalizer", "basic"),
             ("urlnormalizer-querystring", "QuerystringURLNormalizer", "sort_query"))  # fmt: skip


def take_filters(conf: Conf, value: Value, active: frozenset[str], into: Imported) -> None:
    """Sets `urls.filters`, when there is a filter file in force."""
    made = _taken(FILTERS, conf, value, active, into, ".txt")
    order = _order(value("urlfilter.order"))
    names = [name for _, name in sorted(made.items(), key=lambda item: (order.get(item[0], len(order)), 0))]
    if names:
        into.settings["urls.filters"] = ("scheme", "length", *names, "repeat", "scope")


def take_normalizers(conf: Conf, value: Value, active: frozenset[str], into: Imported) -> None:
    """Sets `urls.normalizers`, when it is not what it is by default."""
    order = _order(value("urlnormalizer.order"))
    made = [(short, name) for plugin, short, name in _BUILT_IN if plugin in active]
    made += _taken(NORMALIZERS, conf, value, active, into, ".toml").items()
    names = [name for _, name in sorted(made, key=lambda item: order.get(item[0].lower(), len(order)))]
    if "basic" not in names:
        into.notes.append(
            "urlnormalizer-basic was not in force; here `basic` always is: it changes only how a URL is written"
        )
        names.insert(0, "basic")
    if (value("urlnormalizer.basic.host.trim-trailing-dot") or "").strip().lower() == "true":
        names.append("trailing_dot")
    for plugin in ("urlnormalizer-slash", "urlnormalizer-ajax"):
        if plugin in active:
            into.notes.append(f"{plugin} has no counterpart")
    if tuple(names) != UrlSettings().normalizers:
        into.settings["urls.normalizers"] = tuple(names)


def _order(text: str | None) -> Mapping[str, int]:
    """Place by class name, without its package and in lower case (0.7 wrote Url for URL)."""
    return {name.rpartition(".")[2].lower(): place for place, name in enumerate((text or "")[:20_000].split())}


def _taken(
    sources: tuple[_Source, ...], conf: Conf, value: Value, active: frozenset[str], into: Imported, ending: str
) -> dict[str, str]:
    """Rule files made of the files in force: class name in lower case -> name among filters or normalizers."""
    taken: dict[str, str] = {}
    for source in sources:
        in_force = any(plugin in active for plugin in source.plugins)
        inline = value(f"{source.property}.rules") or ""
        named = value(f"{source.property}.file")
        found = [path for name in ((named,) if named else source.names) if name and (path := conf.file(name))]
        if in_force and inline.strip():
            place = f"{source.property}.rules"
            _add(source, source.names[0], inline.encode(), place, into, taken, ending)
            passed_over, why = found, f"not read: {place} goes before it"
        elif in_force and found:
            data = read_bytes(found[0]) if found[0].suffix == ".xml" else read_text(found[0]).encode()
            _add(source, found[0].name, data, str(found[0]), into, taken, ending)
            passed_over, why = (
                found[1:],
                f"not read: {found[0].name} goes before it; {source.property}.file may name it",
            )
        else:
            passed_over, why = found, f"not read: {source.plugins[0]} is not in plugin.includes"
            if in_force and named:
                into.notes.append(f"{source.property}.file: there is no {named.strip()[:100]!r} in {conf.folder}")
        into.files += [MadeFile(str(path), None, 0, [], why) for path in passed_over]
    return taken


def _add(
    source: _Source, name: str, data: bytes, place: str, into: Imported, taken: dict[str, str], ending: str
) -> None:
    target = f"{FOLDER}/{name.rpartition('.')[0] or name}{ending}"
    made = source.make(data, place, target)
    note = "" if made.rules or "\n+ all\n" in made.text else "it holds no rule"
    if not made.rules and source in NORMALIZERS:
        into.files.append(MadeFile(place, None, 0, made.lost, "it holds no rule"))
        return
    if note and source in FILTERS:
        note = "it holds no rule, and so refuses every URL, as it did in Nutch"
    into.texts[target] = made.text
    into.files.append(MadeFile(place, target, made.rules, made.lost, note))
    taken[source.short.lower()] = f"{PREFIX}{target}"
