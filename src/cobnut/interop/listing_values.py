"""What does a record of Nutch look like as JSON?

`decoders` gives, for one file, what turns the bytes of keys and values into values that JSON can hold. Fields have the
names of Nutch's own classes: those of 0.7 say their class in "type", those of later versions do not. Floats come as the
shortest number that means the same 32 bits, most with the bits themselves beside them (`scoreBits`); NaN and the
infinities, which JSON has not, as strings. Bytes are hex. Values of a metadata map keep their Writable's class.

A class that is not known is shown as its bytes: `{"type", "length", "hex"}`.

Not here: reading files (`listing`, `hadoop`); showing it to a person (`cli.nutch_text`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any

from cobnut.interop import nutch07, nutch1
from cobnut.interop.found import Header, short_class
from cobnut.interop.hadoop import DataInput
from cobnut.interop.hadoop.data import float_bits
from cobnut.interop.hadoop.header import full_class_name
from cobnut.interop.hadoop.mapwritable import FLOAT, Key, MapWritable, TypedValue

Json = Any
Decode = Callable[[bytes], Json]
_FLOAT = struct.Struct(">f")


def decoders(header: Header) -> tuple[Decode, Decode, tuple[str, ...]]:
    """For a file with this header: key and value from bytes to JSON, and the classes that are not known here.

    The functions belong to one file: they remember in which layout its values lie. Bytes that are no such value are
    a `FormatError`.
    """
    unknown: list[str] = []
    return (
        _decoder(header.key_class, header, unknown),
        _decoder(header.value_class, header, unknown),
        tuple(unknown),
    )


def _decoder(name: str, header: Header, unknown: list[str]) -> Decode:
    short = short_class(name)
    if header.layout == "0.7":
        old = _OLD.get(short)
        if old is not None:
            return old
    elif short in _NEW:
        reader, fields = nutch1.ValueReader(_FULL_NAMES[short]), _NEW[short]
        return lambda value: fields(reader(value))
    elif short in _TEXTS:
        return _TEXTS[short]
    elif short in _WRAPPED:
        return _wrapped(full_class_name(name, header.version), _WRAPPED[short])
    unknown.append(name)
    return lambda value: {"type": name, "length": len(value), "hex": value.hex()}


def record_reader(header: Header) -> Callable[[bytes], Any] | None:
    """What makes records (objects) of the values of a file with this header; None: they are no records of Nutch."""
    short = short_class(header.value_class)
    if header.layout == "0.7":
        record = nutch07.RECORDS.get(short)
        return None if record is None else record.decode
    return nutch1.ValueReader(_FULL_NAMES[short]) if short in _NEW else None


def java_float(value: float) -> Json:
    """The shortest number that means the same 32-bit float.

    >>> java_float(0.23789770901203156), java_float(1.0), java_float(float("nan"))
    (0.23789771, 1.0, 'NaN')
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    pattern = _FLOAT.pack(value)
    for digits in (6, 7, 8):
        short = float(f"{value:.{digits}g}")
        try:
            if _FLOAT.pack(short) == pattern:
                return short
        except OverflowError:
            continue
    return float(f"{value:.9g}")


def _record(record: type[nutch07.Record], fields: Callable[[Any], Json]) -> Decode:
    return lambda value: fields(record.decode(value))


def _primitive(read: Callable[[DataInput], Json]) -> Decode:
    def decode(value: bytes) -> Json:
        data = DataInput(value)
        plain = read(data)
        data.finish("value")
        return plain

    return decode


def _wrapped(name: str, read: Callable[[DataInput], Json]) -> Decode:
    """A plain value of Hadoop's, with its class."""
    decode = _primitive(read)
    return lambda value: typed(TypedValue(name, decode(value)))


# 0.7


def page_07(page: nutch07.Page) -> Json:
    return {
        "type": "Page", "url": page.url, "md5": page.md5.hex(), "nextFetch": page.next_fetch, "retries": page.retries,
        "fetchIntervalDays": page.fetch_interval_days, "numOutlinks": page.num_outlinks,
        "score": java_float(page.score), "scoreBits": float_bits(page.score),
        "nextScore": java_float(page.next_score), "nextScoreBits": float_bits(page.next_score),
    }  # fmt: skip


def link_07(link: nutch07.Link) -> Json:
    return {
        "type": "Link", "fromID": link.from_id.hex(), "url": link.url, "domainID": link.domain_id,
        "anchor": link.anchor, "targetHasOutlink": link.target_has_outlink,
    }  # fmt: skip


def _entry_07(entry: nutch07.FetchListEntry) -> Json:
    return {
        "type": "FetchListEntry", "fetch": entry.fetch, "page": page_07(entry.page), "anchors": list(entry.anchors),
    }  # fmt: skip


def _output_07(output: nutch07.FetcherOutput) -> Json:
    status = output.protocol_status
    return {
        "type": "FetcherOutput", "fetchListEntry": _entry_07(output.fetch_list_entry), "md5": output.md5.hex(),
        "protocolStatus": {"code": status.code, "lastModified": status.last_modified, "args": status.args},
        "fetchDate": output.fetch_date,
    }  # fmt: skip


def _content_07(content: nutch07.Content) -> Json:
    return {
        "type": "Content", "url": content.url, "base": content.base, "contentType": content.content_type,
        "contentHex": content.content.hex(), "metadata": dict(content.metadata),
    }  # fmt: skip


def _parse_data_07(data: nutch07.ParseData) -> Json:
    return {
        "type": "ParseData", "status": _parse_status(data.status), "title": data.title,
        "outlinks": [{"toUrl": link.to_url, "anchor": link.anchor} for link in data.outlinks],
        "metadata": dict(data.metadata),
    }  # fmt: skip


# 0.8 and later


def typed(value: TypedValue) -> Json:
    """A value with its class; a status with its fields, a float with its bits, bytes as hex."""
    name, plain = value.class_name, value.value
    if isinstance(plain, nutch1.ProtocolStatus):
        status = {"code": plain.code, "name": plain.name, "lastModified": plain.last_modified, "args": plain.args}
        return {"type": name, **status}
    if isinstance(plain, bytes):
        return {"type": name, "hex": plain.hex()}
    if isinstance(plain, MapWritable):
        return {"type": name, "value": metadata_map(plain)}
    if isinstance(plain, float):
        if name == FLOAT:
            return {"type": name, "value": java_float(plain), "bits": float_bits(plain)}
        return {"type": name, "value": plain if plain - plain == 0 else java_float(plain)}
    if plain is None or isinstance(plain, bool | int | str):
        return {"type": name, "value": plain}
    return {"type": name, "hex": plain.to_bytes().hex()}


def metadata_map(values: MapWritable | None) -> dict[str, Json]:
    """A map by the text of its keys; a key that is no Text and takes another's name has its class added."""
    shown: dict[str, Json] = {}
    if values is not None:
        for key, value in values.items():
            name = _name_of(key)
            if name in shown and isinstance(key, TypedValue):
                name = f"{name} ({short_class(key.class_name)})"
            shown[name] = typed(value)
    return shown


def _name_of(key: Key) -> str:
    if isinstance(key, str):
        return key
    return key.value.hex() if isinstance(key.value, bytes) else str(key.value)


def _metadata(metadata: nutch1.Metadata) -> dict[str, list[str]]:
    return {name: list(values) for name, values in metadata.values.items()}


def _parse_status(status: nutch1.ParseStatus | nutch07.ParseStatus) -> Json:
    return {"major": status.major, "minor": status.minor, "args": status.args}


def datum(record: nutch1.CrawlDatum) -> Json:
    return {
        "status": record.status, "statusName": record.status_name, "fetchTime": record.fetch_time,
        "modifiedTime": record.modified_time, "retries": record.retries, "fetchInterval": record.fetch_interval,
        "score": java_float(record.score), "scoreBits": float_bits(record.score),
        "signature": None if record.signature is None else record.signature.hex(),
        "metadata": metadata_map(record.metadata),
    }  # fmt: skip


def _content(content: nutch1.Content) -> Json:
    return {
        "url": content.url, "base": content.base, "contentType": content.content_type, "length": len(content.content),
        "contentHex": content.content.hex(), "metadata": _metadata(content.metadata),
    }  # fmt: skip


def _links(links: Iterable[Any], url: str, field: str) -> list[Json]:
    return [
        {field: getattr(link, url), "anchor": link.anchor,
         "metadata": None if link.metadata is None else metadata_map(link.metadata)}
        for link in links
    ]  # fmt: skip


def _parse_data(data: nutch1.ParseData) -> Json:
    return {
        "version": data.version, "status": _parse_status(data.status), "title": data.title,
        "outlinks": _links(data.outlinks, "to_url", "toUrl"), "contentMeta": _metadata(data.content_meta),
        "parseMeta": _metadata(data.parse_meta),
    }  # fmt: skip


def _host(host: nutch1.HostDatum) -> Json:
    return {
        "score": java_float(host.score), "lastCheck": host.last_check, "homepageUrl": host.homepage_url,
        "dnsFailures": host.dns_failures, "connectionFailures": host.connection_failures,
        "unfetched": host.unfetched, "fetched": host.fetched, "notModified": host.not_modified,
        "redirTemp": host.redir_temp, "redirPerm": host.redir_perm, "gone": host.gone,
        "metadata": metadata_map(host.metadata),
    }  # fmt: skip


def _link_datum(link: nutch1.LinkDatum) -> Json:
    return {
        "url": link.url, "anchor": link.anchor, "score": java_float(link.score), "timestamp": link.timestamp,
        "linkType": link.link_type,
    }  # fmt: skip


def _node(node: nutch1.Node) -> Json:
    return {
        "numInlinks": node.num_inlinks, "numOutlinks": node.num_outlinks, "inlinkScore": java_float(node.inlink_score),
        "outlinkScore": java_float(node.outlink_score), "metadata": _metadata(node.metadata),
    }  # fmt: skip


_OLD: dict[str, Decode] = {
    "Page": _record(nutch07.Page, page_07),
    "Link": _record(nutch07.Link, link_07),
    "FetchListEntry": _record(nutch07.FetchListEntry, _entry_07),
    "FetcherOutput": _record(nutch07.FetcherOutput, _output_07),
    "Content": _record(nutch07.Content, _content_07),
    "ParseData": _record(nutch07.ParseData, _parse_data_07),
    "ParseText": _record(nutch07.ParseText, lambda record: {"type": "ParseText", "text": record.text}),
    "UTF8": _primitive(DataInput.read_utf8),
    "long": _primitive(DataInput.read_long),
    "LongWritable": _primitive(DataInput.read_long),
    "MD5Hash": _primitive(lambda data: data.read_bytes(16).hex()),
    "null": _primitive(lambda data: None),
    "NullWritable": _primitive(lambda data: None),
}
_NEW: dict[str, Callable[[Any], Json]] = {
    "CrawlDatum": datum,
    "Content": _content,
    "HostDatum": _host,
    "Inlinks": lambda record: {"inlinks": _links(record.inlinks, "from_url", "fromUrl")},
    "LinkDatum": _link_datum,
    "Node": _node,
    "ParseData": _parse_data,
    "ParseText": lambda record: {"text": record.text},
}
_FULL_NAMES = {short_class(name): name for name in nutch1.RECORDS}
_TEXTS: dict[str, Decode] = {
    "Text": _primitive(DataInput.read_text),
    "UTF8": _primitive(DataInput.read_utf8),
    "NullWritable": _primitive(lambda data: None),
}
_WRAPPED: dict[str, Callable[[DataInput], Json]] = {
    "LongWritable": DataInput.read_long, "long": DataInput.read_long, "IntWritable": DataInput.read_int,
    "FloatWritable": DataInput.read_float, "DoubleWritable": DataInput.read_double,
    "BooleanWritable": DataInput.read_boolean, "MD5Hash": lambda data: data.read_bytes(16),
    "BytesWritable": lambda data: data.read_bytes(data.read_int()), "MapWritable": MapWritable.read,
}  # fmt: skip
