"""How were the bytes in `records.json` made?

No sample of the older versions of Nutch 0.7's records is known. This script writes one of each, field by field, as the
layouts say (`struct` and `gzip` alone; nothing of Cobnut is used), and beside the bytes the fields a reader must find.
The file is frozen: the script tells where it came from, and is not run again.

    python make.py > records.json

`fields` are attributes; bytes stand as {"hex": ...}, floats as {"bits": ...}, records as
{"record": name, "fields": ...}.
"""

import gzip
import json
import struct
from typing import Any

Field = dict[str, Any]
MD5_A, MD5_B = bytes(range(16)), bytes(range(255, 239, -1))
URL = "http://example.com/über/中文?q=1&r=\U0001f600"
URL_UTF8 = (
    b"http://example.com/\xc3\xbcber/\xe4\xb8\xad\xe6\x96\x87?q=1&r=" + b"\xed\xa0\xbd\xed\xb8\x80"
)  # the emoji as two surrogates of three bytes each


def utf8(raw: bytes) -> bytes:
    return struct.pack(">H", len(raw)) + raw


def long_(value: int) -> bytes:
    return struct.pack(">q", value)


def int_(value: int) -> bytes:
    return struct.pack(">i", value)


def gz(raw: bytes) -> bytes:
    body = gzip.compress(raw, mtime=0)
    return int_(len(body)) + body


def one() -> Field:
    return {"bits": 0x3F800000}


def page(version: int) -> tuple[bytes, Field]:
    out = bytes([version]) + utf8(URL_UTF8) + MD5_A + long_(1120000000123) + b"\x02" + b"\x1e"
    fields: Field = {
        "url": URL, "md5": {"hex": MD5_A.hex()}, "next_fetch": 1120000000123, "retries": 2, "fetch_interval_days": 30,
        "num_outlinks": 0, "score": one(), "next_score": one(),
    }  # fmt: skip
    if version >= 3:
        out += int_(17)
        fields["num_outlinks"] = 17
    if version >= 2:
        out += bytes.fromhex("3e739a8f")
        fields["score"] = {"bits": 0x3E739A8F}
    if version >= 4:
        out += bytes.fromhex("3e199998")
        fields["next_score"] = {"bits": 0x3E199998}
    return out, fields


def link(version: int) -> tuple[bytes, Field]:
    out = bytes([version]) + MD5_B + utf8(URL_UTF8)
    fields: Field = {
        "from_id": {"hex": MD5_B.hex()}, "url": URL, "domain_id": 0, "anchor": "a\0b", "target_has_outlink": False,
    }  # fmt: skip
    if version >= 5:
        out += long_(-781244460614962903)
        fields["domain_id"] = -781244460614962903
    out += utf8(b"a\xc0\x80b")  # NUL takes two bytes
    if version >= 4:
        out += b"\x01"
        fields["target_has_outlink"] = True
    return out, fields


def fetch_list_entry(version: int, page_version: int) -> tuple[bytes, Field]:
    inner, inner_fields = page(page_version)
    out = bytes([version]) + b"\x01" + inner
    fields: Field = {"fetch": True, "page": {"record": "Page", "fields": inner_fields}, "anchors": []}
    if version >= 2:
        out += int_(2) + utf8(b"home") + utf8(b"")
        fields["anchors"] = ["home", ""]
    return out, fields


def outlinks() -> tuple[bytes, list[Field]]:
    raw = int_(2) + utf8(b"http://a/") + utf8(b"A") + utf8(b"http://b/") + utf8(b"")
    pairs = [("http://a/", "A"), ("http://b/", "")]
    return raw, [{"record": "Outlink", "fields": {"to_url": to, "anchor": anchor}} for to, anchor in pairs]


def protocol_status(code: int, modified: int, args: list[bytes | None] | None) -> tuple[bytes, Field]:
    out = b"\x01" + bytes([code]) + long_(modified)
    out += int_(-1) if args is None else int_(len(args)) + b"".join(int_(-1) if a is None else gz(a) for a in args)
    strings = None if args is None else [None if a is None else a.decode() for a in args]
    return out, {"code": code, "last_modified": modified, "args": strings}


def fetcher_output(version: int, status: int = 1) -> tuple[bytes, Field]:
    inner, inner_fields = fetch_list_entry(min(version, 2), min(version, 4))
    out = bytes([version]) + inner + MD5_B
    fields: Field = {
        "fetch_list_entry": {"record": "FetchListEntry", "fields": inner_fields}, "md5": {"hex": MD5_B.hex()},
        "title": "", "outlinks": [], "fetch_date": 0,
    }  # fmt: skip
    if version >= 5:
        raw, status_fields = protocol_status(12, 1100000000000, [b"http://example.com/new"])
        out += raw
    else:
        out += bytes([status])
        code = {0: 15, 1: 1, 2: 14, 3: 2, 4: 15}[status]  # retry, success, not found, failed, not parsed: retry
        status_fields = {"code": code, "last_modified": 0, "args": None}
    fields["protocol_status"] = {"record": "ProtocolStatus", "fields": status_fields}
    if version < 4:
        raw, listed = outlinks()
        out += utf8(b"An old title") + raw
        fields["title"], fields["outlinks"] = "An old title", listed
    if version >= 2:
        out += long_(1120000999999)
        fields["fetch_date"] = 1120000999999
    return out, fields


def metadata() -> tuple[bytes, Field]:
    pairs = [(b"Zeta", b"first"), (b"Content-Type", b"text/html"), (b"", b"empty name")]
    return int_(3) + b"".join(utf8(k) + utf8(v) for k, v in pairs), {k.decode(): v.decode() for k, v in pairs}


def content(version: int) -> tuple[bytes, Field]:
    raw, entries = metadata()
    body = b"<html>\x00\xff body</html>" * 4
    out = bytes([version]) + utf8(URL_UTF8) + utf8(b"http://example.com/") + gz(body) + utf8(b"text/html") + raw
    return out, {
        "url": URL, "base": "http://example.com/", "content": {"hex": body.hex()}, "content_type": "text/html",
        "metadata": entries,
    }  # fmt: skip


def parse_status(major: int, minor: int, args: list[bytes]) -> tuple[bytes, Field]:
    out = b"\x01" + bytes([major]) + struct.pack(">h", minor) + int_(len(args)) + b"".join(gz(a) for a in args)
    return out, {"major": major, "minor": minor, "args": [a.decode() for a in args]}


def parse_data(version: int) -> tuple[bytes, Field]:
    out = bytes([version])
    status: Field = {"major": 1, "minor": 0, "args": None}
    if version >= 2:
        raw, status = parse_status(1, 100, [b"http://example.com/to", b"5"])
        out += raw
    links, listed = outlinks()
    raw, entries = metadata()
    out += utf8(b"Title \xc3\xa9") + links + raw
    return out, {
        "status": {"record": "ParseStatus", "fields": status}, "title": "Title é", "outlinks": listed,
        "metadata": entries,
    }  # fmt: skip


def parse_text() -> tuple[bytes, Field]:
    text = "Das Wetter 天气 \U0001f327"
    return b"\x01" + gz(text.encode()), {"text": text}  # the text is true UTF-8: four bytes for the cloud


def main() -> None:
    made = [("Page", f"version {v}", page(v)) for v in (1, 2, 3, 4)]
    made += [("Link", f"version {v}", link(v)) for v in (1, 2, 3, 4, 5)]
    made += [
        ("FetchListEntry", f"version {v}, page of version {p}", fetch_list_entry(v, p))
        for v, p in ((1, 1), (1, 4), (2, 3), (2, 4))
    ]
    made += [("FetcherOutput", f"version {v}", fetcher_output(v)) for v in (1, 2, 3, 4, 5)]
    made += [("FetcherOutput", f"version {v}, status {s}", fetcher_output(v, s)) for v in (1, 4) for s in (0, 2, 3, 4)]
    made += [("Content", f"version {v}", content(v)) for v in (0, 1)]
    made += [("ParseData", f"version {v}", parse_data(v)) for v in (1, 2)]
    made += [("ParseText", "version 1", parse_text())]
    codes = (1, 2, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)
    made += [("ProtocolStatus", f"code {c}", protocol_status(c, c * 1000, [b"x", None])) for c in codes]
    made += [("ProtocolStatus", "without arguments", protocol_status(1, 0, None))]
    minors = ((0, 0), (1, 0), (1, 100), (2, 0), (2, 200), (2, 202), (2, 203), (2, 204), (2, 205))
    made += [("ParseStatus", f"{major}/{minor}", parse_status(major, minor, [b"why"])) for major, minor in minors]
    records = [{"record": r, "what": w, "hex": raw.hex(), "fields": fields} for r, w, (raw, fields) in made]
    print(json.dumps(records, indent=1, ensure_ascii=False))


main()
