"""Is every record that real Nutch 1.23 wrote what its listing says, and does it come out as the same bytes?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cobnut.interop.hadoop.data import DataInput, float_bits
from cobnut.interop.hadoop.mapfile import MapFileWriter
from cobnut.interop.hadoop.sequencefile import SequenceFileReader, SequenceFileWriter
from cobnut.interop.nutch1 import (
    Content,
    CrawlDatum,
    HostDatum,
    Inlink,
    Inlinks,
    LinkDatum,
    MapWritable,
    Metadata,
    Node,
    Outlink,
    ParseData,
    ParseText,
    ProtocolStatus,
    Record,
    TypedValue,
    ValueReader,
)

ROOT = Path(__file__).parents[2] / "formats" / "nutch" / "1.23"
LISTINGS = sorted((ROOT / "json").glob("*.json"))
Json = dict[str, Any]


def file_of(listing: Path) -> Path:
    return ROOT / "data" / listing.stem.replace("~", "/")


def told(listing: Path) -> Json:
    return json.loads(listing.read_bytes())


RECORD_LISTINGS = [one for one in LISTINGS if ".nutch." in told(one)["valueClass"]]
each_file = pytest.mark.parametrize("listing", RECORD_LISTINGS, ids=lambda one: one.stem)


def typed(value: TypedValue) -> Json:
    plain = value.value
    if isinstance(plain, ProtocolStatus):
        names = {"code": plain.code, "name": plain.name, "lastModified": plain.last_modified, "args": plain.args}
        return {"type": value.class_name, **names}
    if isinstance(plain, float):
        return {"type": value.class_name, "bits": float_bits(plain)}
    return {"type": value.class_name, "value": plain}


def map_of(values: MapWritable | None) -> Json | None:
    return None if values is None else {key: typed(value) for key, value in values.items()}


def crawl_datum(datum: CrawlDatum) -> Json:
    return {
        "status": datum.status, "statusName": datum.status_name, "fetchTime": datum.fetch_time,
        "modifiedTime": datum.modified_time, "retries": datum.retries, "fetchInterval": datum.fetch_interval,
        "scoreBits": float_bits(datum.score), "signature": datum.signature and datum.signature.hex(),
        "metadata": map_of(datum.metadata) or {},
    }  # fmt: skip


def content(record: Content) -> Json:
    return {
        "url": record.url, "base": record.base, "contentType": record.content_type, "length": len(record.content),
        "contentHex": record.content.hex(), "metadata": record.metadata.values,
    }  # fmt: skip


def link(record: Outlink | Inlink) -> Json:
    name, url = ("toUrl", record.to_url) if isinstance(record, Outlink) else ("fromUrl", record.from_url)
    return {name: url, "anchor": record.anchor, "metadata": map_of(record.metadata)}


def parse_data(data: ParseData) -> Json:
    status = data.status
    return {
        "version": data.version, "status": {"major": status.major, "minor": status.minor, "args": status.args},
        "title": data.title, "outlinks": [link(one) for one in data.outlinks], "contentMeta": data.content_meta.values,
        "parseMeta": data.parse_meta.values,
    }  # fmt: skip


def host_datum(host: HostDatum) -> Json:
    return {
        "score": host.score, "lastCheck": host.last_check, "homepageUrl": host.homepage_url,
        "dnsFailures": host.dns_failures, "connectionFailures": host.connection_failures, "unfetched": host.unfetched,
        "fetched": host.fetched, "notModified": host.not_modified, "redirTemp": host.redir_temp,
        "redirPerm": host.redir_perm, "gone": host.gone, "metadata": map_of(host.metadata),
    }  # fmt: skip


def link_datum(datum: LinkDatum) -> Json:
    return {
        "url": datum.url, "anchor": datum.anchor, "score": float_bits(datum.score), "timestamp": datum.timestamp,
        "linkType": datum.link_type,
    }  # fmt: skip


def node(record: Node) -> Json:
    return {
        "numInlinks": record.num_inlinks, "numOutlinks": record.num_outlinks,
        "inlinkScore": float_bits(record.inlink_score), "outlinkScore": float_bits(record.outlink_score),
        "metadata": record.metadata.values,
    }  # fmt: skip


SHOWN: dict[type[Record], Callable[[Any], Any]] = {
    CrawlDatum: crawl_datum, Content: content, ParseData: parse_data, HostDatum: host_datum, LinkDatum: link_datum,
    Node: node, ParseText: lambda record: {"text": record.text},
    Inlinks: lambda record: {"inlinks": sorted((link(one) for one in record), key=str)},
}  # fmt: skip


def expected_of(value: Json, record: Record) -> Json:
    """The listing's value in the form the functions above give: floats as bits, sets in order."""
    if isinstance(record, CrawlDatum | HostDatum):
        value = {**value, "metadata": {key: without_shown_float(one) for key, one in value["metadata"].items()}}
        if isinstance(record, CrawlDatum):
            del value["score"]
    elif isinstance(record, Inlinks):
        value = {"inlinks": sorted(value["inlinks"], key=str)}
    elif isinstance(record, LinkDatum | Node):
        value = {name: float_bits(one) if isinstance(one, float) else one for name, one in value.items()}
    return value


def without_shown_float(value: Json) -> Json:
    return {name: one for name, one in value.items() if name != "value"} if "bits" in value else value


def test_all_records_are_here():
    assert sum(told(one)["count"] for one in RECORD_LISTINGS) == 487
    assert sum(told(one)["count"] for one in LISTINGS) == 514


@each_file
def test_every_record_is_what_its_listing_says(listing):
    expected = told(listing)
    with SequenceFileReader(file_of(listing)) as reader:
        assert reader.value_class == expected["valueClass"]
        read = ValueReader(reader.value_class)
        records = list(reader.records())
    assert len(records) == expected["count"]
    for raw, one in zip(records, expected["records"], strict=True):
        record = read(raw.value)
        assert expected["valueClass"] == type(record).JAVA_NAME
        assert DataInput(raw.key).read_text() == one["key"]
        assert raw.position == one["pos"]
        assert SHOWN[type(record)](record) == expected_of(one["value"], record)


@pytest.mark.parametrize("listing", [one for one in LISTINGS if one not in RECORD_LISTINGS], ids=lambda one: one.stem)
def test_every_entry_of_an_index_is_what_its_listing_says(listing):
    expected = told(listing)
    with SequenceFileReader(file_of(listing)) as reader:
        records = list(reader.records())
    found = [(DataInput(raw.key).read_text(), DataInput(raw.value).read_long()) for raw in records]
    assert found == [(one["key"], one["value"]["value"]) for one in expected["records"]]


def reread(raw: bytes, read: ValueReader) -> bytes:
    """A value taken apart into its fields and put together again."""
    return read(raw).to_bytes()


@each_file
def test_every_file_comes_out_byte_for_byte(listing, tmp_path):
    path = file_of(listing)
    with SequenceFileReader(path) as reader:
        header, read = reader.header, ValueReader(reader.value_class)
        options: dict[str, Any] = {"version": header.version, "compression": header.compression, "sync": header.sync}
        if path.name == "data":
            with SequenceFileReader(path.parent / "index") as index:
                options["index_sync"] = index.sync
            writer: Any = MapFileWriter(tmp_path, header.key_class, header.value_class, **options)
        else:
            writer = SequenceFileWriter(tmp_path / path.name, header.key_class, header.value_class, **options)
        with writer:
            for record in reader.records():
                writer.append(record.key, reread(record.value, read))
    made = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    names = set(made) if path.name == "data" else {path.name, f".{path.name}.crc"}
    assert made == {name: (path.parent / name).read_bytes() for name in names}


def test_a_crawl_as_a_whole_has_the_metadata_it_should():
    """The listings were made by the classes that wrote the files; here a few facts of the site that was crawled."""
    path = ROOT / "data" / "crawldb-00-inject" / "part-r-00000" / "data"
    with SequenceFileReader(path) as reader:
        data = {DataInput(raw.key).read_text(): CrawlDatum.decode(raw.value) for raw in reader.records()}
    seed = data["http://127.0.0.1:18099/"]
    assert (seed.status_name, seed.score, seed.fetch_interval) == ("db_unfetched", 2.5, 86_400)
    assert seed.metadata is not None
    assert seed.metadata.get("userType") == "open_source"
    assert Metadata() == Metadata.of([])
