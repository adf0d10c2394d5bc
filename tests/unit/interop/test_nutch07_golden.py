"""Do the records of 0.7.2 say what Nutch said of them, and are they the same bytes when they are written again?

The files are cut into records by a few lines of this test, which know the plain layout alone.
"""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cobnut.interop.hadoop.data import DataInput, DataOutput, float_bits
from cobnut.interop.nutch07 import (
    RECORDS,
    Content,
    FetcherOutput,
    FetchListEntry,
    Link,
    Page,
    ParseData,
    ParseText,
    domain_id,
    half_digest,
    md5_of,
)

GOLDEN = Path(__file__).parents[2] / "formats" / "nutch" / "0.7.2"
LISTINGS = sorted((GOLDEN / "json").glob("*.json"))


def cut(data: bytes) -> tuple[str, str, list[tuple[int, bytes, bytes]]]:
    """Class names and records (position, key, value) of a SequenceFile of version 2."""
    assert data[:4] == b"SEQ\x02"
    at = 4
    names = []
    for _ in range(2):
        (size,) = struct.unpack_from(">H", data, at)
        names.append(data[at + 2 : at + 2 + size].decode())
        at += 2 + size
    at += 16
    records = []
    while at < len(data):
        position = at
        (size,) = struct.unpack_from(">i", data, at)
        if size == -1:
            at += 20
            (size,) = struct.unpack_from(">i", data, at)
        (key_size,) = struct.unpack_from(">i", data, at + 4)
        at += 8
        records.append((position, data[at : at + key_size], data[at + key_size : at + size]))
        at += size
    return names[0], names[1], records


def page(record: Page) -> dict[str, Any]:
    return {
        "type": "Page", "url": record.url, "md5": record.md5.hex(), "nextFetch": record.next_fetch,
        "retries": record.retries, "fetchIntervalDays": record.fetch_interval_days, "numOutlinks": record.num_outlinks,
        "scoreBits": float_bits(record.score), "nextScoreBits": float_bits(record.next_score),
    }  # fmt: skip


def as_listed(record: Any) -> Any:
    """The record as the listing has it, without the floats in decimals: their bits stand next to them."""
    match record:
        case Page():
            return page(record)
        case Link():
            return {
                "type": "Link", "fromID": record.from_id.hex(), "url": record.url, "domainID": record.domain_id,
                "anchor": record.anchor, "targetHasOutlink": record.target_has_outlink,
            }  # fmt: skip
        case FetchListEntry():
            return {
                "type": "FetchListEntry",
                "fetch": record.fetch,
                "page": page(record.page),
                "anchors": record.anchors,
            }
        case FetcherOutput():
            status = record.protocol_status
            return {
                "type": "FetcherOutput", "fetchListEntry": as_listed(record.fetch_list_entry), "md5": record.md5.hex(),
                "protocolStatus": {"code": status.code, "lastModified": status.last_modified, "args": status.args},
                "fetchDate": record.fetch_date,
            }  # fmt: skip
        case Content():
            return {
                "type": "Content", "url": record.url, "base": record.base, "contentType": record.content_type,
                "contentHex": record.content.hex(), "metadata": record.metadata,
            }  # fmt: skip
        case ParseData():
            status = record.status
            return {
                "type": "ParseData", "status": {"major": status.major, "minor": status.minor, "args": status.args},
                "title": record.title,
                "outlinks": [{"toUrl": link.to_url, "anchor": link.anchor} for link in record.outlinks],
                "metadata": record.metadata,
            }  # fmt: skip
        case ParseText():
            return {"type": "ParseText", "text": record.text}
    return record


def without_decimals(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_decimals(v) for k, v in value.items() if k not in ("score", "nextScore")}
    if isinstance(value, list):
        return [without_decimals(v) for v in value]
    return value


def decoded(name: str, data: bytes) -> Any:
    if name == "null":
        assert data == b""
        return None
    reader = DataInput(data)
    if name == "long":
        value: Any = reader.read_long()
    elif name == "UTF8":
        value = reader.read_utf8()
    else:
        value = RECORDS[name].read(reader)
    reader.finish(name)
    return value


def encoded(value: Any) -> bytes:
    out = DataOutput()
    if isinstance(value, int):
        out.write_long(value)
    elif isinstance(value, str):
        out.write_utf8(value)
    elif value is not None:
        value.write(out)
    return out.getvalue()


def files() -> Iterator[tuple[dict[str, Any], str, str, list[tuple[int, bytes, bytes]]]]:
    for listing in LISTINGS:
        data = GOLDEN / "data" / listing.stem.replace("~", "/")
        yield json.loads(listing.read_text("utf-8")), *cut(data.read_bytes())


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda path: path.stem)
def test_every_record_equals_its_listing_and_is_written_again_byte_for_byte(listing: Path) -> None:
    told = json.loads(listing.read_text("utf-8"))
    key_class, value_class, records = cut((GOLDEN / "data" / listing.stem.replace("~", "/")).read_bytes())
    assert len(records) == told["count"] == len(told["records"])
    for (position, key, value), wanted in zip(records, told["records"], strict=True):
        ours = decoded(key_class, key), decoded(value_class, value)
        assert position == wanted["pos"]
        assert as_listed(ours[0]) == without_decimals(wanted["key"])
        assert as_listed(ours[1]) == without_decimals(wanted["value"])
        assert (encoded(ours[0]), encoded(ours[1])) == (key, value)


def test_the_files_hold_587_records() -> None:
    assert sum(told["count"] for told, *_ in files()) == 587


def test_the_headers_name_the_classes_by_their_short_names() -> None:
    for told, key_class, value_class, _ in files():
        for full, short in ((told["keyClass"], key_class), (told["valueClass"], value_class)):
            if short in RECORDS:
                assert RECORDS[short] is RECORDS[full]


def records_of(part: str) -> list[Any]:
    key_class, value_class, records = cut((GOLDEN / "data" / part / "data").read_bytes())
    which = value_class if key_class in ("UTF8", "long") else key_class
    return [decoded(which, value if key_class in ("UTF8", "long") else key) for _, key, value in records]


@pytest.mark.parametrize("step", ["webdb-1-inject", "webdb-2-round1", "webdb-2-round3", "webdb-3-analyze"])
def test_the_orders_are_those_of_the_tables(step: str) -> None:
    pages = records_of(f"{step}/pagesByMD5")
    assert sorted(pages) == pages
    by_url = records_of(f"{step}/linksByURL")
    assert sorted(by_url) == by_url
    by_md5 = records_of(f"{step}/linksByMD5")
    assert sorted(by_md5, key=Link.md5_key) == by_md5
    assert set(by_url) == set(by_md5)


def test_a_page_that_was_never_fetched_has_the_md5_of_its_url() -> None:
    injected = records_of("webdb-1-inject/pagesByURL")
    assert [p.md5 for p in injected] == [Page.for_url(p.url).md5 for p in injected]
    assert not any(p.was_fetched for p in injected)
    assert Page.for_url(injected[0].url, next_fetch=injected[0].next_fetch) == injected[0]
    later = records_of("webdb-3-analyze/pagesByURL")
    assert any(p.was_fetched for p in later)
    assert any(p.is_never_due for p in later)


def test_a_links_domain_is_the_half_digest_of_its_source_hosts_md5() -> None:
    hosts = {p.md5: p.url.split("/")[2].split(":")[0] for p in records_of("webdb-3-analyze/pagesByMD5")}
    for link in records_of("webdb-3-analyze/linksByURL"):
        host = hosts[link.from_id]
        assert link.domain_id == domain_id(host) == half_digest(md5_of(host))
        assert link == Link.between(link.from_id, host, link.url, link.anchor, link.target_has_outlink)
