"""What do properties mean that only count together? The agent, the proxy, the delay, the scope, and files of schedules.

Not here: properties that stand for themselves (`properties`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from cobnut.config.checks import RANGES, problem_with
from cobnut.config.load import known_keys
from cobnut.config.template import toml_value
from cobnut.interop.nutch_config.folder import Conf, read_text
from cobnut.interop.nutch_config.found import Became, Imported, MadeFile
from cobnut.interop.nutch_config.values import count, fitted, number

Values = Mapping[str, str]


def take(values: Values, conf: Conf, into: Imported) -> None:
    """Everything here but the scope."""
    of = {one.property: one for one in into.properties}
    _agent(values, of, into)
    _proxy(values, of, into)
    _delay(values, of, into)
    _longest_interval(values, of, into)
    _most_per_host(values, of, into)
    _schedules(values, conf, of, into)


def scope(values: Values, into: Imported) -> None:
    """`crawl.scope`, as `db.ignore.external.links` has it; where only filter files are given, these decide alone."""
    of = {one.property: one for one in into.properties}
    told = of.get("db.ignore.external.links")
    mode = of.get("db.ignore.external.links.mode")
    ignored = values.get("db.ignore.external.links", "").strip().lower()
    if told is not None and ignored in ("true", "false"):
        by_domain = values.get("db.ignore.external.links.mode", "").strip().lower() == "bydomain"
        kind = "web" if ignored == "false" else "domain" if by_domain else "host"
        _put((told,), "crawl.scope", kind, into)
        if mode is not None and kind != "web":
            mode.became = list(told.became)
        elif mode is not None:
            mode.verdict, mode.note = "kept", "links to other hosts are followed"
    elif told is not None:
        told.verdict, told.note = "wrong", "neither true nor false"
    elif "urls.filters" in into.settings:
        into.settings["crawl.scope"] = "web"
        into.notes.append(
            'crawl.scope = "web": Nutch follows every link that its filters accept; "host" stays with the seeds'
        )
    if mode is not None and told is None:
        mode.verdict, mode.note = "kept", "counts only with db.ignore.external.links"


def _put(ones: tuple[Became | None, ...], key: str, value: Any, into: Imported, note: str = "") -> None:
    """A setting that these properties made together."""
    wrong = problem_with(key, value)
    for one in ones:
        if one is None:
            continue
        if wrong is not None:
            one.verdict, one.note = "wrong", f"{key}: {wrong}"
            continue
        one.became.append(f"{key} = {toml_value(value)}")
        one.note = note or one.note
    if wrong is None:
        into.settings[key] = value


def _agent(values: Values, of: Mapping[str, Became], into: Imported) -> None:
    if (one := of.get("http.agent.name")) is not None:
        told = values[one.property].strip()
        name = re.sub(r"[^A-Za-z_-]+", "-", told).strip("-")[:64]
        if not name:
            one.verdict, one.note = ("kept", "it is empty") if not told else ("wrong", "no letter is left of it")
        else:
            note = "" if name == told else (
                f"{told[:80]!r} is no product token (RFC 9309): robots.txt files that name it do not reach {name!r}"
            )  # fmt: skip
            _put((one,), "fetcher.agent_name", name, into, note)
    url = values.get("http.agent.url", "").strip()
    if (one := of.get("http.agent.url")) is not None:
        if url:
            _put((one,), "fetcher.agent_url", url, into)
        else:
            one.verdict, one.note = "kept", "it is empty"
    if (one := of.get("http.agent.email")) is not None:
        told = values[one.property].strip()
        if told:
            plain = (
                re.sub(r"\s*[(\[{<]?\s*\b(?:at|AT)\b\s*[)\]}>]?\s*", "@", told[:200], count=1)
                if "@" not in told
                else told
            )
            plain = re.sub(r"\s*[(\[{<]?\s*\b(?:dot|DOT)\b\s*[)\]}>]?\s*", ".", plain)
            _put((one,), "fetcher.agent_contact", plain, into)
        else:
            one.verdict, one.note = "kept", "it is empty"
    if "fetcher.agent_contact" not in into.settings and "fetcher.agent_url" in into.settings:
        _put((of.get("http.agent.url"),), "fetcher.agent_contact", url, into, "as contact too: no address is given")


def _proxy(values: Values, of: Mapping[str, Became], into: Imported) -> None:
    host, port = values.get("http.proxy.host", "").strip(), values.get("http.proxy.port", "").strip()
    ones = (of.get("http.proxy.host"), of.get("http.proxy.port"))
    if not host:
        for one in ones:
            if one is not None:
                one.verdict, one.note = "kept", "no proxy host is named"
        return
    _put(ones, "fetcher.proxy", f"http://{host}:{port or '8080'}", into)


def _delay(values: Values, of: Mapping[str, Became], into: Imported) -> None:
    """With several connections to a host the least delay counts, otherwise the delay."""
    several = into.settings.get("fetcher.connections_per_host", 1) > 1
    used, unused = ("fetcher.server.min.delay", "fetcher.server.delay")[:: 1 if several else -1]
    if (one := of.get(used)) is not None:
        _number((one,), "fetcher.delay_s", values[used], into)
    if (one := of.get(unused)) is not None:
        one.verdict = "kept"
        one.note = f"{'several threads work' if several else 'one thread works'} on a host: {used} counts"


def _number(ones: tuple[Became], key: str, text: str, into: Imported, read: Callable[[str], float] = number) -> None:
    try:
        value, note = fitted(read(text), known_keys()[key], *RANGES[key])
    except ValueError as error:
        for one in ones:
            one.verdict, one.note = "wrong", str(error)
        return
    _put(ones, key, value, into, note)


def _longest_interval(values: Values, of: Mapping[str, Became], into: Imported) -> None:
    """Of two longest intervals the shorter one counts."""
    one = of.get("db.fetch.schedule.adaptive.max_interval")
    if one is None:
        return
    general = into.settings.get("db.max_interval_s")
    _number((one,), "db.max_interval_s", values[one.property], into)
    if general is not None and into.settings["db.max_interval_s"] >= general:
        into.settings["db.max_interval_s"] = general
        one.verdict, one.became, one.note = "kept", [], "db.fetch.interval.max is not longer, and counts"
    elif general is not None and (other := of.get("db.fetch.interval.max")) is not None:
        other.verdict, other.became = "kept", []
        other.note = "db.fetch.schedule.adaptive.max_interval is shorter, and counts"


def _most_per_host(values: Values, of: Mapping[str, Became], into: Imported) -> None:
    """Counted by host, by domain, or (in Nutch only) by address."""
    mode = values.get("generate.count.mode", "host").strip().lower()
    if (one := of.get("generate.count.mode")) is not None and mode not in ("host", "domain"):
        one.verdict, one.note = "wrong", "URLs are counted by host or by domain"
        return
    if (most := of.get("generate.max.count")) is not None:
        key = f"generate.max_per_{mode}"
        _number((most,), key, values["generate.max.count"], into, count)
        if one is not None:
            one.became = list(most.became)


_FILES = (
    (
        "adaptive-mimetypes.txt",
        "db.fetch.schedule.mime.file",
        "db.media_type_schedules",
        "{0} increase={1} decrease={2}",
    ),
    ("adaptive-host-specific-intervals.txt", "", "db.host_schedules", "{0} min={1}s max={2}s"),
)


def _schedules(values: Values, conf: Conf, of: Mapping[str, Became], into: Imported) -> None:
    """Files of three words a line: a media type or host, and two numbers."""
    for default, named, key, form in _FILES:
        path = conf.file(values.get(named, "").strip() or default)
        one = of.get(named)
        if path is None:
            if one is not None:
                one.verdict, one.note = "wrong", "there is no such file in the folder"
            continue
        mime = values.get("db.fetch.schedule.class", "").strip().endswith("MimeAdaptiveFetchSchedule")
        if into.settings.get("db.schedule") != "adaptive" or (named and not mime):
            into.files.append(MadeFile(str(path), None, 0, [], "not read: the schedule that reads it is not in force"))
            continue
        entries, lost = [], []
        for place, line in enumerate(read_text(path).split("\n"), 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            entry = form.format(*words) if len(words) == 3 else ""
            wrong = problem_with(key, (entry,)) if entry else "three words are needed"
            if wrong is None:
                entries.append(entry)
            else:
                shown = "".join(c if c.isprintable() else "?" for c in line)[:200]
                lost.append(f"{path}:{place}: {shown}: {wrong}")
        if entries:
            _put((one,), key, tuple(entries), into)
        into.files.append(MadeFile(str(path), key if entries else None, len(entries), lost, ""))
