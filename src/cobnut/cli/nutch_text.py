"""How is a record of Nutch shown to a person?

A line for its key, then what it says, indented: terse, times as ISO 8601. Texts and bodies stand behind a bar and are
cut unless they are asked for whole. Everything was written by strangers, so every line is made safe for a terminal.

Not here: the records (`interop.listing`); JSON (`cli.rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cobnut.inspect.show import iso_time, plain
from cobnut.interop.listing_url import url_of
from cobnut.interop.nutch1.statuses import PARSE_NAMES, PROTOCOL_NAMES

CUT = 200
"""Characters of a text or body that are shown when not the whole is asked for."""
DAY_S = 86_400
NEVER = (1 << 63) - 1
_BODY_BYTES = 1 << 16
Fields = dict[str, Any]


def lines(key: Any, value: Any, whole: bool) -> Iterator[str]:
    """A record as lines that are safe to print; *whole*: nothing is cut."""
    yield plain(_heading(key, value))
    shown = key if value is None else value
    if isinstance(shown, dict):
        for line in _teller(shown)(shown, whole):
            yield f"  {line}"
    elif value is not None:
        yield f"  {plain(str(value))}"


def _heading(key: Any, value: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, dict):
        if "fromID" in key:
            return f"{key['fromID']} -> {key['url']}"
        return str(key.get("url", key.get("value", key.get("hex", key))))
    url = url_of(value)
    return f"{key}" if url is None else f"{key}  {url}"


def _teller(value: Fields) -> Callable[[Fields, bool], Iterator[str]]:
    """By a field that only this record has."""
    for field, teller in _TELLERS.items():
        if field in value:
            return teller
    return _any_record


def _datum(value: Fields, whole: bool) -> Iterator[str]:
    when = "due" if value["status"] <= 0x1F else "at"
    yield _join(
        f"{value['statusName']} ({value['status']})", f"{when} {_time(value['fetchTime'])}",
        f"every {_interval(value['fetchInterval'])}", f"score {value['score']}",
        f"retries {value['retries']}" if value["retries"] else "",
        f"modified {_time(value['modifiedTime'])}" if value["modifiedTime"] else "",
        f"signature {value['signature']}" if value["signature"] else "",
    )  # fmt: skip
    yield from _typed_map(value["metadata"])


def _page(value: Fields, whole: bool) -> Iterator[str]:
    yield _join(
        f"md5 {value['md5']}", f"due {_time(value['nextFetch'])}", f"every {value['fetchIntervalDays']} days",
        f"score {value['score']}", f"next score {value['nextScore']}", f"outlinks {value['numOutlinks']}",
        f"retries {value['retries']}" if value["retries"] else "",
    )  # fmt: skip


def _link(value: Fields, whole: bool) -> Iterator[str]:
    yield _join(
        f"anchor {_quoted(value['anchor'])}", f"domain {value['domainID']}",
        "target has links" if value["targetHasOutlink"] else "",
    )  # fmt: skip


def _entry(value: Fields, whole: bool) -> Iterator[str]:
    yield _join(
        "to be fetched" if value["fetch"] else "not to be fetched",
        *(f"anchor {_quoted(anchor)}" for anchor in value["anchors"]),
    )
    yield from _page(value["page"], whole)


def _output(value: Fields, whole: bool) -> Iterator[str]:
    yield _join(
        f"fetched {_time(value['fetchDate'])}", f"protocol status {_status(value['protocolStatus'])}",
        f"md5 {value['md5']}",
    )  # fmt: skip
    yield from _entry(value["fetchListEntry"], whole)


def _content(value: Fields, whole: bool) -> Iterator[str]:
    size = len(value["contentHex"]) // 2
    yield _join(
        plain(value["contentType"]) or "no type", f"{size:,} bytes",
        f"base {plain(value['base'])}" if value["base"] != value["url"] else "",
    )  # fmt: skip
    yield from _metadata(value["metadata"])
    body = bytes.fromhex(value["contentHex"] if whole else value["contentHex"][: 2 * _BODY_BYTES])
    if b"\0" in body[:1024]:
        yield f"| {body[:32].hex()}… (no text)"
    elif body:
        yield from _text(_decoded(body), whole)


def _parse_data(value: Fields, whole: bool) -> Iterator[str]:
    yield _join(f"parse status {_status(value['status'])}", f"title {_quoted(value['title'])}")
    for link in value["outlinks"]:
        yield _join(f"to {plain(link['toUrl'])}", f"anchor {_quoted(link['anchor'])}" if link["anchor"] else "")
        yield from _typed_map(link.get("metadata") or {}, "    ")
    for name in ("metadata", "contentMeta", "parseMeta"):
        yield from _metadata(value.get(name, {}))


def _parse_text(value: Fields, whole: bool) -> Iterator[str]:
    yield from _text(value["text"] or "", whole)


def _inlinks(value: Fields, whole: bool) -> Iterator[str]:
    for link in value["inlinks"]:
        yield _join(f"from {plain(link['fromUrl'])}", f"anchor {_quoted(link['anchor'])}" if link["anchor"] else "")
        yield from _typed_map(link["metadata"] or {}, "    ")


def _link_datum(value: Fields, whole: bool) -> Iterator[str]:
    kind = {1: "from", 2: "to"}.get(value["linkType"], f"type {value['linkType']}")
    yield _join(
        f"{kind} {plain(value['url'])}", f"anchor {_quoted(value['anchor'])}" if value["anchor"] else "",
        f"score {value['score']}", f"at {_time(value['timestamp'])}",
    )  # fmt: skip


def _any_record(value: Fields, whole: bool) -> Iterator[str]:
    """Field by field: a host, a node, a value whose class is not known."""
    for name, field in value.items():
        if name == "metadata" and isinstance(field, dict):
            typed = any(isinstance(inner, dict) for inner in field.values())
            yield from _typed_map(field) if typed else _metadata(field)
        elif name == "hex" and not whole and len(field) > CUT:
            yield f"hex {field[:CUT]}…"
        elif name == "lastCheck":
            yield f"lastCheck {_time(field) if field else 'never'}"
        else:
            yield f"{name} {plain(str(field))}"


_TELLERS: dict[str, Callable[[Fields, bool], Iterator[str]]] = {
    "statusName": _datum, "nextFetch": _page, "fromID": _link, "protocolStatus": _output, "fetch": _entry,
    "contentHex": _content, "outlinks": _parse_data, "text": _parse_text, "inlinks": _inlinks, "linkType": _link_datum,
}  # fmt: skip


def _join(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _quoted(text: str | None) -> str:
    return f'"{plain(text or "")}"'


def _time(ms: int) -> str:
    if ms == NEVER:
        return "never"
    return iso_time(ms) or "-"


def _interval(seconds: int) -> str:
    days, rest = divmod(seconds, DAY_S)
    return f"{seconds} s" if rest or not days else "day" if days == 1 else f"{days} days"


def _status(status: Fields) -> str:
    """A protocol status or a parse status: its codes and what they are about."""
    if "code" in status:
        name, code = PROTOCOL_NAMES.get(status["code"], "unknown"), str(status["code"])
    else:
        name, code = PARSE_NAMES.get(status["major"], "unknown"), f"{status['major']}/{status['minor']}"
    args = "; ".join(plain(str(arg)) for arg in status["args"] or ())
    modified = f", modified {_time(status['lastModified'])}" if status.get("lastModified") else ""
    return f"{name} ({code}){modified}" + (f": {args}" if args else "")


def _typed_map(values: Fields, indent: str = "  ") -> Iterator[str]:
    for name, value in values.items():
        if "code" in value:
            shown = _status(value)
        elif isinstance(value.get("value"), dict):
            yield f"{indent}{plain(name)}:"
            yield from _typed_map(value["value"], indent + "  ")
            continue
        elif name == "_ngt_" and isinstance(value.get("value"), int):
            shown = _time(value["value"])
        else:
            shown = plain(str(value.get("value", value.get("hex", ""))))
        yield f"{indent}{plain(name)} = {shown}"


def _metadata(values: Fields) -> Iterator[str]:
    """Header fields: a string each, or several."""
    for name, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            yield f"  {plain(name)} = {plain(one)}"


def _text(text: str, whole: bool) -> Iterator[str]:
    cut = text if whole or len(text) <= CUT else text[:CUT] + "…"
    for line in cut.splitlines():
        yield f"| {plain(line)}"


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("windows-1252", "replace")
