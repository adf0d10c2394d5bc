"""Are the lines of an index those that replay tools look for?"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warc_bytes import PAGE, arc, arc_head, http, info, members, warc

from cobnut.interop.warc.cdx import CdxReport, in_order, lines_of
from cobnut.interop.warc.surt import surt


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("", "-"),
        ("dns:archive.org", "dns:archive.org"),
        ("filedesc://foo.arc.gz", "filedesc://foo.arc.gz"),
        ("mailto:foo@example.com", "mailto:foo@example.com"),
        ("http://www.archive.org/", "org,archive)/"),
        ("http://www34.archive.org", "org,archive)/"),
        ("http://www2foo.com/", "com,www2foo)/"),
        ("https://www.archive.org:443/big/", "org,archive)/big"),
        ("https://www.archive.org:80/", "org,archive:80)/"),
        ("http://archive.org/goo/?", "org,archive)/goo"),
        ("http://archive.org/goo/?b&a", "org,archive)/goo?a&b"),
        ("http://archive.org/goo/?a=2&b&a=1", "org,archive)/goo?a=1&a=2&b"),
        ("http://archive.org/i?a=1&", "org,archive)/i?&a=1"),
        ("http://user:pw@Example.COM/A/../B//c/./D", "com,example)/b/c/d"),
        ("http://example.com/a%2525b", "com,example)/a%25b"),
        ("http://example.com/caf\u00e9 x#top", "com,example)/caf%c3%a9%20x"),
        ("http://b\u00fccher.ch:8080?#foo", "ch,xn--bcher-kva:8080)/"),
        ("whois://whois.isoc.org.il/shaveh.co.il", "il,org,isoc,whois)/shaveh.co.il"),
        ("http://192.168.1.254/info/", "254,1,168,192)/info"),
        (
            "http://archive.org/index.php?PHPSESSID=0123456789abcdefghijklemopqrstuv&action=profile;u=4221",
            "org,archive)/index.php?action=profile;u=4221",
        ),
        ("http://a.org/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx", "org,a)/mileg.aspx"),
        ("http://a.org/x?CFID=14475712&CFTOKEN=2D89F5AF-3048&r=468&m=f", "org,a)/x?m=f&r=468"),
        ("http://a.org/x?r=http%3A//b.org/", "org,a)/x?r=http://b.org/"),
        ("http:////////www.vikings.com", "com,vikings)/"),
        ("http://www.google.com.../", "com,google)/"),
    ],
)
def test_keys(url: str, key: str) -> None:
    assert surt(url) == key


@given(st.text(max_size=80))
def test_any_text_gives_a_key_without_blanks(text: str) -> None:
    for url in (text, "http://" + text, "http://example.com/" + text):
        key = surt(url)
        assert key
        assert not set(key) & set(" \t\r\n")
        assert key.isascii()


def index(folder: Path, data: bytes, name: str = "x.warc.gz") -> tuple[list[tuple[str, str, dict]], CdxReport]:
    path, report = folder / name, CdxReport()
    path.write_bytes(data)
    lines = [line.decode().split(" ", 2) for line in in_order(lines_of(path, name, report))]
    return [(key, stamp, json.loads(rest)) for key, stamp, rest in lines], report


def test_a_line_leads_to_its_record(tmp_path: Path) -> None:
    digest = "B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A"
    parts = [
        info(),
        warc("http://www.b.test/x", http(PAGE, "HTTP/1.1 200 OK", "Content-Type: Text/html; charset=x")),
        warc("http://www.b.test/x", b"GET", "request"),
        warc("http://a.test/", http(b"", "HTTP/1.1 301 Moved", "Location: /x"), WARC_Payload_Digest=f"sha1:{digest}"),
        warc("http://c.test/", b"", "revisit", WARC_Payload_Digest=f"sha1:{digest}"),
        warc("http://d.test/p.pdf", b"%PDF", "resource", content_type="application/pdf"),
    ]
    for data in (members(*parts), b"".join(parts)):
        lines, report = index(tmp_path, data)
        assert [key for key, _, _ in lines] == ["test,a)/", "test,b)/x", "test,c)/", "test,d)/p.pdf"]
        assert {stamp for _, stamp, _ in lines} == {"20260102030405"}
        first, page, revisit, resource = (entry for _, _, entry in lines)
        assert page["mime"] == "Text/html"
        assert (first["status"], first["digest"], first["mime"]) == ("301", digest, "unk")
        assert (revisit["mime"], "status" in revisit) == ("warc/revisit", False)
        assert (resource["mime"], resource["url"]) == ("application/pdf", "http://d.test/p.pdf")
        assert all(isinstance(value, str) for value in page.values())
        for entry, part in ((page, parts[1]), (first, parts[3])):
            raw = data[int(entry["offset"]) :][: int(entry["length"])]
            assert (gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw) == part
        assert report.damage == []


def test_another_program_finds_records_by_the_lines(tmp_path: Path) -> None:
    from fastwarc.warc import ArchiveIterator

    data = members(info(), *(warc(f"http://a.test/{n}", http(PAGE + bytes(str(n), "ascii"))) for n in range(5)))
    lines, _ = index(tmp_path, data)
    with open(tmp_path / "x.warc.gz", "rb") as file:
        for n, (_, _, entry) in enumerate(lines):
            file.seek(int(entry["offset"]))
            found = next(iter(ArchiveIterator(file)))
            assert found.headers["WARC-Target-URI"] == entry["url"] == f"http://a.test/{n}"


def test_arc_and_records_that_cannot_be_found(tmp_path: Path) -> None:
    lines, _ = index(tmp_path, members(arc_head(), arc("http://a.test/", http())), "x.arc.gz")
    assert [(key, entry["status"], entry["filename"]) for key, _, entry in lines] == [("test,a)/", "200", "x.arc.gz")]
    lines, report = index(tmp_path, gzip.compress(info() + warc("http://a.test/", http())))
    assert (lines, report.not_alone) == ([], 1)


def test_large_indexes_are_sorted_on_disk() -> None:
    lines = [f"{random.Random(n).random()} {n}\n".encode() for n in range(2_000)]
    assert list(in_order(lines, run_bytes=5_000, most_runs=4)) == sorted(lines)
    assert list(in_order([])) == []


def test_a_record_that_a_killed_run_left_cut_is_no_damage_in_a_crawl(tmp_path: Path) -> None:
    data = members(info(), warc("http://a.test/", http()), warc("http://a.test/2", http()))
    (tmp_path / "x.warc.gz").write_bytes(data[:-30])
    for own in (True, False):
        report = CdxReport()
        lines = list(lines_of(tmp_path / "x.warc.gz", "x", report, own=own))
        assert len(lines) == 1
        assert bool(report.damage) is not own
