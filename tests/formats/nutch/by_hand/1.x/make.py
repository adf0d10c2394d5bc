"""How were the bytes in `records.json` made?

No sample of the records of Nutch 0.8 to 1.22 is kept here. This script writes one of each older version and layout,
field by field, as the layouts say (`struct`, `gzip` and `zlib` alone; nothing of Cobnut is used), and beside the bytes
the fields a reader must find. The file is frozen: the script tells where it came from, and is not run again.

    python make.py > records.json

`fields` are attributes; bytes stand as {"hex": ...}, floats as {"bits": ...}, records as
{"record": name, "fields": ...}, maps whose values carry their class as
{"map": [[class of key, key, class of value, value], ...]}. `layout` is the one that a reader has to find out, where the
bytes do not say it.
"""

import gzip
import json
import struct
import zlib
from typing import Any

Field = dict[str, Any]
URL = "http://example.com/über/中文?q=1&r=\U0001f600"
URL_TEXT = b"http://example.com/\xc3\xbcber/\xe4\xb8\xad\xe6\x96\x87?q=1&r=\xf0\x9f\x98\x80"
URL_UTF8 = b"http://example.com/\xc3\xbcber/\xe4\xb8\xad\xe6\x96\x87?q=1&r=\xed\xa0\xbd\xed\xb8\x80"
LONG_TEXT = b"x" * 300
IO = "org.apache.hadoop.io."
TEXT, LONG, INT, FLOAT = IO + "Text", IO + "LongWritable", IO + "IntWritable", IO + "FloatWritable"
STATUS = "org.apache.nutch.protocol.ProtocolStatus"


def utf8(raw: bytes) -> bytes:
    return struct.pack(">H", len(raw)) + raw


def text(raw: bytes) -> bytes:
    """Behind a VInt: one byte to 127, then -113 and one byte, then -114 and two."""
    size = len(raw)
    head = bytes([size]) if size < 128 else b"\x8f" + bytes([size]) if size < 256 else b"\x8e" + struct.pack(">H", size)
    return head + raw


def long_(value: int) -> bytes:
    return struct.pack(">q", value)


def int_(value: int) -> bytes:
    return struct.pack(">i", value)


def gz(raw: bytes) -> bytes:
    body = gzip.compress(raw, mtime=0)
    return int_(len(body)) + body


# statuses


def protocol_status(version: int) -> tuple[bytes, Field]:
    out = bytes([version, 12]) + long_(1120000000123) + int_(2)
    args = [b"http://example.com/to", b"\xe4\xb8\xad"]
    out += b"".join(gz(one) for one in args) if version == 1 else b"".join(int_(len(one)) + one for one in args)
    return out, {"code": 12, "last_modified": 1120000000123, "args": ["http://example.com/to", "中"]}


def parse_status(version: int) -> tuple[bytes, Field]:
    out = bytes([version, 1]) + struct.pack(">h", 100) + int_(3)
    args = [b"http://example.com/to", b"5"]
    out += b"".join(gz(one) for one in args) if version == 1 else b"".join(int_(len(one)) + one for one in args)
    return out + int_(-1), {"major": 1, "minor": 100, "args": ["http://example.com/to", "5", None]}


def record(name: str, fields: Field) -> Field:
    return {"record": name, "fields": fields}


# maps


def nutch_map(full: bool) -> tuple[bytes, Field]:
    """Nutch's own: the count first, then the table, and of each entry both class numbers before key and value."""
    if not full:
        return int_(1) + b"\x00" + b"\x83\x82" + text(b"_ngt_") + long_(1160000000000), {
            "map": [[TEXT, "_ngt_", LONG, 1160000000000]]
        }
    status, fields = protocol_status(1)
    out = int_(5) + b"\x01" + b"\x01" + text(b"org.apache.hadoop.io.BooleanWritable")
    out += b"\x83\x8e" + text(b"_pst_") + status
    out += b"\x83\x83" + text(b"a") + text(LONG_TEXT)
    out += b"\x83\x8b" + text(b"f") + bytes.fromhex("3e739a8f")
    out += b"\x83\x01" + text(b"b") + b"\x01"
    out += b"\x8c\x81" + int_(-7)
    return out, {
        "map": [
            [TEXT, "_pst_", STATUS, record("ProtocolStatus", fields)],
            [TEXT, "a", TEXT, LONG_TEXT.decode()],
            [TEXT, "f", FLOAT, {"bits": 0x3E739A8F}],
            [TEXT, "b", IO + "BooleanWritable", True],
            [INT, -7, IO + "NullWritable", None],
        ]
    }


def hadoop_map() -> tuple[bytes, Field]:
    """Hadoop's: the table first, then the count, and each class number right before its key or value."""
    status, fields = protocol_status(2)
    out = b"\x01" + b"\x01" + utf8(STATUS.encode()) + int_(3)
    out += b"\x8c" + text(b"_pst_") + b"\x01" + status
    out += b"\x8c" + text(b"_rs_") + b"\x85" + int_(141)
    out += b"\x8c" + text(b"fixedInterval") + b"\x84" + bytes.fromhex("3f800000")
    return out, {
        "map": [
            [TEXT, "_pst_", STATUS, record("ProtocolStatus", fields)],
            [TEXT, "_rs_", INT, 141],
            [TEXT, "fixedInterval", FLOAT, {"bits": 0x3F800000}],
        ]
    }


# CrawlDatum


def crawl_datum(
    version: int, status: tuple[int, int] = (2, 2), interval: tuple[str, int] = ("41f00000", 2592000), full: bool = True
) -> tuple[bytes, Field]:
    """*status* as written and as it is today; *interval* the float of days as hex, and seconds."""
    fields: Field = {
        "status": status[1], "fetch_time": 1160000000123, "modified_time": 0, "retries": 2,
        "fetch_interval": interval[1], "score": {"bits": 0x3E739A8F}, "signature": None, "metadata": None,
    }  # fmt: skip
    out = bytes([version, status[0]]) + long_(1160000000123) + b"\x02"
    out += int_(interval[1]) if version >= 6 else bytes.fromhex(interval[0])
    out += bytes.fromhex("3e739a8f")
    if version >= 3:
        out += long_(1150000000456) + b"\x10" + bytes(range(240, 256))
        fields["modified_time"], fields["signature"] = 1150000000456, {"hex": bytes(range(240, 256)).hex()}
    if version >= 7:
        raw, fields["metadata"] = hadoop_map()
        out += b"\x01" + raw
    elif version >= 4:
        raw, fields["metadata"] = nutch_map(full)
        out += b"\x01" + raw
    return out, fields


def bare_crawl_datum(version: int) -> tuple[bytes, Field]:
    out = bytes([version, 1]) + long_(-1) + b"\xff" + (int_(60) if version >= 6 else bytes.fromhex("3f000000"))
    out += bytes.fromhex("00000000") + long_(0) + b"\x00" + b"\x00"
    return out, {
        "status": 1, "fetch_time": -1, "modified_time": 0, "retries": -1,
        "fetch_interval": 60 if version >= 6 else 43200, "score": {"bits": 0}, "signature": None, "metadata": None,
    }  # fmt: skip


# strings, links and metadata of the three layouts


def string(layout: str, in_text: bytes, in_utf8: bytes | None = None) -> bytes:
    return utf8(in_text if in_utf8 is None else in_utf8) if layout == "utf8" else text(in_text)


def link(layout: str, name: str, anchor: bytes, with_map: bool) -> tuple[bytes, Field]:
    out = string(layout, URL_TEXT, URL_UTF8) + string(layout, anchor)
    fields: Field = {name: URL, "anchor": anchor.decode(), "metadata": None}
    if layout == "flagged":
        out += b"\x01" if with_map else b"\x00"
        if with_map:
            raw, fields["metadata"] = hadoop_map()
            out += raw
    return out, fields


def links(layout: str, record_name: str, name: str, count: int) -> tuple[bytes, list[Field]]:
    made = [link(layout, name, b"anchor %d" % i if i else b"", i % 2 == 1) for i in range(count)]
    return int_(count) + b"".join(raw for raw, _ in made), [record(record_name, fields) for _, fields in made]


def inlinks(layout: str, count: int) -> tuple[bytes, Field]:
    raw, fields = links(layout, "Inlink", "from_url", count)
    return raw, {"inlinks": fields}


def metadata(layout: str, tag: bytes) -> tuple[bytes, Field]:
    out = int_(2) + string(layout, tag) + int_(2) + string(layout, b"one") + string(layout, URL_TEXT, URL_UTF8)
    out += string(layout, b"empty") + int_(0)
    return out, record("Metadata", {"values": {tag.decode(): ["one", URL], "empty": []}})


def parse_data(version: int, layout: str, count: int = 3) -> tuple[bytes, Field]:
    out = bytes([version])
    status: Field = {"major": 1, "minor": 0, "args": None}
    if version >= 2:
        raw, status = parse_status(2 if version >= 4 else 1)
        out += raw
    outlinks, listed = links(layout, "Outlink", "to_url", count)
    out += string(layout, b"Title \xc3\xa9") + outlinks
    own = record("Metadata", {"values": {}})
    if version < 3:
        out += int_(2) + utf8(b"content-type") + utf8(b"text/html") + utf8(b"u") + utf8(URL_UTF8)
        content = record("Metadata", {"values": {"content-type": ["text/html"], "u": [URL]}})
    else:
        raw, content = metadata(layout, b"Content-Type")
        out += raw
    if version >= 4:
        raw, own = metadata(layout, b"CharEncodingForConversion")
        out += raw
    return out, {
        "status": record("ParseStatus", status), "title": "Title é", "outlinks": listed, "content_meta": content,
        "parse_meta": own, "version": version,
    }  # fmt: skip


def parse_text(version: int) -> tuple[bytes, Field]:
    raw = "Das Wetter 天气 \U0001f327 ".encode() * 20
    return bytes([version]) + (gz(raw) if version == 1 else text(raw)), {"text": raw.decode()}


def content(version: int) -> tuple[bytes, Field]:
    """-1, or 0 to 2 within a zlib stream."""
    layout = "utf8" if version in (0, 1) else "text"
    body = b"<html>\x00\xff body</html>" * 4
    meta, fields = metadata(layout, b"Content-Type")
    out = string(layout, URL_TEXT, URL_UTF8) + string(layout, b"http://example.com/") + int_(len(body)) + body
    out += string(layout, b"text/html") + meta
    if version < 0:
        out = int_(version) + out
    else:
        packed = zlib.compress(bytes([version]) + out)
        out = int_(len(packed)) + packed
    return out, {
        "url": URL, "base": "http://example.com/", "content": {"hex": body.hex()}, "content_type": "text/html",
        "metadata": fields,
    }  # fmt: skip


def host_datum() -> tuple[bytes, Field]:
    raw, fields = hadoop_map()
    out = bytes.fromhex("3e739a8f") + long_(1796043467374) + text(b"http://example.com/")
    out += b"".join(long_(count) for count in range(1, 9)) + raw
    names = (
        "dns_failures",
        "connection_failures",
        "unfetched",
        "fetched",
        "not_modified",
        "redir_temp",
        "redir_perm",
        "gone",
    )
    return out, {
        "score": {"bits": 0x3E739A8F}, "last_check": 1796043467374, "homepage_url": "http://example.com/",
        **dict(zip(names, range(1, 9), strict=True)), "metadata": fields,
    }  # fmt: skip


def link_datum() -> tuple[bytes, Field]:
    out = text(URL_TEXT) + text(b"anchor") + bytes.fromhex("3e739a8f") + long_(1796043467374) + b"\x02"
    return out, {
        "url": URL, "anchor": "anchor", "score": {"bits": 0x3E739A8F}, "timestamp": 1796043467374, "link_type": 2,
    }  # fmt: skip


def node() -> tuple[bytes, Field]:
    raw, fields = metadata("text", b"k")
    out = int_(3) + int_(7) + bytes.fromhex("3e739a8f") + raw
    return out, {"num_inlinks": 3, "num_outlinks": 7, "inlink_score": {"bits": 0x3E739A8F}, "metadata": fields}


def main() -> None:
    made: list[tuple[str, str, tuple[bytes, Field]]] = []
    laid: list[tuple[str, str, str, tuple[bytes, Field]]] = []
    made += [("CrawlDatum", f"version {v}", crawl_datum(v)) for v in range(1, 8)]
    made += [("CrawlDatum", f"version {v}, one entry", crawl_datum(v, full=False)) for v in (4, 5, 6)]
    made += [("CrawlDatum", f"version {v}, bare", bare_crawl_datum(v)) for v in (4, 5, 6, 7)]
    old = ((0, 0x41), (1, 1), (2, 2), (3, 3), (4, 0x43), (5, 0x21), (6, 0x22), (7, 0x25), (8, 1), (127, 1))
    made += [("CrawlDatum", f"version 4, status {was}", crawl_datum(4, (was, now))) for was, now in old]
    made += [("CrawlDatum", f"version {v}, status 4", crawl_datum(v, (4, 0x43))) for v in (1, 2, 3)]
    made += [
        ("CrawlDatum", f"version {v}, status {s}", crawl_datum(v, (s, s))) for v in (5, 6, 7) for s in (4, 0x21, 0x43)
    ]
    days = (("00000000", 0), ("3f800000", 86400), ("3d2aaaab", 3600), ("42b40000", 7776000), ("7f800000", 2147483647))
    made += [("CrawlDatum", f"version 5, an interval of {raw}", crawl_datum(5, interval=(raw, s))) for raw, s in days]
    made += [("Content", f"version {v}", content(v)) for v in (-1, 0, 1, 2)]
    made += [("ParseText", f"version {v}", parse_text(v)) for v in (1, 2)]
    made += [("ParseStatus", f"version {v}", parse_status(v)) for v in (1, 2)]
    made += [("ProtocolStatus", f"version {v}", protocol_status(v)) for v in (1, 2)]
    made += [("HostDatum", "", host_datum()), ("LinkDatum", "", link_datum()), ("Node", "", node())]
    laid += [("ParseData", f"version {v}", "utf8", parse_data(v, "utf8")) for v in (1, 2, 3, 4)]
    laid += [("ParseData", "version 5", layout, parse_data(5, layout)) for layout in ("text", "flagged")]
    for layout in ("utf8", "text", "flagged"):
        laid += [("Outlink", "", layout, link(layout, "to_url", b"a link", False))]
        laid += [("Inlink", "", layout, link(layout, "from_url", b"a link", True))]
        laid += [("Inlinks", f"{count} of them", layout, inlinks(layout, count)) for count in (1, 2, 5)]
    records = [{"record": r, "what": w, "hex": raw.hex(), "fields": fields} for r, w, (raw, fields) in made]
    records += [
        {"record": r, "what": w, "layout": layout, "hex": raw.hex(), "fields": fields}
        for r, w, layout, (raw, fields) in laid
    ]
    print(json.dumps(records, indent=1, ensure_ascii=False))


main()
