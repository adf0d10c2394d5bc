"""Is the right document read off a record, however its answer was stored?"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warc_bytes import AT_MS, PAGE, arc, arc_head, http, info, members, warc

from cobnut.config.sections import Settings
from cobnut.config.template import settings_text
from cobnut.errors import InputError
from cobnut.fetcher.archive import read_tail, warc_files
from cobnut.interop.documents import Document
from cobnut.interop.intake import IntakeReport, SegmentIntake
from cobnut.interop.warc.answers import dechunked, document_of, read_message
from cobnut.interop.warc.dates import parse_date
from cobnut.interop.warc.reading import ReadReport, find_archives, read_archives
from cobnut.interop.warc.records import Record, read_records
from cobnut.records.catalogue import FETCHED
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import read_files

CHUNKED = "Transfer-Encoding: chunked"
HTML = "Content-Type: text/html"
URL = "http://a.test/"


def record(data: bytes, folder: Path) -> Record:
    (folder / "one.warc").write_bytes(data)
    [found] = [r for r in read_records(folder / "one.warc") if isinstance(r, Record)]
    return found


def imported(folder: Path, *archives: bytes) -> tuple[ReadReport, IntakeReport, dict[str, bytes], dict[str, dict]]:
    """Bodies and rows by URL."""
    paths = []
    for n, data in enumerate(archives):
        paths.append(folder / f"{n}.warc")
        paths[-1].write_bytes(data)
    crawl = CrawlFolder.create(folder / "crawl", settings_text({}))
    with SegmentIntake(crawl, Settings(), origin="a test") as intake:
        read = read_archives(paths, intake)
        done = intake.finish()
    bodies, rows = {}, {}
    for segment in crawl.segments():
        bodies |= {r.response.url: r.response.body for f in warc_files(segment.warc_path, 0) for r in read_tail(f, -1)}
        rows |= {r["url"]: r for r in read_files(FETCHED, segment.part_files(FETCHED)).to_pylist()}
    return read, done, bodies, rows


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", b"hello world"),
        (b"5;x=y\r\nhello\r\n0\r\nTrailer: 1\r\n\r\n", b"hello"),
        (b"5\nhello\n0\n\n", b"hello"),
        (b"0005\r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"5\r\nhello\r\n6\r\n wor", b"hello wor"),  # cut
        (b"5\r\nhello\r\n", b"hello"),  # the last chunk is missing
        (b"5\r\nhello\r\nrubbish", b"hello"),
        (b"<p>already whole</p>", b"<p>already whole</p>"),
        (b"cafe\nis a word and a number", b"cafe\nis a word and a number"),
        (b"", b""),
        (b"0\r\n\r\n", b""),
    ],
)  # fmt: skip
def test_chunks_are_undone_where_there_are_any(body: bytes, expected: bytes) -> None:
    found = read_message(http(body, "HTTP/1.1 200 OK", HTML, CHUNKED))
    assert not isinstance(found, str)
    assert found.body == expected


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=5))
def test_what_was_chunked_comes_back(pieces: list[bytes]) -> None:
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    assert dechunked(body) == (b"".join(pieces), False)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for block in (data, b"HTTP/1.1 200 OK\r\n" + data, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + data):
        read_message(block)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nbody", (200, b"body")),
        (b"HTTP/1.0 404\r\n\r\n", (404, b"")),
        (b"HTTP/1.1 200 OK\nContent-Type: text/html\n\nbody", (200, b"body")),
        (b"ICY 200 OK\r\nContent-Type: audio/mpeg\r\n\r\nbody", (200, b"body")),
        (b"HTTP/2 301\r\nlocation: /x\r\n\r\n", (301, b"")),
        (b"HTTP/1.1 200 OK", (200, b"")),
        (b"<html>no head at all", "no_http_head"),
        (b"", "no_http_head"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n", "head_too_large"),
    ],
)
def test_heads_of_all_kinds(block: bytes, expected: object) -> None:
    found = read_message(block)
    assert (found if isinstance(found, str) else (found.status, found.body)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02T03:04:05Z", AT_MS),
        ("2026-01-02T03:04:05", AT_MS),
        ("2026-01-02 03:04:05Z", AT_MS),
        ("2026-01-02T03:04:05.678901Z", AT_MS + 678),
        ("2026-01-02T03:04:05.6Z", AT_MS + 600),
        ("2026-01-02T05:04:05+02:00", AT_MS),
        ("2026-01-02T01:34:05-0130", AT_MS),
        ("20260102030405", AT_MS),
        ("20260102030405678", AT_MS + 678),
        ("202601020304", AT_MS - 5_000),
        ("Fri, 02 Jan 2026 03:04:05 GMT", AT_MS),
        ("2026-01-02", 1_767_312_000_000),
        ("2026-01", 1_767_225_600_000),
        ("2026", 1_767_225_600_000),
        ("2026-01-02T03:04:60Z", AT_MS + 55_000),
        ("2026-13-02T03:04:05Z", None),
        ("2026-02-30T03:04:05Z", None),
        ("0000-00-00T00:00:00Z", None),
        ("yesterday", None),
        ("", None),
        ("9" * 40, None),
    ],
)
def test_dates_of_all_forms(text: str, expected: int | None) -> None:
    assert parse_date(text) == expected


@given(st.text(max_size=40))
def test_any_text_is_a_date_or_none(text: str) -> None:
    parse_date(text)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (warc(None, http()), "no_uri"),
        (warc("dns:a.test", b"1.2.3.4"), "not_http"),
        (warc("ftp://a.test/", b"x"), "not_http"),
        (warc("urn:uuid:1", b"x", "resource"), "not_http"),
        (warc(URL, http(), date=None), "bad_date"),
        (warc(URL, http(), date="soon"), "bad_date"),
        (warc(URL, b"no answer"), "no_http_head"),
        (warc("http://a.test/robots.txt", http()), "robots_txt"),
    ],
)
def test_what_is_no_document(tmp_path: Path, data: bytes, reason: str) -> None:
    assert document_of(record(data, tmp_path)) == reason


def test_forms_of_documents(tmp_path: Path) -> None:
    found = document_of(record(warc(f"<{URL}>", http(), WARC_IP_Address="192.0.2.9"), tmp_path))
    assert isinstance(found, Document)
    assert (found.url, found.status, found.fetched_at_ms, found.address) == (URL, 200, AT_MS, "192.0.2.9")
    found = document_of(record(warc(URL, b"%PDF", "resource", content_type="application/pdf"), tmp_path))
    assert isinstance(found, Document)
    assert (found.body, found.headers, found.derived) == (b"%PDF", (("Content-Type", "application/pdf"),), False)
    found = document_of(record(warc(URL, b"text", "conversion"), tmp_path))
    assert isinstance(found, Document)
    assert found.derived


def test_codings_are_kept_as_received(tmp_path: Path) -> None:
    packed = gzip.compress(PAGE)
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(packed), packed)
    _, done, bodies, rows = imported(
        tmp_path,
        warc(URL, http(chunks, "HTTP/1.1 200 OK", HTML, CHUNKED, "Content-Encoding: gzip"))
        + warc(URL + "plain", http(PAGE, "HTTP/1.1 200 OK", HTML, "Content-Encoding: gzip")),
    )
    assert done.outcomes == {"success": 2}
    assert bodies == {URL: packed, URL + "plain": PAGE}
    assert rows[URL]["digest"] == rows[URL + "plain"]["digest"]


def test_types_are_counted_and_arc_and_warc_come_together(tmp_path: Path) -> None:
    archive = members(
        info(), warc(URL, http()), warc(URL, b"GET / HTTP/1.1\r\n\r\n", "request"), warc(URL, b"x: y", "metadata"),
        warc("dns:a.test", b"192.0.2.1", "resource"), warc(URL + "404", http(b"", "HTTP/1.1 404 Not Found")),
    )  # fmt: skip
    other = arc_head() + arc("http://b.test/", http()) + arc("dns:b.test", b"20260102030405\n")
    read, done, bodies, _ = imported(tmp_path, archive, other)
    assert read.records == {"response": 4, "warcinfo": 2, "metadata": 1, "request": 1, "resource": 1}
    assert done.outcomes == {"success": 2, "gone": 1}
    assert done.left_out == {"not_http": 2}
    assert bodies.keys() == {URL, URL + "404", "http://b.test/"}
    assert read.damage == []


def test_revisits_stand_for_the_answer_they_name(tmp_path: Path) -> None:
    """By digest, by the record's id, by URL and time; before or after the answer; of other URLs too."""
    digest = "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A"
    answer = warc(URL, http(), WARC_Payload_Digest=digest)
    name = answer.partition(b"WARC-Record-ID: ")[2].partition(b"\r\n")[0].decode()
    late = "2026-01-05T00:00:00Z"
    revisits = b"".join(
        [
            warc("http://b.test/", http(b"", "HTTP/1.1 200 OK", HTML, "X: b"), "revisit", WARC_Payload_Digest=digest),
            warc("http://c.test/", b"", "revisit", WARC_Refers_To=name),
            warc(
                "http://d.test/", http(b"", "HTTP/1.1 304 Not Modified"), "revisit", WARC_Refers_To_Target_URI=URL,
                WARC_Refers_To_Date="2026-01-02T03:04:05Z",
            ),
            warc(URL, b"", "revisit", date=late, WARC_Payload_Digest=digest.lower()),
            warc("http://e.test/", b"", "revisit", WARC_Payload_Digest="sha1:" + "A" * 32),
            warc("http://f.test/", b"", "revisit"),
        ]
    )  # fmt: skip
    read, done, bodies, rows = imported(tmp_path, revisits, answer)
    assert (read.revisits, read.revisits_resolved) == (5, 4)
    assert done.left_out == {"revisit_unresolved": 2, "older_version": 1}
    assert set(bodies) == {URL, *(f"http://{h}.test/" for h in "bcd")}
    assert set(bodies.values()) == {PAGE}
    assert rows[URL]["fetched_at"] == parse_date(late)
    assert all(row["http_status"] == 200 for row in rows.values())


def test_a_text_conversion_gives_way_to_the_page(tmp_path: Path) -> None:
    text = warc(URL, b"Hello. A page.", "conversion", date="2026-01-09T00:00:00Z")
    _, done, bodies, _ = imported(tmp_path, text + warc("http://only.test/", b"text", "conversion"), warc(URL, http()))
    assert bodies == {URL: PAGE, "http://only.test/": b"text"}
    assert done.left_out == {"derived": 1}


def test_damage_is_told_with_file_and_offset(tmp_path: Path) -> None:
    whole = warc(URL, http())
    read, _, bodies, _ = imported(tmp_path, whole + warc(URL + "2", http())[:-40], warc(URL + "3", http()))
    assert bodies.keys() == {URL, URL + "3"}
    [told] = read.damage
    assert (Path(told.file).name, told.offset) == ("0.warc", len(whole))
    assert (read.damage_count, read.damaged_files) == (1, 1)


def test_archives_are_found_by_name_below_folders(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("a/1.warc.gz", "a/b/2.arc", "a/3.warc", "a/readme.txt"):
        (tmp_path / name).write_bytes(members(info()))
    assert [p.name for p in find_archives([tmp_path / "a"])] == ["1.warc.gz", "3.warc", "2.arc"]
    for bad in ("a/none", "a/readme2.txt"):
        (tmp_path / "a/readme2.txt").write_text("hello")
        with pytest.raises(InputError):
            find_archives([tmp_path / bad])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no archive"):
        find_archives([tmp_path / "empty"])


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/2 200\r\ncontent-type: text/html\r\n\r\n",
        b"HTTP/1.1 200\nContent-Type: text/html\n\n",
        b"ICY 200 OK\r\nContent-Type: text/html\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n: no name\r\nContent-Type: text/html\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 \xff\xfe\r\nX-\xe4: \xf6\0\r\nContent-Type: text/html\r\n\r\n",
    ],
)
def test_odd_heads_are_read_again_by_the_parser(tmp_path: Path, head: bytes) -> None:
    from cobnut.crawl import steps
    from cobnut.records.catalogue import PARSED

    imported(tmp_path, warc(URL, head + PAGE))
    crawl = CrawlFolder(tmp_path / "crawl")
    [segment] = crawl.segments()
    steps.parse(crawl, Settings(), segment)
    [row] = read_files(PARSED, segment.part_files(PARSED)).to_pylist()
    assert (row["parse_status"], row["title"]) == ("ok", "Hello")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edits=st.lists(st.tuples(st.integers(0, 4_000), st.binary(max_size=9)), max_size=8), drop=st.integers(0, 9),
    packed=st.booleans(),
)  # fmt: skip
def test_fuzzed_archives_come_in_or_are_told(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, bytes]], drop: int, packed: bool
) -> None:
    """Whatever the bytes, the import ends, and its segment can be read."""
    parts = [info(), *(warc(f"http://a.test/{n}", http(PAGE, "HTTP/1.1 200 OK", HTML, "ETag: x")) for n in range(5))]
    parts.append(warc(URL, http(b"5\r\nhello\r\n0\r\n\r\n", "HTTP/1.1 200 OK", CHUNKED)))
    parts.append(warc("http://b.test/", http(b"", "HTTP/1.1 200 OK"), "revisit", WARC_Refers_To="<urn:uuid:1>"))
    changed = bytearray(b"".join(parts))
    for place, value in edits:
        at = place % len(changed)
        changed[at : at + drop] = value
    data = gzip.compress(bytes(changed)) if packed else bytes(changed)
    _, done, bodies, rows = imported(tmp_path_factory.mktemp("fuzz"), data)
    assert len(rows) == done.documents
    assert set(bodies) == set(rows)
